//! Ten numbers a layer, which training never leaves, and of which Theorem 2 has three: expected updates, those
//! of samples, and what trained parameters have beside these numbers.

pub mod theorem_2;
pub mod trained;
pub mod updates;

pub use theorem_2::Sample;

use super::experiment::{Entry, Experiment, Measured, Run, run};
use super::learning::Scale;
use crate::error::Error;
use crate::options;
use crate::run::records::Records;
use crate::run::report::table;
use crate::run::session::Session;
use figures::NamedFigures;
use serde::Serialize;

/// Theorem 2, and beyond: training never leaves the layers of ten numbers
///
/// Expected updates, in f64, the mean over all signed permutations of the features: from theta_* they stay in
/// Theorem 2's set (one layer, d = 3), from ten numbers a layer among such layers, for any depth, mask and
/// attention, by TD and by Adam (d = 2); without the average, or from elsewhere, they leave. The part outside
/// of the mean update of N trajectories falls as 1 / sqrt(N).
///
/// Trained parameters (the linear transformers of the paper's experiments): how much of P and Q is outside,
/// and what share of |v|^2 is lost, on fresh contexts, when P and Q are projected on ten numbers a layer, and
/// when Theorem 1's entries alone are kept.
#[derive(Clone, Debug, PartialEq, clap::Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct InvariantSet {
    /// How much is trained; as many starting points for Theorem 2.
    #[command(flatten)]
    #[serde(flatten)]
    pub scale: Scale,
    /// Updates
    #[arg(long, default_value = "40", value_parser = options::integer(1..=100_000))]
    pub steps: usize,
    /// Step size alpha
    #[arg(long, default_value = "0.1", value_parser = options::real(0.0..=1.0))]
    pub alpha: f64,
    /// Fresh tasks to compare trained functions on
    #[arg(long, default_value = "100", value_parser = options::integer(1..=100_000))]
    pub tasks: usize,
}

impl InvariantSet {
    /// The seeds of the starting points.
    fn starts(&self, session: &Session, most: usize) -> Vec<u64> {
        let seeds = self.scale.seeds.unwrap_or(30).min(most);
        (0..seeds as u64).map(|i| session.seed + i).collect()
    }
}

/// What is found.
#[derive(Serialize)]
pub struct Found {
    theorem_2: theorem_2::Found,
    networks: Vec<updates::Network>,
    trained: Vec<trained::Found>,
}

impl Experiment for InvariantSet {
    const ENTRY: Entry = Entry {
        id: "invariant-set",
        figure: "Theorem 2: the invariant set of TD pretraining",
        figures,
        run: Run::Scaled(|scale, session| {
            run(&InvariantSet { scale: scale.clone(), ..options::parsed("") }, session)
        }),
    };

    type Found = Found;

    fn measure(&self, session: &Session, records: &mut Records) -> Measured<Found> {
        let (theorem_2, mut claims) = theorem_2::measure(self, session, records)?;
        let (networks, more) = updates::measure(self, session, records)?;
        claims.extend(more);
        let (trained, more) = trained::measure(self, session, records)?;
        claims.extend(more);
        Ok((Found { theorem_2, networks, trained }, claims))
    }

    fn text(found: &Found) -> String {
        let networks = table(&updates::rows(&found.networks));
        format!("{networks}\n{}\n", table(&trained::rows(&found.trained)))
    }
}

fn figures(records: &Records) -> Result<NamedFigures, Error> {
    Ok(vec![
        ("invariant-set".into(), theorem_2::figure(records)?),
        ("updates".into(), updates::figure(records)?),
        ("trained".into(), trained::figure(records)?),
    ])
}
