//! Figures: what is shown, drawn from records alone, as SVG and PNG.
//!
//! Nothing outside this module knows how pictures are made. A [`Figure`] is a title and panels, side
//! by side; a panel holds [`Curves`] with bands or a [`Heatmap`].

mod animation;
mod curves;
mod font;
mod heatmap;
mod scale;
mod scene;
mod style;

pub use animation::animation;
pub use curves::{Axis, Curve, Curves, HorizontalLine};
pub use heatmap::Heatmap;

use crate::error::Error;
use crate::records::Records;
use scene::{Anchor, Scene};

/// Panels under a title.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What the figure shows.
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

/// One part of a figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Panel {
    /// Curves over a common x axis.
    Curves(Curves),
    /// A matrix in colours.
    Heatmap(Heatmap),
}

impl Panel {
    fn size(&self, alone: bool) -> (f64, f64) {
        match self {
            Panel::Curves(_) if alone => (620.0, 380.0),
            Panel::Curves(_) => (440.0, 330.0),
            Panel::Heatmap(heatmap) => heatmap.size(),
        }
    }

    /// What title and legend take, so that the axes of a row begin at the same height.
    fn head(&self, alone: bool) -> f64 {
        match self {
            Panel::Curves(curves) => curves.head(self.size(alone).0),
            Panel::Heatmap(_) => 0.0,
        }
    }
}

impl Figure {
    /// The figure as an SVG document.
    pub fn to_svg(&self) -> String {
        self.scene().to_svg(&self.title)
    }

    /// The figure as a PNG image, twice the SVG's size.
    ///
    /// # Errors
    /// [`Error::Usage`] if the picture is too large for memory.
    pub fn to_png(&self) -> Result<Vec<u8>, Error> {
        self.scene().to_png(&self.title, 2.0)
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
        let mut places = Vec::new();
        let (mut width, mut y) = (0.0_f64, head);
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
            let title = style::text(style::TITLE, style::INK).bold();
            scene.text((style::MARGIN, baseline), &self.title, Anchor::Start, &title);
            baseline += 21.0;
        }
        let subtitle = style::text(style::SMALL, style::FAINT_INK);
        scene.text((style::MARGIN, baseline), &self.subtitle, Anchor::Start, &subtitle);
        for (panel, at, size, head) in places {
            match panel {
                Panel::Curves(curves) => curves.draw(&mut scene, at, size, head),
                Panel::Heatmap(heatmap) => heatmap.draw(&mut scene, at),
            }
        }
        scene
    }
}

/// Puts `NAME.svg` and `NAME.png` among the files of a run.
///
/// # Errors
/// As [`Figure::to_png`].
pub fn put(records: &mut Records, name: &str, figure: &Figure) -> Result<(), Error> {
    records.put(&format!("{name}.svg"), figure.to_svg());
    records.put(&format!("{name}.png"), figure.to_png()?);
    Ok(())
}
