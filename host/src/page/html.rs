//! Elements of a page as text. Text that may come from elsewhere must be escaped by [`text`].

use std::fmt::Display;

/// Returns a text as a page shows it, also within an attribute's quotes.
pub fn text(text: impl Display) -> String {
    let text = text.to_string().replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

/// Returns an element; `content` is markup, and `open` is the element's name and attributes.
pub fn tag(open: &str, content: impl Display) -> String {
    format!("<{open}>{content}</{}>", open.split(' ').next().unwrap_or_default())
}

pub fn table(caption: &str, head: &[impl AsRef<str>], rows: &[Vec<String>]) -> String {
    let caption = text(caption);
    let head: String =
        head.iter().map(|cell| tag("th scope=\"col\"", text(cell.as_ref()))).collect();
    let cell = |(i, cell): (usize, &String)| {
        tag(if i == 0 { "th scope=\"row\"" } else { "td" }, text(cell))
    };
    let row = |row: &Vec<String>| tag("tr", row.iter().enumerate().map(cell).collect::<String>());
    let parts = [
        tag("caption", &caption),
        tag("thead", tag("tr", head)),
        tag("tbody", rows.iter().map(row).collect::<String>()),
    ];
    let open =
        format!("div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{caption}\"");
    tag(&open, tag("table", parts.concat()))
}
