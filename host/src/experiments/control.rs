//! Control in context: SARSA whose critic is the universal model, compared with the classical critics.

use super::experiment::{Experiment, ExperimentInputs, ExperimentSpec, table};
use super::judging::{ClaimSpec, Judgement, claim, differences};
use super::measurements::{MeasurementTable, RunMeasurements};
use super::plots::FigureSpec::Plots;
use super::plots::{CurveSpec, PanelSpec, means};
use super::statistics::{Interval, mean_interval, median_interval};
use crate::error::{Error, WithContext};
use crate::run::report::{Source, Verdict};
use figures::Axis;
use ictd_core::rng::{Rng, RngStream};
use judge::control::{CartPole, ControlTask, Critic, Environment, MountainCar, RandomMdp};

const RIVALS: [&str; 3] = ["td", "lstd", "q"];

pub const CONTROL: Experiment = table(
    "control",
    "Beyond the paper: control",
    ExperimentSpec {
        about: "SARSA with the universal model as critic, on tabular random MDPs (8 states, 4 actions; each seed has its \
                own), CartPole-v1 and MountainCar-v0 (16 and 10 Fourier features for each action). After a number of steps \
                the greedy policy is judged: the share of the way from the random to the best policy, by exact values, or by \
                returns of 20 episodes. Beside it are online TD(lambda), recursive LSTD(lambda) and Q-learning, which explore \
                alike, each with one setting for all tasks and with the best for each (8, 8 and 4 settings; both are known \
                in hindsight). The universal model has one setting, its retention.",
        own: put,
        claims: &[
            claim("random MDPs: the median seed comes 0.95 of the way", Source::OWN, |of| {
                let share = median_interval(&of.other_run(RandomMdp::NAME).values("universal"));
                let measured =
                    format!("median {share:.3}, needs all of it >= 0.95 (in part: the median)");
                let verdict = Verdict::graded(share.low >= 0.95, share.estimate >= 0.95);
                (measured, verdict.unless_nan(share.numbers()))
            }),
            // LSTD with one setting is as good.
            further::<RandomMdp>("random MDPs: further than its rivals").refuted(),
            further::<CartPole>("CartPole: further than its rivals").refuted(),
            further::<MountainCar>("MountainCar: further than its rivals").refuted(),
        ],
        figures: &[Plots(
            "control",
            "Learning to act: the share of the way from the random to the best policy",
            "mean over seeds with its standard error; hindsight: the best setting for each task",
            &[
                plot(&curves(RandomMdp::NAME), RandomMdp::NAME),
                plot(&curves(CartPole::NAME), CartPole::NAME),
                plot(&curves(MountainCar::NAME), MountainCar::NAME),
            ],
            3,
        )],
        ..ExperimentSpec::EMPTY
    },
);

const fn plot(curves: &'static [CurveSpec], title: &'static str) -> PanelSpec {
    let y = || Axis::fixed("share of the way", 0.0, 1.05);
    PanelSpec { title, x: || Axis::log("steps"), y, curves }
}

const fn curves(task: &'static str) -> [CurveSpec; 7] {
    [
        means("universal", task, "universal"),
        means("LSTD, hindsight", task, "lstd_hindsight").dashed(),
        means("LSTD, one setting", task, "lstd_one").dashed(),
        means("TD, hindsight", task, "td_hindsight").dashed(),
        means("TD, one setting", task, "td_one").dashed(),
        means("Q-learning, hindsight", task, "q_hindsight").dashed(),
        means("Q-learning, one setting", task, "q_one").dashed(),
    ]
}

/// Returns the claim that the universal model's mean score exceeds each other critic's at its best (in part: with one setting).
const fn further<E: Environment>(words: &'static str) -> ClaimSpec {
    claim(words, Source::OWN, |of| leads(of.other_run(E::NAME)))
}

fn leads(of: RunMeasurements) -> Judgement {
    let universal = of.values("universal");
    let ahead = |setting: &str| {
        RIVALS.map(|rival| {
            mean_interval(&differences(&of.values(&format!("{rival}_{setting}")), &universal))
        })
    };
    let (one, best) = (ahead("one"), ahead("hindsight"));
    let text = |of: &[Interval; 3]| of.map(|x| format!("{x:.2}")).join(", ");
    let measured = format!(
        "mean {:.2}; less that of TD, LSTD and Q-learning at their best {}, needs all > 0 (in part: with one setting {})",
        mean_interval(&universal),
        text(&best),
        text(&one)
    );
    let all = |of: &[Interval; 3]| of.iter().all(|x| x.low > 0.0);
    let numbers = one.iter().chain(&best).flat_map(|x| x.numbers());
    (measured, Verdict::graded(all(&best), all(&one)).unless_nan(numbers))
}

fn put(work: &ExperimentInputs, long: &mut MeasurementTable) -> Result<(), Error> {
    let mut rng = Rng::stream(work.session.seed, RngStream::Evaluation);
    let seeds: Vec<_> = (0..work.seeds).map(|_| rng.next_u64()).collect();
    let critics = Critic::all();
    let of = |critic: usize| seeds.iter().map(move |seed| (critic, *seed));
    let jobs: Vec<_> = (0..critics.len()).flat_map(of).collect();
    // The scores by task, critic and seed, and checkpoint.
    let mut scores = Vec::new();
    for task in ControlTask::ALL {
        scores.push(work.session.map(task.name, &jobs, |&(critic, seed)| {
            (task.shares)(&critics[critic], seed).context(task.name)
        })?);
    }
    let of_seeds =
        |task: usize, critic: usize| &scores[task][critic * seeds.len()..][..seeds.len()];
    let end = |task: usize, critic: usize| {
        let ends = of_seeds(task, critic).iter().filter_map(|seed| seed.last());
        ends.sum::<f64>() / seeds.len() as f64
    };
    for rival in ["universal"].into_iter().chain(RIVALS) {
        let best = |end: &dyn Fn(usize) -> f64| {
            let of_rival = (0..critics.len()).filter(|critic| critics[*critic].name == rival);
            of_rival.max_by(|a, b| end(*a).total_cmp(&end(*b))).unwrap_or(0)
        };
        let one = best(&|critic| (0..scores.len()).map(|task| end(task, critic)).sum());
        for (at, task) in ControlTask::ALL.into_iter().enumerate() {
            let hindsight = best(&|critic| end(at, critic));
            let names = match rival {
                "universal" => vec![(one, rival.to_owned())],
                _ => vec![(one, format!("{rival}_one")), (hindsight, format!("{rival}_hindsight"))],
            };
            for (critic, name) in names {
                for (parameter, value) in &critics[critic].settings {
                    long.put(task.name, None, &format!("{name} {parameter}"), 0.0, *value);
                }
                for (seed, of_seed) in (work.session.seed..).zip(of_seeds(at, critic)) {
                    for (n, share) in task.checkpoints.iter().zip(of_seed) {
                        long.put(task.name, seed, &name, *n as f64, *share);
                    }
                }
            }
        }
    }
    Ok(())
}
