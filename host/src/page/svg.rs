//! A figure of a run inside a page: the same shapes, in colours that follow the page's theme.
//!
//! The file is parsed, and only what a figure is made of is written again: a file from elsewhere cannot
//! bring a script or an address into the page.

use super::html::escape;
use crate::figures;
use roxmltree::{Document, Node};

/// A figure, ready for a page.
#[derive(Clone, Debug)]
pub struct Inline {
    /// The `<svg>` element.
    pub markup: String,
    /// What the figure shows.
    pub title: String,
    /// In pixels.
    pub width: f64,
}

const ELEMENTS: [&str; 10] =
    ["svg", "title", "rect", "polygon", "polyline", "circle", "text", "tspan", "clipPath", "g"];

const ATTRIBUTES: [&str; 24] = [
    "viewBox",
    "x",
    "y",
    "width",
    "height",
    "fill",
    "points",
    "fill-opacity",
    "stroke",
    "stroke-width",
    "stroke-linejoin",
    "stroke-dasharray",
    "cx",
    "cy",
    "r",
    "transform",
    "font-size",
    "font-weight",
    "text-anchor",
    "dy",
    "id",
    "clip-path",
    "role",
    "aria-label",
];

/// A figure of the given name, unique on the page, from its SVG file.
///
/// # Errors
/// The reason, if this is no figure that the program draws.
pub(super) fn inline(text: &str, name: &str) -> Result<Inline, String> {
    let document = Document::parse(text).map_err(|e| format!("{e}; accepted is SVG"))?;
    let root = document.root_element();
    if root.tag_name().name() != "svg" {
        return Err(format!("<{}>: accepted is <svg>", root.tag_name().name()));
    }
    let sides: Vec<f64> = root
        .attribute("viewBox")
        .unwrap_or_default()
        .split_whitespace()
        .filter_map(|side| side.parse().ok())
        .collect();
    let [_, _, width, height] = sides[..] else {
        return Err("viewBox: accepted are four numbers".into());
    };
    if !(width > 0.0 && height > 0.0 && width.is_finite() && height.is_finite()) {
        return Err("viewBox: accepted is an area".into());
    }
    let title = root
        .children()
        .find(|n| n.has_tag_name(("http://www.w3.org/2000/svg", "title")))
        .and_then(|n| n.text())
        .unwrap_or(name)
        .to_owned();
    let mut markup = String::with_capacity(text.len() + 1024);
    write(&root, name, &mut markup)?;
    Ok(Inline { markup, title, width })
}

fn write(node: &Node, name: &str, out: &mut String) -> Result<(), String> {
    if node.is_text() {
        out.push_str(&escape(node.text().unwrap_or_default()));
        return Ok(());
    }
    if !node.is_element() {
        return Ok(());
    }
    let tag = node.tag_name().name();
    if !ELEMENTS.contains(&tag) {
        return Err(format!("<{tag}>: accepted is a figure drawn by ictd"));
    }
    // The label says it; a title would pop up over every shape.
    if tag == "title" {
        return Ok(());
    }
    let root = tag == "svg";
    out.push('<');
    out.push_str(tag);
    for attribute in node.attributes() {
        let key = attribute.name();
        if root && ["width", "height", "font-family"].contains(&key) {
            continue;
        }
        if !ATTRIBUTES.contains(&key) {
            return Err(format!("{key}: accepted is a figure drawn by ictd"));
        }
        out.push_str(&format!(" {key}=\"{}\"", value(key, attribute.value(), name)?));
    }
    out.push('>');
    for child in node.children() {
        write(&child, name, out)?;
    }
    out.push_str(&format!("</{tag}>"));
    Ok(())
}

/// An attribute's value on the page: its name for a colour of the theme, its own names made unique.
fn value(key: &str, text: &str, name: &str) -> Result<String, String> {
    let refuse = || Err(format!("{key}=\"{text}\": accepted is a figure drawn by ictd"));
    match key {
        "fill" | "stroke" => {
            if let Some(theme) = theme().find(|(_, colour)| colour == text) {
                return Ok(format!("var({})", theme.0));
            }
            let colour = text.strip_prefix('#').unwrap_or_default();
            let known = colour.len() == 6 && colour.bytes().all(|b| b.is_ascii_hexdigit());
            if known || text == "none" { Ok(text.into()) } else { refuse() }
        }
        "id" => Ok(format!("{}-{}", escape(name), escape(text))),
        "clip-path" => match text.strip_prefix("url(#").and_then(|t| t.strip_suffix(')')) {
            Some(id) => Ok(format!("url(#{}-{})", escape(name), escape(id))),
            None => refuse(),
        },
        "aria-label" => Ok(escape(text)),
        _ if text.contains("url") || text.contains(':') => refuse(),
        _ => Ok(escape(text)),
    }
}

/// The style sheet's names of the figures' colours.
fn theme() -> impl Iterator<Item = (String, String)> {
    figures::theme()
        .into_iter()
        .map(|(name, [r, g, b])| (format!("--figure-{name}"), format!("#{r:02x}{g:02x}{b:02x}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::{Axis, Curve, Curves, Figure, Heatmap, Panel};

    fn figure() -> Figure {
        let curve = Curve::with_stderr("a < b & c", vec![0.0, 1.0], vec![1.0, 2.0], &[0.1, 0.1]);
        let curves = Curves { x: Axis::linear("x"), curves: vec![curve], ..Default::default() };
        let heatmap =
            Heatmap { rows: vec![vec![1.0, -1.0]], colour_bar: true, ..Default::default() };
        Figure {
            title: "\"T\" < & 'x_i'".into(),
            subtitle: "sub".into(),
            panels: vec![Panel::Curves(curves), Panel::Heatmap(heatmap)],
            columns: 2,
        }
    }

    #[test]
    fn a_figure_keeps_its_shapes_and_its_labels_stay_text() {
        let drawn = figure().to_svg();
        let inline = inline(&drawn, "f").unwrap();
        assert_eq!(inline.title, "\"T\" < & 'x_i'");
        assert!(inline.markup.contains("a &lt; b &amp; c</text>"), "{}", inline.markup);
        assert!(inline.markup.contains("aria-label=\"&quot;T&quot; &lt; &amp; &#39;x_i&#39;\""));
        for shape in ["<rect", "<polyline", "<polygon", "<text", "<tspan", "<clipPath"] {
            let count = |text: &str| text.matches(shape).count();
            assert_eq!(count(&inline.markup), count(&drawn), "{shape}");
        }
        // Read again, it is the same document.
        assert!(Document::parse(&inline.markup).is_ok());
    }

    #[test]
    fn colours_follow_the_theme_and_data_keeps_its_own() {
        let markup = inline(&figure().to_svg(), "f").unwrap().markup;
        for name in ["--figure-paper", "--figure-ink", "--figure-axis", "--figure-curve-0"] {
            assert!(markup.contains(&format!("=\"var({name})\"")), "{name}");
        }
        let [r, g, b] = figures::colour(-1.0);
        assert!(markup.contains(&format!("fill=\"#{r:02x}{g:02x}{b:02x}\"")));
    }

    #[test]
    fn two_figures_on_a_page_do_not_share_names() {
        let drawn = figure().to_svg();
        let (a, b) = (inline(&drawn, "a").unwrap().markup, inline(&drawn, "b").unwrap().markup);
        assert!(a.contains("id=\"a-clip1\"") && a.contains("url(#a-clip1)"));
        assert!(b.contains("id=\"b-clip1\"") && !b.contains("#a-"));
    }

    #[test]
    fn a_damaged_figure_is_refused_or_still_only_a_figure() {
        let heatmap = Heatmap { rows: vec![vec![0.5]], ..Default::default() };
        let small = Figure { panels: vec![Panel::Heatmap(heatmap)], ..Default::default() };
        let drawn = small.to_svg().into_bytes();
        let mut refused = 0_usize;
        let mut check = |bytes: &[u8]| match std::str::from_utf8(bytes).map(|t| inline(t, "f")) {
            Ok(Ok(inline)) => {
                let markup = inline.markup.replace("url(#f-", "");
                for bad in ["<script", "href", "url(", "javascript", " on", "style="] {
                    assert!(!markup.contains(bad), "{bad}: {markup}");
                }
                assert!(inline.width > 0.0 && inline.width.is_finite());
            }
            _ => refused += 1,
        };
        for length in 0..drawn.len() {
            check(&drawn[..length]);
        }
        let mut damaged = drawn.clone();
        for byte in 0..drawn.len() {
            for bit in 0..8 {
                damaged[byte] ^= 1 << bit;
                check(&damaged);
                damaged[byte] ^= 1 << bit;
            }
        }
        assert!(refused > drawn.len(), "only {refused} of {} refused", 9 * drawn.len());
    }

    #[test]
    fn what_is_no_figure_is_refused() {
        let svg = |inner: &str| {
            format!("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 9 9\">{inner}</svg>")
        };
        assert!(inline(&svg("<rect x=\"1\" fill=\"none\"/>"), "f").is_ok());
        for bad in [
            "",
            "<svg>",
            "<html/>",
            "<svg viewBox=\"0 0 0 1\"/>",
            "<svg viewBox=\"0 0 NaN 1\"/>",
            &svg("<script>alert(1)</script>"),
            &svg("<image/>"),
            &svg("<rect onclick=\"x\"/>"),
            &svg("<rect style=\"x\"/>"),
            &svg("<rect fill=\"url(http://x)\"/>"),
            &svg("<rect fill=\"red\"/>"),
            &svg("<rect x=\"url(#x)\"/>"),
            &svg("<g clip-path=\"url(http://x)\"/>"),
            &svg("<a href=\"http://x\"/>"),
        ] {
            assert!(inline(bad, "f").is_err(), "{bad}");
        }
    }
}
