//! Parts of a file in messages.

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

/// Two names are alike if at least this share of the longer one need not be changed.
const ALIKE: f64 = 0.7;

/// Returns the accepted names, and the one that is meant, if one is nearly that which was given.
pub(crate) fn one_of(given: &str, accepted: &[&str]) -> String {
    let alike = |name: &&&str| strsim::normalized_damerau_levenshtein(given, name);
    let nearest = accepted.iter().max_by(|a, b| alike(a).total_cmp(&alike(b)));
    let hint = nearest.filter(|name| alike(name) >= ALIKE);
    let hint = hint.map_or(String::new(), |name| format!(" (did you mean `{name}`?)"));
    format!("one of {}{hint}", accepted.join(", "))
}
