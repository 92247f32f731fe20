//! A table of a page.

use maud::{Markup, html};

/// A table; the first cell of a row is its head.
pub fn table(caption: &str, head: &[impl AsRef<str>], rows: &[Vec<String>]) -> Markup {
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
