//! Figures: what is shown, as SVG and PNG, with the same bytes on every platform.
//!
//! A [`Figure`] is a title and panels, side by side; a panel holds [`Curves`] with bands or a
//! [`Heatmap`]. A [`Picture`] is a figure or a moving one. Every length is plain arithmetic, logarithms
//! are `libm`'s, text is drawn from the embedded font, and the digests of the bytes stand in
//! `tests/figures.txt`.

mod curves;
mod font;
mod heatmap;
mod pixels;
mod scale;
mod scene;
mod style;
mod svg;

pub use curves::{Axis, Curve, Curves, HorizontalLine};
pub use font::{REGULAR, SEMI_BOLD};
pub use heatmap::Heatmap;
pub use pixels::png;

use scene::{Anchor, Scene, Size};

/// Why a picture cannot be drawn.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// More pixels than memory, or than the format, can hold.
    #[error("the picture is too large")]
    TooLarge,
    /// The picture's format refuses it.
    #[error("{0}")]
    Encoding(String),
}

/// Panels under a title.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The title, which says what the figure shows.
    pub title: String,
    /// How it was measured: what is averaged, what the bands are.
    pub subtitle: String,
    /// Read along rows.
    pub panels: Vec<Panel>,
    /// Panels in a row.
    pub columns: usize,
}

impl Default for Figure {
    fn default() -> Self {
        Figure { title: String::new(), subtitle: String::new(), panels: Vec::new(), columns: 3 }
    }
}

/// Figures with their file names, without ending.
pub type NamedFigures = Vec<(String, Figure)>;

/// A picture that a run shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Picture {
    /// A figure.
    Still(Figure),
    /// Figures of one size, one after the other, for the page alone.
    Moving(Vec<Figure>),
}

/// Pictures with their file names, without ending.
pub type Pictures = Vec<(String, Picture)>;

impl Picture {
    /// Returns its files: ending and content.
    /// Errors: as [`Figure::to_png`].
    pub fn files(&self) -> Result<Vec<(&'static str, Vec<u8>)>, Error> {
        Ok(match self {
            Picture::Still(figure) => {
                vec![("svg", figure.to_svg().into_bytes()), ("png", figure.to_png()?)]
            }
            Picture::Moving(_) => Vec::new(),
        })
    }
}

/// Returns the colour of a number in [-1, 1] on the heatmaps' scale, as red, green, blue.
pub fn colour(value: f64) -> [u8; 3] {
    style::diverging(value)
}

/// One part of a figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Panel {
    /// Curves over a common x axis.
    Curves(Curves),
    /// A matrix in colours.
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
    fn head(&self, alone: bool) -> f64 {
        match self {
            Panel::Curves(curves) => curves.head(self.size(alone).0),
            Panel::Heatmap(_) => 0.0,
        }
    }
}

impl Figure {
    /// Returns the figure as an SVG document.
    pub fn to_svg(&self) -> String {
        self.scene().to_svg(&self.title)
    }

    /// Returns the figure as an element of a page. Its colours are the page's, by names such as
    /// `--figure-ink`; `id`, unique on the page, begins the names inside. It has no size of its own:
    /// [`Figure::width`] says the natural one.
    pub fn to_element(&self, id: &str) -> String {
        self.scene().to_element(&self.title, id)
    }

    /// Returns the width of the SVG, in pixels.
    pub fn width(&self) -> f64 {
        self.scene().width
    }

    /// Returns the figure as a PNG image, twice the SVG's size.
    /// Errors: [`Error::TooLarge`].
    pub fn to_png(&self) -> Result<Vec<u8>, Error> {
        self.scene().to_png(2.0)
    }

    fn scene(&self) -> Scene {
        let columns = self.columns.clamp(1, self.panels.len().max(1));
        let alone = self.panels.len() == 1;
        let mut head = style::MARGIN;
        if !self.title.is_empty() {
            head += 24.0;
        }
        if !self.subtitle.is_empty() {
            head += 22.0;
        }
        let words = font::width(&self.title, &style::TITLE)
            .max(font::width(&self.subtitle, &style::SUBTITLE));
        let mut places = Vec::new();
        let (mut width, mut y) = (words + 2.0 * style::MARGIN, head);
        for row in self.panels.chunks(columns) {
            let mut x = style::MARGIN;
            let mut height = 0.0_f64;
            let row_head = row.iter().map(|panel| panel.head(alone)).fold(0.0, f64::max);
            for panel in row {
                let (w, h) = panel.size(alone);
                places.push((panel, (x, y), (w, h), row_head));
                x += w + style::GUTTER;
                height = height.max(h);
            }
            width = width.max(x - style::GUTTER + style::MARGIN);
            y += height + style::GUTTER;
        }
        let mut scene = Scene::new(width, y - style::GUTTER + style::MARGIN);
        let mut baseline = style::MARGIN + 13.0;
        if !self.title.is_empty() {
            scene.text((style::MARGIN, baseline), &self.title, Anchor::Start, style::TITLE);
            baseline += 21.0;
        }
        scene.text((style::MARGIN, baseline), &self.subtitle, Anchor::Start, style::SUBTITLE);
        for (panel, at, size, head) in places {
            match panel {
                Panel::Curves(curves) => curves.draw(&mut scene, at, size, head),
                Panel::Heatmap(heatmap) => heatmap.draw(&mut scene, at),
            }
        }
        scene
    }
}
