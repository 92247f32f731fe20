//! A scene as SVG: a document of its own, or an element of a page.

use crate::font;
use crate::scene::{Anchor, DASH, Item, Point, Scene, Size};
use crate::style::{Colour, TextStyle};

impl Scene {
    /// Returns a document in the colours of white paper.
    pub(crate) fn to_svg(&self, title: &str) -> String {
        let (width, height, title) = (number(self.width), number(self.height), escape(title));
        let open = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{title}\" \
             font-family=\"Inter, 'Helvetica Neue', Helvetica, Arial, sans-serif\">\n\
             <title>{title}</title>\n"
        );
        self.write(open, Writer { id: "", colour: Colour::hex }) + "\n"
    }

    /// Returns an element of a page, in colours that the page's style sheet names; `id` is unique there.
    pub(crate) fn to_element(&self, title: &str, id: &str) -> String {
        let (width, height, title) = (number(self.width), number(self.height), escape(title));
        let open =
            format!("<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\">\n");
        self.write(open, Writer { id: &format!("{id}-"), colour: Colour::on_page })
    }

    fn write(&self, mut out: String, writer: Writer) -> String {
        out.push_str(&writer.rect((0.0, 0.0), (self.width, self.height), Some(Colour::Paper)));
        for (index, item) in self.items.iter().enumerate() {
            out.push('\n');
            out.push_str(&writer.item(item, index));
        }
        out + "\n</svg>"
    }
}

struct Writer<'a> {
    /// Before the names inside the drawing.
    id: &'a str,
    colour: fn(Colour) -> String,
}

impl Writer<'_> {
    fn item(&self, item: &Item, index: usize) -> String {
        let colour = |of: &Colour| (self.colour)(*of);
        match item {
            Item::Rect { at, size, fill } => self.rect(*at, *size, Some(*fill)),
            Item::Polygon { points, fill, opacity } => format!(
                r#"<polygon points="{}" fill="{}" fill-opacity="{}"/>"#,
                listed(points),
                colour(fill),
                number(*opacity)
            ),
            Item::Line { points, stroke, width, dashed } => {
                let [dash, gap] = DASH.map(|length| number(f64::from(length)));
                let dash = format!(r#" stroke-dasharray="{dash} {gap}""#);
                format!(
                    r#"<polyline points="{}" fill="none" stroke="{}" stroke-width="{}" stroke-linejoin="round"{}/>"#,
                    listed(points),
                    colour(stroke),
                    number(*width),
                    if *dashed { &dash } else { "" }
                )
            }
            Item::Circle { centre: (x, y), radius, fill } => format!(
                r#"<circle cx="{}" cy="{}" r="{}" fill="{}"/>"#,
                number(*x),
                number(*y),
                number(*radius),
                colour(fill)
            ),
            Item::Text { at: (x, y), upward, text, anchor, style } => {
                let (x, y) = (number(*x), number(*y));
                let place = match upward {
                    true => format!(r#"transform="translate({x} {y}) rotate(-90)""#),
                    false => format!(r#"x="{x}" y="{y}""#),
                };
                let anchor = match anchor {
                    Anchor::Start => "start",
                    Anchor::Middle => "middle",
                    Anchor::End => "end",
                };
                let weight = if style.bold { r#" font-weight="600""# } else { "" };
                format!(
                    r#"<text {place} font-size="{}" fill="{}" text-anchor="{anchor}"{weight}>{}</text>"#,
                    number(style.size),
                    colour(&style.colour),
                    spans(text, style)
                )
            }
            Item::Clip { at, size } => {
                let (id, area) = (format!("{}clip{index}", self.id), self.rect(*at, *size, None));
                format!(r##"<clipPath id="{id}">{area}</clipPath><g clip-path="url(#{id})">"##)
            }
            Item::EndClip => "</g>".into(),
        }
    }

    fn rect(&self, (x, y): Point, (w, h): Size, fill: Option<Colour>) -> String {
        let [x, y, w, h] = [x, y, w, h].map(number);
        let fill = fill.map(|fill| format!(r#" fill="{}""#, (self.colour)(fill)));
        let fill = fill.unwrap_or_default();
        format!(r#"<rect x="{x}" y="{y}" width="{w}" height="{h}"{fill}/>"#)
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

/// Every number of a drawing: in hundredths, without trailing zeros, and without the sign of -0.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_written_in_one_way() {
        let written = [0.0, -0.0, -0.001, 2.0, 100.0, 0.125, -1.5, 1e9].map(number);
        assert_eq!(written, ["0", "0", "0", "2", "100", "0.12", "-1.5", "1000000000"]);
    }
}
