//! The look that all figures share.

pub(crate) const MARGIN: f64 = 20.0;
pub(crate) const GUTTER: f64 = 26.0;

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
const CURVES: [u32; 7] = [0x3568a8, 0xd9543d, 0x228833, 0xb07c00, 0x8e3b8a, 0x2a9fb5, 0x6b7280];

impl Colour {
    /// Returns the name in a page's style sheet, if the page has a colour of its own for it, and the colour on white paper.
    fn named(self) -> (Option<String>, u32) {
        let (name, rgb) = match self {
            Colour::Ink => ("ink", 0x1d2430),
            Colour::FaintInk => ("faint-ink", 0x5b6472),
            Colour::Axis => ("axis", 0x8a93a0),
            Colour::Grid => ("grid", 0xe6e9ee),
            Colour::Paper => ("paper", 0xffffff),
            Colour::Curve(index) => {
                let index = index % CURVES.len();
                return (Some(format!("curve-{index}")), CURVES[index]);
            }
            Colour::Value(value) => return (None, diverging(value)),
        };
        (Some(name.to_owned()), rgb)
    }

    pub(crate) fn hex(self) -> String {
        format!("#{:06x}", self.named().1)
    }

    /// Returns red, green and blue in [0, 1].
    pub(crate) fn rgb(self) -> [f32; 3] {
        let [_, r, g, b] = self.named().1.to_be_bytes();
        [r, g, b].map(|channel| f32::from(channel) / 255.0)
    }

    /// Returns the colour on a page whose style sheet names the theme's colours, for example `--figure-ink`.
    pub(crate) fn on_page(self) -> String {
        let name = self.named().0;
        name.map_or_else(|| self.hex(), |name| format!("var(--figure-{name})"))
    }
}

/// The anchors of the diverging colour scale from -1 (blue) over 0 (white) to 1 (red).
const DIVERGING: [u32; 9] =
    [0x123f7d, 0x2c71b2, 0x6ba5d0, 0xbad6e9, 0xfafafa, 0xfacbb4, 0xe78d71, 0xc34040, 0x7a0826];

/// Returns the colour of a number in [-1, 1]; beyond it the end's colour, and grey for NaN.
fn diverging(value: f64) -> u32 {
    if value.is_nan() {
        return 0xa0a0a0;
    }
    let position = (value.clamp(-1.0, 1.0) + 1.0) / 2.0 * (DIVERGING.len() - 1) as f64;
    let below = (position as usize).min(DIVERGING.len() - 2);
    let share = position - below as f64;
    let channel = |shift: u32| {
        let [a, b] = [below, below + 1].map(|i| f64::from(DIVERGING[i] >> shift & 255));
        ((a + share * (b - a)).round() as u32) << shift
    };
    channel(16) | channel(8) | channel(0)
}
