//! The panels about learning, drawn from `curves.csv` and `matrices.csv` alone.

use super::learning::{CurveRow, MatrixRow};
use crate::error::Error;
use crate::run::records::Records;
use crate::train::capacity::LAYERS;
use crate::train::log::{
    Element, IWS, LOSS, MSVE, Metric, P_BOTTOM_RIGHT, P_OTHERS, Q_LEFT, Q_OTHERS, Q_RIGHT, SS, VD,
};
use figures::{Axis, Curve, Curves, Figure, Heatmap, Panel};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The most rows that a matrix of the records has, and the most pictures of a run's.
const LARGEST_TOKEN: usize = 129;
const MOST_TIMES: usize = 64;

/// The rows of `curves.csv` that the panels need.
pub struct CurveRecords(Vec<CurveRow>);

impl CurveRecords {
    /// Reads them.
    /// Errors: [`Error::File`].
    pub fn read(records: &Records) -> Result<Self, Error> {
        let rows: Vec<CurveRow> = records.csv("curves.csv")?;
        let layer = |r: &CurveRow| r.metric.rsplit_once('_').and_then(|(_, l)| l.parse().ok());
        check_layers("curves.csv", rows.iter().filter_map(layer))?;
        Ok(CurveRecords(rows))
    }

    /// Returns how many stored layers of a run there are curves of.
    pub fn layers(&self, run: &str) -> usize {
        let of_layer = |l: usize| {
            let metric = of_layer(&P_BOTTOM_RIGHT, l);
            self.0.iter().any(|r| r.run == run && r.metric == metric)
        };
        (0..).take_while(|l| of_layer(*l)).count()
    }

    /// Returns the curve of a metric: mean with standard error.
    fn curve(&self, run: &str, metric: &str, label: &str) -> Curve {
        let rows = self.0.iter().filter(|r| r.run == run && r.metric == metric);
        let (mut x, mut y, mut stderr) = (Vec::new(), Vec::new(), Vec::new());
        for row in rows {
            x.push(row.tasks as f64);
            y.push(row.mean);
            stderr.push(row.stderr);
        }
        Curve::with_stderr(label, x, y, &stderr)
    }

    /// Returns a metric on an axis of its own.
    pub fn metric<T>(&self, title: &str, run: &str, metric: &Metric<T>) -> Panel {
        over_tasks(title, Axis::from_zero(metric.label), vec![self.curve(run, metric.name, "")])
    }

    fn elements<const N: usize>(
        &self,
        matrix: &str,
        run: &str,
        l: usize,
        metrics: [Metric<Element>; N],
    ) -> Panel {
        let curves = metrics.map(|m| self.curve(run, &of_layer(&m, l), m.label));
        let title = format!("Elements of {matrix}{}", subscript(l));
        over_tasks(&title, Axis::linear(""), curves.into())
    }

    /// IWS and SS, and VD on an axis of its own: as logged, and, if they are known, both on fresh tasks with the
    /// converged learning rate.
    pub fn comparison(&self, run: &str, title: &str, converged: Option<[Curve; 2]>) -> [Panel; 2] {
        let iws = self.curve(run, IWS.name, IWS.label);
        let ss = Curve { dashed: true, ..self.curve(run, SS.name, SS.label) };
        let [mut similarity, mut difference] = [vec![iws, ss], vec![self.curve(run, VD.name, "")]];
        if let Some([vd, cosines]) = converged {
            difference[0].label = "running α".into();
            similarity.push(cosines);
            difference.push(vd);
        }
        let negative = similarity.iter().flat_map(|c| &c.y).any(|y| *y < 0.0);
        let low = if negative { -1.05 } else { 0.0 };
        let cosine = Axis::fixed("cosine", low, 1.05);
        // With a learning rate that diverges on some tasks nothing else would be seen.
        let largest = difference.iter().flat_map(|c| &c.y).copied().fold(0.0, f64::max);
        let vd = if largest < 100.0 { Axis::from_zero(VD.label) } else { Axis::log(VD.label) };
        [
            over_tasks(&format!("{title}: similarity to batch TD"), cosine, similarity),
            over_tasks(&format!("{title}: value difference"), vd, difference),
        ]
    }

    /// Returns the loss, and the value error on an axis of its own.
    pub fn errors(&self, run: &str) -> [Panel; 2] {
        [self.metric("Loss of the last batch", run, &LOSS), self.metric("Value error", run, &MSVE)]
    }
}

/// Returns the name of a layer's metric in the records.
fn of_layer(metric: &Metric<Element>, l: usize) -> String {
    format!("{}_{l}", metric.name)
}

fn over_tasks(title: &str, y: Axis, curves: Vec<Curve>) -> Panel {
    let x = Axis::linear("number of MRPs");
    Panel::Curves(Curves { title: title.into(), x, y, curves, ..Default::default() })
}

/// Refuses records of more layers than are trained: each has panels of its own.
fn check_layers(file: &str, mut layers: impl Iterator<Item = usize>) -> Result<(), Error> {
    match layers.find(|layer| *layer >= LAYERS) {
        Some(layer) => {
            let reason = format!("layer {layer}: accepted is 0 to {}", LAYERS - 1);
            Err(Error::file(Path::new(file), reason))
        }
        None => Ok(()),
    }
}

/// The rows of `matrices.csv` that the panels need.
pub struct MatrixRecords(Vec<MatrixRow>);

impl MatrixRecords {
    /// Reads them.
    /// Errors: [`Error::File`].
    pub fn read(records: &Records) -> Result<Self, Error> {
        let rows: Vec<MatrixRow> = records.csv("matrices.csv")?;
        // Their size decides how much memory a picture takes.
        if rows.iter().any(|r| r.row.max(r.column) >= LARGEST_TOKEN) {
            let reason = format!("row, column: accepted are 0 to {}", LARGEST_TOKEN - 1);
            return Err(Error::file(Path::new("matrices.csv"), reason));
        }
        check_layers("matrices.csv", rows.iter().map(|r| r.layer))?;
        let mut times = BTreeMap::<&str, BTreeSet<u64>>::new();
        for row in &rows {
            let of_run = times.entry(&row.run).or_default();
            if of_run.insert(row.tasks) && of_run.len() > MOST_TIMES {
                let reason = format!("tasks: accepted are at most {MOST_TIMES} numbers for a run");
                return Err(Error::file(Path::new("matrices.csv"), reason));
            }
        }
        Ok(MatrixRecords(rows))
    }

    /// Returns the numbers of tasks at which the matrices of a run are known.
    pub fn times(&self, run: &str) -> Vec<u64> {
        let mut times: Vec<_> = self.0.iter().filter(|r| r.run == run).map(|r| r.tasks).collect();
        times.sort_unstable();
        times.dedup();
        times
    }

    /// P_l or Q_l of a run after so many tasks, divided by its largest absolute entry.
    pub fn heatmap(&self, run: &str, matrix: &str, l: usize, tasks: u64, bar: bool) -> Panel {
        let of =
            |r: &&MatrixRow| r.run == run && r.matrix == matrix && r.layer == l && r.tasks == tasks;
        let entries: Vec<_> = self.0.iter().filter(of).collect();
        let k = entries.iter().map(|r| r.row + 1).max().unwrap_or(0);
        let largest = entries.iter().fold(0.0_f64, |a, r| a.max(r.value.abs()));
        let mut rows = vec![vec![f64::NAN; k]; k];
        for entry in entries {
            if let Some(cell) = rows.get_mut(entry.row).and_then(|r| r.get_mut(entry.column)) {
                // A number that is not finite stays so.
                let scaled = largest > 0.0 || !entry.value.is_finite();
                *cell = if scaled { entry.value / largest } else { 0.0 };
            }
        }
        let d = k.saturating_sub(1) / 2;
        let title = format!("{matrix}{}", subscript(l));
        Panel::Heatmap(Heatmap { title, rows, blocks: vec![d, 2 * d], colour_bar: bar })
    }

    /// Returns a row of a figure: P_l and Q_l of a run at its end, and their elements on the way.
    pub fn layer_row(&self, curves: &CurveRecords, run: &str, l: usize) -> [Panel; 4] {
        let last = self.times(run).last().copied().unwrap_or(0);
        [
            self.heatmap(run, "P", l, last, false),
            self.heatmap(run, "Q", l, last, true),
            curves.elements("P", run, l, [P_BOTTOM_RIGHT, P_OTHERS]),
            curves.elements("Q", run, l, [Q_LEFT, Q_RIGHT, Q_OTHERS]),
        ]
    }

    /// P_0 and Q_0 of a run as they emerge, one figure per time.
    pub fn emergence(&self, run: &str) -> Vec<Figure> {
        let figure = |tasks: u64| Figure {
            title: format!("After {tasks} MRPs"),
            subtitle: "mean over seeds, sign-aligned, divided by the largest entry".into(),
            panels: vec![
                self.heatmap(run, "P", 0, tasks, false),
                self.heatmap(run, "Q", 0, tasks, true),
            ],
            columns: 2,
        };
        self.times(run).into_iter().map(figure).collect()
    }
}

/// The caption of all these figures.
pub const CAPTION: &str = "mean over seeds; bands are standard errors; P and Q are sign-aligned per \
                           seed, averaged, and divided by the largest entry";

/// The caption of a figure without P and Q.
pub const SHORT_CAPTION: &str = "mean over seeds; bands are standard errors";

/// The caption of a value error.
pub const ERROR_CAPTION: &str =
    "value error on the task just trained on, mean over seeds with standard error";

fn subscript(l: usize) -> String {
    l.to_string()
        .chars()
        .map(|c| char::from_u32(0x2080 + c as u32 - '0' as u32).unwrap_or(c))
        .collect()
}
