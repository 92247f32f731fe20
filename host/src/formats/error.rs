//! Parts of a file in messages.

use crate::options;
pub(crate) use tables::excerpt;

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

/// Returns the accepted names, and the one that is meant, if one is nearly that which was given.
pub(crate) fn one_of(given: &str, accepted: &[&str]) -> String {
    format!("one of {}{}", accepted.join(", "), options::hint(given, accepted))
}
