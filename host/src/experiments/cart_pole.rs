//! App. "Experiments with CartPole Environment".

use super::learning::{
    CurveRecords, MatrixRecords, Scale, form_claim, has_theorem_1_form, put_records, seeds_value,
    trained,
};
use super::{Animations, Experiment, Findings};
use crate::error::Error;
use crate::figures::NamedFigures;
use crate::run::records::Records;
use crate::run::session::Session;
use crate::train::options::{TaskKind, Train};
use serde::{Deserialize, Serialize};

const RUN: &str = "cart-pole";

/// App. "Experiments with CartPole Environment": TD(0) emerges from CartPole tasks
///
/// Three linear layers that share P and Q, n = 250, 10,000 CartPole MRPs with random physics, policy,
/// features and rewards.
#[derive(Clone, Debug, Default, PartialEq, clap::Args, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct CartPole {
    /// How much is trained.
    #[command(flatten)]
    #[serde(flatten)]
    pub scale: Scale,
}

impl Experiment for CartPole {
    const ID: &'static str = "cart-pole";
    const FIGURE: &'static str = "App. figure: CartPole, n = 250, 10,000 MRPs";

    fn measure(&self, session: &Session, records: &mut Records) -> Result<Findings, Error> {
        let options =
            Train { task: TaskKind::Cartpole, context: 250, mrps: 10_000, ..Train::default() };
        let runs = trained(RUN, &self.scale.apply(options), session)?;
        let mut findings = Findings::default();
        findings.results.insert("seeds".into(), seeds_value(&runs, false));
        let paper = "still converge to Theorem 1's construction, up to some noise";
        let what = "CartPole: P, Q take Theorem 1's form";
        findings.claims = vec![form_claim(what, paper, &runs, 0, has_theorem_1_form)];
        put_records(&[(RUN, runs)], records)?;
        Ok(findings)
    }

    fn figures(records: &Records) -> Result<NamedFigures, Error> {
        let (curves, matrices) = (CurveRecords::read(records)?, MatrixRecords::read(records)?);
        let title = "TD(0) emerges from CartPole: linear attention, L = 3, n = 250";
        Ok(vec![("cart-pole".into(), matrices.one_layer_figure(&curves, RUN, title))])
    }

    fn animations(records: &Records) -> Result<Animations, Error> {
        Ok(vec![("emergence".into(), MatrixRecords::read(records)?.emergence(RUN))])
    }
}
