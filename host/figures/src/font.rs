//! The embedded font, which measures text.

use crate::style::TextStyle;
use std::borrow::Cow;
use std::sync::OnceLock;
use ttf_parser::{Face, GlyphId};

pub const REGULAR: &[u8] = include_bytes!("../../assets/inter/Inter-Regular.otf");

pub const SEMI_BOLD: &[u8] = include_bytes!("../../assets/inter/Inter-SemiBold.otf");

pub(crate) struct Span<'a> {
    pub(crate) text: &'a str,
    pub(crate) size: f64,
    /// Upwards, in pixels.
    pub(crate) rise: f64,
}

/// Returns the spans of a text: `w_l` and `x_{ij}` have their subscripts lowered.
pub(crate) fn spans<'a>(text: &'a str, style: &TextStyle) -> Vec<Span<'a>> {
    let plain = |text| Span { text, size: style.size, rise: 0.0 };
    let mut spans = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('_') {
        let (subscript, after) = match after.strip_prefix('{').and_then(|a| a.split_once('}')) {
            Some(braced) => braced,
            None => after.split_at(after.chars().next().map_or(0, char::len_utf8)),
        };
        spans.push(plain(before));
        spans.push(Span { text: subscript, size: 0.84 * style.size, rise: -0.22 * style.size });
        rest = after;
    }
    spans.push(plain(rest));
    spans
}

/// Returns the width of a text in pixels, without kerning.
pub(crate) fn width(text: &str, style: &TextStyle) -> f64 {
    let Some(face) = face(style.bold) else { return 0.0 };
    let of_span = |span: Span| {
        let glyphs = span.text.chars().map(|c| glyph(face, c));
        let units = glyphs.map(|glyph| face.glyph_hor_advance(glyph).unwrap_or(0));
        let units: f64 = units.map(f64::from).sum();
        units * span.size / face.units_per_em() as f64
    };
    spans(text, style).into_iter().map(of_span).sum()
}

/// Returns a text, or the beginning of it that is no wider than so many pixels, with an ellipsis.
pub(crate) fn cut<'a>(text: &'a str, style: &TextStyle, most: f64) -> Cow<'a, str> {
    if width(text, style) <= most {
        return text.into();
    }
    let cut = |end: usize| format!("{}…", text[..end].trim_end());
    let ends: Vec<usize> = text.char_indices().map(|(end, _)| end).collect();
    let fitting = ends.partition_point(|end| width(&cut(*end), style) <= most);
    ends[..fitting].last().map_or(String::new(), |end| cut(*end)).into()
}

/// Returns the glyph of a character; a missing one shows as the font's empty box.
pub(crate) fn glyph(face: &Face, character: char) -> GlyphId {
    face.glyph_index(character).unwrap_or(GlyphId(0))
}

/// Returns Inter, Regular or SemiBold, embedded so that figures are the same on machines without fonts.
pub(crate) fn face(bold: bool) -> Option<&'static Face<'static>> {
    static FACES: [OnceLock<Option<Face>>; 2] = [const { OnceLock::new() }; 2];
    let data = if bold { SEMI_BOLD } else { REGULAR };
    FACES[usize::from(bold)].get_or_init(|| Face::parse(data, 0).ok()).as_ref()
}
