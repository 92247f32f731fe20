//! Verdicts in words and colours.

use super::html::tag;
use crate::run::report::Verdict;

/// The verdicts, each with its class in the style sheet and its words for one claim and for several.
pub(super) const VERDICTS: [(Verdict, &str, [&str; 2]); 3] = [
    (Verdict::Holds, "holds", ["holds", "hold"]),
    (Verdict::HoldsInPart, "part", ["holds in part", "hold in part"]),
    (Verdict::DoesNotHold, "fails", ["does not hold", "do not hold"]),
];

fn row(verdict: Verdict) -> &'static (Verdict, &'static str, [&'static str; 2]) {
    VERDICTS.iter().find(|row| row.0 == verdict).unwrap_or(&VERDICTS[2])
}

/// Returns a verdict's class in the style sheet.
pub(super) fn class(verdict: Verdict) -> &'static str {
    row(verdict).1
}

/// Returns "claims hold" and the like for a number of claims, which the caller prints.
pub(super) fn claims(verdict: Verdict, count: usize) -> String {
    let [one, several] = row(verdict).2;
    if count == 1 { format!("claim {one}") } else { format!("claims {several}") }
}

/// Returns the mark of a verdict, in its own words unless others are given.
pub(super) fn badge(verdict: Verdict, words: Option<&str>) -> String {
    let (_, class, [own, _]) = row(verdict);
    tag(&format!("span class=\"badge {class}\""), words.unwrap_or(own))
}
