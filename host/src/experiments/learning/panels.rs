//! The panels about learning, drawn from `curves.csv` and `matrices.csv` alone.

use super::{CurveRow, MatrixRow};
use crate::error::Error;
use crate::figures::{Axis, Curve, Curves, Figure, Heatmap, Panel};
use crate::run::records::Records;
use std::path::Path;

/// The most rows that a matrix of the records has.
const LARGEST_TOKEN: usize = 256;

/// The rows of `curves.csv` that the panels need.
pub struct CurveRecords(Vec<CurveRow>);

impl CurveRecords {
    /// Reads them.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn read(records: &Records) -> Result<Self, Error> {
        Ok(CurveRecords(records.csv("curves.csv")?))
    }

    /// How many stored layers of a run there are curves of.
    pub fn layers(&self, run: &str) -> usize {
        let of_layer = |l: usize| {
            let metric = format!("p_bottom_right_{l}");
            self.0.iter().any(|r| r.run == run && r.metric == metric)
        };
        (0..).take_while(|l| of_layer(*l)).count()
    }

    /// The curve of a metric: mean with standard error.
    pub fn curve(&self, run: &str, metric: &str, label: &str) -> Curve {
        let rows: Vec<_> = self.0.iter().filter(|r| r.run == run && r.metric == metric).collect();
        Curve::with_stderr(
            label,
            rows.iter().map(|r| r.tasks as f64).collect(),
            rows.iter().map(|r| r.mean).collect(),
            &rows.iter().map(|r| r.stderr).collect::<Vec<_>>(),
        )
    }

    /// P[-1,-1] and the rest of P_l.
    pub fn p_elements(&self, run: &str, l: usize) -> Panel {
        Panel::Curves(Curves {
            title: format!("Elements of P{}", subscript(l)),
            x: Axis::linear("number of MRPs"),
            y: Axis::linear(""),
            curves: vec![
                self.curve(run, &format!("p_bottom_right_{l}"), "P[−1, −1]"),
                self.curve(run, &format!("p_avg_abs_others_{l}"), "mean |others|"),
            ],
            ..Default::default()
        })
    }

    /// The traces of Q_l's blocks and the rest of Q_l.
    pub fn q_elements(&self, run: &str, l: usize) -> Panel {
        Panel::Curves(Curves {
            title: format!("Elements of Q{}", subscript(l)),
            x: Axis::linear("number of MRPs"),
            y: Axis::linear(""),
            curves: vec![
                self.curve(run, &format!("q_trace_upper_left_{l}"), "tr Q[:d, :d]"),
                self.curve(run, &format!("q_trace_upper_right_{l}"), "tr Q[:d, d:2d]"),
                self.curve(run, &format!("q_avg_abs_others_{l}"), "mean |others|"),
            ],
            ..Default::default()
        })
    }

    /// IWS and SS, and VD on an axis of its own.
    pub fn comparison(&self, run: &str, title: &str) -> [Panel; 2] {
        let iws = self.curve(run, "iws", "IWS");
        let mut ss = self.curve(run, "ss", "SS");
        ss.dashed = true;
        let similarity = Curves {
            title: format!("{title}: similarity to batch TD"),
            x: Axis::linear("number of MRPs"),
            y: Axis::fixed("cosine", lowest_cosine(&[&iws, &ss]), 1.05),
            curves: vec![iws, ss],
            ..Default::default()
        };
        let difference = Curves {
            title: format!("{title}: value difference"),
            x: Axis::linear("number of MRPs"),
            y: Axis::from_zero("VD"),
            curves: vec![self.curve(run, "vd", "")],
            ..Default::default()
        };
        [Panel::Curves(similarity), Panel::Curves(difference)]
    }

    /// The loss, and the value error on an axis of its own.
    pub fn errors(&self, run: &str) -> [Panel; 2] {
        let panel = |title: &str, metric: &str, label: &str| {
            Panel::Curves(Curves {
                title: title.into(),
                x: Axis::linear("number of MRPs"),
                y: Axis::from_zero(label),
                curves: vec![self.curve(run, metric, "")],
                ..Default::default()
            })
        };
        [panel("Loss of the last batch", "loss", "loss"), panel("Value error", "msve", "MSVE")]
    }
}

/// Where an axis of cosines starts: at 0, or below the curves and their bands if a curve is negative.
fn lowest_cosine(curves: &[&Curve]) -> f64 {
    let lowest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::min);
    if lowest(&mut curves.iter().flat_map(|c| c.y.iter().copied())) == 0.0 {
        return 0.0;
    }
    let edge = lowest(&mut curves.iter().flat_map(|c| c.band.iter().map(|b| b.0)));
    (1.05 * edge).max(-1.05)
}

/// The rows of `matrices.csv` that the panels need.
pub struct MatrixRecords(Vec<MatrixRow>);

impl MatrixRecords {
    /// Reads them.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn read(records: &Records) -> Result<Self, Error> {
        let rows: Vec<MatrixRow> = records.csv("matrices.csv")?;
        // Their size decides how much memory a picture takes.
        if rows.iter().any(|r| r.row.max(r.column) >= LARGEST_TOKEN) {
            let reason = format!("row, column: accepted are 0 to {}", LARGEST_TOKEN - 1);
            return Err(Error::file(Path::new("matrices.csv"), reason));
        }
        Ok(MatrixRecords(rows))
    }

    /// The numbers of tasks at which the matrices of a run are known.
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
                // What is not finite stays so.
                let scaled = largest > 0.0 || !entry.value.is_finite();
                *cell = if scaled { entry.value / largest } else { 0.0 };
            }
        }
        let d = k.saturating_sub(1) / 2;
        let title = format!("{matrix}{}", subscript(l));
        Panel::Heatmap(Heatmap { title, rows, blocks: vec![d, 2 * d], colour_bar: bar })
    }

    /// P_l and Q_l of a run at its end.
    pub fn final_pair(&self, run: &str, l: usize) -> [Panel; 2] {
        let last = self.times(run).last().copied().unwrap_or(0);
        [self.heatmap(run, "P", l, last, false), self.heatmap(run, "Q", l, last, true)]
    }

    /// A row of a figure: P_l and Q_l of a run at its end, and their elements on the way.
    pub fn layer_row(&self, curves: &CurveRecords, run: &str, l: usize) -> [Panel; 4] {
        let [p, q] = self.final_pair(run, l);
        [p, q, curves.p_elements(run, l), curves.q_elements(run, l)]
    }

    /// The figure of a run whose layers share P and Q.
    pub fn one_layer_figure(&self, curves: &CurveRecords, run: &str, title: &str) -> Figure {
        Figure {
            title: title.into(),
            subtitle: CAPTION.into(),
            panels: self.layer_row(curves, run, 0).to_vec(),
            columns: 4,
        }
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

/// What the captions of all these figures say.
pub const CAPTION: &str = "mean over seeds; bands are standard errors; P and Q are sign-aligned per \
                           seed, averaged, and divided by the largest entry";

fn subscript(l: usize) -> String {
    l.to_string()
        .chars()
        .map(|c| char::from_u32(0x2080 + c as u32 - '0' as u32).unwrap_or(c))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_of_cosines_starts_at_0_unless_a_curve_is_negative() {
        let curve = |y: [f64; 2]| Curve::with_stderr("", vec![0.0, 1.0], y.to_vec(), &[0.1; 2]);
        // A band alone changes nothing.
        assert_eq!(lowest_cosine(&[&curve([0.05, 0.9]), &curve([0.5, f64::NAN])]), 0.0);
        let lowest = lowest_cosine(&[&curve([0.5, 0.9]), &curve([-0.2, 0.9])]);
        assert!((-0.35..-0.3).contains(&lowest), "{lowest}");
        assert_eq!(lowest_cosine(&[&curve([-1.0, 0.0])]), -1.05);
    }
}
