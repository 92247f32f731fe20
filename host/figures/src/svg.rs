//! A drawing, written as SVG: a separate document, or an element of a page.

use crate::font;
use crate::style::{Colour, TextStyle};

/// A point on the page: pixels, y down.
pub(crate) type Point = (f64, f64);

pub(crate) type Size = (f64, f64);

/// The point of a text that lies at its position.
#[derive(Clone, Copy)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

pub(crate) struct Drawing<'a> {
    out: String,
    /// The prefix of the names inside the drawing.
    id: &'a str,
    colour: fn(Colour) -> String,
    count: usize,
    /// The corners of the area that holds every text.
    room: [Point; 2],
}

impl<'a> Drawing<'a> {
    /// Begins a drawing with the names of its colours; `id` is unique on its page.
    pub(crate) fn new(id: &'a str, colour: fn(Colour) -> String) -> Self {
        let room = [(f64::NEG_INFINITY, f64::NEG_INFINITY), (f64::INFINITY, f64::INFINITY)];
        Drawing { out: String::new(), id, colour, count: 0, room }
    }

    /// Holds each further text inside an area: it is moved there, and cut where it is longer than the area.
    pub(crate) fn hold_texts(&mut self, (x, y): Point, (w, h): Size) {
        self.room = [(x, y), (x + w, y + h)];
    }

    pub(crate) fn document(self, size: Size, title: &str) -> String {
        let ([w, h], title) = (<[f64; 2]>::from(size).map(number), escape(title));
        let open = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" \
             width=\"{w}\" height=\"{h}\" role=\"img\" aria-label=\"{title}\" \
             font-family=\"Inter, 'Helvetica Neue', Helvetica, Arial, sans-serif\">\n\
             <title>{title}</title>\n"
        );
        self.end(open, size) + "\n"
    }

    pub(crate) fn element(self, size: Size, title: &str) -> String {
        let ([w, h], title) = (<[f64; 2]>::from(size).map(number), escape(title));
        let open = format!("<svg viewBox=\"0 0 {w} {h}\" role=\"img\" aria-label=\"{title}\">\n");
        self.end(open, size)
    }

    fn end(self, open: String, size: Size) -> String {
        let paper = self.area((0.0, 0.0), size, Some(Colour::Paper));
        open + &paper + &self.out + "\n</svg>"
    }

    fn put(&mut self, element: &str) {
        self.out.push('\n');
        self.out.push_str(element);
        self.count += 1;
    }

    pub(crate) fn rect(&mut self, at: Point, size: Size, fill: Colour) {
        self.put(&self.area(at, size, Some(fill)));
    }

    fn area(&self, (x, y): Point, (w, h): Size, fill: Option<Colour>) -> String {
        let [x, y, w, h] = [x, y, w, h].map(number);
        let fill = fill.map(|fill| format!(r#" fill="{}""#, (self.colour)(fill)));
        let fill = fill.unwrap_or_default();
        format!(r#"<rect x="{x}" y="{y}" width="{w}" height="{h}"{fill}/>"#)
    }

    pub(crate) fn polygon(&mut self, points: &[Point], fill: Colour, opacity: f64) {
        let (points, fill, opacity) = (listed(points), (self.colour)(fill), number(opacity));
        self.put(&format!(
            r#"<polygon points="{points}" fill="{fill}" fill-opacity="{opacity}"/>"#
        ));
    }

    pub(crate) fn polyline(&mut self, points: &[Point], stroke: Colour, width: f64, dashed: bool) {
        let (points, stroke, width) = (listed(points), (self.colour)(stroke), number(width));
        let dash = if dashed { r#" stroke-dasharray="6 4""# } else { "" };
        self.put(&format!(
            r#"<polyline points="{points}" fill="none" stroke="{stroke}" stroke-width="{width}" stroke-linejoin="round"{dash}/>"#
        ));
    }

    pub(crate) fn line(&mut self, from: Point, to: Point, stroke: Colour, width: f64) {
        self.polyline(&[from, to], stroke, width, false);
    }

    pub(crate) fn frame(&mut self, (x, y): Point, (w, h): Size, stroke: Colour) {
        let corners = [(x, y), (x + w, y), (x + w, y + h), (x, y + h), (x, y)];
        self.polyline(&corners, stroke, 1.0, false);
    }

    pub(crate) fn circle(&mut self, (x, y): Point, radius: f64, fill: Colour) {
        let ([x, y, radius], fill) = ([x, y, radius].map(number), (self.colour)(fill));
        self.put(&format!(r#"<circle cx="{x}" cy="{y}" r="{radius}" fill="{fill}"/>"#));
    }

    pub(crate) fn text(&mut self, (x, y): Point, text: &str, anchor: Anchor, style: TextStyle) {
        let [(left, _), (right, _)] = self.room;
        let text = font::cut(text, &style, right - left);
        let width = font::width(&text, &style);
        let before = match anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => width / 2.0,
            Anchor::End => width,
        };
        let x = x.min(right - width + before).max(left + before);
        let place = format!(r#"x="{}" y="{}""#, number(x), number(y));
        self.put_text(&place, &text, anchor, style);
    }

    pub(crate) fn upward(&mut self, (x, y): Point, text: &str, style: TextStyle) {
        let [(_, top), (_, bottom)] = self.room;
        let text = font::cut(text, &style, bottom - top);
        let half = font::width(&text, &style) / 2.0;
        let y = y.min(bottom - half).max(top + half);
        let place = format!(r#"transform="translate({} {}) rotate(-90)""#, number(x), number(y));
        self.put_text(&place, &text, Anchor::Middle, style);
    }

    fn put_text(&mut self, place: &str, text: &str, anchor: Anchor, style: TextStyle) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (size, fill) = (number(style.size), (self.colour)(style.colour));
        let weight = if style.bold { r#" font-weight="600""# } else { "" };
        let spans = spans(text, &style);
        self.put(&format!(
            r#"<text {place} font-size="{size}" fill="{fill}" text-anchor="{anchor}"{weight}>{spans}</text>"#
        ));
    }

    pub(crate) fn clip(&mut self, at: Point, size: Size) {
        let (id, area) = (format!("{}clip{}", self.id, self.count), self.area(at, size, None));
        self.put(&format!(r##"<clipPath id="{id}">{area}</clipPath><g clip-path="url(#{id})">"##));
    }

    pub(crate) fn end_clip(&mut self) {
        self.put("</g>");
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
