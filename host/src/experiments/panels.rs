//! The panels about learning, drawn from the record that [`put_curves`](super::learning::put_curves) fills.

use super::measurements::{MATRICES, RunMeasurements};
use super::statistics::{mean_and_stderr, quartiles};
use crate::error::Error;
use crate::train::capacity::LAYERS;
use crate::train::log::{
    Element, IWS, LOSS, MSVE, Metric, P_BOTTOM_RIGHT, P_OTHERS, Q_LEFT, Q_OTHERS, Q_RIGHT, SS, VD,
};
use figures::{Axis, Curve, Curves, Figure, Heatmap, Panel};
use std::path::Path;

/// The largest number of times for P and Q of a run: drawing searches all entries for each.
const MOST_TIMES: usize = 64;

/// Returns the number of stored layers of a run that have curves.
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

/// Returns the mean over the seeds' finite values at each place, with its standard error.
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

/// Returns the median over seeds at each place, between quartiles.
pub fn median_curve(of: RunMeasurements, metric: &str, label: &str) -> Curve {
    let point = |at| (at, quartiles(of.values_at(metric, at)));
    Curve::with_quartiles(label, of.places(metric).into_iter().map(point))
}

/// Returns a metric on a separate axis.
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
        similarity.push(mean_curve(of, "iws_converged", "IWS, converged α"));
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

/// Returns the loss, and the value error on a separate axis.
pub fn errors(of: RunMeasurements) -> [Panel; 2] {
    [metric(of, "Loss of the last batch", &LOSS), metric(of, "Value error", &MSVE)]
}

fn over_tasks(title: &str, y: Axis, curves: Vec<Curve>) -> Panel {
    let x = Axis::linear("number of MRPs");
    Panel::Curves(Curves { title: title.into(), x, y, curves })
}

/// Returns the numbers of tasks at which P and Q of a run are known.
pub fn times(of: RunMeasurements) -> Result<Vec<u64>, Error> {
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
    let last = times(of)?.last().copied().unwrap_or(0);
    Ok([
        heatmap(of, "P", l, last, false),
        heatmap(of, "Q", l, last, true),
        elements(of, "P", l, [P_BOTTOM_RIGHT, P_OTHERS]),
        elements(of, "Q", l, [Q_LEFT, Q_RIGHT, Q_OTHERS]),
    ])
}

/// Returns P_0 and Q_0 of a run during training, one figure per time.
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

pub const ERROR_CAPTION: &str =
    "value error on the task just trained on, mean over seeds with standard error";

fn subscript(l: usize) -> String {
    l.to_string()
        .chars()
        .map(|c| char::from_u32(0x2080 + c as u32 - '0' as u32).unwrap_or(c))
        .collect()
}
