//! App. figure on the comparison with batch TD: VD, IWS and SS at every depth, and at a larger size.

use super::learning::{
    CurveRecords, Scale, near_one_claim, put_records, seeds_value, trained, vd_claim,
};
use super::{Experiment, Findings};
use crate::error::Error;
use crate::figures::{Figure, NamedFigures};
use crate::run::records::Records;
use crate::run::report::{Claim, REFUTED, Verdict};
use crate::run::session::Session;
use crate::train::log::SeedRun;
use crate::train::options::Train;
use serde::{Deserialize, Serialize};

/// Name, title, L, d, n, states.
const RUNS: [(&str, &str, usize, usize, usize, usize); 5] = [
    ("linear-l1", "L = 1", 1, 4, 30, 10),
    ("linear-l2", "L = 2", 2, 4, 30, 10),
    ("linear-l3", "L = 3", 3, 4, 30, 10),
    ("linear-l4", "L = 4", 4, 4, 30, 10),
    ("linear-l3-d8", "L = 3, d = 8, n = 60", 3, 8, 60, 20),
];

/// App. figure "comparison with batch TD": VD, IWS and SS for L = 1 to 4, and for d = 8
///
/// The learned value function against batch TD's with a trained learning rate. The last run has
/// d = 8, n = 60 and 20 states.
#[derive(Clone, Debug, Default, PartialEq, clap::Args, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Comparison {
    /// How much is trained.
    #[command(flatten)]
    #[serde(flatten)]
    pub scale: Scale,
}

impl Experiment for Comparison {
    const ID: &'static str = "comparison";
    const FIGURE: &'static str =
        "App. figure: linear transformers against batch TD, L = 1 to 4, d = 8";

    fn measure(&self, session: &Session, records: &mut Records) -> Result<Findings, Error> {
        let mut findings = Findings::default();
        let mut all = Vec::new();
        for (name, title, layers, dim, context, states) in RUNS {
            let options = Train { layers, dim, context, states, ..Train::default() };
            let runs = trained(name, &self.scale.apply(options), session)?;
            findings.results.insert(name.into(), seeds_value(&runs, false));
            let what = format!("{title}: IWS near 1");
            findings.claims.push(near_one_claim(&what, "near one", &runs, |p| p.iws));
            let what = format!("{title}: SS near 1");
            findings.claims.push(near_one_claim(&what, "near one", &runs, |p| p.ss));
            let what = format!("{title}: VD vanishes");
            findings.claims.push(vd_claim(&what, "approaches zero", &runs));
            all.push((name, runs));
        }
        findings.claims.push(linearity_claim(all.iter().flat_map(|(_, runs)| runs)));
        put_records(&all, records)?;
        Ok(findings)
    }

    fn figures(records: &Records) -> Result<NamedFigures, Error> {
        let curves = CurveRecords::read(records)?;
        let figure = Figure {
            title: "Linear transformers against batch TD".into(),
            subtitle: "mean over seeds; bands are standard errors; IWS and SS are one number"
                .into(),
            panels: RUNS.iter().flat_map(|r| curves.comparison(r.0, r.1)).collect(),
            columns: 2,
        };
        Ok(vec![("comparison".into(), figure)])
    }
}

/// The paper says that v_TF is not linear in the query. Its own mask keeps the query out of the keys,
/// so that it is, exactly; then IWS and SS are the same number.
fn linearity_claim<'a>(runs: impl Iterator<Item = &'a SeedRun>) -> Claim {
    let mut largest = 0.0_f64;
    for point in runs.flat_map(|r| &r.points) {
        largest = largest.max((point.iws - point.ss).abs());
    }
    Claim {
        claim: REFUTED[0].into(),
        paper: "not linear even with a linear transformer".into(),
        measured: format!("it is, by the mask: max |IWS - SS| = {largest:.1e} over all log points"),
        verdict: Verdict::of(largest > 1e-3),
    }
}
