//! Figure 2: TD(0) emerges in a linear transformer of three layers.

use super::learning::{
    CurveRecords, MatrixRecords, Scale, form_claim, has_theorem_1_form, near_one_claim,
    put_records, seeds_value, trained, vd_claim,
};
use super::{Animations, Experiment, Findings};
use crate::error::Error;
use crate::figures::NamedFigures;
use crate::run::records::Records;
use crate::run::report::{Claim, Verdict};
use crate::run::session::Session;
use crate::train::log::SeedRun;
use crate::train::options::Train;
use serde::{Deserialize, Serialize};

/// The run, shared with the comparison of depths.
pub const RUN: &str = "linear-l3";

/// Figure 2: TD(0) emerges in a linear transformer of three layers
///
/// Section 4. Multi-task TD on 4000 Boyan chains of 10 states, d = 4, n = 30, 30 seeds; no entry of P
/// or Q is fixed. Theorem 1's form appears, up to a scale and a common sign.
#[derive(Clone, Debug, Default, PartialEq, clap::Args, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Figure2 {
    /// How much is trained.
    #[command(flatten)]
    #[serde(flatten)]
    pub scale: Scale,
}

impl Experiment for Figure2 {
    const ID: &'static str = "figure-2";
    const FIGURE: &'static str =
        "Figure 2: P and Q learned with L = 3, and their learning progress";

    fn measure(&self, session: &Session, records: &mut Records) -> Result<Findings, Error> {
        let runs = trained(RUN, &self.scale.apply(Train::default()), session)?;
        let mut findings = Findings::default();
        findings.results.insert("seeds".into(), seeds_value(&runs, false));
        findings.claims = vec![
            form_claim(
                "L = 3: P, Q take Theorem 1's form",
                "P[-1,-1] grows, traces near -d and d up to a scale, others near 0",
                &runs,
                0,
                has_theorem_1_form,
            ),
            balance_claim(&runs),
            near_one_claim("L = 3: IWS near 1", "near one", &runs, |p| p.iws),
            vd_claim("L = 3: VD vanishes", "approaches zero", &runs),
        ];
        put_records(&[(RUN, runs)], records)?;
        Ok(findings)
    }

    fn figures(records: &Records) -> Result<NamedFigures, Error> {
        let (curves, matrices) = (CurveRecords::read(records)?, MatrixRecords::read(records)?);
        let title = "TD(0) emerges: linear attention, L = 3, layers share P and Q";
        Ok(vec![("figure-2".into(), matrices.one_layer_figure(&curves, RUN, title))])
    }

    fn animations(records: &Records) -> Result<Animations, Error> {
        Ok(vec![("emergence".into(), MatrixRecords::read(records)?.emergence(RUN))])
    }
}

/// Theorem 1 has -C^T and C^T in Q: its two diagonals should have the same size.
fn balance_claim(runs: &[SeedRun]) -> Claim {
    let ratio = |r: &SeedRun| {
        -r.element(0, |e| e.q_trace_upper_right) / r.element(0, |e| e.q_trace_upper_left)
    };
    let ratios: Vec<f64> = runs.iter().map(ratio).collect();
    let [_, median, _] = super::learning::quartiles(ratios.clone());
    Claim {
        claim: "L = 3: Q's two diagonals are C and -C".into(),
        paper: "traces -d and d, up to a common scale".into(),
        measured: format!("ratio of their sizes {}", super::learning::spread(&ratios)),
        verdict: if (0.9..=1.1).contains(&median) {
            Verdict::Holds
        } else if (0.5..=2.0).contains(&median) {
            Verdict::HoldsInPart
        } else {
            Verdict::DoesNotHold
        },
    }
}
