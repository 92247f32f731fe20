//! Curves with bands over a common x axis.

use crate::drawing::{Anchor, Drawing, Point, Size};
use crate::font;
use crate::scale::Scale;
use crate::style::{self, Colour};

const LEFT: f64 = 62.0;
const RIGHT: f64 = 8.0;
const LEGEND_ROW: f64 = 18.0;
const SWATCH: f64 = 24.0;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    /// The title above the panel; may be empty.
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    pub curves: Vec<Curve>,
}

/// An axis. Without bounds, which a horizontal one never has, it fits the data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// The measured quantity, with units.
    pub label: String,
    /// Logarithmic: non-positive values are drawn at its low end.
    pub log: bool,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

impl Axis {
    pub fn linear(label: &str) -> Self {
        Axis { label: label.into(), ..Default::default() }
    }

    /// Returns a logarithmic axis that fits the data, in whole decades.
    pub fn log(label: &str) -> Self {
        Axis { label: label.into(), log: true, ..Default::default() }
    }

    pub fn from_zero(label: &str) -> Self {
        Axis { label: label.into(), low: Some(0.0), ..Default::default() }
    }

    pub fn fixed(label: &str, low: f64, high: f64) -> Self {
        Axis { label: label.into(), log: false, low: Some(low), high: Some(high) }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// The name in the legend; if empty, the curve is not listed.
    pub label: String,
    pub x: Vec<f64>,
    /// One y per x; a value that is not finite is a gap.
    pub y: Vec<f64>,
    /// The band's lower and upper edge per x; empty for no band.
    pub band: Vec<(f64, f64)>,
    pub dashed: bool,
    /// Whether each point is marked, as measured.
    pub marked: bool,
}

impl Curve {
    pub fn with_stderr(label: &str, x: Vec<f64>, y: Vec<f64>, stderr: &[f64]) -> Self {
        let band = y.iter().zip(stderr).map(|(y, e)| (y - e, y + e)).collect();
        Curve { label: label.into(), x, y, band, ..Default::default() }
    }

    /// Returns a curve of medians with a band between the quartiles: first quartile, median and third quartile at each x.
    pub fn with_quartiles(label: &str, points: impl IntoIterator<Item = (f64, [f64; 3])>) -> Self {
        let mut curve = Curve { label: label.into(), ..Default::default() };
        for (x, [low, median, high]) in points {
            curve.x.push(x);
            curve.y.push(median);
            curve.band.push((low, high));
        }
        curve
    }

    pub fn plain(label: &str, x: Vec<f64>, y: Vec<f64>) -> Self {
        Curve { label: label.into(), x, y, ..Default::default() }
    }
}

impl Curves {
    /// Returns the height of title and legend in a panel of this width.
    pub(crate) fn head(&self, width: f64) -> f64 {
        let rows = match self.legend(width - LEFT - RIGHT).last() {
            Some((_, row, _)) => 1.0 + *row as f64,
            None => 0.0,
        };
        self.title_height() + 8.0 + LEGEND_ROW * rows
    }

    fn title_height(&self) -> f64 {
        if self.title.is_empty() { 0.0 } else { 22.0 }
    }

    /// Returns the positions of the legend's entries in rows of this width: x, row, and index of the curve.
    fn legend(&self, width: f64) -> Vec<(f64, usize, usize)> {
        let (mut x, mut row) = (0.0, 0);
        let mut places = Vec::new();
        for (index, curve) in self.curves.iter().enumerate().filter(|(_, c)| !c.label.is_empty()) {
            let entry = SWATCH + font::width(&curve.label, &style::LABEL);
            if x > 0.0 && x + entry > width {
                (x, row) = (0.0, row + 1);
            }
            places.push((x, row, index));
            x += entry + 20.0;
        }
        places
    }

    pub(crate) fn draw(&self, to: &mut Drawing, (x, y): Point, (w, h): Size, head: f64) {
        let (left, right) = (x + LEFT, x + w - RIGHT);
        to.text((left, y + 13.0), &self.title, Anchor::Start, style::PANEL_TITLE);
        for (at, row, index) in self.legend(right - left) {
            let curve = &self.curves[index];
            let (at, row) = (left + at, y + self.title_height() + 8.0 + LEGEND_ROW * row as f64);
            let line = vec![(at, row), (at + 18.0, row)];
            to.polyline(line, Colour::Curve(index), 2.5, curve.dashed);
            to.text((at + SWATCH, row + 4.2), &curve.label, Anchor::Start, style::LABEL);
        }
        let top = y + head + 2.0;
        let bottom = y + h - 44.0;

        let (low, high) = range(self.curves.iter().flat_map(|c| c.x.iter().copied()), self.x.log);
        let xs = Scale::new(self.x.log, low, high, left, right);
        let (low, high) = self.y_range();
        let ys = Scale::new(self.y.log, low, high, bottom, top);
        for (value, label) in ys.ticks(5.0) {
            let at = ys.at(value);
            to.line((left, at), (right, at), Colour::Grid, 1.0);
            to.text((left - 8.0, at + 4.0), &label, Anchor::End, style::TICK);
        }
        // As many ticks as leave room between their labels.
        let fits = |ticks: &Vec<(f64, String)>| {
            ticks.windows(2).all(|pair| {
                let widths = pair.iter().map(|(_, label)| font::width(label, &style::TICK));
                xs.at(pair[1].0) - xs.at(pair[0].0) >= widths.sum::<f64>() / 2.0 + 6.0
            })
        };
        let mut counts = (1..=7).rev().map(|count| xs.ticks(count.into()));
        for (value, label) in counts.find(fits).unwrap_or_default() {
            let at = xs.at(value);
            to.line((at, bottom), (at, bottom + 4.0), Colour::Axis, 1.0);
            to.text((at, bottom + 17.0), &label, Anchor::Middle, style::TICK);
        }
        to.clip((left, top - 2.0), (right - left + 2.0, bottom - top + 4.0));
        // All bands below all curves.
        for (index, curve) in self.curves.iter().enumerate() {
            curve.draw_band(to, &xs, &ys, Colour::Curve(index));
        }
        for (index, curve) in self.curves.iter().enumerate() {
            curve.draw_line(to, &xs, &ys, Colour::Curve(index));
        }
        to.end_clip();
        to.line((left, bottom), (right, bottom), Colour::Axis, 1.0);
        let (centre, middle) = ((left + right) / 2.0, (top + bottom) / 2.0);
        to.text((centre, bottom + 37.0), &self.x.label, Anchor::Middle, style::LABEL);
        to.upward((x + 13.0, middle), &self.y.label, style::LABEL);
    }

    fn y_range(&self) -> (f64, f64) {
        let bands = self.curves.iter().flat_map(|c| c.band.iter().flat_map(|b| [b.0, b.1]));
        let values = self.curves.iter().flat_map(|c| c.y.iter().copied());
        // On a log axis the mean decides: a band may reach down to 0.
        let (low, high) = if self.y.log {
            let (low, high) = range(values, true);
            let decade = |round: fn(f64) -> f64, x: f64| libm::exp10(round(libm::log10(x)));
            (decade(f64::floor, low), decade(f64::ceil, high))
        } else {
            let (low, high) = range(values.chain(bands), false);
            let room = 0.04 * (high - low);
            (low - room, high + room)
        };
        (self.y.low.unwrap_or(low), self.y.high.unwrap_or(high))
    }
}

impl Curve {
    fn draw_band(&self, to: &mut Drawing, xs: &Scale, ys: &Scale, colour: Colour) {
        let points = self.x.iter().zip(&self.band);
        let points = points.filter(|(_, (low, high))| low.is_finite() && high.is_finite());
        let points = points.map(|(x, (low, high))| (xs.at(*x), ys.at(*low), ys.at(*high)));
        let points: Vec<_> = points.collect();
        let upper = points.iter().map(|p| (p.0, p.2));
        let lower = points.iter().rev().map(|p| (p.0, p.1));
        let outline: Vec<_> = upper.chain(lower).collect();
        if outline.len() > 2 {
            to.polygon(outline, colour, 0.18);
        }
    }

    fn draw_line(&self, to: &mut Drawing, xs: &Scale, ys: &Scale, colour: Colour) {
        let finite: Vec<_> = self.x.iter().zip(&self.y).collect();
        for run in finite.split(|(_, y)| !y.is_finite()) {
            let points: Vec<_> = run.iter().map(|(x, y)| (xs.at(**x), ys.at(**y))).collect();
            match points.as_slice() {
                [] => {}
                [point] => to.circle(*point, 3.0, colour),
                points => {
                    to.polyline(points.to_vec(), colour, 2.0, self.dashed);
                    let marks = points.iter().filter(|_| self.marked);
                    marks.for_each(|point| to.circle(*point, 3.0, colour));
                }
            }
        }
    }
}

/// Returns the range of the values that the axis can show.
fn range(values: impl Iterator<Item = f64>, log: bool) -> (f64, f64) {
    values
        .filter(|v| v.is_finite() && (!log || *v > 0.0))
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
}
