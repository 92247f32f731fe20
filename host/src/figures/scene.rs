//! A drawing: shapes and text on a white page, as SVG and as PNG.

use crate::error::Error;
use resvg::{tiny_skia, usvg};
use std::fmt::Write;
use std::sync::{Arc, OnceLock};

/// A page of shapes, in drawing order. Coordinates in pixels, y down.
pub(super) struct Scene {
    width: f64,
    height: f64,
    body: String,
    clips: usize,
}

/// How text looks.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextStyle {
    pub(super) size: f64,
    pub(super) colour: &'static str,
    pub(super) bold: bool,
}

impl TextStyle {
    pub(super) fn bold(mut self) -> Self {
        self.bold = true;
        self
    }
}

/// Which point of a text its position names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Scene {
    pub(super) fn new(width: f64, height: f64) -> Self {
        let mut scene =
            Scene { width: width.ceil(), height: height.ceil(), body: String::new(), clips: 0 };
        scene.rect(0.0, 0.0, scene.width, scene.height, super::style::PAPER);
        scene
    }

    pub(super) fn rect(&mut self, x: f64, y: f64, w: f64, h: f64, fill: &str) {
        self.push(format_args!(
            r#"<rect x="{x:.2}" y="{y:.2}" width="{w:.2}" height="{h:.2}" fill="{fill}"/>"#
        ));
    }

    pub(super) fn frame(&mut self, x: f64, y: f64, w: f64, h: f64, stroke: &str) {
        self.push(format_args!(
            r#"<rect x="{x:.2}" y="{y:.2}" width="{w:.2}" height="{h:.2}" fill="none" stroke="{stroke}"/>"#
        ));
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: &str, width: f64) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.push(format_args!(
            r#"<line x1="{x1:.2}" y1="{y1:.2}" x2="{x2:.2}" y2="{y2:.2}" stroke="{stroke}" stroke-width="{width}"/>"#
        ));
    }

    pub(super) fn polyline(
        &mut self,
        points: &[(f64, f64)],
        stroke: &str,
        width: f64,
        dashed: bool,
    ) {
        let dash = if dashed { r#" stroke-dasharray="6 4""# } else { "" };
        let points = path(points);
        self.push(format_args!(
            r#"<polyline points="{points}" fill="none" stroke="{stroke}" stroke-width="{width}" stroke-linejoin="round" stroke-linecap="round"{dash}/>"#
        ));
    }

    pub(super) fn polygon(&mut self, points: &[(f64, f64)], fill: &str, opacity: f64) {
        let points = path(points);
        self.push(format_args!(
            r#"<polygon points="{points}" fill="{fill}" fill-opacity="{opacity}"/>"#
        ));
    }

    pub(super) fn circle(&mut self, centre: (f64, f64), radius: f64, fill: &str) {
        let (x, y) = centre;
        self.push(format_args!(r#"<circle cx="{x:.2}" cy="{y:.2}" r="{radius}" fill="{fill}"/>"#));
    }

    pub(super) fn text(&mut self, x: f64, y: f64, text: &str, anchor: Anchor, style: &TextStyle) {
        self.place_text(&format!(r#"x="{x:.2}" y="{y:.2}""#), text, anchor, style);
    }

    /// Text that reads upwards.
    pub(super) fn upward_text(
        &mut self,
        x: f64,
        y: f64,
        text: &str,
        anchor: Anchor,
        style: &TextStyle,
    ) {
        self.place_text(
            &format!(r#"transform="translate({x:.2} {y:.2}) rotate(-90)""#),
            text,
            anchor,
            style,
        );
    }

    fn place_text(&mut self, place: &str, text: &str, anchor: Anchor, style: &TextStyle) {
        if text.is_empty() {
            return;
        }
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let weight = if style.bold { r#" font-weight="600""# } else { "" };
        let TextStyle { size, colour, .. } = style;
        let text = with_subscripts(&escape(text), *size);
        self.push(format_args!(
            r#"<text {place} font-size="{size}" fill="{colour}" text-anchor="{anchor}"{weight}>{text}</text>"#
        ));
    }

    /// Draws only inside the rectangle, until [`Scene::end_clip`].
    pub(super) fn begin_clip(&mut self, x: f64, y: f64, w: f64, h: f64) {
        self.clips += 1;
        let id = self.clips;
        self.push(format_args!(
            r##"<clipPath id="c{id}"><rect x="{x:.2}" y="{y:.2}" width="{w:.2}" height="{h:.2}"/></clipPath><g clip-path="url(#c{id})">"##
        ));
    }

    pub(super) fn end_clip(&mut self) {
        self.push(format_args!("</g>"));
    }

    fn push(&mut self, element: std::fmt::Arguments) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.body, "{element}");
    }

    pub(super) fn to_svg(&self, title: &str) -> String {
        let Scene { width, height, body, .. } = self;
        let title = escape(title);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\" aria-label=\"{title}\" \
             font-family=\"Inter, 'Helvetica Neue', Helvetica, Arial, sans-serif\">\n<title>{title}</title>\n{body}</svg>\n"
        )
    }

    pub(super) fn to_png(&self, title: &str, zoom: f32) -> Result<Vec<u8>, Error> {
        let refuse = |e: &dyn std::fmt::Display| Error::Usage(format!("figure `{title}`: {e}"));
        let options = usvg::Options { fontdb: fonts(), ..Default::default() };
        let tree = usvg::Tree::from_str(&self.to_svg(title), &options).map_err(|e| refuse(&e))?;
        let size = tree.size();
        let pixels = |length: f32| (length * zoom).round() as u32;
        let mut image = tiny_skia::Pixmap::new(pixels(size.width()), pixels(size.height()))
            .ok_or_else(|| refuse(&"the picture is too large"))?;
        resvg::render(&tree, tiny_skia::Transform::from_scale(zoom, zoom), &mut image.as_mut());
        image.encode_png().map_err(|e| refuse(&e))
    }
}

/// Inter, Regular and SemiBold, so that pictures are the same on machines without fonts.
fn fonts() -> Arc<usvg::fontdb::Database> {
    static FONTS: OnceLock<Arc<usvg::fontdb::Database>> = OnceLock::new();
    let load = || {
        let mut fonts = usvg::fontdb::Database::new();
        fonts.load_font_data(include_bytes!("../../assets/inter/Inter-Regular.otf").to_vec());
        fonts.load_font_data(include_bytes!("../../assets/inter/Inter-SemiBold.otf").to_vec());
        fonts.set_sans_serif_family("Inter");
        Arc::new(fonts)
    };
    FONTS.get_or_init(load).clone()
}

/// About how wide a text is: what a legend needs to know.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | '|' | '\'' | ' ' | '(' | ')' | '[' | ']' => 0.32,
        'm' | 'w' | 'M' | 'W' => 0.88,
        c if c.is_uppercase() => 0.70,
        _ => 0.59,
    };
    size * text.chars().map(em).sum::<f64>()
}

/// `w_l` and `x_{ij}` with their subscripts lowered.
fn with_subscripts(text: &str, size: f64) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('_') {
        let (subscript, after) = match after.strip_prefix('{').and_then(|a| a.split_once('}')) {
            Some(braced) => braced,
            None => after.split_at(after.chars().next().map_or(0, char::len_utf8)),
        };
        let (down, small) = (0.22 * size, 0.72 * size);
        out.push_str(before);
        // The zero-width space carries the baseline back up.
        let _ = write!(
            out,
            r#"<tspan dy="{down:.2}" font-size="{small:.2}">{subscript}</tspan><tspan dy="-{down:.2}">&#8203;</tspan>"#
        );
        rest = after;
    }
    out + rest
}

fn path(points: &[(f64, f64)]) -> String {
    let points: Vec<_> = points.iter().map(|(x, y)| format!("{x:.2},{y:.2}")).collect();
    points.join(" ")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
