//! A drawing: shapes and text on a white page, as SVG and as pixels.

use super::font;
use super::style::{self, Colour, TextStyle};
use crate::error::Error;
use std::fmt::Write;
use tiny_skia::{
    FillRule, LineCap, LineJoin, Mask, Paint, PathBuilder, Pixmap, Rect, Stroke, StrokeDash,
    Transform,
};

/// A point on the page: pixels, y down.
pub(super) type Point = (f64, f64);

/// A page of shapes, in drawing order.
pub(super) struct Scene {
    width: f64,
    height: f64,
    items: Vec<Item>,
}

/// Which point of a text its position names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

enum Item {
    Rect {
        at: Point,
        size: (f64, f64),
        fill: Colour,
    },
    Polygon {
        points: Vec<Point>,
        fill: Colour,
        opacity: f64,
    },
    Line {
        points: Vec<Point>,
        stroke: Colour,
        width: f64,
        dashed: bool,
    },
    Circle {
        centre: Point,
        radius: f64,
        fill: Colour,
    },
    Text {
        at: Point,
        upward: bool,
        text: String,
        anchor: Anchor,
        style: TextStyle,
    },
    /// Until [`Item::EndClip`] only what is inside shows.
    Clip {
        at: Point,
        size: (f64, f64),
    },
    EndClip,
}

const DASH: [f32; 2] = [6.0, 4.0];

impl Scene {
    pub(super) fn new(width: f64, height: f64) -> Self {
        Scene { width: width.ceil(), height: height.ceil(), items: Vec::new() }
    }

    pub(super) fn rect(&mut self, at: Point, size: (f64, f64), fill: Colour) {
        self.items.push(Item::Rect { at, size, fill });
    }

    pub(super) fn frame(&mut self, (x, y): Point, (w, h): (f64, f64), stroke: Colour) {
        let points = vec![(x, y), (x + w, y), (x + w, y + h), (x, y + h), (x, y)];
        self.polyline(points, stroke, 1.0, false);
    }

    pub(super) fn line(&mut self, from: Point, to: Point, stroke: Colour, width: f64) {
        self.polyline(vec![from, to], stroke, width, false);
    }

    pub(super) fn polyline(
        &mut self,
        points: Vec<Point>,
        stroke: Colour,
        width: f64,
        dashed: bool,
    ) {
        self.items.push(Item::Line { points, stroke, width, dashed });
    }

    pub(super) fn polygon(&mut self, points: Vec<Point>, fill: Colour, opacity: f64) {
        self.items.push(Item::Polygon { points, fill, opacity });
    }

    pub(super) fn circle(&mut self, centre: Point, radius: f64, fill: Colour) {
        self.items.push(Item::Circle { centre, radius, fill });
    }

    pub(super) fn text(&mut self, at: Point, text: &str, anchor: Anchor, style: &TextStyle) {
        let text = text.to_owned();
        self.items.push(Item::Text { at, upward: false, text, anchor, style: *style });
    }

    /// Text that reads upwards.
    pub(super) fn upward_text(&mut self, at: Point, text: &str, anchor: Anchor, style: &TextStyle) {
        let text = text.to_owned();
        self.items.push(Item::Text { at, upward: true, text, anchor, style: *style });
    }

    pub(super) fn begin_clip(&mut self, at: Point, size: (f64, f64)) {
        self.items.push(Item::Clip { at, size });
    }

    pub(super) fn end_clip(&mut self) {
        self.items.push(Item::EndClip);
    }

    pub(super) fn to_svg(&self, title: &str) -> String {
        let (width, height, title) = (self.width, self.height, escape(title));
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{title}\" \
             font-family=\"Inter, 'Helvetica Neue', Helvetica, Arial, sans-serif\">\n\
             <title>{title}</title>\n<rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>\n",
            hex(style::PAPER)
        );
        let mut clips = 0;
        for item in &self.items {
            if matches!(item, Item::Clip { .. }) {
                clips += 1;
            }
            out.push_str(&item.to_svg(clips));
            out.push('\n');
        }
        out + "</svg>\n"
    }

    /// The page in pixels, `zoom` of them for one of the page's.
    pub(super) fn to_pixels(&self, title: &str, zoom: f64) -> Result<Pixmap, Error> {
        let pixels = |length: f64| (length * zoom).round() as u32;
        let mut page = Pixmap::new(pixels(self.width), pixels(self.height))
            .ok_or_else(|| Error::Usage(format!("figure `{title}` is too large for a picture")))?;
        let [r, g, b] = style::PAPER;
        page.fill(tiny_skia::Color::from_rgba8(r, g, b, 255));
        let transform = Transform::from_scale(zoom as f32, zoom as f32);
        let mut clip = None;
        for item in &self.items {
            match item {
                Item::Clip { at, size } => {
                    clip = Mask::new(page.width(), page.height());
                    if let (Some(mask), Some(area)) = (&mut clip, rect(*at, *size)) {
                        let area = PathBuilder::from_rect(area);
                        mask.fill_path(&area, FillRule::Winding, true, transform);
                    }
                }
                Item::EndClip => clip = None,
                item => item.paint(&mut page, transform, clip.as_ref()),
            }
        }
        Ok(page)
    }

    pub(super) fn to_png(&self, title: &str, zoom: f64) -> Result<Vec<u8>, Error> {
        let page = self.to_pixels(title, zoom)?;
        page.encode_png().map_err(|e| Error::Usage(format!("figure `{title}`: {e}")))
    }
}

impl Item {
    fn to_svg(&self, clip: usize) -> String {
        match self {
            Item::Rect { at: (x, y), size: (w, h), fill } => format!(
                r#"<rect x="{x:.2}" y="{y:.2}" width="{w:.2}" height="{h:.2}" fill="{}"/>"#,
                hex(*fill)
            ),
            Item::Polygon { points, fill, opacity } => format!(
                r#"<polygon points="{}" fill="{}" fill-opacity="{opacity}"/>"#,
                listed(points),
                hex(*fill)
            ),
            Item::Line { points, stroke, width, dashed } => {
                let dash = format!(r#" stroke-dasharray="{} {}""#, DASH[0], DASH[1]);
                format!(
                    r#"<polyline points="{}" fill="none" stroke="{}" stroke-width="{width}" stroke-linejoin="round"{}/>"#,
                    listed(points),
                    hex(*stroke),
                    if *dashed { &dash } else { "" }
                )
            }
            Item::Circle { centre: (x, y), radius, fill } => {
                format!(r#"<circle cx="{x:.2}" cy="{y:.2}" r="{radius}" fill="{}"/>"#, hex(*fill))
            }
            Item::Text { at: (x, y), upward, text, anchor, style } => {
                let place = match upward {
                    true => format!(r#"transform="translate({x:.2} {y:.2}) rotate(-90)""#),
                    false => format!(r#"x="{x:.2}" y="{y:.2}""#),
                };
                let anchor = match anchor {
                    Anchor::Start => "start",
                    Anchor::Middle => "middle",
                    Anchor::End => "end",
                };
                let weight = if style.bold { r#" font-weight="600""# } else { "" };
                format!(
                    r#"<text {place} font-size="{}" fill="{}" text-anchor="{anchor}"{weight}>{}</text>"#,
                    style.size,
                    hex(style.colour),
                    svg_spans(text, style)
                )
            }
            Item::Clip { at: (x, y), size: (w, h) } => format!(
                r##"<clipPath id="clip{clip}"><rect x="{x:.2}" y="{y:.2}" width="{w:.2}" height="{h:.2}"/></clipPath><g clip-path="url(#clip{clip})">"##
            ),
            Item::EndClip => "</g>".into(),
        }
    }

    fn paint(&self, page: &mut Pixmap, transform: Transform, clip: Option<&Mask>) {
        match self {
            Item::Rect { at, size, fill } => {
                if let Some(area) = rect(*at, *size) {
                    page.fill_rect(area, &paint(*fill, 1.0), transform, clip);
                }
            }
            Item::Polygon { points, fill, opacity } => {
                if let Some(path) = path(points, true) {
                    let paint = paint(*fill, *opacity);
                    page.fill_path(&path, &paint, FillRule::Winding, transform, clip);
                }
            }
            Item::Line { points, stroke, width, dashed } => {
                if let Some(path) = path(points, false) {
                    let stroked = Stroke {
                        width: *width as f32,
                        line_cap: LineCap::Butt,
                        line_join: LineJoin::Round,
                        dash: dashed.then(|| StrokeDash::new(DASH.to_vec(), 0.0)).flatten(),
                        ..Default::default()
                    };
                    page.stroke_path(&path, &paint(*stroke, 1.0), &stroked, transform, clip);
                }
            }
            Item::Circle { centre: (x, y), radius, fill } => {
                if let Some(path) = PathBuilder::from_circle(*x as f32, *y as f32, *radius as f32) {
                    let paint = paint(*fill, 1.0);
                    page.fill_path(&path, &paint, FillRule::Winding, transform, clip);
                }
            }
            Item::Text { at: (x, y), upward, text, anchor, style } => {
                let back = match anchor {
                    Anchor::Start => 0.0,
                    Anchor::Middle => 0.5 * font::width(text, style),
                    Anchor::End => font::width(text, style),
                };
                let mut place = transform.pre_translate(*x as f32, *y as f32);
                if *upward {
                    place = place.pre_concat(Transform::from_rotate(-90.0));
                }
                place = place.pre_translate(-back as f32, 0.0);
                if let Some(outline) = font::outline(text, style) {
                    let paint = paint(style.colour, 1.0);
                    page.fill_path(&outline, &paint, FillRule::Winding, place, clip);
                }
            }
            Item::Clip { .. } | Item::EndClip => {}
        }
    }
}

fn paint(colour: Colour, opacity: f64) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Default::default() };
    let [r, g, b] = colour;
    paint.set_color_rgba8(r, g, b, (255.0 * opacity).round() as u8);
    paint
}

fn rect((x, y): Point, (w, h): (f64, f64)) -> Option<Rect> {
    Rect::from_xywh(x as f32, y as f32, w as f32, h as f32)
}

fn path(points: &[Point], closed: bool) -> Option<tiny_skia::Path> {
    let mut builder = PathBuilder::new();
    for (i, (x, y)) in points.iter().enumerate() {
        if i == 0 {
            builder.move_to(*x as f32, *y as f32);
        } else {
            builder.line_to(*x as f32, *y as f32);
        }
    }
    if closed {
        builder.close();
    }
    builder.finish()
}

fn listed(points: &[Point]) -> String {
    let points: Vec<_> = points.iter().map(|(x, y)| format!("{x:.2},{y:.2}")).collect();
    points.join(" ")
}

fn svg_spans(text: &str, style: &TextStyle) -> String {
    let mut out = String::new();
    let mut height = 0.0;
    for span in font::spans(text, style) {
        let text = escape(span.text);
        let down = height - span.rise;
        height = span.rise;
        // Writing to a String cannot fail.
        let _ = if down == 0.0 && span.size == style.size {
            write!(out, "{text}")
        } else {
            write!(out, r#"<tspan dy="{down:.2}" font-size="{:.2}">{text}</tspan>"#, span.size)
        };
    }
    out
}

pub(super) fn hex([r, g, b]: Colour) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
