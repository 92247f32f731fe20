//! Figure 1 by trained seeds, each judged by itself.

use super::task::errors_at;
use super::{Demo, Found, Method};
use crate::error::Error;
use crate::experiments::claims::of_seeds;
use crate::experiments::experiment::Measured;
use crate::experiments::statistics::{mean_and_stderr, quartiles, spread};
use crate::model_file::{self, StreamingModel};
use crate::run::records::Records;
use crate::run::report::Claim;
use crate::run::session::Session;
use figures::Curve;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;

/// One row of `seeds.csv`, of a run with several seeds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SeedRow {
    /// The seed.
    pub seed: u64,
    /// Context length n.
    pub context_length: usize,
    /// Mean squared value error, mean over tasks.
    pub msve: f64,
    /// That of predicting 0 on the same tasks.
    pub of_zero: f64,
}

impl Demo {
    /// The errors of trained seeds; NaN without a model, for one that diverged.
    ///
    /// # Errors
    /// As `Demo::errors`.
    pub fn errors_of_seeds(
        &self,
        models: Vec<(u64, Option<StreamingModel>)>,
        session: &Session,
    ) -> Result<Vec<SeedRow>, Error> {
        let mut rows = Vec::new();
        for (seed, model) in models {
            let row =
                |context_length, msve, of_zero| SeedRow { seed, context_length, msve, of_zero };
            let Some(model) = model else {
                let lengths = self.context_lengths().into_iter();
                rows.extend(lengths.map(|n| row(n, f64::NAN, f64::NAN)));
                continue;
            };
            let per_task = self.errors(&Method::Model(model), &format!("seed {seed}"), session)?;
            let (of_zero, _) = mean_and_stderr(per_task.iter().map(|task| task.of_zero));
            let means = self.means(|n| errors_at(&per_task, n)).into_iter();
            rows.extend(means.map(|r| row(r.context_length, r.mean, of_zero)));
        }
        Ok(rows)
    }

    /// All seeds of a run.
    pub(super) fn measure_run(
        &self,
        run: &Path,
        seeds: &[u64],
        session: &Session,
        records: &mut Records,
    ) -> Measured<Found> {
        let open = |&seed: &u64| Ok((seed, Some(self.open(&model_file::seed_folder(run, seed))?)));
        // All are opened before the first is judged.
        let models = seeds.iter().map(open).collect::<Result<Vec<_>, Error>>()?;
        let rows = self.errors_of_seeds(models, session)?;
        records.put_csv("seeds.csv", &rows)?;
        let at = |n| rows.iter().filter(move |r| r.context_length == n).map(|r| r.msve);
        let means = self.means(at);
        records.put_csv("msve.csv", &means)?;
        Ok((Found::new(&means), vec![claim_of_seeds("", &rows)]))
    }
}

/// The claim of Figure 1 of trained seeds: the error is less at the longest context than at the shortest, and less
/// than that of predicting 0.
pub fn claim_of_seeds(subject: &str, rows: &[SeedRow]) -> Claim {
    let lengths = || rows.iter().map(|r| r.context_length);
    let (short, long) = (lengths().min().unwrap_or(0), lengths().max().unwrap_or(0));
    let at = |n: usize| rows.iter().filter(move |r| r.context_length == n);
    let falls =
        |(first, last): (&SeedRow, &SeedRow)| last.msve < first.msve && last.msve < last.of_zero;
    let (falling, verdict) = of_seeds(at(short).zip(at(long)).map(falls));
    let of_zero = |n| spread(&at(n).map(|r| r.msve / r.of_zero).collect::<Vec<_>>());
    let measured = format!(
        "over that of predicting 0: {} at {short}, {} at {long}; falls to below 1 in {falling}",
        of_zero(short),
        of_zero(long)
    );
    let claim = format!("{subject}value error falls, context {short} to {long}");
    Claim::new(claim, "MSVE drops with the context length", measured, verdict)
}

/// The caption of [`curves_of_seeds`].
pub const SEEDS_CAPTION: &str =
    "value error, mean over tasks; median over trained seeds with quartiles";

/// The median over seeds with its quartiles, beside predicting 0.
pub fn curves_of_seeds(label: &str, rows: &[SeedRow]) -> Vec<Curve> {
    let lengths: BTreeSet<usize> = rows.iter().map(|r| r.context_length).collect();
    let at = |n: usize| rows.iter().filter(move |r| r.context_length == n);
    let errors = |n: &usize| (*n as f64, quartiles(at(*n).map(|r| r.msve).collect()));
    let seeds = Curve::with_quartiles(label, lengths.iter().map(errors));
    let of_zero = |n: &usize| at(*n).map(|r| r.of_zero).find(|x| x.is_finite()).unwrap_or(f64::NAN);
    let zero = Curve::plain("predicting 0", seeds.x.clone(), lengths.iter().map(of_zero).collect());
    vec![seeds, Curve { dashed: true, ..zero }]
}
