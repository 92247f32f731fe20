//! App. "Multi-task TD with Deep RNN": the trained RNN's value error against the length of its context.

use super::demo::{Demo, plot};
use super::experiment::{Experiment, ExperimentInputs, ExperimentSpec, run, table};
use super::judging::{ClaimSpec, Judgement, claim};
use super::measurements::{MeasurementTable, RunMeasurements};
use super::plots::FigureSpec::Plots;
use super::plots::means;
use super::statistics::{mean_and_stderr, with_error};
use crate::error::Error;
use crate::options;
use crate::run::report::{Source, Verdict};
use figures::Axis;
use judge::value_error::ValuePredictor;

macro_rules! curves {
    ($name:literal) => {
        &[
            means("RNN", RNN, $name),
            means("delayed RNN", DELAYED, $name),
            means("predicting 0", RNN, concat!($name, " zero")).dashed(),
            means("sum of rewards", RNN, concat!($name, " rewards")).dashed(),
        ]
    };
}

pub const RNN_CONTEXT: Experiment = table(
    "rnn-context",
    "App. figure: MSVE of the trained RNN against context length",
    ExperimentSpec {
        about: "The experiment of Figure 1 with the trained RNN, on 500 Loop MRPs (5 to 15 states, value \
                representable, as in the authors' demo) and 500 Boyan chains (10 states), with representable values \
                as in Figure 1, and, as a variant, with random rewards as in training; instances are shared out \
                among the seeds.\n\n\
                There are two readings of the paper's RNN: its layers pass their new state up, as in every \
                framework; or their previous one, as the paper's formula has it, so that three layers never see \
                the query.\n\n\
                Beside them stand two estimates that never see the query: 0, and the discounted sum of the rewards \
                seen, the latest first, whose mean is that of the values.",
        runs: &[
            run(RNN, "--network rnn", "RNN", CLAIMS),
            run(DELAYED, "--network rnn --rnn-input delayed", "delayed RNN", CLAIMS),
        ],
        own: put,
        figures: &[Plots(
            "rnn-context",
            "The trained RNN against the length of its context",
            "value error, mean over seeds with standard error; dashed: estimates that never see the query",
            &[
                plot("Loop", MSVE, curves!("loop")),
                plot("Boyan's chain, representable", MSVE, curves!("boyan-representable")),
                plot("Boyan's chain", MSVE, curves!("boyan")),
            ],
            3,
        )],
        ..ExperimentSpec::EMPTY
    },
);

const TASKS: usize = 500;
const RNN: &str = "rnn";
const DELAYED: &str = "rnn-delayed";

/// The environments: options of `ictd demo`, and the name of the RNN's error in the record; followed by `zero` or `rewards` it
/// names an estimate that does not depend on the query.
const ENVIRONMENTS: [(&str, &str); 3] = [
    ("--task loop --max-states 15", "loop"),
    ("--task boyan-representable --min-states 10", "boyan-representable"),
    ("--task boyan --min-states 10", "boyan"),
];

const MSVE: fn() -> Axis = || Axis::from_zero("MSVE");

fn put(work: &ExperimentInputs, long: &mut MeasurementTable) -> Result<(), Error> {
    for (typed, name) in ENVIRONMENTS {
        let demo: Demo = options::parsed(&format!("--dim 4 --max-context 40 {typed}"));
        let demo = Demo { tasks: TASKS, context_step: 3, ..demo };
        let instances = demo.seeds(work.session);
        for run in work.runs {
            for (first, seed) in run.seeds.iter().enumerate().take(TASKS) {
                let own = instances.iter().copied().skip(first).step_by(run.seeds.len());
                let rnn = ValuePredictor::Rnn(run.recipe.rnn_input, &seed.parameters);
                let own: Vec<u64> = own.collect();
                demo.put_seed([run.name, name], (seed.seed, &rnn), &own, work.session, long)?;
            }
        }
    }
    Ok(())
}

const APP_RNN: &str = "App. G.2";
const RISES: Source = Source::paper(
    APP_RNN,
    "The MSVE increases with context length in both environments for the trained RNN",
);
const CLAIMS: &[ClaimSpec] = &[
    claim("the value error rises in Loops", RISES, |of| rise(of, "loop")),
    // "The same experiment used to generate Figure 1", whose values are representable.
    claim("the value error rises in Boyan's chains with representable values", RISES, |of| {
        rise(of, "boyan-representable")
    }),
    // "The Boyan's chain environment used for training" has random rewards.
    claim("the value error rises in Boyan's chains with random rewards", RISES.variant(), |of| {
        rise(of, "boyan")
    })
    .refuted(),
    // An estimate that evaluates policies would beat the best one without the query.
    claim(
        "no policy evaluation: nothing that 0 or a sum of rewards does not give",
        Source::paper(APP_RNN, "the absence of any in-context policy evaluation algorithms"),
        no_evaluation,
    ),
];

/// Returns the mean error and its standard error at the shortest and at the longest context.
fn ends(of: RunMeasurements, metric: &str) -> Option<[(f64, f64, f64); 2]> {
    let places = of.places(metric);
    let at = |at: f64| {
        let (mean, stderr) = mean_and_stderr(of.values_at(metric, at).into_iter());
        (at, mean, stderr)
    };
    Some([at(*places.first()?), at(*places.last()?)])
}

fn text((at, mean, stderr): (f64, f64, f64)) -> String {
    format!("{} at length {at}", with_error((mean, stderr)))
}

/// Tests whether the error rises from the shortest context to the longest by more than three joint standard errors.
fn rise(of: RunMeasurements, metric: &str) -> Judgement {
    let Some([first, last]) = ends(of, metric).filter(|[first, last]| first.0 < last.0) else {
        return ("only one context length".into(), Verdict::NotMeasured);
    };
    let (rise, limit) = (last.1 - first.1, 3.0 * libm::hypot(first.2, last.2));
    let verdict =
        Verdict::graded(rise > limit, rise.abs() <= limit).unless_unknown(limit).unless_nan([rise]);
    (format!("{}, {}, needs more by 3 joint stderr", text(first), text(last)), verdict)
}

/// Tests whether the RNN is nowhere better than the best estimate without a query, at the longest context, by more than three
/// joint standard errors.
fn no_evaluation(of: RunMeasurements) -> Judgement {
    let (mut measured, mut beaten, mut judged, mut error) = (Vec::new(), 0, Vec::new(), 0.0);
    for (.., name) in ENVIRONMENTS {
        let Some([_, rnn]) = ends(of, name) else { continue };
        let others = ["zero", "rewards"].map(|other| (other, ends(of, &format!("{name} {other}"))));
        let [(_, Some([_, zero])), (_, Some([_, rewards]))] = others else { continue };
        let (best, other) = if zero.1 < rewards.1 { ("zero", zero) } else { ("rewards", rewards) };
        let limit = 3.0 * libm::hypot(rnn.2, other.2);
        judged.extend([rnn.1, zero.1, rewards.1]);
        error += limit;
        beaten += usize::from(rnn.1 - other.1 < -limit);
        measured.push(format!("{name}: {} ({best} {:.3})", text(rnn), other.1));
    }
    if measured.len() < ENVIRONMENTS.len() {
        return ("an environment without errors".into(), Verdict::NotMeasured);
    }
    let verdict = Verdict::graded(beaten == 0, beaten < ENVIRONMENTS.len());
    (measured.join("; "), verdict.unless_unknown(error).unless_nan(judged))
}
