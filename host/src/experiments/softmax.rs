//! App. "Nonlinear Attention": the original softmax attention.

use super::learning::{CurveRecords, Scale, early, put_records, seeds_value, settled, trained};
use super::{Experiment, Findings, mean_and_stderr};
use crate::error::Error;
use crate::figures::{Figure, NamedFigures};
use crate::records::Records;
use crate::report::{Claim, Verdict};
use crate::session::Session;
use crate::train::log::{Point, SeedRun};
use crate::train::options::{Attention, TaskKind, Train};
use serde::{Deserialize, Serialize};

const RUNS: [(&str, &str, TaskKind); 2] = [
    ("softmax-general", "general value function", TaskKind::Boyan),
    ("softmax-representable", "representable value function", TaskKind::BoyanRepresentable),
];

/// App. "Nonlinear Attention": softmax transformers against batch TD
///
/// Three layers of softmax attention that share P and Q, on Boyan's chain with random rewards and with
/// a representable value function.
#[derive(Clone, Debug, Default, PartialEq, clap::Args, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Softmax {
    /// How much is trained.
    #[command(flatten)]
    #[serde(flatten)]
    pub scale: Scale,
}

impl Experiment for Softmax {
    const ID: &'static str = "softmax";
    const FIGURE: &'static str =
        "App. figure: softmax transformers, general and representable values";

    fn measure(&self, session: &Session, records: &mut Records) -> Result<Findings, Error> {
        let mut findings = Findings::default();
        let mut all = Vec::new();
        for (name, _, task) in RUNS {
            let options = Train { attention: Attention::Softmax, task, ..Train::default() };
            let runs = trained(name, &self.scale.apply(options), session)?;
            findings.results.insert(name.into(), seeds_value(&runs, false));
            findings.claims.extend(if task == TaskKind::Boyan {
                vec![
                    small_claim("softmax: VD remains small", &runs),
                    moves("softmax: IWS increases", "increases", &runs, |p| p.iws, 1.0),
                    moves("softmax: SS drops", "drops", &runs, |p| p.ss, -1.0),
                ]
            } else {
                vec![
                    moves(
                        "softmax, representable: IWS increases",
                        "increases",
                        &runs,
                        |p| p.iws,
                        1.0,
                    ),
                    moves(
                        "softmax, representable: SS increases",
                        "now increases",
                        &runs,
                        |p| p.ss,
                        1.0,
                    ),
                ]
            });
            all.push((name, runs));
        }
        put_records(&all, records)?;
        Ok(findings)
    }

    fn figures(records: &Records) -> Result<NamedFigures, Error> {
        let curves = CurveRecords::read(records)?;
        let figure = Figure {
            title: "Softmax transformers against batch TD, L = 3".into(),
            subtitle: "mean over seeds; bands are standard errors".into(),
            panels: RUNS.iter().flat_map(|r| curves.comparison(r.0, r.1)).collect(),
            columns: 2,
        };
        Ok(vec![("softmax".into(), figure)])
    }
}

/// A metric moves in a direction between the first and the last tenth of the log, by more than three
/// joint standard errors over the seeds.
fn moves(
    what: &str,
    paper: &str,
    runs: &[SeedRun],
    metric: fn(&Point) -> f64,
    direction: f64,
) -> Claim {
    let starts: Vec<f64> = runs.iter().map(|r| early(r, metric)).collect();
    let ends: Vec<f64> = runs.iter().map(|r| settled(r, metric)).collect();
    let (start, start_error) = mean_and_stderr(starts.into_iter());
    let (end, end_error) = mean_and_stderr(ends.into_iter());
    let joint = (start_error * start_error + end_error * end_error).sqrt();
    Claim {
        claim: what.into(),
        paper: paper.into(),
        measured: format!(
            "first tenth {start:.3} ± {start_error:.3}, last tenth {end:.3} ± {end_error:.3}"
        ),
        verdict: Verdict::of(direction * (end - start) > 3.0 * joint),
    }
}

/// The value difference does not grow: its median at the end is at most what it was at the start.
fn small_claim(what: &str, runs: &[SeedRun]) -> Claim {
    let starts: Vec<f64> = runs.iter().map(|r| early(r, |p| p.vd)).collect();
    let ends: Vec<f64> = runs.iter().map(|r| settled(r, |p| p.vd)).collect();
    let median = |values: &[f64]| super::learning::quartiles(values.to_vec())[1];
    let verdict = Verdict::of(median(&ends) <= median(&starts));
    let [start, end] = [starts, ends].map(|v| super::learning::spread(&v));
    let measured = format!("first tenth {start}, last tenth {end}");
    Claim { claim: what.into(), paper: "remains small".into(), measured, verdict }
}
