//! What messages show of a file.

use crate::program::printable;

/// Returns names as a list of bounded length.
pub(super) fn names(all: &[String]) -> String {
    const SHOWN: usize = 12;
    if all.is_empty() {
        return "none".into();
    }
    let shown: Vec<_> = all.iter().take(SHOWN).map(|name| format!("`{}`", excerpt(name))).collect();
    let more = match all.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    shown.join(", ") + &more
}

/// Returns a piece of a file as it may stand in a message: one line, printable, at most 40 characters.
pub(crate) fn excerpt(text: &str) -> String {
    printable(&compute::rows::excerpt(text)).replace('\n', " ")
}
