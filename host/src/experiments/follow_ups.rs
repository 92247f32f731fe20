//! Experiments on claims of follow-up papers, as data: other pretraining losses, and layers that are applied more or fewer
//! times than in training. The quotations are theirs; they prove the claims for other settings and minimisers.

use super::demo::{Demo, TRAINED, falls_in_seeds, plot};
use super::experiment::{
    EvaluationPlan, Experiment, ExperimentInputs, ExperimentSpec, Finished, run, table,
};
use super::judging::Threshold::{Above, Below};
use super::judging::{ClaimSpec, all_positive, between, claim, differences, most};
use super::measurements::{MeasurementTable, RunMeasurements};
use super::paper::{BALANCED, IS_TD0, P_MATCHES, Q_MATCHES, Q_STRICTLY};
use super::plots::FigureSpec::{Explained, Parameters, Plots};
use super::plots::{CurveSpec, PanelSpec, medians};
use super::statistics::{bootstrap, median, median_interval};
use crate::error::{Error, WithContext};
use crate::options;
use crate::run::report::{Source, Verdict};
use crate::train::directory::final_parameters;
use compute::recipe::AttentionKind;
use figures::Axis;
use judge::estimator::{Estimator, Method};
use judge::judge::{DRAWS, by_draw};
use judge::value_error::{ValuePredictor, over_zero, step_growth};

pub(super) const MINIMISER: Source = Source::paper(
    "arXiv 2509.18389, abstract",
    "one of the global minimizers of the pretraining loss can enable in-context temporal difference learning",
)
.variant();

pub const LOSSES: Experiment = table(
    "losses",
    "A follow-up: pretraining by TD and by Monte Carlo returns",
    ExperimentSpec {
        about: "As Figure 2, with the loss of Monte Carlo returns (of 30 rewards, as in the authors' newest code) beside \
                the TD error: whether P and Q align with Theorem 1's in either case, which algorithm the function is, \
                and whether its value error falls as the context grows.",
        runs: &[
            run(TD, "", "TD", OF_LOSS),
            run(MONTE_CARLO, "--loss monte-carlo", "Monte Carlo", OF_MONTE_CARLO),
        ],
        evaluation: EvaluationPlan { formulas: true, ..EvaluationPlan::NOTHING },
        own: put_contexts,
        claims: &[LESS_ERROR],
        figures: &[
            Parameters("losses-monte-carlo", MONTE_CARLO),
            Explained("losses-functions", "Which algorithms pretraining losses lead to", 2),
            Plots(
                "losses",
                "The value error of transformers trained by two losses",
                "mean over 100 of Boyan's chains; median over seeds with quartiles",
                &[plot("", || Axis::log("MSVE"), OF_CONTEXT)],
                1,
            ),
        ],
        ..ExperimentSpec::EMPTY
    },
);

const TD: &str = "linear-l3";
const MONTE_CARLO: &str = "monte-carlo-l3";
const OF_CONTEXT: &[CurveSpec] = &[
    medians("TD", TD, TRAINED),
    medians("Monte Carlo", MONTE_CARLO, TRAINED),
    medians("predicting 0", TD, super::demo::ZERO).dashed(),
];
const OF_LOSS: &[ClaimSpec] = &[
    P_MATCHES.stated(MINIMISER),
    Q_MATCHES.stated(MINIMISER),
    BALANCED.stated(MINIMISER),
    Q_STRICTLY.stated(MINIMISER),
    IS_TD0.stated(MINIMISER),
    ERROR_FALLS,
];
const OF_MONTE_CARLO: &[ClaimSpec] = &[
    P_MATCHES.stated(MINIMISER),
    Q_MATCHES.stated(MINIMISER),
    BALANCED.stated(MINIMISER).refuted(),
    Q_STRICTLY.stated(MINIMISER).refuted(),
    IS_TD0.stated(MINIMISER).refuted(),
    ERROR_FALLS,
];
const ERROR_FALLS: ClaimSpec =
    claim("in a seed, the value error falls as the context grows", MINIMISER, falls_in_seeds);
const LESS_ERROR: ClaimSpec = claim(
    "Monte Carlo pretraining has the smaller value error at the context length of training",
    Source::OWN,
    |of| {
        let at = |run| of.other_run(run).values_at(TRAINED, OF_TRAINING as f64);
        let [td, monte_carlo] = [TD, MONTE_CARLO].map(at);
        let less = bootstrap([&td, &monte_carlo], |[td, mc]| median(td) - median(mc));
        let medians =
            format!("medians {:.3} and {:.3}; less by", median(&td), median(&monte_carlo));
        all_positive(&medians, &[less], None)
    },
);
const OF_TRAINING: usize = 30;

pub(super) fn model(
    run: &Finished,
    seed: &crate::train::log::SeedRun,
    layers: usize,
) -> ValuePredictor<'static> {
    let parameters = Box::new(final_parameters(&run.recipe, seed));
    let method = Method::Trained { parameters, attention: AttentionKind::Linear };
    ValuePredictor::Estimator(Estimator { method, gamma: run.recipe.gamma, layers })
}

fn put_contexts(work: &ExperimentInputs, long: &mut MeasurementTable) -> Result<(), Error> {
    let typed = "--task boyan --min-states 10 --dim 4 --tasks 100 --max-context 60";
    let demo = Demo { context_step: 1, ..options::parsed(typed) };
    let tasks = demo.seeds(work.session);
    for run in work.runs {
        for seed in run.seeds.iter().filter(|seed| seed.diverged().is_none()) {
            let model = model(run, seed, run.recipe.layers);
            demo.put_seed([run.name, TRAINED], (seed.seed, &model), &tasks, work.session, long)?;
        }
    }
    Ok(())
}

pub const DEPTH: Experiment = table(
    "depth",
    "A follow-up: the value error against the number of layers",
    ExperimentSpec {
        about: "Layers that share their parameters can be applied any number of times. Theorem 1's (alpha = 0.2) on \
                Figure 1's tasks with contexts of 39 transitions, where it is also measured whether they converge; \
                those, and trained layers, on 200 of Boyan's chains with contexts of 30, in five draws. The error is \
                relative to that of predicting 0 and at most 1e6: the median over tasks.",
        runs: &[
            run("linear-l2", "--layers 2", "L = 2", GOES_ON),
            run(TD, "", "L = 3", GOES_ON),
            run("linear-l4", "--layers 4", "L = 4", GOES_ON),
        ],
        own: put_depths,
        claims: &[FALLS, SATURATES, COMES_TO_REST],
        figures: &[Plots(
            "depth",
            "The value error against the number of layers",
            "relative to predicting 0; median with quartiles, of Theorem 1's layers over tasks, of trained ones over seeds",
            &[
                PanelSpec {
                    title: "Theorem 1, Figure 1's tasks",
                    x: || Axis::log("layers"),
                    y: || Axis::log("error / predicting 0"),
                    curves: &[medians("", FIGURE_1, ERROR)],
                },
                PanelSpec {
                    title: "Boyan's chains",
                    x: || Axis::log("layers"),
                    y: || Axis::log("error / predicting 0"),
                    curves: &[
                        medians("Theorem 1", BOYAN, ERROR).dashed(),
                        medians("trained, L = 2", "linear-l2", ERROR),
                        medians("trained, L = 3", TD, ERROR),
                        medians("trained, L = 4", "linear-l4", ERROR),
                    ],
                },
            ],
            2,
        )],
        ..ExperimentSpec::EMPTY
    },
);

/// Names in the record: Theorem 1's layers on either kind of tasks, and an error.
const FIGURE_1: &str = "figure-1 tasks";
const BOYAN: &str = "boyan tasks";
const ERROR: &str = "error";
const LAYERS: [usize; 12] = [1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 40, 100];
const LENGTHS: [usize; 3] = [1, 5, 39];

fn put_depths(work: &ExperimentInputs, long: &mut MeasurementTable) -> Result<(), Error> {
    let demo = |typed: &str, last: usize| {
        let demo: Demo = options::parsed(typed);
        let mut sweep = demo.sweep();
        sweep.lengths = vec![last];
        (demo.seeds(work.session), sweep)
    };
    let (tasks, figure_1) = demo("", LENGTHS[2]);
    let (chains, boyan) = demo("--task boyan --min-states 10 --dim 4 --tasks 200", OF_TRAINING);
    let constructed = |layers| {
        let method = Method::Constructed { alpha: ALPHA, trace_decay: 0.0 };
        ValuePredictor::Estimator(Estimator { method, gamma: figure_1.gamma, layers })
    };
    for layers in LAYERS {
        for (name, sweep, seeds) in [(FIGURE_1, &figure_1, &tasks), (BOYAN, &boyan, &chains)] {
            let found = work.session.map(name, seeds, |task| {
                over_zero(sweep, &constructed(layers), *task).context(name)
            })?;
            for (task, error) in seeds.iter().zip(found) {
                long.put(name, *task, ERROR, layers as f64, error);
            }
        }
    }
    let lengths =
        judge::value_error::ContextSweep { lengths: LENGTHS.to_vec(), ..figure_1.clone() };
    let growth = work
        .session
        .map(FIGURE_1, &tasks, |task| step_growth(&lengths, ALPHA, *task).context(FIGURE_1))?;
    for (task, growth) in tasks.iter().zip(growth) {
        for (n, growth) in LENGTHS.into_iter().zip(growth) {
            long.put(FIGURE_1, *task, "step growth", n as f64, growth);
            // Record whether the layers converge.
            long.put(FIGURE_1, *task, "rests", n as f64, f64::from(growth < 1.0));
        }
    }
    for run in work.runs {
        let found = work.session.map(run.name, &run.seeds, |seed| {
            let at = |layers: usize| {
                let model = model(run, seed, layers);
                let error = |task: &u64| over_zero(&boyan, &model, *task).context(run.name);
                chains.iter().map(error).collect::<Result<Vec<_>, Error>>()
            };
            LAYERS.into_iter().map(at).collect::<Result<Vec<_>, Error>>()
        })?;
        for (seed, errors) in run.seeds.iter().zip(found) {
            let mut put = |metric: &str, at: f64, x| long.put(run.name, seed.seed, metric, at, x);
            for (layers, errors) in LAYERS.into_iter().zip(&errors) {
                put(ERROR, layers as f64, median(errors));
            }
            let of_draw = |layers: usize, draw: usize| {
                let at = LAYERS.iter().position(|of| *of == layers);
                let draws = at.map(|at| errors[at].chunks(errors[at].len() / DRAWS));
                draws.and_then(|mut draws| draws.nth(draw)).map_or(f64::NAN, median)
            };
            let own = run.recipe.layers;
            for (metric, layers) in [(FEWER, own - 1), (TWICE, 2 * own)] {
                let of_draws = (0..DRAWS).map(|draw| of_draw(layers, draw) / of_draw(own, draw));
                let of_draws: Vec<f64> = of_draws.collect();
                for (draw, x) in of_draws.iter().enumerate() {
                    put(&by_draw(metric), draw as f64 + 1.0, *x);
                }
                put(metric, 0.0, of_draws.iter().sum::<f64>() / DRAWS as f64);
            }
        }
    }
    Ok(())
}

const ALPHA: f64 = 0.2;
/// The errors with one layer fewer and with twice the layers of training, divided by that with the layers of training.
const FEWER: &str = "error with one layer fewer";
const TWICE: &str = "error with twice the layers";

const GOES_ON: &[ClaimSpec] = &[
    claim("in a seed, one layer fewer than in training has a larger error", Source::OWN, |of| {
        most(of, [(FEWER, Above(1.0))])
    }),
    claim("in a seed, twice the layers of training have a smaller error", Source::OWN, |of| {
        most(of, [(TWICE, Below(1.0))])
    }),
];
const CHAIN_OF_THOUGHT: &str = "arXiv 2605.07123, abstract";

fn constructed(of: RunMeasurements, layers: usize) -> Vec<f64> {
    of.other_run(FIGURE_1).values_at(ERROR, layers as f64)
}

const FALLS: ClaimSpec = claim(
    "Theorem 1's layers: the error falls with their number, from 1 to 5, 15 and 40",
    Source::paper(
        CHAIN_OF_THOUGHT,
        "the policy evaluation error decreases geometrically with CoT length",
    )
    .variant(),
    |of| {
        let errors = [1, 5, 15, 40].map(|layers| constructed(of, layers));
        let fall = |pair: &[Vec<f64>]| median_interval(&differences(&pair[1], &pair[0]));
        let falls: Vec<_> = errors.windows(2).map(fall).collect();
        let medians = errors.each_ref().map(|of| format!("{:.3}", median(of))).join(", ");
        all_positive(&format!("medians {medians}; in a task it falls by"), &falls, None)
    },
);
const SATURATES: ClaimSpec = claim(
    "and from 40 to 100 by less than a tenth of the fall before",
    Source::paper(
        CHAIN_OF_THOUGHT,
        "eventually saturates at a statistical floor determined by the context length",
    )
    .variant(),
    |of| {
        let [first, late, last] = [1, 40, 100].map(|layers| constructed(of, layers));
        let share = bootstrap([&first, &late, &last], |[first, late, last]| {
            (median(late) - median(last)) / (median(first) - median(late))
        });
        let what = format!("median {:.3} at 100; the part of the fall", median(&last));
        between(&what, share, [-0.1, 0.1], [-0.3, 0.3])
    },
);
/// Layers are w <- w + alpha (b - A w).
const COMES_TO_REST: ClaimSpec = claim(
    "Theorem 1's layers converge in each of Figure 1's tasks with 39 transitions, and not in each with 5",
    Source::OWN,
    |of| {
        let of = of.other_run(FIGURE_1);
        let [short, long] = [LENGTHS[1], LENGTHS[2]].map(|n| of.values_at("rests", n as f64));
        let [few, many] = [&short, &long].map(|of| of.iter().filter(|x| **x > 0.0).count());
        let measured = format!(
            "on the span of the context's features the spectral radius of I - alpha A is below 1 in {many} of {}; \
             with 5 transitions in {few}",
            long.len()
        );
        (measured, Verdict::of(many == long.len() && few < short.len()))
    },
);
