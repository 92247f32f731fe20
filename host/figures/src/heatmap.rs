//! A matrix in colours.

use crate::drawing::{Anchor, Drawing, Point, Size};
use crate::style::{self, Colour};

/// A matrix in colours, on the fixed scale -1 (blue) to 1 (red), row 0 on top.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heatmap {
    pub title: String,
    /// Rows of equal length.
    pub rows: Vec<Vec<f64>>,
    /// Rows and columns before which a thin line marks a block, for example d and 2 d.
    pub blocks: Vec<usize>,
    pub colour_bar: bool,
}

const SIDE: f64 = 240.0;
const LEFT: f64 = 22.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 22.0;
const BAR: f64 = 62.0;

impl Heatmap {
    fn columns(&self) -> usize {
        self.rows.iter().map(Vec::len).max().unwrap_or(0)
    }

    fn cell(&self) -> f64 {
        (SIDE / self.columns().max(self.rows.len()).max(1) as f64).floor().max(1.0)
    }

    fn extent(&self) -> Size {
        (self.cell() * self.columns() as f64, self.cell() * self.rows.len() as f64)
    }

    pub(crate) fn size(&self) -> Size {
        let (w, h) = self.extent();
        (LEFT + w + if self.colour_bar { BAR } else { 0.0 }, TOP + h + BOTTOM)
    }

    pub(crate) fn draw(&self, to: &mut Drawing, (x, y): Point) {
        let (left, top, cell) = (x + LEFT, y + TOP, self.cell());
        let (w, h) = self.extent();
        to.text((left, y + 15.0), &self.title, Anchor::Start, style::PANEL_TITLE);
        for (i, row) in self.rows.iter().enumerate() {
            for (j, value) in row.iter().enumerate() {
                // A little overlap, so that no seam shows between cells; the last ones stay inside.
                let wide = cell + if j + 1 < row.len() { 0.5 } else { 0.0 };
                let high = cell + if i + 1 < self.rows.len() { 0.5 } else { 0.0 };
                let (at_x, at_y) = (left + j as f64 * cell, top + i as f64 * cell);
                to.rect((at_x, at_y), (wide, high), Colour::Value(*value));
            }
        }
        for block in &self.blocks {
            let at = *block as f64 * cell;
            if at < h {
                to.line((left, top + at), (left + w, top + at), Colour::Axis, 0.6);
            }
            if at < w {
                to.line((left + at, top), (left + at, top + h), Colour::Axis, 0.6);
            }
        }
        to.frame((left, top), (w, h), Colour::Axis);
        let step = |count: usize| if count > 12 { 2 } else { 1 };
        for i in (0..self.rows.len()).step_by(step(self.rows.len())) {
            let at = top + (i as f64 + 0.5) * cell;
            to.text((left - 6.0, at + 4.0), &i.to_string(), Anchor::End, style::TICK);
        }
        for j in (0..self.columns()).step_by(step(self.columns())) {
            let at = left + (j as f64 + 0.5) * cell;
            to.text((at, top + h + 15.0), &j.to_string(), Anchor::Middle, style::TICK);
        }
        if self.colour_bar {
            draw_colour_bar(to, left + w + 18.0, top, h);
        }
    }
}

fn draw_colour_bar(to: &mut Drawing, x: f64, y: f64, h: f64) {
    let steps = 101;
    let height = h / steps as f64;
    for i in 0..steps {
        let value = 1.0 - 2.0 * i as f64 / (steps - 1) as f64;
        let overlap = if i + 1 < steps { 0.5 } else { 0.0 };
        let at = (x, y + i as f64 * height);
        to.rect(at, (12.0, height + overlap), Colour::Value(value));
    }
    to.frame((x, y), (12.0, h), Colour::Axis);
    for (value, label) in [(1.0, "1"), (0.5, "0.5"), (0.0, "0"), (-0.5, "−0.5"), (-1.0, "−1")] {
        let at = y + (1.0 - value) / 2.0 * h;
        to.line((x + 12.0, at), (x + 15.0, at), Colour::Axis, 1.0);
        to.text((x + 18.0, at + 4.0), label, Anchor::Start, style::TICK);
    }
}
