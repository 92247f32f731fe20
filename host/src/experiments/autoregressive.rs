//! App. "Autoregressive Linear Transformers": what one, two and four layers learn.

use super::learning::{
    CurveRecords, MatrixRecords, Scale, form_claim, has_one_layer_form, has_theorem_1_form,
    put_records, seeds_value, trained,
};
use super::{Experiment, Findings};
use crate::error::Error;
use crate::figures::NamedFigures;
use crate::run::records::Records;
use crate::run::session::Session;
use crate::train::options::Train;
use serde::{Deserialize, Serialize};

/// The runs by depth, shared with the comparison.
pub const RUNS: [(&str, usize); 3] = [("linear-l1", 1), ("linear-l2", 2), ("linear-l4", 4)];

/// App. "Autoregressive Linear Transformers": P and Q learned with L = 1, 2 and 4
///
/// As Figure 2 with other depths. One layer learns the corollary's form (Q's right diagonal gets no
/// gradient, since the weights start at 0, and weight decay empties it), more layers Theorem 1's.
#[derive(Clone, Debug, Default, PartialEq, clap::Args, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Autoregressive {
    /// How much is trained.
    #[command(flatten)]
    #[serde(flatten)]
    pub scale: Scale,
}

impl Experiment for Autoregressive {
    const ID: &'static str = "autoregressive";
    const FIGURE: &'static str = "App. figure: autoregressive linear transformers, L = 1, 2, 4";

    fn measure(&self, session: &Session, records: &mut Records) -> Result<Findings, Error> {
        let mut findings = Findings::default();
        let mut all = Vec::new();
        for (name, layers) in RUNS {
            let options = self.scale.apply(Train { layers, ..Train::default() });
            let runs = trained(name, &options, session)?;
            findings.results.insert(name.into(), seeds_value(&runs, false));
            findings.claims.push(if layers == 1 {
                let paper = "converges to the corollary's construction";
                form_claim("L = 1: the corollary's form", paper, &runs, 0, has_one_layer_form)
            } else {
                let what = format!("L = {layers}: Theorem 1's form");
                let paper = "converges to Theorem 1's construction";
                form_claim(&what, paper, &runs, 0, has_theorem_1_form)
            });
            all.push((name, runs));
        }
        put_records(&all, records)?;
        Ok(findings)
    }

    fn figures(records: &Records) -> Result<NamedFigures, Error> {
        let (curves, matrices) = (CurveRecords::read(records)?, MatrixRecords::read(records)?);
        let figure = |(name, layers): (&str, usize)| {
            let title = format!("Linear attention, L = {layers}, layers share P and Q");
            let figure = matrices.one_layer_figure(&curves, name, &title);
            (format!("autoregressive-l{layers}"), figure)
        };
        Ok(RUNS.into_iter().map(figure).collect())
    }
}
