//! Parts of a file in messages.

use crate::program::printable;

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

pub(crate) fn one_of(given: &str, accepted: &[&str]) -> String {
    let alike = |name: &&&str| (1000.0 * strsim::jaro_winkler(given, name)) as u32;
    let nearest = accepted.iter().max_by_key(alike).copied().unwrap_or_default();
    format!("one of {} (did you mean `{nearest}`?)", accepted.join(", "))
}

/// Returns a piece of a file for a message: one line, printable, at most 40 characters.
pub(crate) fn excerpt(text: &str) -> String {
    printable(&compute::options::excerpt(text)).replace('\n', " ")
}
