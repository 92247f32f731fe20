//! App. "Multi-task TD with Deep RNN": the trained RNN against the length of its context.

use super::experiment::{Entry, Experiment, Measured, Run, run};
use super::learning::{Scale, trained};
use super::panels;
use super::statistics::mean_and_stderr;
use crate::error::{Doing, Error};
use crate::options as parse;
use crate::run::records::Records;
use crate::run::report::{Claim, Verdict};
use crate::run::session::Session;
use crate::train::capacity::RNN_DIM;
use crate::train::options::RnnInput;
use crate::train::shapes::rnn_value;
use figures::{Axis, Curve, Curves, Figure, NamedFigures, Panel};
use ictd_core::rng::{Rng, Stream};
use ictd_core::tasks::{Mrp, Task as _, boyan_chain, boyan_chain_representable, loop_mrp};
use nalgebra::SVector;
use serde::{Deserialize, Serialize};

const STATES: usize = 16;

/// App. "Multi-task TD with Deep RNN": the RNN's value error against the context's length
///
/// The experiment of Figure 1 with the trained RNN, on 500 Loop MRPs (5 to 15 states, value
/// representable, as in the authors' demo) and 500 Boyan chains (10 states) with random rewards (Algorithm 2)
/// and as many with representable values (Algorithm 3, as in Figure 1); instances are shared out among the seeds.
///
/// For three readings of the paper's RNN: its layers pass their new state up, as in every framework; or
/// their previous one, as the paper's formula has it, so that three layers never see the query; or it is trained
/// on Algorithm 3's chains.
///
/// Beside them two estimates that never see the query: 0, and the discounted sum of the rewards seen, the latest
/// first, whose mean is that of the values.
#[derive(Clone, Debug, PartialEq, clap::Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RnnContext {
    /// How much is trained.
    #[command(flatten)]
    #[serde(flatten)]
    pub scale: Scale,
    /// Instances of each environment
    #[arg(long, default_value = "500", value_parser = parse::integer(1..=1_000_000))]
    pub tasks: usize,
    /// Longest context
    #[arg(long, default_value = "40", value_parser = parse::integer(2..=10_000))]
    pub max_context: usize,
}

/// One row of `msve.csv`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MsveRow {
    /// `current`, `delayed`, `representable` (trained on such chains), `zero` or `rewards`.
    pub estimator: String,
    /// `loop`, `boyan` or `boyan-representable`.
    pub environment: String,
    /// Context length.
    pub context_length: usize,
    /// Mean over instances.
    pub mean: f64,
    /// Its standard error.
    pub stderr: f64,
}

/// Instances.
#[derive(Clone, Copy, PartialEq)]
enum Instances {
    Loop,
    Boyan,
    Representable,
}

const ENVIRONMENTS: [(Instances, &str, &str); 3] = [
    (Instances::Loop, "loop", "Loop"),
    (Instances::Boyan, "boyan", "Boyan's chain, random rewards"),
    (Instances::Representable, "boyan-representable", "Boyan's chain, representable values"),
];

/// A reading of the paper's RNN.
struct Reading {
    /// The options of its run, and the run's name.
    options: &'static str,
    run: &'static str,
    /// What records and claims call it.
    name: &'static str,
    label: &'static str,
    /// Whether its error is known to rise in each environment.
    rises: [Verdict; 3],
}

const READINGS: [Reading; 3] = [
    Reading {
        options: "--model rnn",
        run: "rnn",
        name: "current",
        label: "RNN",
        rises: [Verdict::Holds, Verdict::DoesNotHold, Verdict::Holds],
    },
    Reading {
        options: "--model rnn --rnn-input delayed",
        run: "rnn-delayed",
        name: "delayed",
        label: "delayed RNN",
        rises: [Verdict::Holds, Verdict::DoesNotHold, Verdict::Holds],
    },
    Reading {
        options: "--model rnn --task boyan-representable",
        run: "rnn-representable",
        name: "representable",
        label: "RNN of Algorithm 3",
        rises: [Verdict::Holds, Verdict::Holds, Verdict::DoesNotHold],
    },
];

/// The estimates without a query: their names in the records, and their labels.
const BASELINES: [(&str, &str); 2] = [("zero", "predicting 0"), ("rewards", "sum of rewards")];

/// The curves.
#[derive(Serialize)]
pub struct Found {
    msve: Vec<MsveRow>,
}

impl Experiment for RnnContext {
    const ENTRY: Entry = Entry {
        id: "rnn-context",
        figure: "App. figure: MSVE of the trained RNN against context length",
        figures,
        run: Run::Scaled(|scale, session| {
            run(&RnnContext { scale: scale.clone(), ..parse::parsed("") }, session)
        }),
    };

    type Found = Found;

    fn measure(&self, session: &Session, records: &mut Records) -> Measured<Found> {
        let lengths: Vec<usize> = (1..=self.max_context).step_by(3).collect();
        let (mut msve, mut claims) = (Vec::new(), Vec::new());
        for Reading { options, run, name, label, rises } in &READINGS {
            let options = self.scale.apply(parse::parsed(options));
            let runs = trained(run, &options, session)?;
            let mut reading = Vec::new();
            for ((instances, environment, title), expected) in ENVIRONMENTS.into_iter().zip(rises) {
                let mut seeds = Rng::stream(session.seed, Stream::Tasks);
                let tasks: Vec<_> = (0..self.tasks).map(|i| (i, seeds.next_u64())).collect();
                let errors = session.map(environment, &tasks, |&(i, seed)| {
                    let parameters = &runs[i % runs.len()].parameters;
                    instance(instances, options.recipe.rnn_input, parameters, &lengths, seed)
                        .doing(format!("rnn-context, {environment} {i}"))
                })?;
                let rows = |estimator: &str, which: usize| {
                    let row = |(at, n): (usize, &usize)| {
                        let (mean, stderr) = mean_and_stderr(errors.iter().map(|e| e[at][which]));
                        MsveRow {
                            estimator: estimator.into(),
                            environment: environment.into(),
                            context_length: *n,
                            mean,
                            stderr,
                        }
                    };
                    lengths.iter().enumerate().map(row).collect::<Vec<_>>()
                };
                let (of_rnn, of_rewards) = (rows(name, 0), rows(BASELINES[1].0, 2));
                let title = format!("{label}, {title}");
                claims.push(claim_of_trend(&title, *expected, &of_rnn));
                let last = |rows: &[MsveRow]| rows.last().map_or(f64::NAN, |r| r.mean);
                let of_zero = rows(BASELINES[0].0, 1);
                let zero_is_better = last(&of_zero) < last(&of_rewards);
                let best = if zero_is_better { &of_zero } else { &of_rewards };
                reading.push((title, of_rnn.clone(), best.clone()));
                // The contexts are the same for each reading.
                if *run == READINGS[0].run {
                    msve.extend(of_zero);
                    msve.extend(of_rewards);
                }
                msve.extend(of_rnn);
            }
            claims.push(claim_of_evaluation(label, &reading));
        }
        records.put_csv("msve.csv", &msve)?;
        Ok((Found { msve }, claims))
    }
}

fn figures(records: &Records) -> Result<NamedFigures, Error> {
    let rows: Vec<MsveRow> = records.csv("msve.csv")?;
    let panel = |(_, environment, title): (Instances, &str, &str)| {
        let curve = |label: &str, estimator: &str| {
            let of_curve = |r: &&MsveRow| r.environment == environment && r.estimator == estimator;
            let points = rows.iter().filter(of_curve);
            panels::curve(label, points.map(|r| (r.context_length as f64, r.mean, r.stderr)))
        };
        let rnns = READINGS.iter().map(|reading| curve(reading.label, reading.name));
        let baselines = BASELINES.into_iter().map(|(name, label)| curve(label, name));
        Panel::Curves(Curves {
            title: title.into(),
            x: Axis::linear("context length t"),
            y: Axis::from_zero("MSVE"),
            curves: rnns.chain(baselines.map(|c| Curve { dashed: true, ..c })).collect(),
            ..Default::default()
        })
    };
    let figure = Figure {
        title: "The trained RNN against the length of its context".into(),
        subtitle: "value error, mean over instances with standard error; dashed: estimates that never see the query"
            .into(),
        panels: ENVIRONMENTS.into_iter().map(panel).collect(),
        columns: 3,
    };
    Ok(vec![("rnn-context".into(), figure)])
}

/// b - a, and three joint standard errors.
fn change(a: &MsveRow, b: &MsveRow) -> (f64, f64) {
    (b.mean - a.mean, 3.0 * libm::hypot(a.stderr, b.stderr))
}

fn at(row: &MsveRow) -> String {
    format!("{:.3} ± {:.3} at length {}", row.mean, row.stderr, row.context_length)
}

/// The paper: the error increases with the context's length, from the shortest to the longest by more than three
/// joint standard errors.
pub fn claim_of_trend(title: &str, expected: Verdict, rows: &[MsveRow]) -> Claim {
    let (claim, paper) =
        (format!("{title}: the value error rises"), "MSVE increases with the context length");
    let [first, .., last] = rows else {
        return Claim::new(claim, paper, "one length", Verdict::HoldsInPart);
    };
    let (rise, limit) = change(first, last);
    let verdict = Verdict::graded(rise > limit, rise.abs() <= limit);
    Claim { expected, ..Claim::new(claim, paper, format!("{}, {}", at(first), at(last)), verdict) }
}

/// The paper's conclusion. An estimate that evaluates policies beats the best that never sees the query, at the longest
/// context, by more than three joint standard errors.
pub fn claim_of_evaluation(label: &str, reading: &[(String, Vec<MsveRow>, Vec<MsveRow>)]) -> Claim {
    let (mut measured, mut beaten) = (Vec::new(), 0);
    for (title, rnn, rewards) in reading {
        let (Some(rnn), Some(rewards)) = (rnn.last(), rewards.last()) else { continue };
        let (gap, limit) = change(rewards, rnn);
        beaten += usize::from(gap < -limit);
        measured.push(format!("{title}: {} ({} {:.3})", at(rnn), rewards.estimator, rewards.mean));
    }
    let verdict = Verdict::graded(beaten == 0, beaten < reading.len());
    let claim =
        format!("{label}: no policy evaluation, nothing that 0 or a sum of rewards does not give");
    Claim::new(
        claim,
        "the absence of any in-context policy evaluation",
        measured.join("; "),
        verdict,
    )
}

/// The errors of one instance at each context length, a fresh trajectory each: the RNN's, and those of
/// [`BASELINES`].
fn instance(
    instances: Instances,
    input: RnnInput,
    parameters: &[f32],
    lengths: &[usize],
    seed: u64,
) -> Result<Vec<[f64; 3]>, ictd_core::Error> {
    const GAMMA: f32 = 0.9;
    let mut rng = Rng::new(seed);
    let task: Mrp<f32, RNN_DIM, STATES> = match instances {
        Instances::Loop => {
            let states = 5 + rng.below(11) as usize;
            let threshold = rng.uniform_in(0.1, 0.9);
            loop_mrp(states, threshold, GAMMA, &mut rng)?
        }
        Instances::Boyan => boyan_chain(10, &mut rng)?,
        Instances::Representable => boyan_chain_representable(10, GAMMA, &mut rng)?,
    };
    let d = task.stationary_distribution()?;
    let v = task.true_value(GAMMA)?;
    let input = input.into();
    let error = |n: &usize| {
        let mut state = task.initial_state(&mut rng);
        let (mut features, mut rewards) = (vec![task.features(state)], Vec::new());
        for _ in 0..*n {
            let (reward, next) = task.step(state, &mut rng);
            state = next;
            features.push(task.features(state));
            rewards.push(reward);
        }
        let mut v_hat = SVector::<f32, STATES>::zeros();
        for (s, value) in v_hat.iter_mut().enumerate().take(task.states()) {
            let phi = &task.feature_map()[s];
            *value = rnn_value(input, parameters, &features, &rewards, GAMMA, phi)?;
        }
        let sum = rewards.iter().fold(0.0, |sum, reward| reward + GAMMA * sum);
        let of_constant = |x: f32| task.msve(&d, &SVector::repeat(x), &v);
        let errors = [task.msve(&d, &v_hat, &v), of_constant(0.0), of_constant(sum)];
        Ok(errors.map(f64::from))
    };
    lengths.iter().map(error).collect()
}
