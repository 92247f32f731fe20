//! `ictd evaluate`: values of states of a user's own data.

use crate::construction::{self, Construction, LAMBDA};
use crate::error::{Doing, Error};
use crate::experiments::experiment::{self, Entry, Measured, Run};
use crate::formats::parameters::Attention;
use crate::formats::trajectory::{Features, Trajectory};
use crate::model_file::{self, AnyModel};
use crate::options;
use crate::run::records::Records;
use crate::run::report::{self, Report};
use crate::run::session::Session;
use compute::estimator::{
    Estimator, MAX_FEATURES, Mark, Method, SOFTMAX_CONTEXT, Transitions, Values, values_of,
};
use figures::{Axis, Curve, Curves, Figure, NamedFigures, Panel};
use ictd_core::attention::Mask as _;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::{Path, PathBuf};

/// The most layers, and iterations of the algorithm beside them.
const LAYERS: usize = 100_000;

/// The layers that any number of transitions may have; more layers take fewer ([`WORK`]).
const FEW_LAYERS: usize = 1000;

/// Multiplications of some seconds: layers times what one costs, and what the algorithm's step beside it does.
const WORK: usize = 300_000_000;

/// More rows than this are not told apart in a figure.
const ROWS_IN_FIGURE: usize = 500;

/// A TD error this many times that of predicting 0 is no prediction.
const DIVERGES: f64 = 100.0;

/// Predict the values of states from your own transitions, in context
///
/// The transitions of --data are the transformer's context; no parameter is trained. The table has the
/// values of all states in the data (and of --queries) by the transformer, by the classical algorithm
/// that its layers are compared with (as many iterations as layers), and by LSTD, which solves for the
/// fixed point directly; then the (implicit) weights w of v(s) = <w, phi(s)>, and each value function's
/// TD error on the data. All is computed in f64.
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
/// With `--model universal` any scale of features and rewards will do, and values are there from the
/// first transition on. Otherwise scale the features to about [-1, 1]; with larger ones lower --alpha.
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
    #[arg(long, value_parser = options::words::<Construction>(Construction::WORDS))]
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
    #[arg(long, value_parser = options::word::<Attention>("attention"))]
    pub attention: Option<Attention>,
}

/// One row of `values.csv` (states of the data) and `queries.csv`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ValueRow {
    /// The row of the file, from 1.
    pub row: usize,
    /// The value by the transformer.
    pub transformer: f64,
    /// The value by the classical algorithm; empty if its iterates overflow.
    pub algorithm: Option<f64>,
    /// The value by LSTD; empty if the data do not determine it.
    pub lstd: Option<f64>,
}

/// The findings: the transformer's value function, the algorithm's and LSTD's.
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
    /// The layers blow up.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    diverges: bool,
}

/// The description of its runs.
pub(crate) const ENTRY: Entry =
    Entry { id: "evaluate", figure: "none: the user's own data", figures, run: Run::ByCommand };

/// Runs the command.
pub fn run(options: &Evaluate, session: &Session) -> Result<Report, Error> {
    options.check()?;
    experiment::run(&ENTRY, options, session, |records| options.measure(session, records))
}

impl Evaluate {
    fn check(&self) -> Result<(), Error> {
        construction::check(self.construction, self.lambda, self.gamma)?;
        if self.model.is_none() && self.attention == Some(Attention::Softmax) {
            let reason = "softmax: the constructions are of linear attention";
            return Err(Error::option("--attention", reason));
        }
        Ok(())
    }

    fn measure(&self, session: &Session, records: &mut Records) -> Result<Measured, Error> {
        let input = self.input(session.seed)?;
        let Input { data, queries, estimator, .. } = &input;
        let d = data.d;
        if d > MAX_FEATURES {
            let reason =
                format!("{d} features; accepted is a feature dimension of 1 to {MAX_FEATURES}");
            return Err(Error::file(&self.data, reason));
        }
        check_work(estimator.layers, data.len(), d)?;
        let (transformer, algorithm, lstd) = session.on_threads(
            1,
            || -> Result<(Values, Option<Values>, Option<Values>), Error> {
                let iterated = input.beside(|construction, alpha, lambda| Method::Iterated {
                    construction,
                    alpha,
                    lambda,
                });
                let fixed_point = input
                    .beside(|construction, _, lambda| Method::FixedPoint { construction, lambda });
                // Iterates may overflow, and the data may not determine the fixed point.
                Ok((
                    input.values(estimator)?,
                    input.values(&iterated).ok(),
                    input.values(&fixed_point).ok(),
                ))
            },
        )??;
        let zero = (data.reward.iter().map(|r| r * r).sum::<f64>() / data.len() as f64).sqrt();
        let of = |values: &Option<Values>| values.as_ref().and_then(|v| v.weights.clone());
        let from = |v: &Option<Values>| v.as_ref().map(|v| rms(&transformer.rows, &v.rows));
        put_records(
            [Some(&transformer), algorithm.as_ref(), lstd.as_ref()],
            d,
            queries.is_some(),
            records,
        )?;
        let episodes = data.episodes();
        let found = Found {
            dimension: d,
            transitions: data.len(),
            episodes: (episodes > 1).then_some(episodes),
            layers: estimator.layers,
            gamma: estimator.gamma,
            lambda: Some(input.lambda).filter(|lambda| *lambda > 0.0),
            attention: match estimator.method {
                Method::Trained { attention: Attention::Softmax, .. } => Some(Attention::Softmax),
                _ => None,
            },
            algorithm: input.name(),
            weights: transformer.weights.clone(),
            algorithm_weights: of(&algorithm),
            lstd_weights: of(&lstd),
            td_error: transformer.td_error,
            algorithm_td_error: algorithm.as_ref().map(|v| v.td_error),
            lstd_td_error: lstd.as_ref().map(|v| v.td_error),
            difference_from_algorithm: from(&algorithm),
            difference_from_lstd: from(&lstd),
            diverges: transformer.td_error.is_nan()
                || transformer.td_error > DIVERGES * zero.max(f64::MIN_POSITIVE),
            query_values: Some(transformer.queries).filter(|values| !values.is_empty()),
        };
        Ok(Measured { results: json!(found), text: found.text(), claims: Vec::new() })
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

/// The data, and the sources that are evaluated on them.
struct Input {
    data: Transitions,
    queries: Option<Features>,
    estimator: Estimator,
    /// Whose algorithm stands beside it.
    construction: Construction,
    alpha: f64,
    lambda: f64,
}

/// Shown beside the core's reason when the layers overflow.
const BLOW_UP: &str = "the forward pass (scale the features to about [-1, 1], or lower --alpha)";

impl Input {
    /// Returns an algorithm with the transformer's settings.
    fn beside(&self, method: impl Fn(Construction, f64, f64) -> Method) -> Estimator {
        let method = method(self.construction, self.alpha, self.lambda);
        Estimator { method, ..self.estimator.clone() }
    }

    fn values(&self, estimator: &Estimator) -> Result<Values, Error> {
        let gamma = Some(estimator.gamma).filter(|_| !estimator.is_average_reward());
        let queries = self.queries.as_ref().map_or(&[][..], |queries| &queries.numbers);
        let mut stream = estimator.stream(self.data.d, None).doing("the model")?;
        self.data.observed_by(&mut *stream).doing("the data")?;
        values_of(&*stream, &self.data, queries, gamma).doing(BLOW_UP)
    }

    /// Returns the name of the classical algorithm.
    fn name(&self) -> &'static str {
        match self.construction {
            _ if self.lambda > 0.0 => "batch TD(lambda)",
            Construction::TdLambda => "batch TD(lambda)",
            Construction::ResidualGradient => "batch residual gradient",
            Construction::AverageReward => "batch average-reward TD",
            Construction::Td0 => "batch TD(0)",
        }
    }
}

impl Evaluate {
    /// Reads the files and settles what options and files leave open; `seed` is that of a run's model.
    fn input(&self, seed: u64) -> Result<Input, Error> {
        model_file::check_seed(&self.model, seed)?;
        let Trajectory { transitions: data, query } = Trajectory::open(&self.data)?;
        let queries = match &self.queries {
            Some(file) => {
                let features = Features::open(file)?;
                if features.dimension != data.d {
                    let d = features.dimension;
                    let reason = format!("{d} features; accepted is {}, as in the data", data.d);
                    return Err(Error::file(file, reason));
                }
                Some(features)
            }
            None => query,
        };
        let construction = self.construction.unwrap_or(Construction::Td0);
        if construction == Construction::AverageReward && data.marks.contains(&Mark::Terminal) {
            let reason = "average-reward: accepted with data without `terminal`, as it never ends";
            return Err(Error::option("--construction", reason));
        }
        let has_lambda = construction == Construction::TdLambda;
        let (estimator, lambda) = match &self.model {
            Some(source) => self.trained(source, seed, &data)?,
            None => {
                let lambda = if has_lambda { self.lambda } else { 0.0 };
                let method = Method::Constructed { construction, alpha: self.alpha, lambda };
                let (gamma, layers) = (self.gamma.unwrap_or(0.9), self.layers.unwrap_or(15));
                (Estimator { method, gamma, layers }, lambda)
            }
        };
        Ok(Input { data, queries, estimator, construction, alpha: self.alpha, lambda })
    }

    /// Returns a trained model, and the trace decay of its mask.
    fn trained(
        &self,
        source: &Path,
        seed: u64,
        data: &Transitions,
    ) -> Result<(Estimator, f64), Error> {
        let path = &model_file::seed_of_run(source, seed)?;
        let parameters = match model_file::model(path, self.gamma)? {
            AnyModel::Universal(model) => {
                if self.layers.is_some() {
                    let reason = "the universal model has no layers: leave it out";
                    return Err(Error::option("--layers", reason));
                }
                if self.attention == Some(Attention::Softmax) {
                    let reason = "softmax: the model's attention is linear";
                    return Err(Error::option("--attention", reason));
                }
                let (gamma, [_, lambda]) = (model.gamma(), model.mask().decays());
                let method = Method::Universal(model);
                return Ok((Estimator { method, gamma, layers: 1 }, lambda));
            }
            AnyModel::Dense(file) => file.parameters,
        };
        let (d, of_model) = (data.d, parameters.feature_dimension());
        if of_model != d {
            let reason =
                format!("d = {of_model} in the model, {d} in the data: the same is accepted");
            return Err(Error::option("--model", reason));
        }
        let missing = |option, accepted: &str| {
            Error::option(option, format!("the model's file does not say; accepted is {accepted}"))
        };
        let layers =
            self.layers.or(parameters.depth).ok_or_else(|| missing("--layers", "an integer"))?;
        let own = parameters.depth.filter(|_| parameters.layers.len() > 1);
        if let Some(stored) = own.filter(|stored| *stored != layers) {
            let reason = format!("{layers}; accepted is {stored}, the layers of the model");
            return Err(Error::option("--layers", reason));
        }
        let attention = model_file::attention(self.attention, parameters.attention)?;
        if attention == Attention::Softmax && data.len() > SOFTMAX_CONTEXT {
            let accepted = format!("accepted for softmax attention are at most {SOFTMAX_CONTEXT}");
            let reason = format!("{} transitions; {accepted}", data.len());
            return Err(Error::option("--data", reason));
        }
        let gamma = self.gamma.or(parameters.gamma);
        let gamma = gamma.ok_or_else(|| missing("--gamma", "a number in [0, 1)"))?;
        let lambda = parameters.lambda;
        let method = Method::Trained { parameters: Box::new(parameters), attention };
        Ok((Estimator { method, gamma, layers }, lambda))
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

/// Writes the values of the transformer, its algorithm and LSTD.
fn put_records(
    found: [Option<&Values>; 3],
    d: usize,
    has_queries: bool,
    records: &mut Records,
) -> Result<(), Error> {
    let rows = |of: fn(&Values) -> &[f64]| -> Vec<ValueRow> {
        let count = found[0].map_or(0, |values| of(values).len());
        let row = |i: usize| {
            let [transformer, algorithm, lstd] = found.map(|values| values.map(|v| of(v)[i]));
            let transformer = transformer.unwrap_or(f64::NAN);
            ValueRow { row: i + 1, transformer, algorithm, lstd }
        };
        (0..count).map(row).collect()
    };
    records.put_csv("values.csv", &rows(|values| &values.rows))?;
    if has_queries {
        records.put_csv("queries.csv", &rows(|values| &values.queries))?;
    }
    let row = |feature: usize| {
        let weight = |values: &Values| values.weights.as_ref().map(|weights| weights[feature]);
        (feature, found.map(|values| values.and_then(weight)))
    };
    let head = ["feature", "transformer", "algorithm", "lstd"];
    records.put_table("weights.csv", &head, &(0..d).map(row).collect::<Vec<_>>())
}

/// Returns the root mean square difference of two value functions on the rows of the data.
fn rms(a: &[f64], b: &[f64]) -> f64 {
    let squares = a.iter().zip(b).map(|(x, y)| (x - y) * (x - y));
    (squares.fold(0.0, |sum, x| sum + x) / a.len() as f64).sqrt()
}

/// Returns a number, or a dash for none.
fn number(x: Option<f64>, decimals: usize) -> String {
    x.filter(|x| x.is_finite()).map_or("—".to_owned(), |x| report::number(x, decimals))
}

/// Returns the first weights.
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
        if self.diverges {
            out.push_str(
                "The layers diverge on these data: scale the features to about [-1, 1], lower --alpha, or \
                 take --model universal, which has no scale.\n",
            );
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
