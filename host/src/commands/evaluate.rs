//! `ictd evaluate`: values of states of a user's own data.

mod values;

use crate::commands::model_file;
use crate::construction::{Construction, LAMBDA};
use crate::dimension::{self, for_dimension};
use crate::error::Error;
use crate::experiments::experiment::{self, Entry, Experiment, Measured, Run};
use crate::figures::{Axis, Curve, Curves, Figure, NamedFigures, Panel};
use crate::formats::parameters::Attention;
use crate::formats::trajectory::{Features, Trajectory};
use crate::options;
use crate::run::records::Records;
use crate::run::report::{self, Report};
use crate::run::session::Session;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use values::{Column, Input, Method, Output};

/// The most layers, and iterations of the algorithm beside them.
const LAYERS: usize = 100_000;

/// More rows than this are not told apart in a figure.
const ROWS_IN_FIGURE: usize = 500;

/// Predict the values of states from your own transitions, in context
///
/// The transitions of --data are the transformer's context; no parameter is trained. Shown are the
/// values of all states in the data (and of --queries) by the transformer, by the classical algorithm
/// that its layers are compared with (as many iterations as layers), and by LSTD, which solves for
/// the fixed point directly; the (implicit) weights w of v(s) = <w, phi(s)>; and each value
/// function's TD error on the data. All in f64.
///
/// CSV columns, in any order under a header line, separated by `,`, `;` or tabs:
///   phi_0 ... phi_{d-1}            features of the state, d = 1 to 8, 10, 12 or 16
///   reward                         the reward on leaving it
///   phi_next_0 ... phi_next_{d-1}  features of the next state
/// Without the phi_next columns the rows are one trajectory: the next row holds the next state, and
/// the last row only ends it (its reward may be empty). Lines that begin with # are skipped.
///
/// npz arrays: phi (n, d), reward (n), phi_next (n, d); query (m, d) if there are states to ask for.
///
/// Scale the features to about [-1, 1]; with larger ones lower --alpha.
#[derive(Clone, Debug, clap::Args, Serialize, Deserialize)]
#[command(verbatim_doc_comment)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Evaluate {
    /// The transitions
    #[arg(long, value_name = "FILE.csv|FILE.npz")]
    pub data: PathBuf,
    /// States to predict the values of: a CSV with the phi columns alone, or an npz with `query`
    #[arg(long, value_name = "FILE.csv|FILE.npz")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queries: Option<PathBuf>,
    /// Trained parameters: .safetensors, data.npz (with params.json beside it), a stored model, the folder
    /// of a run (its seed --seed is taken), or that of a seed
    #[arg(long, value_name = "FILE|DIR", conflicts_with = "construction")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<PathBuf>,
    /// Constructed parameters (C = alpha I) [default: td0, without --model]
    #[arg(long, value_enum)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub construction: Option<Construction>,
    /// Layers L [default: the model's; 15 of a construction]
    #[arg(long, value_parser = options::integer(1..=LAYERS))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layers: Option<usize>,
    /// Learning rate alpha of the construction, and of the algorithm beside it
    #[arg(long, default_value = "0.2", value_parser = options::real(0.0..))]
    pub alpha: f64,
    /// Discount factor gamma; average reward has none [default: the model's; 0.9 of a construction]
    #[arg(long, value_parser = options::real(0.0..1.0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gamma: Option<f64>,
    /// Trace decay lambda of the construction td-lambda
    #[arg(long, default_value_t = LAMBDA, value_parser = options::real(0.0..=1.0))]
    pub lambda: f64,
    /// Attention of the model, for a file that does not say
    #[arg(long, value_enum)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attention: Option<Attention>,
}

/// One row of `values.csv` (states of the data) and `queries.csv`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ValueRow {
    /// The row of the file, from 1.
    pub row: usize,
    /// By the transformer.
    pub transformer: f64,
    /// By the classical algorithm; empty if its iterates overflow.
    pub algorithm: Option<f64>,
    /// By LSTD; empty if the data do not determine it.
    pub lstd: Option<f64>,
}

/// One row of `weights.csv`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WeightRow {
    /// The feature, from 0.
    pub feature: usize,
    /// Implicit in the transformer; empty if the rows do not determine them (softmax).
    pub transformer: Option<f64>,
    /// Of the classical algorithm.
    pub algorithm: Option<f64>,
    /// Of LSTD.
    pub lstd: Option<f64>,
}

/// Runs the command.
///
/// # Errors
/// Those of the files, of the options and of writing.
pub fn run(options: &Evaluate, session: &Session) -> Result<Report, Error> {
    let mut report = experiment::run(options, session)?;
    report.text = text(&report);
    report.text.push_str(&report.place());
    Ok(report)
}

impl Experiment for Evaluate {
    const ENTRY: Entry =
        Entry { id: "evaluate", figure: "none: the user's own data", figures, run: Run::ByCommand };

    type Found = Map<String, Value>;

    fn check(&self) -> Result<(), Error> {
        Construction::check(self.construction, self.lambda, self.gamma)?;
        if self.model.is_none() && self.attention == Some(Attention::Softmax) {
            let reason = "softmax: the constructions are of linear attention".into();
            return Err(Error::Option { option: "--attention", reason });
        }
        Ok(())
    }

    fn measure(&self, session: &Session, records: &mut Records) -> Measured<Self::Found> {
        let input = self.input(session.seed)?;
        let d = input.trajectory.phi.dimension;
        let output = session
            .on_thread(|| for_dimension!(d, evaluate(&input)))
            .unwrap_or_else(|| Err(Error::file(&self.data, refuse_dimension(d))))?;
        put_records(&output, input.query.is_some(), d, records)?;
        let mut found = Map::new();
        let algorithm = output.algorithm.as_ref();
        let lstd = output.lstd.as_ref();
        for (name, value) in [
            ("dimension", json!(d)),
            ("transitions", json!(input.trajectory.len())),
            ("layers", json!(input.layers)),
            ("gamma", json!(input.gamma)),
            ("algorithm", json!(self.algorithm())),
            ("weights", json!(non_empty(&output.transformer.weights))),
            ("algorithm_weights", json!(algorithm.map(|c| &c.weights))),
            ("lstd_weights", json!(lstd.map(|c| &c.weights))),
            ("td_error", json!(output.transformer.td_error)),
            ("algorithm_td_error", json!(algorithm.map(|c| c.td_error))),
            ("lstd_td_error", json!(lstd.map(|c| c.td_error))),
            ("difference_from_algorithm", json!(algorithm.map(|c| rms(&output.transformer, c)))),
            ("difference_from_lstd", json!(lstd.map(|c| rms(&output.transformer, c)))),
            ("query_values", json!(non_empty(&output.transformer.query_values))),
        ] {
            found.insert(name.into(), value);
        }
        Ok((found, Vec::new()))
    }
}

fn figures(records: &Records) -> Result<NamedFigures, Error> {
    let mut rows: Vec<ValueRow> = records.csv("values.csv")?;
    rows.sort_by(|a, b| a.transformer.total_cmp(&b.transformer));
    let step = rows.len().div_ceil(ROWS_IN_FIGURE).max(1);
    let shown: Vec<_> = rows.iter().enumerate().step_by(step).collect();
    let x: Vec<f64> = shown.iter().map(|(rank, _)| (rank + 1) as f64).collect();
    let curve = |label: &str, value: &dyn Fn(&ValueRow) -> Option<f64>, dashed| {
        let y = shown.iter().map(|(_, row)| value(row).unwrap_or(f64::NAN)).collect();
        Curve { dashed, ..Curve::plain(label, x.clone(), y) }
    };
    let panel = Curves {
        x: Axis::linear("states, in the order of the transformer's values"),
        y: Axis::linear("value"),
        curves: vec![
            curve("LSTD", &|r| r.lstd, false),
            curve("transformer", &|r| Some(r.transformer), false),
            curve("algorithm", &|r| r.algorithm, true),
        ],
        ..Default::default()
    };
    let figure = Figure {
        title: "Values of the states in the data".into(),
        subtitle: match step {
            1 => format!("{} rows", rows.len()),
            _ => format!("every {step}th of {} rows", rows.len()),
        },
        panels: vec![Panel::Curves(panel)],
        ..Default::default()
    };
    Ok(vec![("values".into(), figure)])
}

impl Evaluate {
    /// Reads the files and settles what options and files leave open; `seed` is that of a run's model.
    fn input(&self, seed: u64) -> Result<Input, Error> {
        let trajectory = Trajectory::open(&self.data)?;
        let d = trajectory.phi.dimension;
        let query = match &self.queries {
            Some(file) => {
                let features = Features::open(file)?;
                if features.dimension != d {
                    let reason =
                        format!("{} features; accepted is {d}, as in the data", features.dimension);
                    return Err(Error::file(file, reason));
                }
                Some(features)
            }
            None => trajectory.query.clone(),
        };
        let Some(path) = &self.model else {
            let construction = self.construction.unwrap_or(Construction::Td0);
            let lambda = if construction == Construction::TdLambda { self.lambda } else { 0.0 };
            return Ok(Input {
                trajectory,
                query,
                method: Method::Construction(construction),
                layers: self.layers.unwrap_or(15),
                alpha: self.alpha,
                gamma: self.gamma.unwrap_or(0.9),
                lambda,
            });
        };
        let path = &model_file::seed_of_run(path, seed)?;
        let model = model_file::open(path, None)?;
        let parameters = model.parameters;
        if parameters.feature_dimension() != d {
            let reason = format!(
                "d = {} in the model, {d} in the data: the same is accepted",
                parameters.feature_dimension()
            );
            return Err(Error::Option { option: "--model", reason });
        }
        let missing = |option, accepted: &str| Error::Option {
            option,
            reason: format!("the model's file does not say; accepted is {accepted}"),
        };
        let layers =
            self.layers.or(parameters.depth).ok_or_else(|| missing("--layers", "an integer"))?;
        if let Some(stored) = parameters.depth.filter(|_| parameters.layers.len() > 1)
            && layers != stored
        {
            let reason = format!("{layers}; accepted is {stored}, the layers of the model");
            return Err(Error::Option { option: "--layers", reason });
        }
        let attention = self.attention.or(parameters.attention);
        Ok(Input {
            trajectory,
            query,
            layers,
            alpha: self.alpha,
            gamma: self
                .gamma
                .or(parameters.gamma)
                .ok_or_else(|| missing("--gamma", "a number in [0, 1)"))?,
            lambda: model.lambda,
            method: Method::Trained {
                file: path.clone(),
                attention: attention.ok_or_else(|| missing("--attention", "linear or softmax"))?,
                parameters: Box::new(parameters),
            },
        })
    }

    /// The classical algorithm that stands beside the transformer.
    fn algorithm(&self) -> &'static str {
        match self.construction {
            Some(Construction::TdLambda) => "batch TD(lambda)",
            Some(Construction::ResidualGradient) => "batch residual gradient",
            Some(Construction::AverageReward) => "batch average-reward TD",
            Some(Construction::Td0) | None => "batch TD(0)",
        }
    }
}

fn evaluate<const D: usize, const K: usize, const A: usize>(
    input: &Input,
) -> Result<Output, Error> {
    values::evaluate::<D, K, A>(input)
}

fn refuse_dimension(d: usize) -> String {
    format!("{d} features; accepted is {}", dimension::ACCEPTED)
}

fn put_records(
    output: &Output,
    queries: bool,
    d: usize,
    records: &mut Records,
) -> Result<(), Error> {
    let (algorithm, lstd) = (output.algorithm.as_ref(), output.lstd.as_ref());
    let rows = |values: fn(&Column) -> &[f64]| -> Vec<ValueRow> {
        let of = |column: Option<&Column>, i: usize| column.map(|c| values(c)[i]);
        (values(&output.transformer).iter().enumerate())
            .map(|(i, &transformer)| ValueRow {
                row: i + 1,
                transformer,
                algorithm: of(algorithm, i),
                lstd: of(lstd, i),
            })
            .collect()
    };
    records.put_csv("values.csv", &rows(|c| &c.values))?;
    if queries {
        records.put_csv("queries.csv", &rows(|c| &c.query_values))?;
    }
    let weights: Vec<WeightRow> = (0..d)
        .map(|feature| WeightRow {
            feature,
            transformer: output.transformer.weights.get(feature).copied(),
            algorithm: algorithm.map(|c| c.weights[feature]),
            lstd: lstd.map(|c| c.weights[feature]),
        })
        .collect();
    records.put_csv("weights.csv", &weights)
}

/// The root mean square difference of two value functions on the rows of the data.
fn rms(a: &Column, b: &Column) -> f64 {
    let mut sum = 0.0;
    for (x, y) in a.values.iter().zip(&b.values) {
        sum += (x - y) * (x - y);
    }
    (sum / a.values.len() as f64).sqrt()
}

fn non_empty(numbers: &[f64]) -> Option<&[f64]> {
    (!numbers.is_empty()).then_some(numbers)
}

/// The report for a human.
fn text(report: &Report) -> String {
    let number = |name: &str| match report.results.get(name).and_then(Value::as_f64) {
        Some(x) => report::number(x, 6),
        None => "—".to_owned(),
    };
    let weights = |name: &str| match report.results.get(name).and_then(Value::as_array) {
        Some(w) => {
            let shown: Vec<_> = w
                .iter()
                .take(6)
                .map(|x| report::number(x.as_f64().unwrap_or(f64::NAN), 4))
                .collect();
            let more = if w.len() > shown.len() { ", …" } else { "" };
            format!("({}{more})", shown.join(", "))
        }
        None => "—".to_owned(),
    };
    let algorithm = report.results.get("algorithm").and_then(Value::as_str).unwrap_or_default();
    let row = |name: &str, weights_of: &str, error: &str, difference: String| {
        [name.to_owned(), weights(weights_of), number(error), difference]
    };
    let mut out = report::table(&[
        ["value function", "weights", "TD error (rms)", "difference of values (rms)"]
            .map(str::to_owned),
        row("transformer", "weights", "td_error", String::new()),
        row(
            algorithm,
            "algorithm_weights",
            "algorithm_td_error",
            number("difference_from_algorithm"),
        ),
        row("LSTD", "lstd_weights", "lstd_td_error", number("difference_from_lstd")),
    ]);
    if report.results.get("lstd_weights").is_some_and(Value::is_null) {
        out.push_str("LSTD: the transitions do not determine all weights.\n");
    }
    if report.results.get("algorithm_weights").is_some_and(Value::is_null) {
        out.push_str("The algorithm's iterates overflow: lower --alpha.\n");
    }
    if let Some(values) = report.results.get("query_values").and_then(Value::as_array) {
        out.push_str("\nvalues of the queries\n");
        for (i, value) in values.iter().take(20).enumerate() {
            out.push_str(&format!(
                "{:>6}  {}\n",
                i + 1,
                report::number(value.as_f64().unwrap_or(f64::NAN), 6)
            ));
        }
        if values.len() > 20 {
            out.push_str(&format!("and {} more in queries.csv\n", values.len() - 20));
        }
    }
    out
}
