//! Draws figures as SVG and PDF, with the same bytes on every platform.
//!
//! A [`Figure`] is a title and panels, side by side; a panel holds [`Curves`] with bands or a
//! [`Heatmap`]. Every length is plain arithmetic, logarithms are `libm`'s, text widths are those of the embedded font, and
//! `tests/figures.txt` lists digests of the bytes.

mod curves;
mod drawing;
mod font;
mod heatmap;
mod pdf;
mod scale;
mod style;
mod svg;

pub use curves::{Axis, Curve, Curves};
pub use font::{REGULAR, SEMI_BOLD};
pub use heatmap::Heatmap;

use drawing::{Anchor, Drawing, Point, Size};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    pub title: String,
    /// The measurement: the quantity that is averaged, and the meaning of the bands.
    pub subtitle: String,
    pub panels: Vec<Panel>,
    pub columns: usize,
}

/// Figures with their file names, without extension.
pub type NamedFigures = Vec<(String, Figure)>;

const PHONE: f64 = 330.0;

#[derive(Clone, Debug, PartialEq)]
pub enum Panel {
    Curves(Curves),
    Heatmap(Heatmap),
}

impl Panel {
    pub fn has_data(&self) -> bool {
        let finite = |numbers: &Vec<f64>| numbers.iter().any(|x| x.is_finite());
        match self {
            Panel::Curves(curves) => curves.curves.iter().any(|c| finite(&c.y)),
            Panel::Heatmap(heatmap) => heatmap.rows.iter().any(finite),
        }
    }

    fn title(&self) -> &str {
        match self {
            Panel::Curves(curves) => &curves.title,
            Panel::Heatmap(heatmap) => &heatmap.title,
        }
    }

    /// Returns the size in a document below a head of this height: a legend of many rows makes it higher.
    fn size(&self, alone: bool, head: f64) -> Size {
        let (w, h) = match self {
            Panel::Curves(_) if alone => (620.0, 380.0),
            Panel::Curves(_) => (440.0, 330.0),
            Panel::Heatmap(heatmap) => return heatmap.size(),
        };
        (w, h + f64::max(0.0, head - 0.4 * h))
    }

    /// Returns the height of title and legend, so that the axes of a row begin at the same height.
    fn head(&self, width: f64) -> f64 {
        match self {
            Panel::Curves(curves) => curves.head(width),
            Panel::Heatmap(_) => 0.0,
        }
    }

    fn draw(&self, to: &mut Drawing, at: Point, size: Size, head: f64) {
        match self {
            Panel::Curves(curves) => curves.draw(to, at, size, head),
            Panel::Heatmap(heatmap) => heatmap.draw(to, at),
        }
    }
}

impl Figure {
    pub fn to_svg(&self) -> String {
        let (drawing, size) = self.drawing();
        svg::document(&drawing.marks, size, &self.title)
    }

    /// Returns a PDF document of one page, with its fonts embedded.
    pub fn to_pdf(&self) -> Vec<u8> {
        let (drawing, size) = self.drawing();
        pdf::document(&drawing.marks, size, &self.title)
    }

    fn drawing(&self) -> (Drawing, Size) {
        let mut to = Drawing::new();
        let (mut y, mut baseline) = (style::MARGIN, style::MARGIN + 13.0);
        if !self.title.is_empty() {
            to.text((style::MARGIN, baseline), &self.title, Anchor::Start, style::TITLE);
            (y, baseline) = (y + 24.0, baseline + 21.0);
        }
        to.text((style::MARGIN, baseline), &self.subtitle, Anchor::Start, style::SUBTITLE);
        if !self.subtitle.is_empty() {
            y += 22.0;
        }
        let words = font::width(&self.title, &style::TITLE)
            .max(font::width(&self.subtitle, &style::SUBTITLE));
        let mut width = words + 2.0 * style::MARGIN;
        let alone = self.panels.len() == 1;
        for row in self.panels.chunks(self.columns.clamp(1, self.panels.len().max(1))) {
            let (mut x, mut height) = (style::MARGIN, 0.0_f64);
            let head =
                row.iter().map(|panel| panel.head(panel.size(alone, 0.0).0)).fold(0.0, f64::max);
            for panel in row {
                let (w, h) = panel.size(alone, head);
                to.hold_texts((x, y), (w + style::GUTTER / 2.0, h));
                panel.draw(&mut to, (x, y), (w, h), head);
                x += w + style::GUTTER;
                height = height.max(h);
            }
            width = width.max(x - style::GUTTER + style::MARGIN);
            y += height + style::GUTTER;
        }
        (to, (width.ceil(), (y - style::GUTTER + style::MARGIN).ceil()))
    }

    /// Returns each panel as an SVG element for a page, as wide as a phone. The page defines colours such as `--figure-ink`,
    /// and shows title and subtitle; `id`, unique on the page, prefixes the names inside.
    pub fn to_elements(&self, id: &str) -> Vec<String> {
        let head = self.panels.iter().map(|panel| panel.head(PHONE)).fold(0.0, f64::max);
        let element = |(i, panel): (usize, &Panel)| {
            let height = match panel {
                Panel::Curves(_) => head + 0.7 * PHONE,
                Panel::Heatmap(heatmap) => heatmap.size().1,
            };
            let mut to = Drawing::new();
            to.hold_texts((0.0, 0.0), (PHONE, height));
            panel.draw(&mut to, (0.0, 0.0), (PHONE, height), head);
            let title = if panel.title().is_empty() { &self.title } else { panel.title() };
            svg::element(&to.marks, (PHONE, height), title, &format!("{id}-{i}-"))
        };
        self.panels.iter().enumerate().map(element).collect()
    }
}
