//! App. "Nonlinear Attention": the original softmax attention.

use super::learning::{CurveRecords, Scale, early, put_records, seeds_value, settled, trained};
use super::{Experiment, Findings, mean_and_stderr};
use crate::error::Error;
use crate::figures::{Figure, NamedFigures};
use crate::run::records::Records;
use crate::run::report::{Claim, Verdict};
use crate::run::session::Session;
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
                    rise_claim("softmax: IWS increases", "increases", &runs, |p| p.iws),
                    drop_claim("softmax: SS drops", &runs, |p| p.ss),
                ]
            } else {
                vec![
                    rise_claim("softmax, representable: IWS increases", "increases", &runs, |p| {
                        p.iws
                    }),
                    rise_claim(
                        "softmax, representable: SS increases",
                        "now increases",
                        &runs,
                        |p| p.ss,
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

/// A metric increases from the first to the last tenth of the log, by more than three joint standard
/// errors over the seeds.
fn rise_claim(what: &str, paper: &str, runs: &[SeedRun], metric: fn(&Point) -> f64) -> Claim {
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
        verdict: Verdict::of(end - start > 3.0 * joint),
    }
}

/// A metric, once up from its initial value, drops: from its highest tenth of the log to the last one,
/// by more than three joint standard errors over the seeds.
fn drop_claim(what: &str, runs: &[SeedRun], metric: fn(&Point) -> f64) -> Claim {
    let tenth = |i: usize| {
        let of_seed = |r: &SeedRun| {
            let len = r.points.len().div_ceil(10);
            mean_and_stderr(r.points.iter().skip(i * len).take(len).map(metric)).0
        };
        mean_and_stderr(runs.iter().map(of_seed).filter(|x| x.is_finite()))
    };
    let highest = (0..10).map(tenth).filter(|(mean, _)| mean.is_finite());
    let (peak, peak_error) = highest.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((0.0, 0.0));
    let (end, end_error) = mean_and_stderr(runs.iter().map(|r| settled(r, metric)));
    let joint = (peak_error * peak_error + end_error * end_error).sqrt();
    Claim {
        claim: what.into(),
        paper: "drops".into(),
        measured: format!(
            "highest tenth {peak:.3} ± {peak_error:.3}, last tenth {end:.3} ± {end_error:.3}"
        ),
        verdict: Verdict::of(peak - end > 3.0 * joint),
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
