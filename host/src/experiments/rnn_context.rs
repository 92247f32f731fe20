//! App. "Multi-task TD with Deep RNN": the trained RNN against the length of its context.

use super::learning::{Scale, trained};
use super::rnn_learning::{RUN, options};
use super::{Experiment, Findings, mean_and_stderr};
use crate::error::{Doing, Error};
use crate::figures::{Axis, Curve, Curves, Figure, NamedFigures, Panel};
use crate::options as parse;
use crate::run::records::Records;
use crate::run::report::{Claim, Verdict};
use crate::run::session::Session;
use crate::train::capacity::RNN_DIM;
use crate::train::options::RnnInput;
use crate::train::shapes::rnn_value;
use ictd_core::rng::{Rng, Stream};
use ictd_core::tasks::{Mrp, Task as _, boyan_chain, loop_mrp};
use nalgebra::SVector;
use serde::{Deserialize, Serialize};
use serde_json::json;

const STATES: usize = 16;

/// App. "Multi-task TD with Deep RNN": the RNN's value error against the context's length
///
/// The experiment of Figure 1 with the trained RNN, on 500 Loop MRPs (5 to 15 states, value
/// representable, as in the authors' demo) and 500 Boyan chains (10 states); instances are shared out
/// among the seeds.
///
/// For two readings of the paper's RNN: its layers pass their new state up, as in every framework; or
/// their previous one, as the paper's formula has it, so that three layers never see the query.
#[derive(Clone, Debug, PartialEq, clap::Args, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
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

impl Default for RnnContext {
    fn default() -> Self {
        RnnContext { scale: Scale::default(), tasks: 500, max_context: 40 }
    }
}

/// One row of `msve.csv`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MsveRow {
    /// What the upper layers read: `current` or `delayed`.
    pub rnn_input: String,
    /// `loop` or `boyan`.
    pub environment: String,
    /// Context length.
    pub context_length: usize,
    /// Mean over instances.
    pub mean: f64,
    /// Its standard error.
    pub stderr: f64,
}

const ENVIRONMENTS: [(&str, &str); 2] = [("loop", "Loop"), ("boyan", "Boyan's chain")];

/// The readings, the names of their runs, and how a claim and a legend call them.
const INPUTS: [(RnnInput, &str, &str, &str); 2] = [
    (RnnInput::Current, RUN, "current", "RNN"),
    (RnnInput::Delayed, "rnn-delayed", "delayed", "delayed RNN"),
];

impl Experiment for RnnContext {
    const ID: &'static str = "rnn-context";
    const FIGURE: &'static str = "App. figure: MSVE of the trained RNN against context length";

    fn measure(&self, session: &Session, records: &mut Records) -> Result<Findings, Error> {
        let lengths: Vec<usize> = (1..=self.max_context).step_by(3).collect();
        let mut rows = Vec::new();
        let mut findings = Findings::default();
        for (input, run, input_name, label) in INPUTS {
            let runs = trained(run, &options(&self.scale, input), session)?;
            for (environment, title) in ENVIRONMENTS {
                let mut seeds = Rng::stream(session.seed, Stream::Tasks);
                let tasks: Vec<_> = (0..self.tasks).map(|i| (i, seeds.next_u64())).collect();
                let errors = session.map(environment, &tasks, |&(i, seed)| {
                    let parameters = &runs[i % runs.len()].parameters;
                    instance(environment, input, parameters, &lengths, seed)
                        .doing(format!("rnn-context, {environment} {i}"))
                })?;
                let row = |(at, n): (usize, &usize)| {
                    let (mean, stderr) = mean_and_stderr(errors.iter().map(|e| e[at]));
                    MsveRow {
                        rnn_input: input_name.into(),
                        environment: environment.into(),
                        context_length: *n,
                        mean,
                        stderr,
                    }
                };
                let of_environment: Vec<MsveRow> = lengths.iter().enumerate().map(row).collect();
                if let [first, .., last] = of_environment.as_slice() {
                    findings.claims.push(claim(&format!("{label}, {title}"), first, last));
                }
                rows.extend(of_environment);
            }
        }
        records.put_csv("msve.csv", &rows)?;
        findings.results.insert("msve".into(), json!(rows));
        Ok(findings)
    }

    fn figures(records: &Records) -> Result<NamedFigures, Error> {
        let rows: Vec<MsveRow> = records.csv("msve.csv")?;
        let panel = |(environment, title): (&str, &str)| {
            let curve = |(_, _, input, label): (_, _, &str, &str)| {
                let of_curve = |r: &&MsveRow| r.environment == environment && r.rnn_input == input;
                let rows: Vec<_> = rows.iter().filter(of_curve).collect();
                Curve::with_stderr(
                    label,
                    rows.iter().map(|r| r.context_length as f64).collect(),
                    rows.iter().map(|r| r.mean).collect(),
                    &rows.iter().map(|r| r.stderr).collect::<Vec<_>>(),
                )
            };
            Panel::Curves(Curves {
                title: title.into(),
                x: Axis::linear("context length t"),
                y: Axis::from_zero("MSVE"),
                curves: INPUTS.into_iter().map(curve).collect(),
                ..Default::default()
            })
        };
        let figure = Figure {
            title: "The trained RNN against the length of its context".into(),
            subtitle: "value error, mean over instances with standard error".into(),
            panels: ENVIRONMENTS.into_iter().map(panel).collect(),
            columns: 2,
        };
        Ok(vec![("rnn-context".into(), figure)])
    }
}

/// The paper: the error increases with the context's length.
fn claim(title: &str, first: &MsveRow, last: &MsveRow) -> Claim {
    let joint = (first.stderr * first.stderr + last.stderr * last.stderr).sqrt();
    let rise = last.mean - first.mean;
    Claim {
        claim: format!("{title}: no policy evaluation in context"),
        paper: "MSVE increases with the context length".into(),
        measured: format!(
            "{:.3} ± {:.3} at length {}, {:.3} ± {:.3} at {}",
            first.mean,
            first.stderr,
            first.context_length,
            last.mean,
            last.stderr,
            last.context_length
        ),
        verdict: if rise > joint {
            Verdict::Holds
        } else if rise > -3.0 * joint {
            // It does not fall either: there is no policy evaluation.
            Verdict::HoldsInPart
        } else {
            Verdict::DoesNotHold
        },
    }
}

/// The errors of one instance at each context length, a fresh trajectory each.
fn instance(
    environment: &str,
    input: RnnInput,
    parameters: &[f32],
    lengths: &[usize],
    seed: u64,
) -> Result<Vec<f64>, ictd_core::Error> {
    const GAMMA: f32 = 0.9;
    let mut rng = Rng::new(seed);
    let task: Mrp<f32, RNN_DIM, STATES> = if environment == "loop" {
        let states = 5 + rng.below(11) as usize;
        let threshold = rng.uniform_in(0.1, 0.9);
        loop_mrp(states, threshold, GAMMA, &mut rng)?
    } else {
        boyan_chain(10, &mut rng)?
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
        Ok(f64::from(task.msve(&d, &v_hat, &v)))
    };
    lengths.iter().map(error).collect()
}
