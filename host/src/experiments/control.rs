//! Control in context: SARSA whose critic is the universal model, compared with the classical critics.

use super::experiment::{Experiment, ExperimentInputs, ExperimentSpec, table};
use super::judging::{Judgement, claim, differences};
use super::measurements::{MeasurementTable, RunMeasurements};
use super::plots::FigureSpec::Plots;
use super::plots::{PanelSpec, means};
use super::statistics::{mean_interval, median_interval};
use crate::error::{Error, WithContext};
use crate::run::report::{Source, Verdict};
use figures::Axis;
use ictd_core::rng::{Rng, RngStream};
use judge::control::{CHECKPOINTS, Critic, shares};

const RUN: &str = "random MDPs";
const RIVALS: [&str; 3] = ["td", "lstd", "q"];

pub const CONTROL: Experiment = table(
    "control",
    "Beyond the paper: control",
    ExperimentSpec {
        about: "SARSA with the universal model as critic, on tabular random MDPs (8 states, 4 actions; each seed has its \
                own). After a number of steps the greedy policy is judged: the share of the way from the random to the best \
                policy, by exact values. Beside it are online TD(lambda), recursive LSTD(lambda) and Q-learning, which \
                explore alike, each with its best setting in hindsight (of 8, 8 and 4). The universal model has one \
                setting, its retention.",
        own: put,
        claims: &[
            claim("random MDPs: the median seed comes 0.95 of the way", Source::OWN, |of| {
                let share = median_interval(&of.other_run(RUN).values("universal"));
                let measured =
                    format!("median {share:.3}, needs all of it >= 0.95 (in part: the median)");
                let verdict = Verdict::graded(share.low >= 0.95, share.estimate >= 0.95);
                (measured, verdict.unless_nan(share.numbers()))
            }),
            // LSTD is as good.
            claim("random MDPs: further than its rivals", Source::OWN, |of| {
                leads(of.other_run(RUN))
            })
            .refuted(),
        ],
        figures: &[Plots(
            "control",
            "Learning to act: the share of the way from the random to the best policy",
            "mean over seeds with its standard error; rivals have their best setting in hindsight",
            &[PanelSpec {
                title: RUN,
                x: || Axis::log("steps"),
                y: || Axis::fixed("share of the way", 0.0, 1.05),
                curves: &[
                    means("universal", RUN, "universal"),
                    means("LSTD", RUN, "lstd_hindsight").dashed(),
                    means("TD", RUN, "td_hindsight").dashed(),
                    means("Q-learning", RUN, "q_hindsight").dashed(),
                ],
            }],
            1,
        )],
        ..ExperimentSpec::EMPTY
    },
);

/// Judges whether the universal model's mean score exceeds each other critic's at its best.
fn leads(of: RunMeasurements) -> Judgement {
    let universal = of.values("universal");
    let ahead = RIVALS.map(|rival| {
        mean_interval(&differences(&of.values(&format!("{rival}_hindsight")), &universal))
    });
    let measured = format!(
        "mean {:.2}; less that of TD, LSTD and Q-learning at their best {}, needs all > 0",
        mean_interval(&universal),
        ahead.map(|x| format!("{x:.2}")).join(", ")
    );
    let verdict = Verdict::of(ahead.iter().all(|x| x.low > 0.0));
    (measured, verdict.unless_nan(ahead.iter().flat_map(|x| x.numbers())))
}

fn put(work: &ExperimentInputs, long: &mut MeasurementTable) -> Result<(), Error> {
    let mut rng = Rng::stream(work.session.seed, RngStream::Evaluation);
    let seeds: Vec<_> = (0..work.seeds).map(|_| rng.next_u64()).collect();
    let critics = Critic::all();
    let of = |critic: usize| seeds.iter().map(move |seed| (critic, *seed));
    let jobs: Vec<_> = (0..critics.len()).flat_map(of).collect();
    // The scores by critic and seed, and checkpoint.
    let scores = work
        .session
        .map(RUN, &jobs, |&(critic, seed)| shares(&critics[critic], seed).context(RUN))?;
    let of_seeds = |critic: usize| &scores[critic * seeds.len()..][..seeds.len()];
    let end = |critic: usize| -> f64 { of_seeds(critic).iter().filter_map(|s| s.last()).sum() };
    for name in ["universal"].into_iter().chain(RIVALS) {
        let of_name = (0..critics.len()).filter(|critic| critics[*critic].name == name);
        let best = of_name.max_by(|a, b| end(*a).total_cmp(&end(*b))).unwrap_or(0);
        let metric = match name {
            "universal" => name.to_owned(),
            rival => format!("{rival}_hindsight"),
        };
        for (parameter, value) in &critics[best].settings {
            long.put(RUN, None, &format!("{metric} {parameter}"), 0.0, *value);
        }
        for (seed, of_seed) in (work.session.seed..).zip(of_seeds(best)) {
            for (n, share) in CHECKPOINTS.iter().zip(of_seed) {
                long.put(RUN, seed, &metric, *n as f64, *share);
            }
        }
    }
    Ok(())
}
