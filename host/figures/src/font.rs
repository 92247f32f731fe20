//! The embedded font: how wide a text is, and its outline, with kerning.

use crate::style::TextStyle;
use std::sync::OnceLock;
use tiny_skia::{Path, PathBuilder, Transform};
use ttf_parser::gpos::{PairAdjustment, PositioningSubtable};
use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// Inter, Regular: its file.
pub const REGULAR: &[u8] = include_bytes!("../../assets/inter/Inter-Regular.otf");

/// Inter, SemiBold: its file.
pub const SEMI_BOLD: &[u8] = include_bytes!("../../assets/inter/Inter-SemiBold.otf");

/// A part of a text at its own size and height above the baseline.
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
        spans.push(Span { text: subscript, size: 0.72 * style.size, rise: -0.22 * style.size });
        rest = after;
    }
    spans.push(plain(rest));
    spans
}

/// Returns the width of a text in pixels.
pub(crate) fn width(text: &str, style: &TextStyle) -> f64 {
    let mut x = 0.0;
    lay_out(text, style, |_, _, _, _| (), &mut x);
    x
}

/// Returns the outline of a text that starts at (0, 0), y down; None if it has no ink.
pub(crate) fn outline(text: &str, style: &TextStyle) -> Option<Path> {
    let mut pen = Pen { builder: PathBuilder::new(), x: 0.0, y: 0.0, zoom: 1.0 };
    let place = |face: &Face, glyph, span: &Span, x: f64| {
        pen.x = x as f32;
        pen.y = -span.rise as f32;
        pen.zoom = (span.size / face.units_per_em() as f64) as f32;
        face.outline_glyph(glyph, &mut pen);
    };
    lay_out(text, style, place, &mut 0.0);
    pen.builder.finish().and_then(|path| path.transform(Transform::identity()))
}

/// Shows each glyph with its span and x; leaves the text's end in `x`.
fn lay_out(
    text: &str,
    style: &TextStyle,
    mut place: impl FnMut(&Face, GlyphId, &Span, f64),
    x: &mut f64,
) {
    let Some(face) = face(style.bold) else { return };
    for span in spans(text, style) {
        let zoom = span.size / face.units_per_em() as f64;
        let mut before = None;
        for c in span.text.chars() {
            // A missing character shows as the font's empty box.
            let glyph = face.glyph_index(c).unwrap_or(GlyphId(0));
            if let Some(before) = before {
                *x += zoom * kerning(face, before, glyph) as f64;
            }
            place(face, glyph, &span, *x);
            *x += zoom * face.glyph_hor_advance(glyph).unwrap_or(0) as f64;
            before = Some(glyph);
        }
    }
}

/// Returns the space that the font's pair adjustments add between two glyphs, in font units.
fn kerning(face: &Face, left: GlyphId, right: GlyphId) -> i16 {
    let lookups = face.tables().gpos.into_iter().flat_map(|gpos| gpos.lookups);
    let mut sum = 0;
    for lookup in lookups {
        let pairs = lookup.subtables.into_iter::<PositioningSubtable>();
        // The first of a lookup's subtables that knows the pair counts.
        sum += pairs.filter_map(|table| adjustment(&table, left, right)).next().unwrap_or(0);
    }
    sum
}

fn adjustment(table: &PositioningSubtable, left: GlyphId, right: GlyphId) -> Option<i16> {
    let PositioningSubtable::Pair(pairs) = table else { return None };
    let index = pairs.coverage().get(left)?;
    let (value, _) = match pairs {
        PairAdjustment::Format1 { sets, .. } => sets.get(index)?.get(right)?,
        PairAdjustment::Format2 { classes, matrix, .. } => {
            matrix.get((classes.0.get(left), classes.1.get(right)))?
        }
    };
    Some(value.x_advance)
}

/// Inter, Regular or SemiBold, so that pictures are the same on machines without fonts.
fn face(bold: bool) -> Option<&'static Face<'static>> {
    static FACES: [OnceLock<Option<Face>>; 2] = [const { OnceLock::new() }; 2];
    let data = if bold { SEMI_BOLD } else { REGULAR };
    FACES[usize::from(bold)].get_or_init(|| Face::parse(data, 0).ok()).as_ref()
}

struct Pen {
    builder: PathBuilder,
    x: f32,
    y: f32,
    zoom: f32,
}

impl Pen {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + self.zoom * x, self.y - self.zoom * y)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.builder.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.builder.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.builder.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.builder.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.builder.close();
    }
}
