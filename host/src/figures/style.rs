//! The look that all figures share.

use super::scene::TextStyle;

pub(super) const MARGIN: f64 = 20.0;
pub(super) const GUTTER: f64 = 26.0;

pub(super) const TITLE: f64 = 16.0;
pub(super) const PANEL_TITLE: f64 = 13.0;
pub(super) const LABEL: f64 = 12.0;
pub(super) const SMALL: f64 = 12.0;
pub(super) const TICK: f64 = 11.0;

pub(super) const INK: &str = "#1d2430";
pub(super) const FAINT_INK: &str = "#5b6472";
pub(super) const AXIS: &str = "#8a93a0";
pub(super) const GRID: &str = "#e6e9ee";
pub(super) const PAPER: &str = "#ffffff";

/// Told apart also with colour-blind eyes and in grey: Tol's "bright" scheme, reordered.
pub(super) const CURVES: [&str; 7] =
    ["#3568a8", "#d9543d", "#228833", "#b07c00", "#8e3b8a", "#2a9fb5", "#6b7280"];

pub(super) fn text(size: f64, colour: &'static str) -> TextStyle {
    TextStyle { size, colour, bold: false }
}

/// The anchors of the diverging colour scale from -1 (blue) over 0 (white) to 1 (red).
const DIVERGING: [[u8; 3]; 9] = [
    [18, 63, 125],
    [44, 113, 178],
    [107, 165, 208],
    [186, 214, 233],
    [250, 250, 250],
    [250, 203, 180],
    [231, 141, 113],
    [195, 64, 64],
    [122, 8, 38],
];

/// The colour of a number in [-1, 1]; beyond it the end's colour, and grey for NaN.
pub(super) fn diverging(value: f64) -> [u8; 3] {
    if value.is_nan() {
        return [160, 160, 160];
    }
    let position = (value.clamp(-1.0, 1.0) + 1.0) / 2.0 * (DIVERGING.len() - 1) as f64;
    let below = (position as usize).min(DIVERGING.len() - 2);
    let share = position - below as f64;
    let (a, b) = (DIVERGING[below], DIVERGING[below + 1]);
    std::array::from_fn(|i| (a[i] as f64 + share * (b[i] as f64 - a[i] as f64)).round() as u8)
}
