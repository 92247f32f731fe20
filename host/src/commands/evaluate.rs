//! `ictd evaluate`: values of states of a user's own data.

mod values;

use crate::construction::{Construction, LAMBDA};
use crate::dimension::{self, for_dimension};
use crate::error::Error;
use crate::experiments::experiment::{self, Entry, Experiment, Measured, Run};
use crate::formats::parameters::Attention;
use crate::formats::trajectory::{Features, Trajectory};
use crate::model_file::{self, AnyModel};
use crate::options;
use crate::run::records::Records;
use crate::run::report::{self, Report};
use crate::run::session::Session;
use figures::{Axis, Curve, Curves, Figure, NamedFigures, Panel};
use ictd_core::mask::Mask;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use values::{Column, Input, Method, Output, evaluate};

/// The most layers, and iterations of the algorithm beside them.
const LAYERS: usize = 100_000;

/// So many layers take any number of transitions; more layers take fewer ([`WORK`]).
const FEW_LAYERS: usize = 1000;

/// Multiplications of some seconds: layers times what one costs, and what the algorithm's step beside it does.
const WORK: usize = 300_000_000;

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
///   phi_0 ... phi_{d-1}            features of the state, d = 1 to 32
///   reward                         the reward on leaving it
///   phi_next_0 ... phi_next_{d-1}  features of the next state
///   terminal                       optional, 1: the next state ends the episode, its value is 0
///   end                            optional, 1: the episode is cut here, though it could go on
/// Without the phi_next columns the next row holds the next state; a row marked `end`, and the last
/// one, then only ends its episode (its reward may be empty). Lines that begin with # are skipped.
///
/// npz arrays: phi (n, d), reward (n), phi_next (n, d), terminal (n), end (n); query (m, d) if there
/// are states to ask for.
///
/// With `--model universal` any scale of features and rewards will do, and values are there from the first
/// transition on. Otherwise scale the features to about [-1, 1]; with larger ones lower --alpha.
#[derive(Clone, Debug, clap::Args, Serialize)]
#[command(verbatim_doc_comment)]
#[serde(rename_all = "kebab-case")]
pub struct Evaluate {
    /// The transitions
    #[arg(long, value_name = "FILE.csv|FILE.npz")]
    pub data: PathBuf,
    /// States to predict the values of: a CSV with the phi columns alone, or an npz with `query`
    #[arg(long, value_name = "FILE.csv|FILE.npz")]
    pub queries: Option<PathBuf>,
    /// `universal`, the model that ships; or trained parameters: .safetensors, data.npz (with params.json
    /// beside it), a stored model, the folder of a run (its seed --seed is taken), or that of a seed
    #[arg(long, value_name = "universal|FILE|DIR", conflicts_with = "construction")]
    pub model: Option<PathBuf>,
    /// Constructed parameters (C = alpha I) [default: td0, without --model]
    #[arg(long, value_enum)]
    pub construction: Option<Construction>,
    /// Layers L [default: the model's; 15 of a construction]
    #[arg(long, value_parser = options::integer(1..=LAYERS))]
    pub layers: Option<usize>,
    /// Learning rate alpha of the construction, and of the algorithm beside it
    #[arg(long, default_value = "0.2", value_parser = options::real(0.0..))]
    pub alpha: f64,
    /// Discount factor gamma; average reward has none [default: the model's; 0.9 of a construction]
    #[arg(long, value_parser = options::real(0.0..1.0))]
    pub gamma: Option<f64>,
    /// Trace decay lambda of the construction td-lambda
    #[arg(long, default_value_t = LAMBDA, value_parser = options::real(0.0..=1.0))]
    pub lambda: f64,
    /// Attention of the model, for a file that does not say
    #[arg(long, value_enum)]
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

/// What is found: the transformer's value function, the algorithm's and LSTD's.
#[derive(Debug, Serialize)]
pub struct Found {
    dimension: usize,
    transitions: usize,
    /// If there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    episodes: Option<usize>,
    layers: usize,
    gamma: f64,
    /// If it is not 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    lambda: Option<f64>,
    /// If it is not linear.
    #[serde(skip_serializing_if = "Option::is_none")]
    attention: Option<Attention>,
    algorithm: &'static str,
    weights: Option<Vec<f64>>,
    algorithm_weights: Option<Vec<f64>>,
    lstd_weights: Option<Vec<f64>>,
    td_error: f64,
    algorithm_td_error: Option<f64>,
    lstd_td_error: Option<f64>,
    difference_from_algorithm: Option<f64>,
    difference_from_lstd: Option<f64>,
    query_values: Option<Vec<f64>>,
}

/// Runs the command.
pub fn run(options: &Evaluate, session: &Session) -> Result<Report, Error> {
    let mut report = experiment::run(options, session)?;
    report.text.push_str(&report.place());
    Ok(report)
}

impl Experiment for Evaluate {
    const ENTRY: Entry =
        Entry { id: "evaluate", figure: "none: the user's own data", figures, run: Run::ByCommand };

    type Found = Found;

    fn check(&self) -> Result<(), Error> {
        Construction::check(self.construction, self.lambda, self.gamma)?;
        if self.model.is_none() && self.attention == Some(Attention::Softmax) {
            let reason = "softmax: the constructions are of linear attention";
            return Err(Error::option("--attention", reason));
        }
        Ok(())
    }

    fn measure(&self, session: &Session, records: &mut Records) -> Measured<Self::Found> {
        let input = self.input(session.seed)?;
        let d = input.trajectory.phi.dimension;
        check_work(input.layers, input.trajectory.len(), d)?;
        let output =
            session.on_thread(|| for_dimension!(d, evaluate(&input))).unwrap_or_else(|| {
                let reason = format!("{d} features; accepted is {}", dimension::ACCEPTED);
                Err(Error::file(&self.data, reason))
            })?;
        put_records(&output, input.query.is_some(), d, records)?;
        let Output { transformer, algorithm, lstd } = &output;
        let from = |column: &Option<Column>| column.as_ref().map(|c| rms(transformer, c));
        let weights_of = |column: &Option<Column>| column.as_ref().map(|c| c.weights.clone());
        let error_of = |column: &Option<Column>| column.as_ref().map(|c| c.td_error);
        let episodes = input.trajectory.episodes().len();
        let found = Found {
            dimension: d,
            transitions: input.trajectory.len(),
            episodes: (episodes > 1).then_some(episodes),
            layers: input.layers,
            gamma: input.gamma,
            lambda: Some(input.lambda).filter(|lambda| *lambda > 0.0),
            attention: match input.method {
                Method::Trained { attention: Attention::Softmax, .. } => Some(Attention::Softmax),
                _ => None,
            },
            algorithm: self.algorithm(input.lambda),
            weights: non_empty(&transformer.weights),
            algorithm_weights: weights_of(algorithm),
            lstd_weights: weights_of(lstd),
            td_error: transformer.td_error,
            algorithm_td_error: error_of(algorithm),
            lstd_td_error: error_of(lstd),
            difference_from_algorithm: from(algorithm),
            difference_from_lstd: from(lstd),
            query_values: non_empty(&transformer.query_values),
        };
        Ok((found, Vec::new()))
    }

    fn text(found: &Found) -> String {
        found.text()
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
        model_file::check_seed(&self.model, seed)?;
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
        if self.construction == Some(Construction::AverageReward) && trajectory.has_terminal {
            let reason = "average-reward: accepted with data without `terminal`, as it never ends";
            return Err(Error::option("--construction", reason));
        }
        let Some(source) = &self.model else {
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
        let path = &model_file::seed_of_run(source, seed)?;
        let parameters = match model_file::model(path, self.gamma)? {
            AnyModel::Universal(model) => {
                let layers = model.transformer().depth();
                let refuse = |option, reason: String| Err(Error::option(option, reason));
                if self.layers.is_some_and(|l| l != layers) {
                    return refuse(
                        "--layers",
                        format!("accepted is {layers}, the layers of the model"),
                    );
                }
                if self.attention == Some(Attention::Softmax) {
                    return refuse(
                        "--attention",
                        "softmax: the model's attention is linear".into(),
                    );
                }
                return Ok(Input {
                    trajectory,
                    query,
                    layers,
                    alpha: self.alpha,
                    gamma: model.gamma(),
                    lambda: model.mask().lambda(),
                    method: Method::Universal(model),
                });
            }
            AnyModel::Dense(file) => file.parameters,
        };
        if parameters.feature_dimension() != d {
            let reason = format!(
                "d = {} in the model, {d} in the data: the same is accepted",
                parameters.feature_dimension()
            );
            return Err(Error::option("--model", reason));
        }
        let missing = |option, accepted: &str| {
            Error::option(option, format!("the model's file does not say; accepted is {accepted}"))
        };
        let layers =
            self.layers.or(parameters.depth).ok_or_else(|| missing("--layers", "an integer"))?;
        if let Some(stored) = parameters.depth.filter(|_| parameters.layers.len() > 1)
            && layers != stored
        {
            let reason = format!("{layers}; accepted is {stored}, the layers of the model");
            return Err(Error::option("--layers", reason));
        }
        let attention = model_file::attention(self.attention, parameters.attention)?;
        Ok(Input {
            trajectory,
            query,
            layers,
            alpha: self.alpha,
            gamma: self
                .gamma
                .or(parameters.gamma)
                .ok_or_else(|| missing("--gamma", "a number in [0, 1)"))?,
            lambda: parameters.lambda,
            method: Method::Trained {
                file: path.clone(),
                attention,
                parameters: Box::new(parameters),
            },
        })
    }

    /// The classical algorithm that stands beside the transformer.
    fn algorithm(&self, lambda: f64) -> &'static str {
        match self.construction {
            _ if lambda > 0.0 => "batch TD(lambda)",
            Some(Construction::TdLambda) => "batch TD(lambda)",
            Some(Construction::ResidualGradient) => "batch residual gradient",
            Some(Construction::AverageReward) => "batch average-reward TD",
            Some(Construction::Td0) | None => "batch TD(0)",
        }
    }
}

/// Refuses layers that would take minutes: a file may say that it has any number of them.
fn check_work(layers: usize, transitions: usize, d: usize) -> Result<(), Error> {
    let layer = transitions.saturating_mul(d).saturating_add((2 * d + 1).pow(3));
    let most = (WORK / layer).max(FEW_LAYERS);
    if layers <= most {
        return Ok(());
    }
    let data = format!("{transitions} transitions of {d} features");
    let reason = format!("{layers}; accepted with {data} are at most {most}");
    Err(Error::option("--layers", reason))
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

fn non_empty(numbers: &[f64]) -> Option<Vec<f64>> {
    (!numbers.is_empty()).then(|| numbers.to_vec())
}

/// A number, or a dash for none.
fn number(x: Option<f64>, decimals: usize) -> String {
    x.filter(|x| x.is_finite()).map_or("—".to_owned(), |x| report::number(x, decimals))
}

/// The first weights.
fn weights(weights: &Option<Vec<f64>>) -> String {
    let Some(weights) = weights else { return "—".to_owned() };
    let shown: Vec<_> = weights.iter().take(6).map(|x| report::number(*x, 4)).collect();
    let more = if weights.len() > shown.len() { ", …" } else { "" };
    format!("({}{more})", shown.join(", "))
}

impl Found {
    fn text(&self) -> String {
        let row = |name: &str, of: &Option<Vec<f64>>, error: Option<f64>, difference: String| {
            [name.to_owned(), weights(of), number(error, 6), difference]
        };
        let difference = |x: Option<f64>| number(x, 6);
        let mut out = report::table(&[
            ["value function", "weights", "TD error (rms)", "difference of values (rms)"]
                .map(str::to_owned),
            row("transformer", &self.weights, Some(self.td_error), String::new()),
            row(
                self.algorithm,
                &self.algorithm_weights,
                self.algorithm_td_error,
                difference(self.difference_from_algorithm),
            ),
            row(
                "LSTD",
                &self.lstd_weights,
                self.lstd_td_error,
                difference(self.difference_from_lstd),
            ),
        ]);
        if let Some(lambda) = self.lambda {
            out.push_str(&format!("lambda = {}\n", report::shortest(lambda)));
        }
        if let Some(attention) = &self.attention {
            out.push_str(&format!("{} attention\n", options::typed(attention)));
        }
        if let Some(episodes) = self.episodes {
            out.push_str(&format!("{} transitions in {episodes} episodes\n", self.transitions));
        }
        if self.lstd_weights.is_none() {
            out.push_str("LSTD: the transitions do not determine all weights.\n");
        }
        if self.algorithm_weights.is_none() {
            out.push_str("The algorithm's iterates overflow: lower --alpha.\n");
        }
        if let Some(values) = &self.query_values {
            out.push_str("\nvalues of the queries\n");
            for (i, value) in values.iter().take(20).enumerate() {
                out.push_str(&format!("{:>6}  {}\n", i + 1, number(Some(*value), 6)));
            }
            if values.len() > 20 {
                out.push_str(&format!("and {} more in queries.csv\n", values.len() - 20));
            }
        }
        out
    }
}
