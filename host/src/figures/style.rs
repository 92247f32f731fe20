//! The look that all figures share.

/// Red, green, blue.
pub(super) type Colour = [u8; 3];

/// How text looks.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextStyle {
    pub(super) size: f64,
    pub(super) colour: Colour,
    pub(super) bold: bool,
}

impl TextStyle {
    pub(super) fn bold(mut self) -> Self {
        self.bold = true;
        self
    }
}

pub(super) const MARGIN: f64 = 20.0;
pub(super) const GUTTER: f64 = 26.0;

pub(super) const TITLE: f64 = 16.0;
pub(super) const PANEL_TITLE: f64 = 13.0;
pub(super) const LABEL: f64 = 12.0;
pub(super) const SMALL: f64 = 12.0;
pub(super) const TICK: f64 = 11.0;

pub(super) const INK: Colour = [0x1d, 0x24, 0x30];
pub(super) const FAINT_INK: Colour = [0x5b, 0x64, 0x72];
pub(super) const AXIS: Colour = [0x8a, 0x93, 0xa0];
pub(super) const GRID: Colour = [0xe6, 0xe9, 0xee];
pub(super) const PAPER: Colour = [0xff, 0xff, 0xff];

/// Told apart also with colour-blind eyes and in grey: Tol's "bright" scheme, reordered.
pub(super) const CURVES: [Colour; 7] = [
    [0x35, 0x68, 0xa8],
    [0xd9, 0x54, 0x3d],
    [0x22, 0x88, 0x33],
    [0xb0, 0x7c, 0x00],
    [0x8e, 0x3b, 0x8a],
    [0x2a, 0x9f, 0xb5],
    [0x6b, 0x72, 0x80],
];

pub(super) fn text(size: f64, colour: Colour) -> TextStyle {
    TextStyle { size, colour, bold: false }
}

/// The anchors of the diverging colour scale from -1 (blue) over 0 (white) to 1 (red).
const DIVERGING: [Colour; 9] = [
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
pub(super) fn diverging(value: f64) -> Colour {
    if value.is_nan() {
        return [160, 160, 160];
    }
    let position = (value.clamp(-1.0, 1.0) + 1.0) / 2.0 * (DIVERGING.len() - 1) as f64;
    let below = (position as usize).min(DIVERGING.len() - 2);
    let share = position - below as f64;
    let (a, b) = (DIVERGING[below], DIVERGING[below + 1]);
    std::array::from_fn(|i| (a[i] as f64 + share * (b[i] as f64 - a[i] as f64)).round() as u8)
}
