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
use figures::{Axis, Curves, Figure, NamedFigures, Panel};
use ictd_core::rng::{Rng, Stream};
use ictd_core::tasks::{Mrp, Task as _, boyan_chain, loop_mrp};
use nalgebra::SVector;
use serde::{Deserialize, Serialize};

const STATES: usize = 16;

/// App. "Multi-task TD with Deep RNN": the RNN's value error against the context's length
///
/// The experiment of Figure 1 with the trained RNN, on 500 Loop MRPs (5 to 15 states, value
/// representable, as in the authors' demo) and 500 Boyan chains (10 states); instances are shared out
/// among the seeds.
///
/// For two readings of the paper's RNN: its layers pass their new state up, as in every framework; or
/// their previous one, as the paper's formula has it, so that three layers never see the query.
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

/// The readings: the options of their runs, the runs' names, and what records and claims call them.
const INPUTS: [(&str, &str, &str, &str); 2] = [
    ("--model rnn", "rnn", "current", "RNN"),
    ("--model rnn --rnn-input delayed", "rnn-delayed", "delayed", "delayed RNN"),
];

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
        for (typed, name, input, label) in INPUTS {
            let options = self.scale.apply(parse::parsed(typed));
            let runs = trained(name, &options, session)?;
            for (environment, title) in ENVIRONMENTS {
                let mut seeds = Rng::stream(session.seed, Stream::Tasks);
                let tasks: Vec<_> = (0..self.tasks).map(|i| (i, seeds.next_u64())).collect();
                let errors = session.map(environment, &tasks, |&(i, seed)| {
                    let parameters = &runs[i % runs.len()].parameters;
                    instance(environment, options.recipe.rnn_input, parameters, &lengths, seed)
                        .doing(format!("rnn-context, {environment} {i}"))
                })?;
                let row = |(at, n): (usize, &usize)| {
                    let (mean, stderr) = mean_and_stderr(errors.iter().map(|e| e[at]));
                    MsveRow {
                        rnn_input: input.into(),
                        environment: environment.into(),
                        context_length: *n,
                        mean,
                        stderr,
                    }
                };
                let of_environment: Vec<MsveRow> = lengths.iter().enumerate().map(row).collect();
                if let [first, .., last] = of_environment.as_slice() {
                    claims.push(claim(&format!("{label}, {title}"), first, last));
                }
                msve.extend(of_environment);
            }
        }
        records.put_csv("msve.csv", &msve)?;
        Ok((Found { msve }, claims))
    }
}

fn figures(records: &Records) -> Result<NamedFigures, Error> {
    let rows: Vec<MsveRow> = records.csv("msve.csv")?;
    let panel = |(environment, title): (&str, &str)| {
        let curve = |(_, _, input, label): (&str, &str, &str, &str)| {
            let of_curve = |r: &&MsveRow| r.environment == environment && r.rnn_input == input;
            let points = rows.iter().filter(of_curve);
            panels::curve(label, points.map(|r| (r.context_length as f64, r.mean, r.stderr)))
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

/// The paper: the error increases with the context's length. On the chains that the RNN was trained on it
/// falls: not by policy evaluation, as the one whose layers are delayed, and which never sees the query,
/// does the same.
fn claim(title: &str, first: &MsveRow, last: &MsveRow) -> Claim {
    let joint = (first.stderr * first.stderr + last.stderr * last.stderr).sqrt();
    let rise = last.mean - first.mean;
    let measured = format!(
        "{:.3} ± {:.3} at length {}, {:.3} ± {:.3} at {}",
        first.mean, first.stderr, first.context_length, last.mean, last.stderr, last.context_length
    );
    let verdict = if rise > joint {
        Verdict::Holds
    } else if rise > -3.0 * joint {
        // It does not fall either: there is no policy evaluation.
        Verdict::HoldsInPart
    } else {
        Verdict::DoesNotHold
    };
    let paper = "MSVE increases with the context length";
    let claim =
        Claim::new(format!("{title}: no policy evaluation in context"), paper, measured, verdict);
    let trained_on = first.environment == "boyan";
    Claim { expected: if trained_on { Verdict::DoesNotHold } else { Verdict::Holds }, ..claim }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_goes_with_the_rise() {
        let row = |mean, stderr| MsveRow {
            rnn_input: "current".into(),
            environment: "loop".into(),
            context_length: 1,
            mean,
            stderr,
        };
        for (last, expected) in
            [(2.0, Verdict::Holds), (1.0, Verdict::HoldsInPart), (0.2, Verdict::DoesNotHold)]
        {
            assert_eq!(claim("RNN", &row(1.0, 0.1), &row(last, 0.1)).verdict, expected);
        }
    }
}
