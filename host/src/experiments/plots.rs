//! Draws the figures of experiments that are data, from the records.

use super::measurements::{MeasurementTable, RunMeasurements};
use super::panels::{self, CAPTION, ERROR_CAPTION, SHORT_CAPTION};
use super::statistics::quartiles;
use crate::error::Error;
use crate::run::records::RunFiles;
use crate::train::log::MSVE;
use compute::construction::Construction;
use compute::judge::{ALGORITHMS, explained_by};
use figures::{Axis, Curve, Curves, Figure, NamedFigures, Panel};

/// A figure; the first field is its file's name.
pub enum FigureSpec {
    /// P and Q of a run's stored layers, and their elements during training: file, run.
    Parameters(&'static str, &'static str),
    /// All runs against batch TD: file, title.
    Comparison(&'static str, &'static str),
    /// The shares of each run's function that the classical algorithms explain: file, title, number of panels in a row.
    Explained(&'static str, &'static str, usize),
    /// The value error of a run during training: file, run, title.
    ValueError(&'static str, &'static str, &'static str),
    /// Numbers of the record: file, title, subtitle, panels, number of panels in a row.
    Plots(&'static str, &'static str, &'static str, &'static [PanelSpec], usize),
}

pub struct PanelSpec {
    pub title: &'static str,
    pub x: fn() -> Axis,
    pub y: fn() -> Axis,
    pub curves: &'static [CurveSpec],
}

pub struct CurveSpec {
    label: &'static str,
    run: &'static str,
    metric: &'static str,
    draw: fn(RunMeasurements, &str, &str) -> Curve,
    dashed: bool,
}

/// Returns a curve of a run's metric, with its name in the legend: the mean over seeds at each place, with its standard error.
pub const fn means(label: &'static str, run: &'static str, metric: &'static str) -> CurveSpec {
    CurveSpec { label, run, metric, draw: panels::mean_curve, dashed: false }
}

/// Returns a curve like [`means`] of the medians, between quartiles.
pub const fn medians(label: &'static str, run: &'static str, metric: &'static str) -> CurveSpec {
    CurveSpec { label, run, metric, draw: panels::median_curve, dashed: false }
}

impl CurveSpec {
    pub const fn dashed(self) -> Self {
        CurveSpec { dashed: true, ..self }
    }

    fn curve(&self, long: &MeasurementTable) -> Curve {
        let curve = (self.draw)(long.of(self.run), self.metric, self.label);
        Curve { dashed: self.dashed, ..curve }
    }
}

/// Draws the figures of an experiment with these runs (name, title).
pub fn figures(
    shown: &[FigureSpec],
    runs: &[(&str, &str)],
    records: &RunFiles,
) -> Result<NamedFigures, Error> {
    let long = MeasurementTable::read(records)?;
    let figure = |shown: &FigureSpec| {
        let (file, title, subtitle, panels, columns) = match shown {
            FigureSpec::Parameters(file, run) => {
                let of_run = runs.iter().find(|(name, _)| name == run);
                let title = format!("Learned P and Q: {}", of_run.map_or("", |run| run.1));
                let of = long.of(run);
                let rows = (0..panels::layers(of)).map(|l| panels::layer_row(of, l));
                let panels = rows.collect::<Result<Vec<_>, _>>()?.concat();
                (file, title, CAPTION, panels, 4)
            }
            FigureSpec::Comparison(file, title) => {
                let of_run = |(run, title): &(&str, &str)| panels::comparison(long.of(run), title);
                (file, title.to_string(), SHORT_CAPTION, runs.iter().flat_map(of_run).collect(), 2)
            }
            FigureSpec::Explained(file, title, columns) => {
                let panels = runs.iter().map(|(run, title)| explained(&long, run, title));
                (file, title.to_string(), EXPLAINED_CAPTION, panels.collect(), *columns)
            }
            FigureSpec::ValueError(file, run, title) => {
                let panel = panels::metric(long.of(run), "", &MSVE);
                (file, title.to_string(), ERROR_CAPTION, vec![panel], 3)
            }
            FigureSpec::Plots(file, title, subtitle, plots, columns) => {
                let panels = plots.iter().map(|plot| panel(&long, plot)).collect();
                (file, title.to_string(), *subtitle, panels, *columns)
            }
        };
        let subtitle = subtitle.to_string();
        Ok((file.to_string(), Figure { title, subtitle, panels, columns }))
    };
    shown.iter().map(figure).collect()
}

fn panel(long: &MeasurementTable, plot: &PanelSpec) -> Panel {
    Panel::Curves(Curves {
        title: plot.title.into(),
        x: (plot.x)(),
        y: (plot.y)(),
        curves: plot.curves.iter().map(|series| series.curve(long)).collect(),
    })
}

/// Returns the shares of a run's function that the algorithms explain: TD(lambda) against lambda, the residual gradient
/// as a line.
fn explained(long: &MeasurementTable, run: &str, title: &str) -> Panel {
    let of = |name| quartiles(long.of(run).values(&explained_by(name)));
    let (mut lambdas, mut residual) = (Vec::new(), Vec::new());
    for (name, (algorithm, lambda)) in ALGORITHMS {
        match algorithm {
            Construction::TdLambda => lambdas.push((lambda, of(name))),
            _ => residual.extend([0.0, 0.9].map(|x| (x, of(name)))),
        }
    }
    let residual = Curve::with_quartiles("residual gradient", residual);
    Panel::Curves(Curves {
        title: title.into(),
        x: Axis::linear("λ"),
        y: Axis::fixed("share of v explained", 0.0, 1.05),
        curves: vec![Curve::with_quartiles("TD(λ)", lambdas), Curve { dashed: true, ..residual }],
    })
}

const EXPLAINED_CAPTION: &str = "step sizes fitted on 200 tasks, judged on 200 others; median over seeds with \
                                 quartiles";
