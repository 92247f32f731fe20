//! `ictd import`: parameters that were trained elsewhere become a run.

use crate::error::{Doing, Error, Problem};
use crate::experiments::experiment::{self, Entry, Measured, Run};
use crate::experiments::learning::put_curves;
use crate::experiments::panels::{CurveRecords, MatrixRecords};
use crate::experiments::statistics::mean_and_stderr;
use crate::files::{self, Kind};
use crate::formats::parameters::{Attention, LayerParameters, Mode, Parameters};
use crate::formats::safetensors;
use crate::formats::seed_run::DATA_FILE;
use crate::model_file::{self, MAX_STORED_LAYERS, ModelFile, PARAMETERS_FILE};
use crate::options::{self, typed};
use crate::run::records::Records;
use crate::run::report::{self, Report};
use crate::run::session::Session;
use compute::estimator::MAX_FEATURES;
use compute::log::{ELEMENTS, Element, Point, SeedRun};
use compute::measure::{CONTEXT, STATES, Settings, against_batch_td, matrices};
use figures::{Figure, NamedFigures, Panel};
use ictd_core::metrics::Comparison;
use serde::Serialize;
use serde_json::json;
use std::path::{Path, PathBuf};

/// The run's name in its records.
const RUN: &str = "import";

/// The name of the stored model in the run's folder.
const MODEL_FILE: &str = "model.ictd";

/// Multiplications of a task's comparison: some hundredths of a second.
const WORK: usize = 50_000_000;

/// Take P and Q that were trained elsewhere: metrics, figures, a stored model for firmware
///
/// FILE is a `.safetensors` file (tensors `attn.P`, `attn.Q`, or `layers.0.P`, ..., or `P`, `Q`), the
/// `data.npz` of the authors' training code (with its `params.json` beside it), any `.npz` with arrays
/// P and Q of shape (2d+1, 2d+1), (L, 2d+1, 2d+1) or (T, L, 2d+1, 2d+1), a stored model, the folder of
/// a run (its seed --seed is taken), or that of a seed. Of a folder the `data.npz` is read, if there is
/// one: its log says alpha. What the file does not say must be given by options.
///
/// Written are parameters.safetensors, model.ictd (f32, for firmware), curves.csv and matrices.csv (the
/// element-wise metrics of every log point, P and Q), and comparison.csv: VD, IWS and SS against batch TD with as many iterations as layers, on --tasks
/// Boyan's chains that nothing was trained on, in f64.
#[derive(Clone, Debug, clap::Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Import {
    /// The parameters
    #[arg(value_name = "FILE", required_unless_present = "file")]
    #[serde(skip)]
    pub path: Option<PathBuf>,
    /// The parameters, as an option (for config files)
    #[arg(long, value_name = "FILE", hide = true, conflicts_with = "path")]
    pub file: Option<PathBuf>,
    /// The log point of a data.npz, from 0 [default: the last]
    #[arg(long, value_name = "INDEX", value_parser = options::integer(0..=usize::MAX))]
    pub log_point: Option<usize>,
    /// Layers L [default: the file's]
    #[arg(long, value_parser = options::integer(1..=65_535))]
    pub layers: Option<usize>,
    /// Discount factor gamma [default: the file's]
    #[arg(long, value_parser = options::real(0.0..1.0))]
    pub gamma: Option<f64>,
    /// Attention [default: the file's]
    #[arg(long, value_parser = options::word::<Attention>("attention"))]
    pub attention: Option<Attention>,
    /// Learning rate of batch TD [default: alpha at the file's log point; 1 without a log]
    #[arg(long, value_parser = options::real(0.0..))]
    pub alpha: Option<f64>,
    /// Context length of the tasks [default: the file's n; 30 if it does not say]
    #[arg(long, value_parser = options::integer(1..=CONTEXT))]
    pub context: Option<usize>,
    /// States of the tasks
    #[arg(long, default_value = "10", value_parser = options::integer(2..=STATES))]
    pub states: usize,
    /// Tasks to compare on: Boyan's chains of seeds SEED, SEED + 1, ...
    #[arg(long, default_value = "100", value_parser = options::integer(1..=1_000_000))]
    pub tasks: usize,
}

/// The findings.
#[derive(Debug, Serialize)]
pub struct Found {
    dimension: usize,
    layers: usize,
    mode: String,
    attention: String,
    gamma: f64,
    /// If it is not 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    lambda: Option<f64>,
    alpha: f64,
    context: usize,
    /// At the chosen log point.
    elements: Vec<Element>,
    vd: Spread,
    iws: Spread,
    ss: Spread,
}

/// A metric over the tasks.
#[derive(Debug, Serialize)]
struct Spread {
    mean: f64,
    stderr: f64,
}

/// The description of its runs.
pub(crate) const ENTRY: Entry = Entry {
    id: RUN,
    figure: "App. Element-wise Convergence Metrics, of imported parameters",
    figures,
    run: Run::ByCommand,
};

/// Runs the command.
pub fn run(options: &Import, session: &Session) -> Result<Report, Error> {
    let file = options.path.clone().or(options.file.clone());
    let options = Import { file, ..options.clone() };
    experiment::run(&ENTRY, &options, session, |records| options.measure(session, records))
}

impl Import {
    fn measure(&self, session: &Session, records: &mut Records) -> Result<Measured, Error> {
        let missing = |option, accepted: &str| {
            Error::option(option, format!("the file does not say; accepted is {accepted}"))
        };
        let file = self.file.as_deref().ok_or_else(|| {
            Error::option("FILE", "accepted is a .safetensors, .npz or stored model file")
        })?;
        let folder = model_file::seed_of_run(file, session.seed)?;
        let log = folder.join(DATA_FILE);
        // The log says alpha, and all its points; the final parameters are the same.
        let file = if files::kind(&log) == Kind::File { &log } else { &folder };
        let model = model_file::open(file, self.log_point)?;
        if model.parameters.prior_count.is_some() {
            let reason =
                "reads contexts without units; accepted by `ictd evaluate` and `ictd export`";
            return Err(Error::file(file, reason));
        }
        let mut parameters = model.parameters.clone();
        let d = parameters.feature_dimension();
        let settings = Settings {
            parameters: &model.parameters,
            attention: model_file::attention(self.attention, parameters.attention)?,
            depth: self.depth(&parameters, &missing)?,
            gamma: (self.gamma.or(parameters.gamma))
                .ok_or_else(|| missing("--gamma", "a number in [0, 1)"))?,
            alpha: self.alpha.map_or_else(|| logged_alpha(file, &model), Ok)?,
            context: self.context.or(parameters.context_length).unwrap_or(30),
            states: self.states,
        };
        if settings.context > CONTEXT {
            let reason = format!("{} in the file; accepted is 1 to {CONTEXT}", settings.context);
            return Err(Error::option("--context", reason));
        }
        // Each task's iterations run over its transitions.
        let layers = (settings.depth, d, 64 * settings.context);
        model_file::check_depth("--layers", layers, WORK)?;
        if d > MAX_FEATURES {
            return Err(Error::file(file, format!("d = {d}; accepted is 1 to {MAX_FEATURES}")));
        }
        let Settings { depth, attention, gamma, .. } = settings;
        let stored = model_file::to_bytes(&parameters, depth, attention, gamma)?;
        let seeds: Vec<u64> =
            (0..self.tasks as u64).map(|i| session.seed.wrapping_add(i)).collect();
        let comparisons = session.map("import", &seeds, |&seed| {
            against_batch_td(&settings, seed).doing("the comparison with batch TD")
        })?;

        parameters.depth = Some(settings.depth);
        parameters.attention = Some(settings.attention);
        parameters.gamma = Some(settings.gamma);
        records.put(PARAMETERS_FILE, safetensors::to_bytes(&parameters));
        records.put(MODEL_FILE, stored);
        let points = log_points(&model);
        let elements: Vec<_> =
            points.last().into_iter().flat_map(|p| &p.layers).map(|l| l.element).collect();
        let run = SeedRun {
            seed: session.seed,
            digest: String::new(),
            token_size: parameters.token_size,
            parameters: Vec::new(),
            points,
        };
        put_curves(&[(RUN, &[run])], records)?;
        let rows: Vec<_> =
            seeds.iter().zip(&comparisons).map(|(&seed, c)| (seed, c.vd, c.iws, c.ss)).collect();
        records.put_table("comparison.csv", &["seed", "vd", "iws", "ss"], &rows)?;

        let spread = |metric: fn(&Comparison<f64>) -> f64| {
            let (mean, stderr) = mean_and_stderr(comparisons.iter().map(metric));
            Spread { mean, stderr }
        };
        let found = Found {
            dimension: d,
            layers: settings.depth,
            mode: typed(&parameters.mode),
            attention: typed(&settings.attention),
            gamma: settings.gamma,
            lambda: Some(parameters.lambda).filter(|lambda| *lambda > 0.0),
            alpha: settings.alpha,
            context: settings.context,
            elements,
            vd: spread(|c| c.vd),
            iws: spread(|c| c.iws),
            ss: spread(|c| c.ss),
        };
        Ok(Measured { results: json!(found), text: found.text(), claims: Vec::new() })
    }
}

/// P and Q at the end, and their elements on the way if the file has a log.
fn figures(records: &Records) -> Result<NamedFigures, Error> {
    let (curves, matrices) = (CurveRecords::read(records)?, MatrixRecords::read(records)?);
    let (mut of_parameters, mut of_elements) = (Vec::new(), Vec::new());
    for l in 0..curves.layers(RUN) {
        let [p, q, p_elements, q_elements] = matrices.layer_row(&curves, RUN, l);
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
    if matrices.times(RUN).len() > 1 {
        let title = "Element-wise metrics over training";
        figures.push(("elements".into(), figure(title, "sign-aligned, unscaled", of_elements)));
    }
    Ok(figures)
}

impl Import {
    fn depth(
        &self,
        parameters: &Parameters,
        missing: &dyn Fn(&'static str, &str) -> Error,
    ) -> Result<usize, Error> {
        let stored = parameters.layers.len();
        let refuse = |l: usize, accepted: String| {
            Error::option("--layers", format!("{l}; accepted is {accepted}"))
        };
        if stored > MAX_STORED_LAYERS {
            return Err(refuse(stored, format!("at most {MAX_STORED_LAYERS} layers of their own")));
        }
        match (self.layers, parameters.mode) {
            (Some(l), Mode::Sequential) if l != stored => {
                Err(refuse(l, format!("{stored}, the layers of the file")))
            }
            (Some(l), _) => Ok(l),
            (None, _) => parameters
                .depth
                .filter(|l| (1..=65_535).contains(l))
                .ok_or_else(|| missing("--layers", "an integer from 1 to 65535")),
        }
    }
}

/// Returns the learning rate of the batch-TD reference transformer that was trained alongside; 1 if no log says it.
fn logged_alpha(file: &Path, model: &ModelFile) -> Result<f64, Error> {
    let point = model.log.as_ref().and_then(|log| log.points.get(model.point));
    match point.map_or(f64::NAN, |point| point.alpha) {
        // A log without it is read so.
        alpha if alpha.is_nan() => Ok(1.0),
        alpha if (0.0..f64::INFINITY).contains(&alpha) => Ok(alpha),
        alpha => {
            let accepted = "a finite number of at least 0, or --alpha";
            Err(Problem::array("alpha", alpha, accepted).in_file(file))
        }
    }
}

/// Returns every log point up to the chosen one, which comes last, with its element-wise metrics.
fn log_points(model: &ModelFile) -> Vec<Point> {
    let point = |tasks: u64, alpha: f64, layers: &[LayerParameters]| Point {
        tasks,
        alpha,
        loss: f64::NAN,
        vd: f64::NAN,
        iws: f64::NAN,
        ss: f64::NAN,
        msve: f64::NAN,
        layers: layers.iter().map(matrices).collect(),
    };
    match &model.log {
        Some(log) => {
            log.points[..=model.point].iter().map(|p| point(p.mrps, p.alpha, &p.layers)).collect()
        }
        None => vec![point(0, f64::NAN, &model.parameters.layers)],
    }
}

impl Found {
    fn text(&self) -> String {
        let Found { attention, mode, layers, dimension, context, .. } = self;
        let (gamma, alpha) = (report::shortest(self.gamma), report::shortest(self.alpha));
        let number = |x: f64| match x.is_finite() {
            true => report::number(x, 4),
            false => "—".to_owned(),
        };
        let head = ELEMENTS.iter().map(|metric| metric.label.to_owned());
        let mut elements =
            vec![std::iter::once("layer".to_owned()).chain(head).collect::<Vec<_>>()];
        elements.extend(self.elements.iter().enumerate().map(|(l, element)| {
            let numbers = ELEMENTS.iter().map(|metric| number((metric.of)(element)));
            std::iter::once(l.to_string()).chain(numbers).collect()
        }));
        let mut metrics = vec![["metric", "mean", "standard error"].map(str::to_owned)];
        for (name, Spread { mean, stderr }) in
            [("VD", &self.vd), ("IWS", &self.iws), ("SS", &self.ss)]
        {
            metrics.push([name.to_owned(), number(*mean), number(*stderr)]);
        }
        let (lambda, algorithm) = match self.lambda.map(report::shortest) {
            Some(lambda) => (format!(", lambda = {lambda}"), "TD(lambda)"),
            None => (String::new(), "TD"),
        };
        format!(
            "{attention} attention, {mode}, L = {layers}, d = {dimension}, gamma = {gamma}{lambda}\n\n{}\n\
             against batch {algorithm} (alpha = {alpha}, context {context}), on tasks not trained on\n{}",
            report::table(&elements),
            report::table(&metrics)
        )
    }
}
