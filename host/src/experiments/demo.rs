//! Figure 1: one transformer evaluates the policies of many tasks in context. The transformer is Theorem 1's, that of a file,
//! or each seed of a run.

use super::experiment::{Experiment, Measured, Runner};
use super::judging::{Judgement, of_seeds};
use super::measurements::{MeasurementTable, RunMeasurements};
use super::plots::{self, CurveSpec, FigureSpec, PanelSpec, means, medians};
use super::statistics::{mean_and_stderr, spread, with_error};
use crate::error::{Error, ToFile as _, WithContext as _};
use crate::formats::tasks;
use crate::model_file;
use crate::options;
use crate::run::report::number;
use crate::run::{Claim, Report, RunFiles, Session, Source, Verdict};
use compute::capacity::{FEW, STATES};
use compute::own_tasks::OwnTasks;
use compute::recipe::{NamedTask, Recipe, TaskMixture, check_discount};
use figures::{Axis, NamedFigures};
use ictd_core::rng::{Rng, RngStream};
use judge::estimator::{Estimator, Method};
use judge::value_error::{ContextSweep, ValueErrors, ValuePredictor, errors};
use serde::Serialize;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Figure 1: the value error of one fixed transformer falls as its context grows
///
/// Section 1, Figure 1, and App. "Experimental Details of Figure 1". A transformer of 15 layers
/// with Theorem 1's parameters, C_l = alpha I, evaluates tasks that it has never seen: each
/// transition streams into its context, and its value function is compared with the true one,
/// MSVE = sum_s d(s) (v_TF(s) - v(s))^2 with d the stationary distribution.
///
/// `--task mdp` is the paper's text: a random MDP under a random policy with random features (3 actions; the paper does not
/// state their number).
/// `--task loop --min-states 5 --max-states 15` is the authors' code (which uses TD itself in place of the transformer): Loop
/// MRPs with threshold ~ U(0.1, 0.9) and w* ~ N(0, I).
/// `--task boyan-representable` is Boyan's chain (Algorithm 3). In these three the value is representable; in
/// `--task boyan` (Algorithm 2) it is not.
///
/// `--model` uses another transformer: `universal`, or a trained one of d features; or all seeds of a run, shown as median and
/// quartiles next to the error of predicting 0.
#[derive(Clone, Debug, clap::Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Demo {
    /// Distribution of tasks with finitely many states: boyan, boyan-representable, mdp, loop (the paper: mdp); or FILE.npz,
    /// tasks of your own
    #[arg(long, default_value = "mdp", value_parser = finite_task)]
    #[serde(serialize_with = "as_text")]
    pub task: TaskMixture,
    /// How many tasks (the paper: 300)
    #[arg(long, default_value = "300", value_parser = options::integer(1..=1_000_000))]
    pub tasks: usize,
    /// Layers L of Theorem 1's parameters, or of a model whose layers share theirs [default: 15, as in the paper; the
    /// model's]
    #[arg(long, value_parser = options::integer(1..=1000))]
    pub layers: Option<usize>,
    /// Instead of Theorem 1's layers: `universal`, a stored model, .safetensors, data.npz, a run's folder (all
    /// of its seeds), or that of one of its seeds
    #[arg(long, value_name = "FILE|DIR")]
    pub model: Option<PathBuf>,
    /// Feature dimension d (the paper: 5)
    #[arg(long, default_value = "5", value_parser = options::integer(1..=FEW))]
    pub dim: usize,
    /// Fewest states of a task (the paper: 5)
    #[arg(long, default_value = "5", value_parser = options::integer(2..=STATES))]
    pub min_states: usize,
    /// Most states of a task (the paper: 10; the authors' code: 15)
    #[arg(long, default_value = "10", value_parser = options::integer(2..=STATES))]
    pub max_states: usize,
    /// Discount factor gamma (the paper: 0.9)
    #[arg(long, default_value = "0.9", value_parser = options::real(0.0..1.0))]
    pub gamma: f64,
    /// The learning rate alpha in C_l = alpha I (the authors' code: 0.2)
    #[arg(long, default_value = "0.2", value_parser = options::real(0.0..=100.0))]
    pub alpha: f64,
    /// Longest context (the authors' code: 39), unless the steps from 1 pass it over
    #[arg(long, default_value = "39", value_parser = options::integer(1..=1_000_000))]
    pub max_context: usize,
    /// Step between context lengths (the authors' code: 2)
    #[arg(long, default_value = "2", value_parser = options::integer(1..=1_000_000))]
    pub context_step: usize,
}

fn finite_task(name: &str) -> Result<TaskMixture, String> {
    if let Some(own) = OwnTasks::named(name) {
        return Ok(TaskMixture::Own(own));
    }
    let mut finite = NamedTask::all().filter(|task| task.states().is_some());
    let names: Vec<_> = finite.clone().map(|task| task.name()).collect();
    let found = finite.find(|task| task.name() == name).map(|task| TaskMixture::Named(vec![task]));
    found.ok_or_else(|| format!("expected one of {}, or FILE.npz", names.join(", ")))
}

fn as_text<S: serde::Serializer>(task: &TaskMixture, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(task)
}

impl Demo {
    fn lengths(&self) -> Vec<usize> {
        (1..=self.max_context).step_by(self.context_step).collect()
    }

    fn constructed(&self) -> ValuePredictor<'static> {
        let Demo { alpha, gamma, layers, .. } = *self;
        let (method, layers) =
            (Method::Constructed { alpha, trace_decay: 0.0 }, layers.unwrap_or(LAYERS));
        ValuePredictor::Estimator(Estimator { method, gamma, layers })
    }

    fn open(&self, path: &Path) -> Result<ValuePredictor<'static>, Error> {
        let model = model_file::streaming(path, self.dim, self.gamma, self.layers)?;
        model_file::check_discount(&model, self.gamma)?;
        Ok(ValuePredictor::Estimator(model))
    }

    /// Returns a seed for each task, so that threads can take tasks in any order, and all predictors see the same tasks.
    pub(super) fn seeds(&self, session: &Session) -> Vec<u64> {
        let mut seeds = Rng::stream(session.seed, RngStream::Tasks);
        (0..self.tasks).map(|_| seeds.next_u64()).collect()
    }

    pub(super) fn sweep(&self) -> ContextSweep {
        let Demo { task, dim, min_states, max_states, gamma, .. } = self.clone();
        let states = [min_states, max_states];
        ContextSweep { task, dim, states, gamma, lengths: self.lengths() }
    }

    fn errors(
        &self,
        predictor: &ValuePredictor,
        seeds: &[u64],
        label: &str,
        session: &Session,
    ) -> Result<Vec<ValueErrors>, Error> {
        let sweep = self.sweep();
        let of = self.task.own().map_or(label, |own| &own.place);
        session.map(label, seeds, |&seed| errors(&sweep, predictor, seed).context(of))
    }

    /// Records the mean errors of a trained seed over the tasks, with `METRIC zero` and `METRIC rewards`.
    pub(super) fn put_seed(
        &self,
        [run, metric]: [&str; 2],
        (seed, predictor): (u64, &ValuePredictor),
        seeds: &[u64],
        session: &Session,
        long: &mut MeasurementTable,
    ) -> Result<(), Error> {
        let found = self.errors(predictor, seeds, &format!("seed {seed}"), session)?;
        for (at, n) in self.lengths().into_iter().enumerate() {
            let mut put = |ending: &str, of: &dyn Fn(&ValueErrors) -> f64| {
                let (mean, _) = mean_and_stderr(found.iter().map(of));
                long.put(run, seed, &format!("{metric}{ending}"), n as f64, mean);
            };
            put("", &|errors| errors.at[at]);
            put(" zero", &|errors| errors.zero);
            put(" rewards", &|errors| errors.rewards[at]);
        }
        Ok(())
    }
}

const LAYERS: usize = 15;

const DEMO: &str = "demo";
const MSVE: &str = "msve";
pub(super) const TRAINED: &str = "trained";
pub(super) const ZERO: &str = "trained zero";

pub const ENTRY: Experiment = Experiment {
    id: "demo",
    figure: "Figure 1",
    figures,
    run: Runner::Fixed(|session| options::parsed::<Demo>("").run(session)),
};

impl Demo {
    pub fn run(&self, session: &Session) -> Result<Report, Error> {
        let demo = &self.with_tasks()?;
        demo.check()?;
        ENTRY.record(demo, session, |records| demo.measure(session, records))
    }

    /// Returns these options with the tasks of a file, which determine the features and may determine the discount.
    fn with_tasks(&self) -> Result<Self, Error> {
        if self.task.own().is_none() {
            return Ok(self.clone());
        }
        let recipe = Recipe { task: self.task.clone(), gamma: self.gamma, ..Recipe::default() };
        let Recipe { task, dim, gamma, .. } = tasks::load(recipe, None)?;
        let own = task.own().map(OwnTasks::mrps).transpose()?;
        let states = own.map_or(0, |own| own.states);
        let defaults = options::parsed::<Demo>("");
        // A default means that the option was not given.
        for (name, given, default, of_tasks) in [
            ("--dim", self.dim, defaults.dim, dim),
            ("--min-states", self.min_states, defaults.min_states, states),
            ("--max-states", self.max_states, defaults.max_states, states),
        ] {
            if ![default, of_tasks].contains(&given) {
                let reason = format!("{given}: expected {of_tasks}, as the tasks have");
                return Err(Error::option(name, reason));
            }
        }
        Ok(Demo { task, dim, gamma, ..self.clone() })
    }

    fn check(&self) -> Result<(), Error> {
        let Demo { min_states, max_states, .. } = self;
        if min_states > max_states {
            let reason = format!("{min_states} is more than --max-states {max_states}");
            return Err(Error::option("--min-states", reason));
        }
        check_discount("gamma", self.gamma)?;
        let is_given = self.alpha != options::parsed::<Demo>("").alpha;
        if let Some(model) = self.model.as_ref().filter(|_| is_given) {
            let reason = format!("cannot be used with --model: {} has its own", model.display());
            return Err(Error::option("--alpha", reason));
        }
        Ok(())
    }

    fn measure(&self, session: &Session, records: &mut RunFiles) -> Result<Measured, Error> {
        if let Some(own) = self.task.own() {
            records.put(tasks::FILE_NAME, tasks::to_bytes(own.read()?).to_file(&session.out)?);
        }
        let mut long = MeasurementTable::default();
        let seeds = self.model.as_deref().map_or(Ok(Vec::new()), model_file::seeds_of_run)?;
        let mut zero = f64::NAN;
        if let (Some(run), false) = (&self.model, seeds.is_empty()) {
            let open = |&seed: &u64| self.open(&model_file::seed_folder(run, seed));
            // Open all models before the first is evaluated.
            let models = seeds.iter().map(open).collect::<Result<Vec<_>, Error>>()?;
            let tasks = self.seeds(session);
            for (seed, model) in seeds.iter().zip(&models) {
                self.put_seed([DEMO, TRAINED], (*seed, model), &tasks, session, &mut long)?;
            }
        } else {
            let model = self.model.as_deref().map_or(Ok(self.constructed()), |m| self.open(m))?;
            let tasks = self.seeds(session);
            let found = self.errors(&model, &tasks, DEMO, session)?;
            for (&task, errors) in tasks.iter().zip(&found) {
                for (n, error) in self.lengths().into_iter().zip(&errors.at) {
                    long.put(DEMO, task, MSVE, n as f64, *error);
                }
            }
            zero = mean_and_stderr(found.iter().map(|errors| errors.zero)).0;
        }
        long.write(records)?;
        let of = long.of(DEMO);
        let metric = if seeds.is_empty() { MSVE } else { TRAINED };
        let at = |n: &usize| mean_and_stderr(of.values_at(metric, *n as f64).into_iter());
        let context_lengths = self.lengths();
        let means: Vec<_> = context_lengths.iter().map(at).collect();
        let longest = context_lengths.last().unwrap_or(&0);
        let claim = |(measured, verdict)| {
            let claim = format!("value error falls, context 1 to {longest}");
            Claim::new(claim, SOURCE, measured, verdict)
        };
        // A single length shows no change, and the paper claims nothing of a user's tasks.
        let claims = match means.as_slice() {
            _ if self.task.own().is_some() => Vec::new(),
            [first, .., last] if seeds.is_empty() => vec![claim(falls(*first, *last, zero))],
            [_, _, ..] => vec![claim(falls_in_seeds(of))],
            _ => Vec::new(),
        };
        let text = match (claims.is_empty(), means.as_slice()) {
            (true, [first, .., last]) => {
                let [first, last] = [*first, *last].map(with_error);
                format!("value error {first} at context 1, {last} at {longest}\n")
            }
            _ => String::new(),
        };
        // The curve of means over tasks, or over seeds.
        let (mean, stderr): (Vec<_>, Vec<_>) = means.into_iter().unzip();
        let results = json!({
            "context_lengths": context_lengths, "msve_mean": mean, "msve_stderr": stderr,
        });
        Ok(Measured { results, text, claims })
    }
}

const SOURCE: Source = Source::paper(
    "Section 1, Figure 1",
    "the value approximation error of this transformer drops when the context length t increases",
);

/// Tests whether the error, a mean with its standard error, falls by three standard errors (in part: by one) to below that of
/// predicting 0: the errors of divergent iterates may also fall, by chance.
pub fn falls(first: (f64, f64), last: (f64, f64), zero: f64) -> Judgement {
    let (fall, stderr) = (first.0 - last.0, libm::hypot(first.1, last.1));
    let below = last.0 < zero;
    let (ratio, change) =
        if last.0 > first.0 { (last.0 / first.0, "more") } else { (first.0 / last.0, "less") };
    let measured = format!(
        "{} to {}, {} times {change}, predicting 0 {}; needs less than it, by 3 stderr",
        with_error(first),
        with_error(last),
        number(ratio, 1),
        number(zero, 3)
    );
    let verdict = Verdict::graded(below && fall > 3.0 * stderr, below && fall > stderr);
    (measured, verdict.unless_unknown(stderr).unless_nan([fall]))
}

/// Tests whether the error of most seeds is less at the longest context than at the shortest, and less than that of
/// predicting 0.
pub fn falls_in_seeds(of: RunMeasurements) -> Judgement {
    let places = of.places(TRAINED);
    let [short, long] = [places.first(), places.last()].map(|n| n.copied().unwrap_or(f64::NAN));
    let at = |metric, n| of.values_at(metric, n);
    let (first, last, zero) = (at(TRAINED, short), at(TRAINED, long), at(ZERO, long));
    let over_zero = |of: &[f64]| {
        spread(&of.iter().zip(&zero).map(|(error, zero)| error / zero).collect::<Vec<_>>())
    };
    let falls = first.iter().zip(&last).zip(&zero);
    let (falling, verdict) =
        of_seeds(falls.map(|((first, last), zero)| last < first && last < zero));
    let measured = format!(
        "over that of predicting 0: {} at {short}, {} at {long}; falls to below 1 in {falling}",
        over_zero(&first),
        over_zero(&last)
    );
    (measured, verdict)
}

pub(super) const fn plot(
    title: &'static str,
    y: fn() -> Axis,
    curves: &'static [CurveSpec],
) -> PanelSpec {
    PanelSpec { title, x: || Axis::linear("context length t"), y, curves }
}

fn figures(records: &RunFiles) -> Result<NamedFigures, Error> {
    const OF_TASKS: FigureSpec = FigureSpec::Plots(
        DEMO,
        "Policy evaluation in context",
        "value error of one fixed transformer, mean over tasks with standard error",
        &[plot("", || Axis::from_zero("MSVE"), &[means("", DEMO, MSVE)])],
        1,
    );
    const OF_SEEDS: FigureSpec = FigureSpec::Plots(
        DEMO,
        "Policy evaluation in context, by trained transformers",
        "value error, mean over tasks; median over trained seeds with quartiles",
        &[plot(
            "",
            || Axis::log("MSVE"),
            &[medians("trained", DEMO, TRAINED), medians("predicting 0", DEMO, ZERO).dashed()],
        )],
        1,
    );
    let of_tasks = MeasurementTable::read(records)?.of(DEMO).places(TRAINED).is_empty();
    plots::figures(&[if of_tasks { OF_TASKS } else { OF_SEEDS }], &[], records)
}
