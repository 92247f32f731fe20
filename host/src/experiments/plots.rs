//! Figures as data, the panels that they are made of, and how they are drawn from the records.

use super::measurements::{MATRICES, MeasurementTable, RunMeasurements};
use super::statistics::{mean_and_stderr, quartiles};
use crate::error::Error;
use crate::run::records::RunFiles;
use crate::train::capacity::LAYERS;
use crate::train::log::{
    Element, IWS, MSVE, Metric, P_BOTTOM_RIGHT, P_OTHERS, Q_LEFT, Q_OTHERS, Q_RIGHT, SS, VD,
};
use figures::{Axis, Curve, Curves, Figure, Heatmap, NamedFigures, Panel};
use judge::construction::Construction;
use judge::formulas::PRECONDITIONED;
use judge::judge::{ALGORITHMS, explained_by};
use std::collections::BTreeSet;
use std::path::Path;

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
    CurveSpec { label, run, metric, draw: mean_curve, dashed: false }
}

/// Returns a curve like [`means`] of the medians, between quartiles.
pub const fn medians(label: &'static str, run: &'static str, metric: &'static str) -> CurveSpec {
    CurveSpec { label, run, metric, draw: median_curve, dashed: false }
}

impl CurveSpec {
    pub const fn dashed(self) -> Self {
        CurveSpec { dashed: true, ..self }
    }
}

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
                let rows = (0..layers(of)).map(|l| layer_row(of, l));
                let panels = rows.collect::<Result<Vec<_>, _>>()?.concat();
                (file, title, CAPTION, panels, 4)
            }
            FigureSpec::Comparison(file, title) => {
                let of_run = |(run, title): &(&str, &str)| comparison(long.of(run), title);
                (file, title.to_string(), SHORT_CAPTION, runs.iter().flat_map(of_run).collect(), 2)
            }
            FigureSpec::Explained(file, title, columns) => {
                let caption = "numbers fitted on 800 tasks; median over 4,000 others, and over seeds with quartiles";
                let panels = runs.iter().map(|(run, title)| explained(&long, run, title));
                (file, title.to_string(), caption, panels.collect(), *columns)
            }
            FigureSpec::ValueError(file, run, title) => {
                let panel = metric(long.of(run), "", &MSVE);
                let caption =
                    "value error on the task just trained on, mean over seeds with standard error";
                (file, title.to_string(), caption, vec![panel], 3)
            }
            FigureSpec::Plots(file, title, subtitle, plots, columns) => {
                let curve = |of: &CurveSpec| {
                    let curve = (of.draw)(long.of(of.run), of.metric, of.label);
                    Curve { dashed: of.dashed, ..curve }
                };
                let panel = |PanelSpec { title, x, y, curves }: &PanelSpec| {
                    let curves = curves.iter().map(curve).collect();
                    Panel::Curves(Curves { title: (*title).into(), x: x(), y: y(), curves })
                };
                let panels = plots.iter().map(panel).collect();
                (file, title.to_string(), *subtitle, panels, *columns)
            }
        };
        let subtitle = subtitle.to_string();
        Ok((file.to_string(), Figure { title, subtitle, panels, columns }))
    };
    shown.iter().map(figure).collect()
}

/// Returns the shares of a run's function that TD(lambda) explains, against lambda, and the residual gradient and
/// preconditioned TD, lines.
fn explained(long: &MeasurementTable, run: &str, title: &str) -> Panel {
    let of = |name| quartiles(long.of(run).values(&explained_by(name)));
    let (mut lambdas, mut residual) = (Vec::new(), Vec::new());
    let preconditioned = [0.0, 0.9].map(|x| (x, of(PRECONDITIONED)));
    for (name, (algorithm, lambda)) in ALGORITHMS {
        match algorithm {
            Construction::TdLambda => lambdas.push((lambda, of(name))),
            _ => residual.extend([0.0, 0.9].map(|x| (x, of(name)))),
        }
    }
    let residual = Curve::with_quartiles("residual gradient", residual);
    let preconditioned = Curve::with_quartiles(PRECONDITIONED, preconditioned);
    Panel::Curves(Curves {
        title: title.into(),
        x: Axis::linear("λ"),
        y: Axis::fixed("share of v explained", 0.0, 1.05),
        curves: vec![
            Curve::with_quartiles("TD(λ)", lambdas),
            Curve { dashed: true, ..residual },
            Curve { dashed: true, ..preconditioned },
        ],
    })
}

/// The largest number of times for P and Q of a run: drawing searches all entries for each.
const MOST_TIMES: usize = 64;

pub fn layers(of: RunMeasurements) -> usize {
    let has =
        |l: &usize| !of.samples(&format!("mean {}", of_layer(&P_BOTTOM_RIGHT, *l))).is_empty();
    (0..LAYERS).take_while(has).count()
}

fn of_layer(metric: &Metric<Element>, l: usize) -> String {
    format!("{}_{l}", metric.name)
}

fn curve(of: RunMeasurements, metric: &str, label: &str) -> Curve {
    let samples = |what: &str| of.samples(&format!("{what} {metric}"));
    let (x, y) = samples("mean").iter().map(|sample| (sample.x, sample.value)).unzip();
    let stderr: Vec<f64> = samples("stderr").iter().map(|sample| sample.value).collect();
    Curve::with_stderr(label, x, y, &stderr)
}

pub fn mean_curve(of: RunMeasurements, metric: &str, label: &str) -> Curve {
    let (mut y, mut stderr) = (Vec::new(), Vec::new());
    let x = of.places(metric);
    for at in &x {
        let values = of.values_at(metric, *at).into_iter().filter(|x| x.is_finite());
        let (mean, error) = mean_and_stderr(values);
        y.push(mean);
        stderr.push(error);
    }
    Curve::with_stderr(label, x, y, &stderr)
}

pub fn median_curve(of: RunMeasurements, metric: &str, label: &str) -> Curve {
    let point = |at| (at, quartiles(of.values_at(metric, at)));
    Curve::with_quartiles(label, of.places(metric).into_iter().map(point))
}

pub fn metric(of: RunMeasurements, title: &str, metric: &Metric<impl Sized>) -> Panel {
    over_tasks(title, Axis::from_zero(metric.label), vec![curve(of, metric.name, "")])
}

fn elements<const N: usize>(
    of: RunMeasurements,
    matrix: &str,
    l: usize,
    metrics: [Metric<Element>; N],
) -> Panel {
    let curves = metrics.map(|m| curve(of, &of_layer(&m, l), m.label));
    let title = format!("Elements of {matrix}{}", subscript(l));
    over_tasks(&title, Axis::linear(""), curves.into())
}

/// Returns IWS and SS, and VD on a separate axis: as logged and, for evaluated seeds, IWS and VD also on fresh tasks with the
/// converged learning rate.
pub fn comparison(of: RunMeasurements, title: &str) -> [Panel; 2] {
    let iws = curve(of, IWS.name, IWS.label);
    let ss = Curve { dashed: true, ..curve(of, SS.name, SS.label) };
    let [mut similarity, mut difference] = [vec![iws, ss], vec![curve(of, VD.name, "")]];
    if !of.samples("vd_converged").is_empty() {
        difference[0].label = "running α".into();
        // A nonlinear function has no implicit weights at a few queries.
        if of.samples("iws_converged").iter().any(|sample| sample.value.is_finite()) {
            similarity.push(mean_curve(of, "iws_converged", "IWS, converged α"));
        }
        difference.push(mean_curve(of, "vd_converged", "converged α"));
    }
    let negative = similarity.iter().flat_map(|c| &c.y).any(|y| *y < 0.0);
    let low = if negative { -1.05 } else { 0.0 };
    let cosine = Axis::fixed("cosine", low, 1.05);
    // Values that diverge on some tasks would hide all others on a linear axis.
    let largest = difference.iter().flat_map(|c| &c.y).copied().fold(0.0, f64::max);
    let vd = if largest < 100.0 { Axis::from_zero(VD.label) } else { Axis::log(VD.label) };
    [
        over_tasks(&format!("{title}: similarity to batch TD"), cosine, similarity),
        over_tasks(&format!("{title}: value difference"), vd, difference),
    ]
}

fn over_tasks(title: &str, y: Axis, curves: Vec<Curve>) -> Panel {
    let x = Axis::linear("number of MRPs");
    Panel::Curves(Curves { title: title.into(), x, y, curves })
}

pub fn times(of: RunMeasurements) -> Result<BTreeSet<u64>, Error> {
    let times = of.matrix_times();
    if times.len() > MOST_TIMES {
        let reason = format!("expected at most {MOST_TIMES} numbers of tasks");
        return Err(Error::file(Path::new(MATRICES), reason));
    }
    Ok(times)
}

/// Returns P_l or Q_l of a run after a number of tasks, divided by its largest absolute entry.
fn heatmap(of: RunMeasurements, matrix: &str, l: usize, tasks: u64, colour_bar: bool) -> Panel {
    let mut rows = of.matrix(matrix, l, tasks);
    let largest = rows.iter().flatten().fold(0.0_f64, |a, x| a.max(x.abs()));
    // A number that is not finite stays so.
    for x in rows.iter_mut().flatten().filter(|x| largest > 0.0 || !x.is_finite()) {
        *x /= largest;
    }
    let d = rows.len().saturating_sub(1) / 2;
    let title = format!("{matrix}{}", subscript(l));
    Panel::Heatmap(Heatmap { title, rows, blocks: vec![d, 2 * d], colour_bar })
}

/// Returns a row of a figure: P_l and Q_l at the end of a run, and their elements during training.
pub fn layer_row(of: RunMeasurements, l: usize) -> Result<[Panel; 4], Error> {
    let last = times(of)?.pop_last().unwrap_or(0);
    Ok([
        heatmap(of, "P", l, last, false),
        heatmap(of, "Q", l, last, true),
        elements(of, "P", l, [P_BOTTOM_RIGHT, P_OTHERS]),
        elements(of, "Q", l, [Q_LEFT, Q_RIGHT, Q_OTHERS]),
    ])
}

pub fn emergence(of: RunMeasurements) -> Result<Vec<Figure>, Error> {
    let figure = |tasks: u64| Figure {
        title: format!("After {tasks} MRPs"),
        subtitle: "mean over seeds, sign-aligned, divided by the largest entry".into(),
        panels: vec![heatmap(of, "P", 0, tasks, false), heatmap(of, "Q", 0, tasks, true)],
        columns: 2,
    };
    Ok(times(of)?.into_iter().map(figure).collect())
}

pub const CAPTION: &str = "mean over seeds; bands are standard errors; P and Q are sign-aligned per \
                           seed, averaged, and divided by the largest entry";

pub const SHORT_CAPTION: &str = "mean over seeds; bands are standard errors";

fn subscript(l: usize) -> String {
    let lowered = |c| char::from_u32(0x2080 + c as u32 - '0' as u32).unwrap_or(c);
    l.to_string().chars().map(lowered).collect()
}
