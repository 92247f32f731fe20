//! Text and data inside a page.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Text as the content of an element or of a quoted attribute.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // What no page may hold.
            c if c.is_control() && !c.is_ascii_whitespace() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Bytes in base64.
pub(super) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Bytes as an address that needs no request.
pub(super) fn data_address(media_type: &str, bytes: &[u8]) -> String {
    format!("data:{media_type};base64,{}", base64(bytes))
}

/// A table; the first cell of a row is its head.
pub(super) fn table(caption: &str, head: &[String], rows: &[Vec<String>]) -> String {
    let cells = |row: &[String], first: &str, rest: &str| -> String {
        row.iter()
            .enumerate()
            .map(|(i, cell)| {
                let (open, close) = if i == 0 { (first, "th") } else { (rest, &rest[..2]) };
                format!("<{open}>{}</{close}>", escape(cell))
            })
            .collect()
    };
    let body: String = rows
        .iter()
        .map(|row| format!("<tr>{}</tr>\n", cells(row, "th scope=\"row\"", "td")))
        .collect();
    format!(
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{caption}\">\
         <table><caption>{caption}</caption>\n<thead><tr>{}</tr></thead>\n<tbody>\n{body}</tbody>\
         </table></div>\n",
        cells(head, "th scope=\"col\"", "th scope=\"col\""),
        caption = escape(caption),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_text_becomes_markup() {
        assert_eq!(
            escape("a < b & \"c\" 'd' > <script>\u{0}\n"),
            "a &lt; b &amp; &quot;c&quot; &#39;d&#39; &gt; &lt;script&gt;\u{fffd}\n"
        );
        let html = table("<t>", &["<h>".into(), "&".into()], &[vec!["<r>".into(), "\"".into()]]);
        assert!(!html.contains("<t>") && !html.contains("<h>") && !html.contains("<r>"), "{html}");
        assert!(html.contains("<th scope=\"row\">&lt;r&gt;</th><td>&quot;</td>"), "{html}");
        assert!(html.contains("<th scope=\"col\">&amp;</th>"), "{html}");
    }
}
