//! A table of a page.

use maud::{Markup, html};

/// A table; the first cell of a row is its head.
pub(super) fn table(caption: &str, head: &[impl AsRef<str>], rows: &[Vec<String>]) -> Markup {
    html! {
        div.scroll role="region" tabindex="0" aria-label=(caption) {
            table {
                caption { (caption) }
                thead { tr { @for cell in head { th scope="col" { (cell.as_ref()) } } } }
                tbody {
                    @for row in rows {
                        tr {
                            @for (i, cell) in row.iter().enumerate() {
                                @if i == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_text_becomes_markup() {
        let html = table("<t>\"", &["<h>"], &[vec!["<r>".into(), "&\"".into()]]).into_string();
        assert!(!html.contains("<t>") && !html.contains("<h>") && !html.contains("<r>"), "{html}");
        assert!(html.contains("aria-label=\"&lt;t&gt;&quot;\""), "{html}");
        assert!(html.contains("<th scope=\"row\">&lt;r&gt;</th><td>&amp;&quot;</td>"), "{html}");
        assert!(html.contains("<th scope=\"col\">&lt;h&gt;</th>"), "{html}");
    }
}
