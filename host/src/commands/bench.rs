//! `ictd bench`: value functions on a fixed suite.

use crate::error::{Error, WithContext as _};
use crate::experiments::learning::trained;
use crate::experiments::{Experiment, Measured};
use crate::model_file::Typed;
use crate::options;
use crate::run::{Report, Session, report};
use crate::train::directory::final_parameters;
use crate::train::{Recipe, Seeds, Train};
use compute::words::Word as _;
use judge::bench::{self, BenchTask, DIM, GAMMA, LEN, Score, WORST};
use judge::estimator::{Estimator, Method};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// The largest number of contexts of a task.
const MOST: usize = 10_000;

/// Compare value functions on a fixed suite of policy evaluation in context
///
/// The tasks: Boyan's chain with random and with representable values, random MDPs (Garnet), a
/// gridworld, CartPole, a random MDP off policy, and a log of a pendulum. Each context has 100
/// transitions with 4 features of one fresh task; gamma is 0.9. A score is the squared value error
/// divided by that of predicting 0, with a 90 % interval over contexts; an error counts as at most 10
/// times that of predicting 0, and so does divergence.
///
/// The table has batch TD(0) (alpha 0.2, 15 iterations), LSTD(0.9) with ridge 0.3, preconditioned TD
/// with the numbers that training leads to, the universal model, and a transformer that the command
/// trains as `ictd train` does by default, with seed 0 (it is kept in --out/runs); and each --model.
/// A model with softmax attention takes no importance weights: it has no score off policy, and no mean.
///
/// results.json has all scores, the seed and the number of contexts, which define the contexts on
/// every machine. Python's `ictd.bench` enters any function.
#[derive(Clone, Debug, clap::Args, Serialize)]
#[command(verbatim_doc_comment)]
#[serde(rename_all = "kebab-case")]
pub struct Bench {
    /// A model of 4 features to enter, as for `evaluate`; may be given several times
    #[arg(long, value_name = "FILE|DIR")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub model: Vec<PathBuf>,
    /// Contexts of each task
    #[arg(long, value_name = "N", default_value = "200", value_parser = options::integer(2..=MOST))]
    pub contexts: usize,
}

pub(crate) const ENTRY: Experiment =
    Experiment::by_command("bench", "none: a suite for any value function", |_| Ok(Vec::new()));

pub fn run(options: &Bench, session: &Session) -> Result<Report, Error> {
    let mut entries = Vec::new();
    for file in &options.model {
        let estimator = Typed::default().estimator(file, session.seed)?;
        if let Method::Trained { parameters, .. } = &estimator.method
            && parameters.feature_dimension() != DIM
        {
            let reason = format!("d = {}; expected {DIM}", parameters.feature_dimension());
            return Err(Error::file(file, reason));
        }
        let estimator = estimator.with_gamma(GAMMA).context(file.display())?;
        entries.push((file.display().to_string(), estimator));
    }
    ENTRY.record(options, session, |_| {
        let mut models: Vec<_> = bench::references().context("the models")?;
        models.push(("transformer", transformer(session)?));
        let named = models.into_iter().map(|(name, of)| (name.to_owned(), of));
        measure(&named.chain(entries).collect::<Vec<_>>(), options.contexts, session)
    })
}

/// Returns the transformer of the default recipe and seed 0.
fn transformer(session: &Session) -> Result<Estimator, Error> {
    let options = Train { seeds: Seeds::List([0].into()), ..Train::from(Recipe::default()) };
    let runs = trained("transformer", &options, 0, session)?;
    let Recipe { attention, gamma, layers, .. } = options.recipe;
    let parameters = Box::new(final_parameters(&options.recipe, &runs[0]));
    Ok(Estimator { method: Method::Trained { parameters, attention }, gamma, layers })
}

fn measure(
    models: &[(String, Estimator)],
    contexts: usize,
    session: &Session,
) -> Result<Measured, Error> {
    // The scores of each task, a model after another.
    let mut scores = Vec::<Vec<Option<Score>>>::new();
    for &task in BenchTask::ALL {
        let seeds = task.seeds(contexts, session.seed);
        let errors = session.map(task.word(), &seeds, |seed| {
            let context = task.context(*seed).context(task.word())?;
            let of = |(name, estimator): &(String, Estimator)| {
                if context.transitions.rho.is_some() && !estimator.takes_weights() {
                    return Ok(None);
                }
                let values = bench::predicted(estimator, &context).context(name)?;
                Ok(Some(bench::errors(&context, &values)))
            };
            models.iter().map(of).collect::<Result<Vec<_>, Error>>()
        })?;
        let of_model = |model: usize| {
            let errors = errors.iter().map(|of| of[model]).collect::<Option<Vec<_>>>()?;
            Some(bench::score(&errors))
        };
        scores.push((0..models.len()).map(of_model).collect());
    }
    let tasks = BenchTask::WORDS;
    let columns = [&["model"], tasks, &["mean"]].concat();
    let (mut rows, mut found) = (Vec::new(), Map::new());
    for (at, (name, _)) in models.iter().enumerate() {
        let mut of: Vec<_> = scores.iter().map(|task| task[at]).collect();
        let each = of.iter().copied().collect::<Option<Vec<_>>>();
        of.push(each.map(|scores| Score::over_tasks(&scores)));
        let cell = |score: &Option<Score>| score.map_or("—".into(), |score| shown(&score));
        rows.push([vec![name.clone()], of.iter().map(cell).collect()].concat());
        let named =
            columns[1..].iter().zip(of).map(|(task, score)| (task.to_string(), json!(score)));
        found.insert(name.clone(), Value::Object(named.collect()));
    }
    let text = report::table(&columns, rows)
        + &format!(
            "Squared value error over that of predicting 0, at most {WORST}, with 90 % intervals over {contexts} contexts of {LEN} \
             transitions.\n"
        );
    let results = json!({ "suite": 1, "contexts": contexts, "scores": found });
    Ok(Measured { results, text, claims: Vec::new() })
}

fn shown(score: &Score) -> String {
    format!("{}±{}", report::number(score.mean, 2), report::number(score.high - score.mean, 2))
}
