//! `ictd import`: makes a run of parameters that were trained elsewhere.

use crate::error::{Error, Problem, WithContext};
use crate::experiments::learning::put_curves;
use crate::experiments::statistics::mean_and_stderr;
use crate::experiments::{Experiment, Measured, MeasurementTable, plots};
use crate::files::{self, Kind};
use crate::formats::safetensors;
use crate::formats::seed_run::{DATA_FILE, log_point};
use crate::model_file::{self, AnyModel, PARAMETERS_FILE, Typed};
use crate::options::{self, Word as _};
use crate::run::{Report, RunFiles, Session, report};
use compute::capacity::DIM;
use compute::log::{ELEMENTS, LogPoint, SeedRun};
use figures::{Figure, NamedFigures, Panel};
use ictd_core::metrics::BatchTdComparison;
use judge::estimator::Method;
use judge::measure::{CONTEXT, STATES, against_batch_td};
use judge::parameters::MAX_STORED_LAYERS;
use judge::stored;
use serde::Serialize;
use serde_json::{Map, json};
use std::path::{Path, PathBuf};

const RUN: &str = "import";

const MODEL_FILE: &str = "model.ictd";

/// Limit of the multiplications of a task's comparison: some hundredths of a second.
const WORK: usize = 50_000_000;

/// Import P and Q that were trained elsewhere: metrics, figures, a stored model for firmware
///
/// FILE is a `.safetensors` file (tensors `attn.P`, `attn.Q`, or `layers.0.P`, ..., or `P`, `Q`), the `data.npz` of the
/// authors' training code (with `params.json` in the same folder), any `.npz` with arrays P and Q of shape (2d+1, 2d+1), (L,
/// 2d+1, 2d+1) or (T, L, 2d+1, 2d+1), a stored model, the folder of a run (--seed chooses the seed), or that of a
/// seed. In a folder, `data.npz` is preferred, because its log contains alpha. What the file does not state must be
/// given by options.
///
/// The command writes parameters.safetensors, model.ictd (f32, for firmware), records.csv (the element-wise metrics of every
/// log point, P and Q), and comparison.csv: VD, IWS and SS, compared with batch TD with as many iterations as layers, on
/// --tasks new Boyan's chains, in f64.
#[derive(Clone, Debug, clap::Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Import {
    /// The parameters
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    #[command(flatten)]
    #[serde(flatten)]
    pub typed: Typed,
    /// Learning rate of batch TD [default: alpha at the file's last log point; 1 without a log]
    #[arg(long, value_parser = options::real(0.0..))]
    pub alpha: Option<f64>,
    /// Context length of the tasks [default: the file's n, else 30]
    #[arg(long, value_parser = options::integer(1..=CONTEXT))]
    pub context: Option<usize>,
    /// States of the tasks
    #[arg(long, default_value = "10", value_parser = options::integer(2..=STATES))]
    pub states: usize,
    /// Tasks to compare on: Boyan's chains of seeds SEED, SEED + 1, ...
    #[arg(long, default_value = "100", value_parser = options::integer(1..=1_000_000))]
    pub tasks: usize,
}

pub(crate) const ENTRY: Experiment = Experiment::by_command(
    RUN,
    "App. Element-wise Convergence Metrics, of imported parameters",
    figures,
);

pub fn run(options: &Import, session: &Session) -> Result<Report, Error> {
    ENTRY.refuse_inside(session, &options.file)?;
    ENTRY.record(options, session, |records| options.measure(session, records))
}

impl Import {
    fn measure(&self, session: &Session, records: &mut RunFiles) -> Result<Measured, Error> {
        let folder = model_file::seed_of_run(&self.file, session.seed)?;
        let log = folder.join(DATA_FILE);
        // The log has alpha and all points; the final parameters are the same.
        let file = if files::kind(&log) == Kind::File { &log } else { &folder };
        let AnyModel::Dense(parameters, log) = model_file::open(file, None)? else {
            return Err(Error::file(file, "the universal model; expected P and Q"));
        };
        let d = parameters.feature_dimension();
        if d > DIM {
            return Err(Error::file(file, format!("d = {d}; expected 1 to {DIM}")));
        }
        let context = self.context.or(parameters.context_length).unwrap_or(30);
        if context > CONTEXT {
            let reason = format!("{context} in the file; expected 1 to {CONTEXT}");
            return Err(Error::option("--context", reason));
        }
        let alpha = self.alpha.map_or_else(|| logged_alpha(file, &log), Ok)?;
        let estimator = self.typed.complete(*parameters)?;
        let (gamma, depth) = (estimator.gamma, estimator.layers);
        // Each task's iterations run over its transitions.
        let cost = (2 * d + 1).pow(3) + 64 * context;
        model_file::check_depth("--layers", depth, cost, [WORK, MAX_STORED_LAYERS])?;
        let stored = stored::to_bytes(&estimator).context("the model")?;
        let seeds = session.seeds(self.tasks);
        let comparisons = session.map("import", &seeds, |&seed| {
            against_batch_td(&estimator, alpha, [context, self.states], seed)
                .context("the comparison with batch TD")
        })?;
        let Method::Trained { mut parameters, attention } = estimator.method else {
            return Err(Error::file(file, "expected P and Q"));
        };

        let points = match log {
            log if log.is_empty() => vec![log_point(0, f64::NAN, &parameters.layers)],
            log => log,
        };
        (parameters.depth, parameters.attention) = (Some(depth), Some(attention));
        parameters.gamma = Some(gamma);
        records.put(PARAMETERS_FILE, safetensors::to_bytes(&parameters));
        records.put(MODEL_FILE, stored);
        let last = points.last().into_iter().flat_map(|point| &point.layers);
        let elements: Vec<_> = last.map(|layer| layer.element).collect();
        let (seed, token_size, digest) = (session.seed, parameters.token_size, String::new());
        let run = SeedRun { seed, digest, token_size, parameters: Vec::new(), points };
        let mut long = MeasurementTable::default();
        put_curves(RUN, &[run], &mut long);
        long.write(records)?;
        let rows = seeds.iter().zip(&comparisons).map(|(seed, c)| (seed, c.vd, c.iws, c.ss));
        records.put_table("comparison.csv", &["seed", "vd", "iws", "ss"], rows)?;

        let mut results = Map::new();
        let number = |x: f64| if x.is_finite() { report::number(x, 4) } else { "—".to_owned() };
        let mut metrics = Vec::new();
        let of = |c: &BatchTdComparison<f64>| [c.vd, c.iws, c.ss];
        for (i, name) in ["vd", "iws", "ss"].into_iter().enumerate() {
            let (mean, stderr) = mean_and_stderr(comparisons.iter().map(|c| of(c)[i]));
            results.insert(name.into(), json!({ "mean": mean, "stderr": stderr }));
            metrics.push([name.to_uppercase(), number(mean), number(stderr)]);
        }
        let head = [&["layer"][..], &ELEMENTS.map(|metric| metric.label)].concat();
        let rows = elements.iter().enumerate().map(|(l, element)| {
            let numbers = ELEMENTS.iter().map(|metric| number((metric.of)(element)));
            std::iter::once(l.to_string()).chain(numbers).collect::<Vec<_>>()
        });
        let said = json!({
            "attention": attention.word(),
            "layer_sharing": parameters.layer_sharing.word(),
            "layers": depth,
            "dimension": d,
            "gamma": gamma,
            "trace_decay": parameters.trace_decay,
            "alpha": alpha,
            "context": context,
        });
        let lines = report::lines(&said);
        results.extend(said.as_object().cloned().unwrap_or_default());
        results.insert("elements".into(), json!(elements));
        let text = format!(
            "{lines}\n{}\nagainst batch TD(lambda), on tasks not trained on\n{}",
            report::table(&head, rows),
            report::table(&["metric", "mean", "standard error"], metrics)
        );
        Ok(Measured { results: results.into(), text, claims: Vec::new() })
    }
}

fn figures(records: &RunFiles) -> Result<NamedFigures, Error> {
    let long = MeasurementTable::read(records)?;
    let of = long.of(RUN);
    let (mut of_parameters, mut of_elements) = (Vec::new(), Vec::new());
    for l in 0..plots::layers(of) {
        let [p, q, p_elements, q_elements] = plots::layer_row(of, l)?;
        of_parameters.extend([p, q]);
        of_elements.extend([p_elements, q_elements]);
    }
    let figure = |title: &str, subtitle: &str, panels: Vec<Panel>| Figure {
        title: title.into(),
        subtitle: subtitle.into(),
        columns: if panels.len() > 2 { 4 } else { 2 },
        panels,
    };
    let aligned = "sign-aligned, divided by the largest absolute entry";
    let parameters = figure("Imported parameters", aligned, of_parameters);
    let mut figures = vec![("parameters".into(), parameters)];
    if plots::times(of)?.len() > 1 {
        let title = "Element-wise metrics over training";
        figures.push(("elements".into(), figure(title, "sign-aligned, unscaled", of_elements)));
    }
    Ok(figures)
}

/// Returns the learning rate of the batch-TD reference transformer that was trained alongside; 1 if no log has it.
fn logged_alpha(file: &Path, log: &[LogPoint]) -> Result<f64, Error> {
    match log.last().map_or(f64::NAN, |point| point.alpha) {
        // A log without alpha is read as NaN.
        alpha if alpha.is_nan() => Ok(1.0),
        alpha if (0.0..f64::INFINITY).contains(&alpha) => Ok(alpha),
        alpha => {
            let expected = "a finite number of at least 0, or --alpha";
            Err(Problem::array("alpha", alpha, expected).in_file(file))
        }
    }
}
