//! Draws figures as SVG, with the same bytes on every platform.
//!
//! A [`Figure`] is a title and panels, side by side; a panel holds [`Curves`] with bands or a
//! [`Heatmap`]. Every length is plain arithmetic, logarithms are `libm`'s, text widths are those of the embedded font, and
//! `tests/figures.txt` lists digests of the bytes.

mod curves;
mod font;
mod heatmap;
mod scale;
mod style;
mod svg;

pub use curves::{Axis, Curve, Curves};
pub use font::{REGULAR, SEMI_BOLD};
pub use heatmap::Heatmap;

use svg::{Anchor, Drawing, Point, Size};

/// Panels under a title.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// The title, which says what the figure shows.
    pub title: String,
    /// The measurement: the quantity that is averaged, and the meaning of the bands.
    pub subtitle: String,
    /// The panels, row by row.
    pub panels: Vec<Panel>,
    /// The number of panels in a row.
    pub columns: usize,
}

/// Figures with their file names, without extension.
pub type NamedFigures = Vec<(String, Figure)>;

/// The width of a panel on a page, in pixels.
const PHONE: f64 = 330.0;

/// One part of a figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Panel {
    /// Curves over a common x axis.
    Curves(Curves),
    Heatmap(Heatmap),
}

impl Panel {
    /// Returns true if there is a finite number to draw.
    pub fn has_data(&self) -> bool {
        let finite = |numbers: &Vec<f64>| numbers.iter().any(|x| x.is_finite());
        match self {
            Panel::Curves(curves) => curves.curves.iter().any(|c| finite(&c.y)),
            Panel::Heatmap(heatmap) => heatmap.rows.iter().any(finite),
        }
    }

    fn size(&self, alone: bool) -> Size {
        match self {
            Panel::Curves(_) if alone => (620.0, 380.0),
            Panel::Curves(_) => (440.0, 330.0),
            Panel::Heatmap(heatmap) => heatmap.size(),
        }
    }

    /// Returns the height of title and legend, so that the axes of a row begin at the same height.
    fn head(&self, width: f64) -> f64 {
        match self {
            Panel::Curves(curves) => curves.head(width),
            Panel::Heatmap(_) => 0.0,
        }
    }
}

/// A panel of a figure with its place, its size, and the height of title and legend in its row.
type Place<'a> = (&'a Panel, Point, Size, f64);

impl Figure {
    /// Returns the figure as an SVG document.
    pub fn to_svg(&self) -> String {
        let (size, places) = self.layout();
        self.draw(Drawing::document(size, &self.title), places) + "\n"
    }

    /// Returns each panel as an SVG element for a page, as wide as a phone. The page defines colours such as `--figure-ink`,
    /// and shows title and subtitle; `id`, unique on the page, prefixes the names inside.
    pub fn to_elements(&self, id: &str) -> Vec<String> {
        let head = self.panels.iter().map(|panel| panel.head(PHONE)).fold(0.0, f64::max);
        let element = |(i, panel): (usize, &Panel)| {
            let id = format!("{id}-{i}-");
            let begin = |height, title: &str| {
                let title = if title.is_empty() { &self.title } else { title };
                Drawing::element((PHONE, height), title, &id)
            };
            match panel {
                Panel::Curves(curves) => {
                    let height = head + 0.7 * PHONE;
                    let mut to = begin(height, &curves.title);
                    curves.draw(&mut to, (0.0, 0.0), (PHONE, height), head);
                    to.end()
                }
                Panel::Heatmap(heatmap) => {
                    let mut to = begin(heatmap.size().1, &heatmap.title);
                    heatmap.draw(&mut to, (0.0, 0.0));
                    to.end()
                }
            }
        };
        self.panels.iter().enumerate().map(element).collect()
    }

    fn layout(&self) -> (Size, Vec<Place<'_>>) {
        let columns = self.columns.clamp(1, self.panels.len().max(1));
        let alone = self.panels.len() == 1;
        let mut y = style::MARGIN;
        if !self.title.is_empty() {
            y += 24.0;
        }
        if !self.subtitle.is_empty() {
            y += 22.0;
        }
        let words = font::width(&self.title, &style::TITLE)
            .max(font::width(&self.subtitle, &style::SUBTITLE));
        let (mut width, mut places) = (words + 2.0 * style::MARGIN, Vec::new());
        for row in self.panels.chunks(columns) {
            let mut x = style::MARGIN;
            let mut height = 0.0_f64;
            let head = row.iter().map(|panel| panel.head(panel.size(alone).0)).fold(0.0, f64::max);
            for panel in row {
                let (w, h) = panel.size(alone);
                places.push((panel, (x, y), (w, h), head));
                x += w + style::GUTTER;
                height = height.max(h);
            }
            width = width.max(x - style::GUTTER + style::MARGIN);
            y += height + style::GUTTER;
        }
        ((width.ceil(), (y - style::GUTTER + style::MARGIN).ceil()), places)
    }

    fn draw(&self, mut to: Drawing, places: Vec<Place>) -> String {
        let mut baseline = style::MARGIN + 13.0;
        if !self.title.is_empty() {
            to.text((style::MARGIN, baseline), &self.title, Anchor::Start, style::TITLE);
            baseline += 21.0;
        }
        to.text((style::MARGIN, baseline), &self.subtitle, Anchor::Start, style::SUBTITLE);
        for (panel, at, size, head) in places {
            match panel {
                Panel::Curves(curves) => curves.draw(&mut to, at, size, head),
                Panel::Heatmap(heatmap) => heatmap.draw(&mut to, at),
            }
        }
        to.end()
    }
}
