//! Verdicts in words and colours.

use super::html::tag;
use crate::run::report::Verdict;

pub(super) const VERDICTS: [Verdict; 5] = [
    Verdict::Holds,
    Verdict::HoldsInPart,
    Verdict::DoesNotHold,
    Verdict::Undecided,
    Verdict::NotMeasured,
];

/// Returns a verdict's class in the style sheet, and its words for one claim and for several.
const fn shown(verdict: Verdict) -> (&'static str, [&'static str; 2]) {
    match verdict {
        Verdict::Holds => ("holds", ["holds", "hold"]),
        Verdict::HoldsInPart => ("part", ["holds in part", "hold in part"]),
        Verdict::DoesNotHold => ("fails", ["does not hold", "do not hold"]),
        Verdict::Undecided => ("undecided", ["cannot be told", "cannot be told"]),
        Verdict::NotMeasured => ("unmeasured", ["was not measured", "were not measured"]),
    }
}

pub(super) const fn class(verdict: Verdict) -> &'static str {
    shown(verdict).0
}

/// Returns "claims hold" and the like for a number of claims, which the caller prints.
pub(super) fn claims(verdict: Verdict, count: usize) -> String {
    let [one, several] = shown(verdict).1;
    if count == 1 { format!("claim {one}") } else { format!("claims {several}") }
}

/// Returns the mark of a verdict, in its own words unless others are given.
pub(super) fn badge(verdict: Verdict, words: Option<&str>) -> String {
    let (class, [own, _]) = shown(verdict);
    tag(&format!("span class=\"badge {class}\""), words.unwrap_or(own))
}
