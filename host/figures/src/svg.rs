//! Marks as SVG: a separate document, or an element of a page.

use crate::drawing::{Anchor, Mark, Point, Size};
use crate::font;
use crate::style::{Colour, TextStyle};

pub(crate) fn document(marks: &[Mark], size: Size, title: &str) -> String {
    let ([w, h], title) = (<[f64; 2]>::from(size).map(number), escape(title));
    let open = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" \
         width=\"{w}\" height=\"{h}\" role=\"img\" aria-label=\"{title}\" \
         font-family=\"Inter, 'Helvetica Neue', Helvetica, Arial, sans-serif\">\n\
         <title>{title}</title>\n"
    );
    Writer { id: "", colour: Colour::hex }.all(open, marks, size) + "\n"
}

/// Writes an element whose colours are names of the page's; `id`, unique on the page, prefixes the names inside.
pub(crate) fn element(marks: &[Mark], size: Size, title: &str, id: &str) -> String {
    let ([w, h], title) = (<[f64; 2]>::from(size).map(number), escape(title));
    let open = format!("<svg viewBox=\"0 0 {w} {h}\" role=\"img\" aria-label=\"{title}\">\n");
    Writer { id, colour: Colour::on_page }.all(open, marks, size)
}

struct Writer<'a> {
    /// The prefix of the names inside the drawing.
    id: &'a str,
    colour: fn(Colour) -> String,
}

impl Writer<'_> {
    fn all(&self, mut out: String, marks: &[Mark], size: Size) -> String {
        out.push_str(&self.area((0.0, 0.0), size, Some(Colour::Paper)));
        for (index, mark) in marks.iter().enumerate() {
            out.push('\n');
            out.push_str(&self.mark(mark, index));
        }
        out + "\n</svg>"
    }

    fn mark(&self, mark: &Mark, index: usize) -> String {
        match mark {
            Mark::Rect { at, size, fill } => self.area(*at, *size, Some(*fill)),
            Mark::Polygon { points, fill, opacity } => {
                let (points, fill, opacity) =
                    (listed(points), (self.colour)(*fill), number(*opacity));
                format!(r#"<polygon points="{points}" fill="{fill}" fill-opacity="{opacity}"/>"#)
            }
            Mark::Polyline { points, stroke, width, dashed } => {
                let (points, stroke, width) =
                    (listed(points), (self.colour)(*stroke), number(*width));
                let dash = if *dashed { r#" stroke-dasharray="6 4""# } else { "" };
                format!(
                    r#"<polyline points="{points}" fill="none" stroke="{stroke}" stroke-width="{width}" stroke-linejoin="round"{dash}/>"#
                )
            }
            Mark::Circle { centre: (x, y), radius, fill } => {
                let ([x, y, radius], fill) = ([*x, *y, *radius].map(number), (self.colour)(*fill));
                format!(r#"<circle cx="{x}" cy="{y}" r="{radius}" fill="{fill}"/>"#)
            }
            Mark::Text { at: (x, y), upward, text, anchor, style } => {
                let (x, y) = (number(*x), number(*y));
                let place = match upward {
                    false => format!(r#"x="{x}" y="{y}""#),
                    true => format!(r#"transform="translate({x} {y}) rotate(-90)""#),
                };
                self.text(&place, text, *anchor, style)
            }
            Mark::Clip { at, size } => {
                let (id, area) = (format!("{}clip{index}", self.id), self.area(*at, *size, None));
                format!(r##"<clipPath id="{id}">{area}</clipPath><g clip-path="url(#{id})">"##)
            }
            Mark::EndClip => "</g>".to_owned(),
        }
    }

    fn area(&self, (x, y): Point, (w, h): Size, fill: Option<Colour>) -> String {
        let [x, y, w, h] = [x, y, w, h].map(number);
        let fill = fill.map(|fill| format!(r#" fill="{}""#, (self.colour)(fill)));
        let fill = fill.unwrap_or_default();
        format!(r#"<rect x="{x}" y="{y}" width="{w}" height="{h}"{fill}/>"#)
    }

    fn text(&self, place: &str, text: &str, anchor: Anchor, style: &TextStyle) -> String {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (size, fill) = (number(style.size), (self.colour)(style.colour));
        let weight = if style.bold { r#" font-weight="600""# } else { "" };
        let spans = spans(text, style);
        format!(
            r#"<text {place} font-size="{size}" fill="{fill}" text-anchor="{anchor}"{weight}>{spans}</text>"#
        )
    }
}

fn listed(points: &[Point]) -> String {
    let points: Vec<_> =
        points.iter().map(|(x, y)| format!("{},{}", number(*x), number(*y))).collect();
    points.join(" ")
}

fn spans(text: &str, style: &TextStyle) -> String {
    let (mut out, mut height) = (String::new(), 0.0);
    for span in font::spans(text, style) {
        let (text, down) = (escape(span.text), height - span.rise);
        height = span.rise;
        out.push_str(&match down == 0.0 && span.size == style.size {
            true => text,
            false => {
                let (down, size) = (number(down), number(span.size));
                format!(r#"<tspan dy="{down}" font-size="{size}">{text}</tspan>"#)
            }
        });
    }
    out
}

/// Returns a number in hundredths, without trailing zeros, and without the sign of -0.
fn number(x: f64) -> String {
    let text = format!("{x:.2}");
    match text.trim_end_matches('0').trim_end_matches('.') {
        "-0" => "0".to_owned(),
        text => text.to_owned(),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
