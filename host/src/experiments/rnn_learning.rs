//! App. "Multi-task TD with Deep RNN": the learning curve.

use super::learning::{CurveRecords, Scale, early, put_records, seeds_value, settled, trained};
use super::{Experiment, Findings, mean_and_stderr};
use crate::error::Error;
use crate::figures::{Axis, Curves, Figure, NamedFigures, Panel};
use crate::run::records::Records;
use crate::run::report::{Claim, Verdict};
use crate::run::session::Session;
use crate::train::options::{Model, RnnInput, Train};
use serde::{Deserialize, Serialize};

/// The run, shared with the figure on context lengths.
pub const RUN: &str = "rnn";

/// App. "Multi-task TD with Deep RNN": the RNN's value error falls while it trains
///
/// A tanh RNN of 3 layers with 4 hidden units each reads the prompt token by token, with a flag that
/// marks the query, and is trained by the same algorithm on 4000 Boyan chains.
#[derive(Clone, Debug, Default, PartialEq, clap::Args, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct RnnLearning {
    /// How much is trained.
    #[command(flatten)]
    #[serde(flatten)]
    pub scale: Scale,
}

/// What both RNN figures train.
pub fn options(scale: &Scale, rnn_input: RnnInput) -> Train {
    scale.apply(Train { model: Model::Rnn, rnn_input, ..Train::default() })
}

impl Experiment for RnnLearning {
    const ID: &'static str = "rnn-learning";
    const FIGURE: &'static str = "App. figure: MSVE of an RNN during multi-task TD";

    fn measure(&self, session: &Session, records: &mut Records) -> Result<Findings, Error> {
        let runs = trained(RUN, &options(&self.scale, RnnInput::Current), session)?;
        let mut findings = Findings::default();
        findings.results.insert("seeds".into(), seeds_value(&runs, false));
        let (start, start_error) = mean_and_stderr(
            runs.iter()
                .map(|r| r.points.first().map_or(f64::NAN, |p| p.msve))
                .collect::<Vec<_>>()
                .into_iter(),
        );
        let early: Vec<f64> = runs.iter().map(|r| early(r, |p| p.msve)).collect();
        let end: Vec<f64> = runs.iter().map(|r| settled(r, |p| p.msve)).collect();
        let (early, early_error) = mean_and_stderr(early.into_iter());
        let (end, end_error) = mean_and_stderr(end.into_iter());
        let joint = (early_error * early_error + end_error * end_error).sqrt();
        findings.claims = vec![Claim {
            claim: "RNN: the value error falls and stays low".into(),
            paper: "decreases for the first 1,000 MRPs and stays low".into(),
            measured: format!(
                "at first {start:.3} ± {start_error:.3}, first tenth {early:.3} ± {early_error:.3}, \
                 last tenth {end:.3} ± {end_error:.3}"
            ),
            verdict: Verdict::of(early - end > 3.0 * joint),
        }];
        put_records(&[(RUN, runs)], records)?;
        Ok(findings)
    }

    fn figures(records: &Records) -> Result<NamedFigures, Error> {
        let panel = Curves {
            x: Axis::linear("number of MRPs"),
            y: Axis::from_zero("MSVE"),
            curves: vec![CurveRecords::read(records)?.curve(RUN, "msve", "")],
            ..Default::default()
        };
        let figure = Figure {
            title: "An RNN trained by multi-task TD".into(),
            subtitle:
                "value error on the task just trained on, mean over seeds with standard error"
                    .into(),
            panels: vec![Panel::Curves(panel)],
            ..Default::default()
        };
        Ok(vec![("rnn-learning".into(), figure)])
    }
}
