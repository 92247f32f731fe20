//! `ictd import`: parameters that were trained elsewhere become a run.

mod measure;

use crate::dimension::{self, for_dimension};
use crate::error::Error;
use crate::experiments::experiment::{self, Entry, Experiment, Measured, Run};
use crate::experiments::statistics::mean_and_stderr;
use crate::files::{self, Kind};
use crate::formats::Problem;
use crate::formats::parameters::{Attention, LayerParameters, Mode, Parameters};
use crate::formats::seed_run::DATA_FILE;
use crate::model_file::{self, MAX_STORED_LAYERS, ModelFile, PARAMETERS_FILE};
use crate::options::{self, typed};
use crate::run::records::Records;
use crate::run::report::{self, Report};
use crate::run::session::Session;
use figures::{Axis, Curve, Curves, Figure, Heatmap, NamedFigures, Panel};
use measure::{CONTEXT, STATES, Settings, compare, elements};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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
/// Written are parameters.safetensors, model.ictd (f32, for firmware), the element-wise metrics of
/// every log point, and VD, IWS and SS against batch TD with as many iterations as layers, on --tasks
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
    #[arg(long, value_enum)]
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

/// One row of `elements.csv`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ElementRow {
    /// Tasks trained on so far.
    pub mrps: u64,
    /// The layer, from 0.
    pub layer: usize,
    /// P[-1, -1], sign-aligned as all that follow.
    pub p_bottom_right: f64,
    /// Mean absolute value of P's other entries.
    pub p_avg_abs_others: f64,
    /// Trace of Q's upper-left block.
    pub q_trace_upper_left: f64,
    /// Trace of Q's upper-right block.
    pub q_trace_upper_right: f64,
    /// Mean absolute value of Q's other entries.
    pub q_avg_abs_others: f64,
}

/// One row of `comparison.csv`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ComparisonRow {
    /// The task's seed.
    pub seed: u64,
    /// Value difference from batch TD.
    pub vd: f64,
    /// Implicit weight similarity.
    pub iws: f64,
    /// Sensitivity similarity.
    pub ss: f64,
}

/// What is found.
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
    elements: Vec<ElementRow>,
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

/// Runs the command.
pub fn run(options: &Import, session: &Session) -> Result<Report, Error> {
    let mut options = options.clone();
    options.file = options.path.take().or(options.file);
    let mut report = experiment::run(&options, session)?;
    report.text.push_str(&report.place());
    Ok(report)
}

impl Experiment for Import {
    const ENTRY: Entry = Entry {
        id: "import",
        figure: "App. Element-wise Convergence Metrics, of imported parameters",
        figures,
        run: Run::ByCommand,
    };

    type Found = Found;

    fn measure(&self, session: &Session, records: &mut Records) -> Measured<Self::Found> {
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
            file,
            parameters: &model.parameters,
            attention: model_file::attention(self.attention, parameters.attention)?,
            depth: self.depth(&parameters, &missing)?,
            gamma: (self.gamma.or(parameters.gamma))
                .ok_or_else(|| missing("--gamma", "a number in [0, 1)"))?,
            lambda: parameters.lambda,
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
        let refused = || Error::file(file, format!("d = {d}; accepted is {}", dimension::ACCEPTED));
        let Settings { depth, attention, gamma, .. } = settings;
        let stored = model_file::to_bytes(&parameters, depth, attention, gamma)?;
        let seeds: Vec<u64> =
            (0..self.tasks as u64).map(|i| session.seed.wrapping_add(i)).collect();
        let comparisons = session.map("import", &seeds, |&seed| {
            for_dimension!(d, compare(&settings, seed)).ok_or_else(refused)?
        })?;

        parameters.depth = Some(settings.depth);
        parameters.attention = Some(settings.attention);
        parameters.gamma = Some(settings.gamma);
        records.put(PARAMETERS_FILE, parameters.to_safetensors());
        records.put(MODEL_FILE, stored);
        let elements = element_rows(&model);
        records.put_csv("elements.csv", &elements)?;
        let rows: Vec<_> = (seeds.iter().zip(&comparisons))
            .map(|(&seed, c)| ComparisonRow { seed, vd: c.vd, iws: c.iws, ss: c.ss })
            .collect();
        records.put_csv("comparison.csv", &rows)?;

        let spread = |metric: fn(&ComparisonRow) -> f64| {
            let (mean, stderr) = mean_and_stderr(rows.iter().map(metric));
            Spread { mean, stderr }
        };
        let found = Found {
            dimension: d,
            layers: settings.depth,
            mode: typed(&parameters.mode),
            attention: typed(&settings.attention),
            gamma: settings.gamma,
            lambda: Some(settings.lambda).filter(|lambda| *lambda > 0.0),
            alpha: settings.alpha,
            context: settings.context,
            elements: elements[elements.len() - parameters.layers.len()..].to_vec(),
            vd: spread(|row| row.vd),
            iws: spread(|row| row.iws),
            ss: spread(|row| row.ss),
        };
        Ok((found, Vec::new()))
    }

    fn text(found: &Found) -> String {
        found.text()
    }
}

fn figures(records: &Records) -> Result<NamedFigures, Error> {
    let bytes = records.get(PARAMETERS_FILE)?;
    let parameters = Parameters::from_safetensors(Path::new(PARAMETERS_FILE), &bytes)?;
    let rows: Vec<ElementRow> = records.csv("elements.csv")?;
    if let Some(row) = rows.iter().find(|row| row.layer >= MAX_STORED_LAYERS) {
        let reason = format!("layer {}: accepted is 0 to {}", row.layer, MAX_STORED_LAYERS - 1);
        return Err(Error::file(Path::new("elements.csv"), reason));
    }
    let mut figures = vec![("parameters".into(), heatmaps(&parameters))];
    if rows.iter().any(|row| row.mrps != rows[0].mrps) {
        figures.push(("elements".into(), element_curves(&rows)));
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

/// The learning rate of the batch-TD reference transformer that was trained alongside; 1 if no log says it.
fn logged_alpha(file: &Path, model: &ModelFile) -> Result<f64, Error> {
    let point = model.log.as_ref().and_then(|log| log.points.get(model.point));
    match point.map_or(f64::NAN, |point| point.alpha) {
        // A log without it is read so.
        alpha if alpha.is_nan() => Ok(1.0),
        alpha if (0.0..f64::INFINITY).contains(&alpha) => Ok(alpha),
        alpha => {
            let accepted = "a finite number of at least 0, or --alpha";
            Err(Problem::array("alpha", alpha, accepted).in_file(file).into())
        }
    }
}

/// The element-wise metrics of every log point up to the chosen one, which comes last.
fn element_rows(model: &ModelFile) -> Vec<ElementRow> {
    let row = |mrps: u64, layer: usize, parameters: &LayerParameters| {
        let e = elements(parameters);
        ElementRow {
            mrps,
            layer,
            p_bottom_right: e.p_bottom_right,
            p_avg_abs_others: e.p_avg_abs_others,
            q_trace_upper_left: e.q_trace_upper_left,
            q_trace_upper_right: e.q_trace_upper_right,
            q_avg_abs_others: e.q_avg_abs_others,
        }
    };
    let of = |mrps: u64, layers: &[LayerParameters]| -> Vec<ElementRow> {
        layers.iter().enumerate().map(|(l, x)| row(mrps, l, x)).collect()
    };
    match &model.log {
        Some(log) => {
            log.points[..=model.point].iter().flat_map(|p| of(p.mrps, &p.layers)).collect()
        }
        None => of(0, &model.parameters.layers),
    }
}

/// P and Q of each layer, sign-aligned and divided by the largest entry.
fn heatmaps(parameters: &Parameters) -> Figure {
    let k = parameters.token_size;
    let d = parameters.feature_dimension();
    let sequential = parameters.mode == Mode::Sequential;
    let mut panels = Vec::new();
    for (l, layer) in parameters.layers.iter().enumerate() {
        let sign = if layer.p[k * k - 1] < 0.0 { -1.0 } else { 1.0 };
        for (name, matrix) in [("P", &layer.p), ("Q", &layer.q)] {
            let largest = matrix.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
            let scale = if largest > 0.0 { sign / f64::from(largest) } else { 1.0 };
            let row = |row: &[f32]| row.iter().map(|&x| scale * f64::from(x)).collect();
            panels.push(Panel::Heatmap(Heatmap {
                title: if sequential { format!("{name}, layer {l}") } else { name.to_owned() },
                rows: matrix.chunks_exact(k).map(row).collect(),
                blocks: vec![d, 2 * d],
                colour_bar: name == "Q",
            }));
        }
    }
    Figure {
        title: "Imported parameters".into(),
        subtitle: "sign-aligned, divided by the largest absolute entry".into(),
        panels,
        columns: if parameters.layers.len() > 1 { 4 } else { 2 },
    }
}

/// The element-wise metrics over training, a panel of P and one of Q for each layer.
fn element_curves(rows: &[ElementRow]) -> Figure {
    let mut layers = BTreeMap::<usize, Vec<&ElementRow>>::new();
    for row in rows {
        layers.entry(row.layer).or_default().push(row);
    }
    let mut panels = Vec::new();
    for (layer, of_layer) in &layers {
        let x: Vec<f64> = of_layer.iter().map(|row| row.mrps as f64).collect();
        let curve = |label: &str, value: fn(&ElementRow) -> f64| {
            Curve::plain(label, x.clone(), of_layer.iter().map(|row| value(row)).collect())
        };
        let title = |name: &str| match layers.len() {
            1 => name.to_owned(),
            _ => format!("{name}, layer {layer}"),
        };
        let of_p = vec![
            curve("P[-1, -1]", |row| row.p_bottom_right),
            curve("mean |others|", |row| row.p_avg_abs_others),
        ];
        let of_q = vec![
            curve("tr Q[:d, :d]", |row| row.q_trace_upper_left),
            curve("tr Q[:d, d:2d]", |row| row.q_trace_upper_right),
            curve("mean |others|", |row| row.q_avg_abs_others),
        ];
        panels.extend([("P", of_p), ("Q", of_q)].map(|(name, curves)| {
            let (x, y) = (Axis::linear("tasks (MRPs)"), Axis::linear(""));
            Panel::Curves(Curves { title: title(name), x, y, curves, ..Default::default() })
        }));
    }
    Figure {
        title: "Element-wise metrics over training".into(),
        subtitle: "sign-aligned, unscaled".into(),
        panels,
        columns: 2,
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
        let mut elements = vec![
            [
                "layer",
                "P[-1,-1]",
                "mean |P others|",
                "tr Q[:d,:d]",
                "tr Q[:d,d:2d]",
                "mean |Q others|",
            ]
            .map(str::to_owned),
        ];
        elements.extend(self.elements.iter().map(|e| {
            [
                e.layer.to_string(),
                number(e.p_bottom_right),
                number(e.p_avg_abs_others),
                number(e.q_trace_upper_left),
                number(e.q_trace_upper_right),
                number(e.q_avg_abs_others),
            ]
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
