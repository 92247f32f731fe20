//! `ictd evaluate`: values of states of a user's own data.

use crate::error::{Error, WithContext};
use crate::experiments::{Experiment, Measured};
use crate::formats::{Features, Trajectory, tasks};
use crate::model_file::{self, Typed};
use crate::options;
use crate::run::{Report, RunFiles, Session, report};
use compute::capacity::CONTEXT;
use compute::own_tasks::{OwnTasks, TaskArrays};
use compute::recipe::{AttentionKind, Recipe, TaskMixture};
use compute::transitions::Transitions;
use judge::bridge::{LSTD_RIDGE, contexts, judge_estimator};
use judge::estimator::{
    EstimatedValues, Estimator, MAX_FEATURES, Method, SOFTMAX_CONTEXT, values_of,
};
use judge::judge::{JUDGED, explained_by};
use serde::Serialize;
use serde_json::json;
use std::path::{Path, PathBuf};

/// The limit of work in multiplications, a few seconds: layers times the cost of a layer and of the algorithm's step.
const WORK: usize = 300_000_000;

/// The number of layers that any number of transitions may have.
const FEW_LAYERS: usize = 1000;

/// A TD error this many times that of predicting 0 counts as divergence.
const DIVERGES: f64 = 100.0;

const SHOWN: usize = 6;

/// The advice that is added to the core's reason if the layers overflow.
const BLOW_UP: &str = "the forward pass (scale the features to about [-1, 1], lower --alpha, or take --model universal, \
                       which has no scale)";

/// The same for the universal model, which has no learning rate.
const NO_SUMS: &str = "the universal model (give features and rewards sizes nearer to 1)";

/// Predict the values of states from your own transitions, in context
///
/// The transitions of --data are the transformer's context; no parameter is trained. Without
/// --model, its layers are the paper's construction of TD(lambda). The command writes the values of
/// all states in the data (and of --queries) by three methods: the transformer; the classical
/// algorithm that its layers are compared with, with as many iterations as layers (15 for the
/// universal model, with its largest trace decay); and LSTD, which solves for the fixed point
/// directly, without a ridge. It prints the weights w of v(s) = <w, phi(s)> and each
/// value function's TD error on the data. All is computed in f64.
///
/// With --task FILE.npz, the command tests the model on tasks of your own, whose true values are
/// known: its distance from TD(0), the share of its values that TD(0) and other algorithms explain,
/// and its value error compared with theirs. These algorithms have as many iterations as the model
/// has layers (3 for the universal model), with fitted step sizes; LSTD is LSTD(0) with ridge 0.3.
///
/// A CSV file has a header line, `,` between cells, and numbers with a decimal point; the guide's
/// page `signals` says how to read other tables. The columns may have any order:
///   phi_0 ... phi_{d-1}            features of the state, d = 1 to 64
///   reward                         the reward on leaving the state
///   phi_next_0 ... phi_next_{d-1}  features of the next state
///   terminal                       optional; 1: the next state ends the episode, its value is 0
///   end                            optional; 1: the episode is cut here, though it could go on
///   rho                            optional; pi(A|S) / b(A|S), if a policy b acted and the values
///                                  of another policy, pi, are wanted
/// Without phi_next columns, the next row is the next state. A row marked `end`, or the last row,
/// then only closes its episode, and its reward may be empty.
///
/// An npz file has the arrays phi (n, d), reward (n), phi_next (n, d), terminal (n), end (n) and
/// rho (n), and query (m, d) for further states.
///
/// With `--model universal`, features and rewards may have any scale, but features must be distances
/// from a level (not kelvin); values are available after the first transition; a query's features,
/// and the values, are clipped at what the data allow, as the guide's page `universal` says.
/// Otherwise scale the features to about [-1, 1], or lower --alpha.
#[derive(Clone, Debug, clap::Args, Serialize)]
#[command(verbatim_doc_comment)]
#[serde(rename_all = "kebab-case")]
pub struct Evaluate {
    /// The transitions
    #[arg(long, value_name = "FILE.csv|FILE.npz", required_unless_present = "task")]
    pub data: Option<PathBuf>,
    /// Tasks of your own, in place of transitions: p, reward, phi; p0, terminal, gamma
    #[arg(long, value_name = "FILE.npz", conflicts_with_all = ["data", "queries"])]
    pub task: Option<PathBuf>,
    /// Transitions of each context of --task [default: 30]
    #[arg(long, value_name = "N", conflicts_with = "data", value_parser = options::integer(1..=CONTEXT))]
    pub context_length: Option<usize>,
    /// States to predict the values of: a CSV with the phi columns alone, or an npz with `query`
    #[arg(long, value_name = "FILE.csv|FILE.npz")]
    pub queries: Option<PathBuf>,
    /// `universal`; or trained parameters: .safetensors, data.npz (with its params.json), a stored
    /// model, the folder of a run (--seed chooses the seed), or that of a seed
    #[arg(long, value_name = "universal|FILE|DIR")]
    pub model: Option<PathBuf>,
    #[command(flatten)]
    #[serde(flatten)]
    pub typed: Typed,
    /// Learning rate alpha of the construction, and of the algorithm that is compared with it
    #[arg(long, default_value = "0.2", conflicts_with = "model", value_parser = options::real(0.0..))]
    pub alpha: f64,
    /// Trace decay of the construction; 0 is Theorem 1's TD(0)
    #[arg(long, default_value = "0", conflicts_with = "model", value_parser = options::real(0.0..=1.0))]
    pub trace_decay: f64,
    /// The lambda of TD(lambda): the trace decay is then gamma lambda
    #[arg(long, conflicts_with_all = ["model", "trace_decay"], value_parser = options::real(0.0..=1.0))]
    pub lambda: Option<f64>,
}

pub(crate) const ENTRY: Experiment =
    Experiment::by_command("evaluate", "none: the user's own data", |_| Ok(Vec::new()));

pub fn run(options: &Evaluate, session: &Session) -> Result<Report, Error> {
    model_file::check_seed(&options.model, session.seed)?;
    let estimator = options.estimator(session.seed)?;
    for input in options.data.iter().chain(&options.task).chain(&options.queries) {
        ENTRY.refuse_inside(session, input)?;
    }
    ENTRY.record(options, session, |records| match (&options.task, &options.data) {
        (Some(file), _) => options.judge(file, &estimator, session, records),
        (None, Some(file)) => options.measure(file, &estimator, session, records),
        (None, None) => Err(Error::option("--data", "expected a file of transitions")),
    })
}

impl Evaluate {
    fn estimator(&self, seed: u64) -> Result<Estimator, Error> {
        if let Some(source) = &self.model {
            return self.typed.estimator(source, seed);
        }
        let (layers, gamma) = self.typed.of_construction()?;
        let trace_decay = self.lambda.map_or(self.trace_decay, |lambda| gamma * lambda);
        let method = Method::Constructed { alpha: self.alpha, trace_decay };
        Ok(Estimator { method, gamma, layers })
    }

    fn judge(
        &self,
        file: &Path,
        estimator: &Estimator,
        session: &Session,
        records: &mut RunFiles,
    ) -> Result<Measured, Error> {
        let unread = OwnTasks::named(&file.to_string_lossy());
        let unread =
            unread.ok_or_else(|| Error::file(file, "expected the name of an .npz file"))?;
        let default = Recipe::default();
        let recipe = Recipe {
            task: TaskMixture::Own(unread),
            gamma: estimator.gamma,
            // The universal model has no layers: it is compared with the default number of iterations.
            layers: match estimator.method {
                Method::Universal(_) => default.layers,
                _ => estimator.layers,
            },
            context_length: self.context_length.unwrap_or(default.context_length),
            ..default
        };
        let recipe = tasks::load(recipe, None)?;
        let own = recipe.task.own().map(OwnTasks::mrps).transpose()?;
        let weightless = own.map_or(Ok(0), TaskArrays::weightless).context(file.display())?;
        model_file::check_discount(estimator, recipe.gamma)?;
        check_dimension(estimator, recipe.dim, "the tasks")?;
        // The fits compute with 8 or 64 features.
        let padded = if recipe.dim <= 8 { 8 } else { MAX_FEATURES };
        let cost = 10 * JUDGED * padded * padded;
        model_file::check_depth("--layers", recipe.layers, cost, [WORK, 40])?;
        let estimator = estimator.with_gamma(recipe.gamma).context("the model")?;
        let verdict = session.on_threads(1, || {
            let contexts = contexts(&recipe, JUDGED, session.seed)?;
            judge_estimator(&recipe, &contexts, &estimator)
        })?;
        let verdict = verdict.context(BLOW_UP)?;
        let mut numbers: Vec<(String, f64)> =
            [("vd", verdict.vd), ("iws", verdict.iws), ("ss", verdict.ss)]
                .map(|(name, x)| (name.to_owned(), x))
                .into();
        numbers.extend(verdict.explained.iter().map(|(name, share)| (explained_by(name), *share)));
        let names = ["msve", "msve of predicting 0", "msve of TD(0), tuned", "msve of LSTD"];
        numbers.extend(names.map(str::to_owned).into_iter().zip(verdict.msve));
        records.put_table("judge.csv", &["metric", "value"], &numbers)?;
        let rows = numbers.iter().map(|(name, x)| [name.clone(), report::number(*x, 4)]);
        let mut text = report::table(&["metric", "value"], rows)
            + &format!(
                "{JUDGED} contexts of {} transitions; the algorithms have {} iterations; LSTD is LSTD(0), ridge {LSTD_RIDGE}\n\
                 Step sizes are fitted to one half of the contexts and tested on the other: explained shares are means over both, \
                 all else is of the second half.\n",
                recipe.context_length, recipe.layers
            );
        if weightless > 0 {
            text.push_str(&format!(
                "States without weight in these numbers: {weightless}, to which the process never returns. If a state absorbs it, \
                 mark that one `terminal`.\n"
            ));
        }
        if verdict.iws.is_nan() {
            text.push_str(
                "iws and ss are not measured: the states that have weight do not span the features.\n",
            );
        }
        let values: serde_json::Map<_, _> =
            numbers.into_iter().map(|(name, x)| (name, json!(x))).collect();
        let results = json!({
            "task": recipe.task.to_string(), "iterations": recipe.layers, "judge": values,
            "states_without_weight": weightless,
        });
        Ok(Measured { results, text, claims: Vec::new() })
    }

    fn measure(
        &self,
        file: &Path,
        estimator: &Estimator,
        session: &Session,
        records: &mut RunFiles,
    ) -> Result<Measured, Error> {
        let Trajectory { transitions: data, query } = Trajectory::open(file)?;
        let (d, n) = (data.d, data.len());
        let queries = match &self.queries {
            Some(file) => {
                let found = Features::open(file)?;
                if found.dimension != d {
                    let found = found.dimension;
                    let reason = format!("{found} features; expected {d}, as in the data");
                    return Err(Error::file(file, reason));
                }
                found.numbers
            }
            None => query.map_or(Vec::new(), |query| query.numbers),
        };
        self.check(file, estimator, &data)?;
        let Estimator { ref method, gamma, layers } = *estimator;
        let (alpha, trace_decay) = (self.alpha, estimator.trace_decay());
        let iterations = match method {
            Method::Universal(_) => self.typed.of_construction()?.0,
            _ => layers,
        };
        let algorithm = if trace_decay > 0.0 { "batch TD(lambda)" } else { "batch TD(0)" };
        let blow_up = if let Method::Universal(_) = method { NO_SUMS } else { BLOW_UP };
        let values = |method: &Method| -> Result<EstimatedValues, Error> {
            let layers = if let Method::Iterated { .. } = method { iterations } else { layers };
            let estimator = Estimator { method: method.clone(), gamma, layers };
            let mut stream = estimator.stream(d, None).context("the model")?;
            stream.observe_all(&data).context(file.display())?;
            values_of(&*stream, &data, &queries, gamma).context(blow_up)
        };
        let (transformer, beside) = session.on_threads(1, || -> Result<_, Error> {
            let beside =
                [Method::Iterated { alpha, trace_decay }, Method::FixedPoint { trace_decay }];
            // Iterates may overflow, and the data may not determine the fixed point.
            Ok((values(method)?, beside.map(|method| values(&method).ok())))
        })??;
        let [iterated, lstd] = &beside;
        let is_universal = matches!(method, Method::Universal(_));
        let all = [
            (if is_universal { "universal model" } else { "transformer" }, Some(&transformer)),
            (algorithm, iterated.as_ref()),
            ("LSTD", lstd.as_ref()),
        ];
        let table = |of: fn(&EstimatedValues) -> &[f64]| -> Vec<_> {
            let row = |i| (i + 1, all.map(|(_, values)| values.map(|values| of(values)[i])));
            (0..of(&transformer).len()).map(row).collect()
        };
        let head = ["row", "transformer", "algorithm", "lstd"];
        records.put_table("values.csv", &head, table(|values| &values.rows))?;
        if !queries.is_empty() {
            records.put_table("queries.csv", &head, table(|values| &values.queries))?;
        }

        let squares = data.reward.iter().enumerate().map(|(i, r)| data.weight(i) * (r * r));
        let zero = (squares.sum::<f64>() / n as f64).sqrt();
        let diverges = |values: &EstimatedValues| {
            values.td_error.is_nan() || values.td_error > DIVERGES * zero.max(f64::MIN_POSITIVE)
        };
        let iterates = iterated.as_ref().is_some_and(diverges);
        let episodes = data.episodes();
        let difference = |values: &EstimatedValues| rms(&transformer.rows, &values.rows);
        let estimators = all.map(|(name, values)| {
            json!({
                "name": name,
                "weights": values.map(|values| &values.weights),
                "td_error": values.map(|values| values.td_error),
                "difference": values.map(difference),
            })
        });
        let results = json!({
            "dimension": d,
            "transitions": n,
            "episodes": episodes,
            "layers": layers,
            "iterations": iterations,
            "gamma": gamma,
            "trace_decay": trace_decay,
            "estimators": estimators,
            "query_values": transformer.queries,
        });

        let number = |x: f64| if x.is_finite() { report::number(x, 6) } else { "—".into() };
        let head = ["value function", "weights", "TD error (rms)", "difference of values (rms)"];
        let rows = all.map(|(name, values)| {
            let of = |x: fn(&EstimatedValues) -> f64| number(values.map_or(f64::NAN, x));
            let weights = values.and_then(|values| values.weights.as_ref());
            let difference = number(values.map_or(f64::NAN, difference));
            [name.into(), weights.map_or("—".into(), |w| first(w)), of(|v| v.td_error), difference]
        });
        let lambda = report::shortest(trace_decay);
        let mut text = report::table(&head, rows)
            + &format!(
                "{n} transitions in {episodes} episode{}; trace decay {lambda}; {algorithm}: {iterations} iterations, alpha \
                 {}; LSTD: no ridge\n",
                if episodes == 1 { "" } else { "s" },
                report::shortest(alpha)
            );
        for (is_so, line) in [
            (lstd.is_none(), "LSTD: the transitions do not determine all weights.\n"),
            (iterated.is_none(), "The algorithm's iterates overflow: lower --alpha.\n"),
            (iterates, "The algorithm's iterates diverge: lower --alpha.\n"),
        ] {
            text.push_str(if is_so { line } else { "" });
        }
        Ok(Measured { results, text, claims: Vec::new() })
    }

    /// Rejects data that the model does not accept, and layers that would take minutes: a file may claim any number of them.
    fn check(&self, file: &Path, estimator: &Estimator, data: &Transitions) -> Result<(), Error> {
        let (d, n) = (data.d, data.len());
        check_dimension(estimator, d, "the data")?;
        if let Method::Trained { attention, .. } = &estimator.method {
            if data.rho.is_some() && !estimator.takes_weights() {
                let reason = "rho: softmax attention takes no weights; expected a model that does";
                return Err(Error::file(file, reason));
            }
            if *attention == AttentionKind::Softmax && n > SOFTMAX_CONTEXT {
                let expected = format!("expected at most {SOFTMAX_CONTEXT} for softmax attention");
                return Err(Error::option("--data", format!("{n} transitions; {expected}")));
            }
        }
        let cost = n.saturating_mul(d).saturating_add((2 * d + 1).pow(3));
        model_file::check_depth("--layers", estimator.layers, cost, [WORK, FEW_LAYERS])
    }
}

fn check_dimension(estimator: &Estimator, d: usize, of: &str) -> Result<(), Error> {
    match &estimator.method {
        Method::Trained { parameters, .. } if parameters.feature_dimension() != d => {
            let of_model = parameters.feature_dimension();
            let reason = format!("d = {of_model} in the model, {d} in {of}: expected the same");
            Err(Error::option("--model", reason))
        }
        _ => Ok(()),
    }
}

fn rms(a: &[f64], b: &[f64]) -> f64 {
    let squares = a.iter().zip(b).map(|(x, y)| (x - y) * (x - y));
    (squares.fold(0.0, |sum, x| sum + x) / a.len() as f64).sqrt()
}

fn first(weights: &[f64]) -> String {
    let shown: Vec<_> = weights.iter().take(SHOWN).map(|x| report::number(*x, 4)).collect();
    let more = if weights.len() > shown.len() { ", …" } else { "" };
    format!("({}{more})", shown.join(", "))
}
