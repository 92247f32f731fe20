//! Figure 1: one transformer evaluates the policies of many tasks in context.

mod seeds;
mod task;

pub use seeds::{SEEDS_CAPTION, SeedRow, claim_of_seeds, curves_of_seeds};
pub use task::errors_at;

use super::experiment::{Entry, Experiment, Measured, Run, run};
use super::panels;
use super::statistics::mean_and_stderr;
use crate::dimension::{self, for_dimension};
use crate::error::{Doing, Error};
use crate::model_file::{self, StreamingModel};
use crate::options;
use crate::run::records::Records;
use crate::run::report::{Claim, Verdict, number};
use crate::run::session::Session;
use figures::{Axis, Curves, NamedFigures};
use ictd_core::rng::{Rng, Stream};
use ictd_core::tasks;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use task::{OneTask, STATES, one_task};

/// Figure 1: the value error of one fixed transformer falls as its context grows
///
/// Section 1, Figure 1, and App. "Experimental Details of Figure 1". A transformer of 15 layers
/// with Theorem 1's parameters, C_l = alpha I, evaluates tasks that it has never seen: each
/// transition streams into its context, and its value function is compared with the true one,
/// MSVE = sum_s d(s) (v_TF(s) - v(s))^2 with d the stationary distribution.
///
/// `--task mdp` is the paper's text: a random MDP under a random policy with random features.
/// `--task loop --min-states 5 --max-states 15` is what the authors' code runs (with TD itself in
/// the transformer's place): Loop MRPs with threshold ~ U(0.1, 0.9) and w* ~ N(0, I).
/// `--task boyan` is Boyan's chain (Algorithm 3). In all of them the value is representable.
///
/// `--model` puts another transformer in its place: `universal`, or a trained one of d features; or all seeds of
/// a run, whose median is shown with its quartiles, beside predicting 0.
#[derive(Clone, Debug, clap::Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Demo {
    /// The distribution of tasks
    #[arg(long, value_enum, default_value = "mdp")]
    pub task: TaskKind,
    /// How many tasks (the paper: 300)
    #[arg(long, default_value = "300", value_parser = options::integer(1..=1_000_000))]
    pub tasks: usize,
    /// Layers L (the paper: 15)
    #[arg(long, default_value = "15", value_parser = options::integer(1..=1000))]
    pub layers: usize,
    /// Instead of Theorem 1's layers: `universal`, a stored model, .safetensors, data.npz, a run's folder (all
    /// of its seeds), or that of one of its seeds
    #[arg(long, value_name = "FILE|DIR")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<PathBuf>,
    /// Feature dimension d (the paper: 5)
    #[arg(long, default_value = "5", value_parser = options::one_of(dimension::FEW))]
    pub dim: usize,
    /// Fewest states of a task (the paper: 5)
    #[arg(long, default_value = "5", value_parser = options::integer(2..=STATES))]
    pub min_states: usize,
    /// Most states of a task (the paper: 10; the authors' code: 15)
    #[arg(long, default_value = "10", value_parser = options::integer(2..=STATES))]
    pub max_states: usize,
    /// Actions of a random MDP; the paper does not say how many
    #[arg(long, default_value = "3", value_parser = options::integer(1..=tasks::MAX_ACTIONS))]
    pub actions: usize,
    /// Discount factor gamma (the paper: 0.9)
    #[arg(long, default_value = "0.9", value_parser = options::real(0.0..1.0))]
    pub gamma: f64,
    /// The learning rate alpha in C_l = alpha I (the authors' code: 0.2)
    #[arg(long, default_value = "0.2", value_parser = options::real(0.0..=100.0))]
    pub alpha: f64,
    /// Shortest context (the authors' code: 1)
    #[arg(long, default_value = "1", value_parser = options::integer(1..=1_000_000))]
    pub min_context: usize,
    /// Longest context (the authors' code: 39)
    #[arg(long, default_value = "39", value_parser = options::integer(1..=1_000_000))]
    pub max_context: usize,
    /// Step between context lengths (the authors' code: 2)
    #[arg(long, default_value = "2", value_parser = options::integer(1..=1_000_000))]
    pub context_step: usize,
    /// A fresh trajectory for each context length, as in the authors' code, or one that grows
    #[arg(long, value_enum, default_value = "fresh")]
    pub trajectory: Trajectory,
}

/// The distribution that tasks are drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskKind {
    /// A random MDP under a random policy (the paper's text)
    Mdp,
    /// The Loop MRP of the authors' code
    Loop,
    /// Boyan's chain with a representable value function (Algorithm 3)
    Boyan,
}

/// Where the contexts of a task come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trajectory {
    /// A new trajectory for each context length
    Fresh,
    /// One trajectory, evaluated as it grows
    Growing,
}

/// One row of `tasks.csv`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TaskRow {
    /// Index of the task.
    pub task: usize,
    /// Its number of states.
    pub states: usize,
    /// Context length n.
    pub context_length: usize,
    /// The transformer's mean squared value error.
    pub msve: f64,
}

/// One row of `msve.csv`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MeanRow {
    /// Context length n.
    pub context_length: usize,
    /// Mean over tasks.
    pub mean: f64,
    /// Its standard error.
    pub stderr: f64,
}

/// Whose values are judged.
pub enum Method {
    /// Theorem 1's layers.
    Constructed,
    /// A model from a file.
    Model(StreamingModel),
}

impl Demo {
    fn open(&self, path: &Path) -> Result<StreamingModel, Error> {
        model_file::streaming(path, self.dim, self.gamma)
    }

    /// What a method gives on each task. Tasks have seeds of their own, so that threads can take them in any order,
    /// and all methods see the same.
    ///
    /// # Errors
    /// The core's; [`Error::Interrupted`].
    pub(super) fn errors(
        &self,
        method: &Method,
        label: &str,
        session: &Session,
    ) -> Result<Vec<OneTask>, Error> {
        let mut seeds = Rng::stream(session.seed, Stream::Tasks);
        let tasks: Vec<_> = (0..self.tasks).map(|i| (i, seeds.next_u64())).collect();
        session.map(label, &tasks, |&(index, seed)| {
            let task = for_dimension!(few self.dim, one_task(self, method, index, seed));
            task.unwrap_or(Ok(OneTask::default())).doing(format!("{label}, task {index}"))
        })
    }

    /// The mean of numbers at each context length.
    pub(super) fn means<I: Iterator<Item = f64> + Clone>(
        &self,
        at: impl Fn(usize) -> I,
    ) -> Vec<MeanRow> {
        let of_length = |context_length| {
            let (mean, stderr) = mean_and_stderr(at(context_length));
            MeanRow { context_length, mean, stderr }
        };
        self.context_lengths().into_iter().map(of_length).collect()
    }

    fn context_lengths(&self) -> Vec<usize> {
        (self.min_context..=self.max_context).step_by(self.context_step).collect()
    }
}

/// The curve of [`MeanRow`]s.
#[derive(Serialize)]
pub struct Found {
    context_lengths: Vec<usize>,
    msve_mean: Vec<f64>,
    msve_stderr: Vec<f64>,
}

impl Experiment for Demo {
    const ENTRY: Entry = Entry {
        id: "demo",
        figure: "Figure 1",
        figures,
        run: Run::Fixed(|session| run(&options::parsed::<Demo>(""), session)),
    };

    type Found = Found;

    fn check(&self) -> Result<(), Error> {
        let Demo { min_states, max_states, min_context, max_context, .. } = self;
        let defaults = options::parsed::<Demo>("");
        if min_states > max_states {
            let reason = format!("{min_states} is more than --max-states {max_states}");
            return Err(Error::option("--min-states", reason));
        }
        if self.task != TaskKind::Mdp && self.actions != defaults.actions {
            let reason = format!("{}: accepted with --task mdp", self.actions);
            return Err(Error::option("--actions", reason));
        }
        if let Some(model) = &self.model {
            let reason = format!("accepted without --model; {} has its own", model.display());
            if self.layers != defaults.layers {
                return Err(Error::option("--layers", reason));
            }
            if self.alpha != defaults.alpha {
                return Err(Error::option("--alpha", reason));
            }
        }
        if min_context > max_context {
            let reason = format!("{min_context} is more than --max-context {max_context}");
            return Err(Error::option("--min-context", reason));
        }
        Ok(())
    }

    fn measure(&self, session: &Session, records: &mut Records) -> Measured<Found> {
        let method = match &self.model {
            None => Method::Constructed,
            Some(source) => match model_file::seeds_of_run(source)?.as_slice() {
                [] => Method::Model(self.open(source)?),
                seeds => return self.measure_run(source, seeds, session, records),
            },
        };
        let per_task = self.errors(&method, "demo", session)?;
        let (of_zero, _) = mean_and_stderr(per_task.iter().map(|task| task.of_zero));
        let means = self.means(|n| errors_at(&per_task, n));
        let rows: Vec<TaskRow> = per_task.into_iter().flat_map(|task| task.rows).collect();
        records.put_csv("tasks.csv", &rows)?;
        records.put_csv("msve.csv", &means)?;

        let mut claims = Vec::new();
        if let [first, .., last] = means.as_slice() {
            let (short, long) = (first.context_length, last.context_length);
            let (ratio, change) = if last.mean > first.mean {
                (last.mean / first.mean, "more")
            } else {
                (first.mean / last.mean, "less")
            };
            let measured = format!(
                "{} ± {} to {} ± {}, {} times {change}",
                number(first.mean, 3),
                number(first.stderr, 3),
                number(last.mean, 3),
                number(last.stderr, 3),
                number(ratio, 1)
            );
            let measured = format!(
                "{measured}, predicting 0 {}; needs less than it, by 3 stderr",
                number(of_zero, 3)
            );
            let claim = format!("value error falls, context {short} to {long}");
            let verdict = falls(first, last, of_zero);
            claims.push(Claim::new(claim, "MSVE drops with the context length", measured, verdict));
        }
        Ok((Found::new(&means), claims))
    }
}

impl Found {
    fn new(means: &[MeanRow]) -> Self {
        Found {
            context_lengths: means.iter().map(|r| r.context_length).collect(),
            msve_mean: means.iter().map(|r| r.mean).collect(),
            msve_stderr: means.iter().map(|r| r.stderr).collect(),
        }
    }
}

fn figures(records: &Records) -> Result<NamedFigures, Error> {
    if records.has("seeds.csv") {
        let panel = Curves {
            x: Axis::linear("context length t"),
            y: Axis::log("MSVE"),
            curves: curves_of_seeds("trained", &records.csv::<SeedRow>("seeds.csv")?),
            ..Default::default()
        };
        let title = "Policy evaluation in context, by trained transformers";
        return Ok(vec![("demo".into(), panels::single(title, SEEDS_CAPTION, panel))]);
    }
    let rows: Vec<MeanRow> = records.csv("msve.csv")?;
    let points = rows.iter().map(|r| (r.context_length as f64, r.mean, r.stderr));
    let panel = Curves {
        x: Axis::linear("context length t"),
        y: Axis::from_zero("MSVE"),
        curves: vec![panels::curve("", points)],
        ..Default::default()
    };
    let title = "Policy evaluation in context";
    let subtitle = "value error of one fixed transformer, mean over tasks with standard error";
    Ok(vec![("demo".into(), panels::single(title, subtitle, panel))])
}

/// Whether the error falls, by three standard errors, to below that of predicting 0: iterates that diverge may
/// also fall, by chance. In part by one: too few tasks leave it open.
pub fn falls(first: &MeanRow, last: &MeanRow, of_zero: f64) -> Verdict {
    let (fall, stderr) = (first.mean - last.mean, libm::hypot(first.stderr, last.stderr));
    let below = last.mean < of_zero;
    Verdict::graded(below && fall > 3.0 * stderr, below && fall > stderr)
}
