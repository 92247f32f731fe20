//! The look that all figures share.

pub(crate) const MARGIN: f64 = 20.0;
pub(crate) const GUTTER: f64 = 26.0;

/// How text looks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextStyle {
    pub(crate) size: f64,
    pub(crate) colour: Colour,
    pub(crate) bold: bool,
}

const fn text(size: f64, colour: Colour, bold: bool) -> TextStyle {
    TextStyle { size, colour, bold }
}

pub(crate) const TITLE: TextStyle = text(16.0, Colour::Ink, true);
pub(crate) const SUBTITLE: TextStyle = text(12.0, Colour::FaintInk, false);
pub(crate) const PANEL_TITLE: TextStyle = text(13.0, Colour::Ink, true);
pub(crate) const LABEL: TextStyle = text(12.0, Colour::Ink, false);
pub(crate) const TICK: TextStyle = text(12.0, Colour::FaintInk, false);

/// A colour by its meaning: a page shows others in the dark.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Colour {
    Ink,
    FaintInk,
    Axis,
    Grid,
    Paper,
    /// The colour of a curve, by its place in the legend.
    Curve(usize),
    /// A number in [-1, 1], the same in every theme.
    Value(f64),
}

/// Told apart also with colour-blind eyes and in grey: Tol's "bright" scheme, reordered.
const CURVES: [[u8; 3]; 7] = [
    [0x35, 0x68, 0xa8],
    [0xd9, 0x54, 0x3d],
    [0x22, 0x88, 0x33],
    [0xb0, 0x7c, 0x00],
    [0x8e, 0x3b, 0x8a],
    [0x2a, 0x9f, 0xb5],
    [0x6b, 0x72, 0x80],
];

impl Colour {
    /// Returns the name in a page's style sheet, if the page has a colour of its own for it, and the colour on white paper.
    fn named(self) -> (Option<String>, [u8; 3]) {
        let (name, rgb) = match self {
            Colour::Ink => ("ink", [0x1d, 0x24, 0x30]),
            Colour::FaintInk => ("faint-ink", [0x5b, 0x64, 0x72]),
            Colour::Axis => ("axis", [0x8a, 0x93, 0xa0]),
            Colour::Grid => ("grid", [0xe6, 0xe9, 0xee]),
            Colour::Paper => ("paper", [0xff, 0xff, 0xff]),
            Colour::Curve(index) => {
                let index = index % CURVES.len();
                return (Some(format!("curve-{index}")), CURVES[index]);
            }
            Colour::Value(value) => return (None, diverging(value)),
        };
        (Some(name.to_owned()), rgb)
    }

    /// Returns the colour on white paper, as `#rrggbb`.
    pub(crate) fn hex(self) -> String {
        let (_, [r, g, b]) = self.named();
        format!("#{r:02x}{g:02x}{b:02x}")
    }

    /// Returns the colour on a page whose style sheet names the theme's colours, for example `--figure-ink`.
    pub(crate) fn on_page(self) -> String {
        let name = self.named().0;
        name.map_or_else(|| self.hex(), |name| format!("var(--figure-{name})"))
    }
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

/// Returns the colour of a number in [-1, 1]; beyond it the end's colour, and grey for NaN.
fn diverging(value: f64) -> [u8; 3] {
    if value.is_nan() {
        return [160, 160, 160];
    }
    let position = (value.clamp(-1.0, 1.0) + 1.0) / 2.0 * (DIVERGING.len() - 1) as f64;
    let below = (position as usize).min(DIVERGING.len() - 2);
    let share = position - below as f64;
    let (a, b) = (DIVERGING[below], DIVERGING[below + 1]);
    std::array::from_fn(|i| (a[i] as f64 + share * (b[i] as f64 - a[i] as f64)).round() as u8)
}
