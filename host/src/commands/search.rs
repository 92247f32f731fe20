//! `ictd search`: the search for the universal model's parameters.

use crate::error::{Error, WithContext};
use crate::experiments::universal::{LONGEST, all, cells, geometric_mean, put_errors};
use crate::experiments::{Experiment, Measured, MeasurementTable};
use crate::files;
use crate::run::progress;
use crate::run::records::{self, RunFiles};
use crate::run::report::{Claim, Report, Source, Verdict, number, table};
use crate::run::session::Session;
use compute::words::Word as _;
use ictd_core::universal::{PRETRAINED, UniversalParameters};
use judge::universal::{
    Benchmark, Family, Loss, ParameterSearch, REFERENCE, STAGES, Target, start,
};
use rayon::prelude::*;
use serde::Serialize;
use serde_json::json;

/// Search for the parameters of the universal model, from LSTD's ridges
///
/// The start is LSTD for the three lambdas, with ridges of 3, 10 and 10 transitions, and gates 1 / (1 + (1 + T)^2), T the
/// specification test of each solution: every other parameter is 0. A quasi-Newton search (BFGS) takes the gradient through
/// the solution of TD's equations, in three stages, each on fresh tasks and the last on four
/// times as many as the first. Tasks are Boyan's chains and random MDPs, each with random rewards and with values that the features represent;
/// random walks, cycles and walks with rare states, each state with a feature of its own; features that are 0 or 1; and
/// random signals with 4 and 16 features. They have 1 to 32 features, 1 to 10,000 transitions and discounts 0 to 0.995.
/// The targets are true values and the returns of signals.
///
/// A cell of tasks whose error is above that of 39 reference parameters counts more. A search takes about 23 CPU minutes.
///
/// After Ctrl-C, or if it was killed, the same command continues from the last evaluation that was stored. At the end the
/// loss on fresh tasks is compared with that of the parameters in use, and the errors with those of the reference.
#[derive(Clone, Debug, clap::Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Search {
    /// Train by TD's own targets alone, the reward and the discounted value of the next state, and see no true value
    #[arg(long)]
    pub td_errors: bool,
}

pub(crate) const ENTRY: Experiment =
    Experiment::by_command("search", "none: the universal model's parameters", |_| Ok(Vec::new()));

const STATE: &str = "state.json";
const LARGEST_STATE: u64 = 1 << 20;
/// Evaluations after which the state is stored.
const STORED_EVERY: usize = 5;
/// The number of fresh tasks per cell at the end, and the relative number of tasks for the final loss.
const FRESH_TASKS: usize = 2000;
const FRESH_SHARE: f64 = 2.0;
/// Parameters are as good as those in use if their loss, a mean logarithm of errors, is larger by at most this.
const AS_GOOD: f64 = 0.005;

pub fn run(options: &Search, session: &Session) -> Result<Report, Error> {
    ENTRY.record(options, session, |records| options.measure(session, records))
}

impl Search {
    fn measure(&self, session: &Session, records: &mut RunFiles) -> Result<Measured, Error> {
        let target = if self.td_errors { Target::TdError } else { Target::Value };
        let folder = session.out.join(ENTRY.id);
        let stored = files::read(&folder.join(STATE), LARGEST_STATE).ok();
        let stored = stored.and_then(|text| serde_json::from_slice::<ParameterSearch>(&text).ok());
        let mut search = stored
            .filter(|stored| stored.is_of(target, session.seed))
            .unwrap_or_else(|| ParameterSearch::new(target, session.seed));
        while let Some((index, stage)) = search.stage() {
            let loss = draw(session, target, stage.share, index)?;
            let label = format!("stage {} of {}", index + 1, STAGES.len());
            let bar = progress::bar(&label, stage.evaluations as u64, session.json);
            while search.stage().is_some_and(|(at, _)| at == index) {
                bar.set_position(search.evaluations as u64);
                if let Some(loss) = search.loss() {
                    bar.set_message(format!("{label}, loss {}", number(loss, 4)));
                }
                let groups = losses(session, &loss, &search.question())?;
                search.tell(&groups);
                // (At the end of a stage the evaluations are 0.)
                if search.evaluations.is_multiple_of(STORED_EVERY) {
                    let text =
                        serde_json::to_vec(&search).map_err(|e| Error::Usage(e.to_string()))?;
                    records::write_atomic(&folder.join(STATE), &text)?;
                }
            }
            bar.finish_and_clear();
        }
        self.judge(&search.parameters(), session, records)
    }

    fn judge(
        &self,
        found: &UniversalParameters<f32>,
        session: &Session,
        records: &mut RunFiles,
    ) -> Result<Measured, Error> {
        let loss = draw(session, Target::Value, FRESH_SHARE, STAGES.len())?;
        let at = |parameters: &[f64]| -> Result<f64, Error> {
            Ok(losses(session, &loss, parameters)?.iter().map(|(loss, _)| loss).sum())
        };
        let numbers = |of: &UniversalParameters<f32>| of.iter().map(|x| f64::from(*x)).collect();
        let (found_numbers, shipped): (Vec<f64>, Vec<f64>) = (numbers(found), numbers(&PRETRAINED));
        let losses = [at(&start())?, at(&found_numbers)?, at(&shipped)?];
        let [first, of_found, of_shipped] = losses;
        let mut long = MeasurementTable::default();
        for (i, x) in found_numbers.iter().enumerate() {
            long.put("parameters", None, "parameter", i as f64, *x);
        }
        let errors = |parameters: &UniversalParameters<f32>| -> Result<MeasurementTable, Error> {
            let mut errors = MeasurementTable::default();
            put_errors(&Benchmark::new(parameters, &[], 1), FRESH_TASKS, session, &mut errors)?;
            Ok(errors)
        };
        let (errors, beside) = (errors(found)?, errors(&REFERENCE)?);
        let mut rows = Vec::new();
        for family in Family::ALL {
            let [of, reference] = [&errors, &beside]
                .map(|errors| all(errors.of(""), &cells(&[family]), "universal", LONGEST));
            let ratios: Vec<f64> = of.iter().zip(reference).map(|(a, b)| a / b).collect();
            let mean = geometric_mean(&ratios);
            let largest = ratios.iter().copied().fold(0.0, f64::max);
            long.put(family.word(), None, "relative to the reference", 0.0, mean);
            long.put(family.word(), None, "largest relative to the reference", 0.0, largest);
            rows.push([family.word().to_owned(), number(mean, 3), number(largest, 3)]);
        }
        long.write(records)?;
        let text = format!(
            "loss on fresh tasks: {} at the start, {} of what was found, {} of what ships\n\n\
             error on fresh tasks over that of the reference parameters, up to 1,000 transitions\n{}",
            number(first, 4),
            number(of_found, 4),
            number(of_shipped, 4),
            table(&["family", "mean ratio", "largest"], rows)
        );
        let results = json!({
            "loss_at_start": first,
            "loss": of_found,
            "loss_of_shipped": of_shipped,
            "parameters": found_numbers,
        });
        let more = of_found - of_shipped;
        let same = if *found == PRETRAINED { "the same parameters" } else { "other parameters" };
        let measured = format!("{same}, loss {} larger, needs <= {AS_GOOD}", number(more, 4));
        let verdict = Verdict::of(more <= AS_GOOD);
        let words = "the search ends at a loss on fresh tasks as small as that of what ships";
        let claim = Claim::new(words, Source::OWN, measured, verdict);
        let claims = if self.td_errors { Vec::new() } else { vec![claim] };
        Ok(Measured { results, text, claims })
    }
}

/// Draws the contexts of a stage, or, after the last, those of the judge.
fn draw(session: &Session, target: Target, share: f64, stage: usize) -> Result<Loss, Error> {
    let seed = session.seed ^ (stage as u64 + 1) << 32;
    let loss = session.on_threads(1, || Loss::new(target, share, seed))?;
    loss.context("the tasks of the search")
}

/// Returns the loss and gradient of each group of contexts.
fn losses(session: &Session, loss: &Loss, at: &[f64]) -> Result<Vec<(f64, Vec<f64>)>, Error> {
    progress::check()?;
    session.on_threads(loss.groups(), || {
        (0..loss.groups()).into_par_iter().map(|group| loss.of_group(group, at)).collect()
    })
}
