//! `ictd evaluate`: values of states of a user's own data.

mod data;

use crate::error::{Error, WithContext};
use crate::experiments::{Experiment, Measured};
use crate::formats::{Naming, tasks};
use crate::model_file::{self, Typed};
use crate::options;
use crate::run::{Report, RunFiles, Session, report};
use compute::capacity::CONTEXT;
use compute::own_tasks::{OwnTasks, TaskArrays};
use compute::recipe::{Recipe, TaskMixture};
use judge::bridge::{LSTD_RIDGE, contexts, judge_estimator};
use judge::estimator::{Estimator, MAX_FEATURES, Method};
use judge::judge::{JUDGED, explained_by};
use serde::Serialize;
use serde_json::json;
use std::path::{Path, PathBuf};

/// The limit of work in multiplications, a few seconds: layers times the cost of a layer and of the algorithm's step.
const WORK: usize = 300_000_000;

/// The learning rate of a construction.
const ALPHA: f64 = 0.2;

/// The advice that is added to the core's reason if the layers overflow.
const BLOW_UP: &str = "the forward pass (scale the features to about [-1, 1], lower --alpha, or take --model universal, \
                       which has no scale)";

/// Predict the values of states from your own transitions, in context
///
/// The transitions of --data are the transformer's context; no parameter is trained. Without
/// --model, its layers are the paper's construction of TD(lambda). The command writes the values of
/// all states in the data (and of --queries) by three methods: the transformer; the classical
/// algorithm that its layers are compared with, with as many iterations as layers (15 for the
/// universal model, with its largest trace decay); and LSTD, which solves for the fixed point
/// directly, without a ridge. It prints the weights w of v(s) = <w, phi(s)>, with the level that the
/// universal model adds, and each value function's TD error on the data, which does not say how good the values are. The return error
/// does: each half of the data is judged by what a model that has read the other half predicts
/// there, compared with the discounted returns that followed, as far as they are known; with 90 %
/// intervals over episodes, or parts of long ones. All is computed in f64.
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
/// rho (n), and query (m, d) for further states. --layout and --array read other names; the guide's
/// page `logs` has the layouts. An unknown array is refused unless --ignore names it.
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
    #[command(flatten)]
    #[serde(flatten)]
    pub naming: Naming,
    /// Features of the columns or arrays `phi` as raw observations: standardised, tile coding or a Fourier basis, each with a
    /// constant, scaled by the first 1000 rows; or a features.json that the command wrote
    #[arg(long, value_name = "standard|tiles|fourier|FILE.json", requires = "data")]
    pub features: Option<String>,
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
    /// [default: 0.2]
    #[arg(long, conflicts_with = "model", value_parser = options::real(0.0..))]
    pub alpha: Option<f64>,
    /// Trace decay of the construction [default: 0, Theorem 1's TD(0)]
    #[arg(long, conflicts_with = "model", value_parser = options::real(0.0..=1.0))]
    pub trace_decay: Option<f64>,
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
        let own = self.trace_decay.unwrap_or(0.0);
        let trace_decay = self.lambda.map_or(own, |lambda| gamma * lambda);
        let alpha = self.alpha.unwrap_or(ALPHA);
        let method = Method::Constructed { alpha, trace_decay };
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
