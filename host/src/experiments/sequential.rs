//! App. "Sequential Transformers": layers with parameters of their own.

use super::learning::{
    CAPTION, CurveRecords, MatrixRecords, Scale, form_claim, has_theorem_1_form, near_one_claim,
    put_records, quartiles, seeds_value, spread, trained, vd_claim,
};
use super::{Experiment, Findings};
use crate::error::Error;
use crate::figures::{Figure, NamedFigures};
use crate::run::records::Records;
use crate::run::report::{Claim, Verdict};
use crate::run::session::Session;
use crate::train::log::SeedRun;
use crate::train::options::{Mode, Train};
use serde::{Deserialize, Serialize};

const RUNS: [(&str, &str, usize); 3] =
    [("sequential-l2", "L = 2", 2), ("sequential-l3", "L = 3", 3), ("sequential-l4", "L = 4", 4)];

/// App. "Sequential Transformers": layers with their own P_l and Q_l, L = 2, 3 and 4
///
/// As Figure 2, each layer with its own pair, which starts a factor L smaller as in the authors' code.
/// P and Q are drawn for L = 3.
#[derive(Clone, Debug, Default, PartialEq, clap::Args, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Sequential {
    /// How much is trained.
    #[command(flatten)]
    #[serde(flatten)]
    pub scale: Scale,
}

impl Experiment for Sequential {
    const ID: &'static str = "sequential";
    const FIGURE: &'static str = "App. figures: sequential linear transformers, L = 2, 3, 4";

    fn measure(&self, session: &Session, records: &mut Records) -> Result<Findings, Error> {
        let mut findings = Findings::default();
        let mut all = Vec::new();
        for (name, title, layers) in RUNS {
            let options = Train { layers, mode: Mode::Sequential, ..Train::default() };
            let runs = trained(name, &self.scale.apply(options), session)?;
            findings.results.insert(name.into(), seeds_value(&runs, true));
            let what = format!("sequential, {title}: IWS near 1");
            findings
                .claims
                .push(near_one_claim(&what, "grow drastically to near 1", &runs, |p| p.iws));
            let what = format!("sequential, {title}: VD falls");
            findings.claims.push(vd_claim(&what, "drops considerably", &runs));
            if layers == 3 {
                let paper = "a pattern very close to Theorem 1's";
                let what = "sequential, L = 3: first layer";
                findings.claims.push(form_claim(what, paper, &runs, 0, has_theorem_1_form));
                findings.claims.push(fading_claim(&runs));
            }
            all.push((name, runs));
        }
        put_records(&all, records)?;
        Ok(findings)
    }

    fn figures(records: &Records) -> Result<NamedFigures, Error> {
        let (curves, matrices) = (CurveRecords::read(records)?, MatrixRecords::read(records)?);
        let comparison = Figure {
            title: "Sequential linear transformers against batch TD".into(),
            subtitle: "mean over seeds; bands are standard errors; IWS and SS are one number"
                .into(),
            panels: RUNS.iter().flat_map(|r| curves.comparison(r.0, r.1)).collect(),
            columns: 2,
        };
        let run = RUNS[1].0;
        let parameters = Figure {
            title: "Linear attention, L = 3, each layer with its own P and Q".into(),
            subtitle: CAPTION.into(),
            panels: (0..3).flat_map(|l| matrices.layer_row(&curves, run, l)).collect(),
            columns: 4,
        };
        Ok(vec![("sequential".into(), comparison), ("sequential-l3".into(), parameters)])
    }
}

/// The deeper the layer, the fainter Q's right diagonal, relative to the left one.
fn fading_claim(runs: &[SeedRun]) -> Claim {
    let strengths: Vec<Vec<f64>> = (0..3)
        .map(|l| {
            let ratio = |r: &SeedRun| {
                (r.element(l, |e| e.q_trace_upper_right) / r.element(l, |e| e.q_trace_upper_left))
                    .abs()
            };
            runs.iter().map(ratio).collect()
        })
        .collect();
    let medians: Vec<f64> = strengths.iter().map(|s| quartiles(s.clone())[1]).collect();
    let texts: Vec<String> = strengths.iter().map(|s| spread(s)).collect();
    Claim {
        claim: "sequential, L = 3: Q's right diagonal fades with depth".into(),
        paper: "the deeper the layer, the more it fades".into(),
        measured: format!("relative to the left one: {}", texts.join(", ")),
        verdict: if medians[0] > medians[1] && medians[1] > medians[2] {
            Verdict::Holds
        } else if medians[0] > medians[2] {
            Verdict::HoldsInPart
        } else {
            Verdict::DoesNotHold
        },
    }
}
