//! Marks as a PDF document of one page, with its fonts embedded.

use crate::drawing::{Anchor, Mark, Point, Size};
use crate::font;
use crate::style::{Colour, TextStyle};
use pdf_writer::types::{CidFontType, FontFlags, LineJoinStyle, SystemInfo, UnicodeCmap};
use pdf_writer::{Content, Finish, Name, Pdf, Rect, Ref, Str, TextStr};
use std::collections::BTreeMap;
use ttf_parser::{Face, Tag};

const CATALOG: Ref = Ref::new(1);
const PAGES: Ref = Ref::new(2);
const PAGE: Ref = Ref::new(3);
const CONTENT: Ref = Ref::new(4);
const TITLE: Ref = Ref::new(5);
/// The first object of opacities, and of each font; an object apart for each.
const OPACITIES: i32 = 100;
const FONTS: [i32; 2] = [10, 20];
const FONT_NAMES: [&[u8]; 2] = [b"Inter-Regular", b"Inter-SemiBold"];
const IDENTITY: SystemInfo =
    SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };

/// Writes a document whose point is a pixel of the figure.
pub(crate) fn document(marks: &[Mark], size: Size, title: &str) -> Vec<u8> {
    let mut writer =
        Writer { content: Content::new(), glyphs: Default::default(), opacities: BTreeMap::new() };
    // The figure's y axis goes down, the page's up.
    writer.content.transform([1.0, 0.0, 0.0, -1.0, 0.0, size.1 as f32]);
    writer.mark(&Mark::Rect { at: (0.0, 0.0), size, fill: Colour::Paper });
    marks.iter().for_each(|mark| writer.mark(mark));

    let mut pdf = Pdf::new();
    pdf.catalog(CATALOG).pages(PAGES);
    pdf.pages(PAGES).kids([PAGE]).count(1);
    pdf.document_info(TITLE).title(TextStr(title));
    let mut page = pdf.page(PAGE);
    page.media_box(Rect::new(0.0, 0.0, size.0 as f32, size.1 as f32)).parent(PAGES);
    page.contents(CONTENT);
    let mut resources = page.resources();
    let mut fonts = resources.fonts();
    for (name, first) in FONT_NAMES.iter().zip(FONTS) {
        fonts.pair(Name(name), Ref::new(first));
    }
    fonts.finish();
    let mut states = resources.ext_g_states();
    for (index, name) in writer.opacities.values().enumerate() {
        states.pair(Name(name.as_bytes()), Ref::new(OPACITIES + index as i32));
    }
    states.finish();
    resources.finish();
    page.finish();
    for (index, percent) in writer.opacities.keys().enumerate() {
        let mut state = pdf.ext_graphics(Ref::new(OPACITIES + index as i32));
        state.non_stroking_alpha(*percent as f32 / 100.0);
    }
    pdf.stream(CONTENT, &writer.content.finish());
    for (bold, glyphs) in writer.glyphs.iter().enumerate() {
        if let Some(face) = font::face(bold == 1) {
            embed(&mut pdf, face, glyphs, FONT_NAMES[bold], FONTS[bold]);
        }
    }
    pdf.finish()
}

struct Writer {
    content: Content,
    /// The glyphs that each font shows, with their characters.
    glyphs: [BTreeMap<u16, char>; 2],
    /// Opacities in hundredths, with their names.
    opacities: BTreeMap<u32, String>,
}

impl Writer {
    fn mark(&mut self, mark: &Mark) {
        match mark {
            Mark::Rect { at, size, fill } => {
                self.fill(*fill);
                self.area(*at, *size);
                self.content.fill_nonzero();
            }
            Mark::Polygon { points, fill, opacity } => {
                let percent = (100.0 * opacity).round() as u32;
                let name = self.opacities.entry(percent).or_insert(format!("opacity{percent}"));
                self.content.save_state().set_parameters(Name(name.as_bytes()));
                self.fill(*fill);
                self.path(points);
                self.content.fill_nonzero().restore_state();
            }
            Mark::Polyline { points, stroke, width, dashed } => {
                let [r, g, b] = stroke.rgb();
                let dashes: &[f32] = if *dashed { &[6.0, 4.0] } else { &[] };
                self.content.set_stroke_rgb(r, g, b).set_line_width(*width as f32);
                self.content.set_line_join(LineJoinStyle::RoundJoin);
                self.content.set_dash_pattern(dashes.iter().copied(), 0.0);
                self.path(points);
                self.content.stroke();
            }
            Mark::Circle { centre, radius, fill } => {
                self.fill(*fill);
                self.circle(*centre, *radius);
                self.content.fill_nonzero();
            }
            Mark::Text { at, upward, text, anchor, style } => {
                self.text(*at, *upward, text, *anchor, style);
            }
            Mark::Clip { at, size } => {
                self.content.save_state();
                self.area(*at, *size);
                self.content.clip_nonzero().end_path();
            }
            Mark::EndClip => {
                self.content.restore_state();
            }
        }
    }

    fn fill(&mut self, colour: Colour) {
        let [r, g, b] = colour.rgb();
        self.content.set_fill_rgb(r, g, b);
    }

    fn area(&mut self, (x, y): Point, (w, h): Size) {
        self.content.rect(x as f32, y as f32, w as f32, h as f32);
    }

    fn path(&mut self, points: &[Point]) {
        for (index, (x, y)) in points.iter().enumerate() {
            match index {
                0 => self.content.move_to(*x as f32, *y as f32),
                _ => self.content.line_to(*x as f32, *y as f32),
            };
        }
    }

    /// Draws a circle as four cubic curves, which are off by less than a thousandth of its radius.
    fn circle(&mut self, (x, y): Point, radius: f64) {
        let (x, y, r, k) = (x as f32, y as f32, radius as f32, 0.5523 * radius as f32);
        self.content
            .move_to(x + r, y)
            .cubic_to(x + r, y + k, x + k, y + r, x, y + r)
            .cubic_to(x - k, y + r, x - r, y + k, x - r, y)
            .cubic_to(x - r, y - k, x - k, y - r, x, y - r)
            .cubic_to(x + k, y - r, x + r, y - k, x + r, y);
    }

    fn text(&mut self, at: Point, upward: bool, text: &str, anchor: Anchor, style: &TextStyle) {
        let Some(face) = font::face(style.bold) else { return };
        let before = anchor.share() * font::width(text, style);
        self.fill(style.colour);
        let (x, y) = at;
        self.content.begin_text().set_text_matrix(match upward {
            false => [1.0, 0.0, 0.0, -1.0, (x - before) as f32, y as f32],
            true => [0.0, -1.0, -1.0, 0.0, x as f32, (y + before) as f32],
        });
        for span in font::spans(text, style) {
            let mut shown = Vec::new();
            for character in span.text.chars() {
                let glyph = font::glyph(face, character).0;
                if glyph > 0 {
                    self.glyphs[usize::from(style.bold)].insert(glyph, character);
                }
                shown.extend(glyph.to_be_bytes());
            }
            let name = Name(FONT_NAMES[usize::from(style.bold)]);
            self.content.set_font(name, span.size as f32).set_rise(span.rise as f32);
            self.content.show(Str(&shown));
        }
        self.content.end_text();
    }
}

/// Embeds a font: its program, the widths of the glyphs that are shown, and their characters for who copies a text.
fn embed(pdf: &mut Pdf, face: &Face, glyphs: &BTreeMap<u16, char>, name: &[u8], first: i32) {
    let [font, descendant, descriptor, program, characters] =
        [0, 1, 2, 3, 4].map(|i| Ref::new(first + i));
    let em = 1000.0 / f32::from(face.units_per_em());
    pdf.type0_font(font)
        .base_font(Name(name))
        .encoding_predefined(Name(b"Identity-H"))
        .descendant_font(descendant)
        .to_unicode(characters);
    let mut cid = pdf.cid_font(descendant);
    cid.subtype(CidFontType::Type0).base_font(Name(name)).system_info(IDENTITY);
    cid.font_descriptor(descriptor);
    let mut widths = cid.widths();
    for glyph in glyphs.keys() {
        let width = face.glyph_hor_advance(ttf_parser::GlyphId(*glyph)).unwrap_or(0);
        widths.consecutive(*glyph, [em * f32::from(width)]);
    }
    widths.finish();
    cid.finish();
    let bounds = face.global_bounding_box();
    let [x_min, y_min, x_max, y_max] =
        [bounds.x_min, bounds.y_min, bounds.x_max, bounds.y_max].map(|x| em * f32::from(x));
    pdf.font_descriptor(descriptor)
        .name(Name(name))
        .flags(FontFlags::NON_SYMBOLIC)
        .bbox(Rect::new(x_min, y_min, x_max, y_max))
        .italic_angle(0.0)
        .ascent(em * f32::from(face.ascender()))
        .descent(em * f32::from(face.descender()))
        .cap_height(em * f32::from(face.capital_height().unwrap_or(0)))
        .stem_v(80.0)
        .font_file3(program);
    let table = face.raw_face().table(Tag::from_bytes(b"CFF ")).unwrap_or_default();
    pdf.stream(program, table).pair(Name(b"Subtype"), Name(b"CIDFontType0C"));
    let mut map = UnicodeCmap::new(Name(b"Characters"), IDENTITY);
    glyphs.iter().for_each(|(glyph, character)| map.pair(*glyph, *character));
    pdf.cmap(characters, &map.finish());
}
