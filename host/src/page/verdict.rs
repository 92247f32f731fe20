//! Verdicts in words and colours.

use crate::run::report::Verdict;
use maud::{Markup, html};

pub(super) const VERDICTS: [Verdict; 3] =
    [Verdict::Holds, Verdict::HoldsInPart, Verdict::DoesNotHold];

/// A verdict's class in the style sheet.
pub(super) fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::HoldsInPart => "part",
        Verdict::DoesNotHold => "fails",
    }
}

/// What a claim, or claims, do.
fn words(verdict: Verdict, count: usize) -> &'static str {
    match (verdict, count) {
        (Verdict::Holds, 1) => "holds",
        (Verdict::Holds, _) => "hold",
        (Verdict::HoldsInPart, 1) => "holds in part",
        (Verdict::HoldsInPart, _) => "hold in part",
        (Verdict::DoesNotHold, 1) => "does not hold",
        (Verdict::DoesNotHold, _) => "do not hold",
    }
}

/// So many claims with a verdict; the number is the caller's.
pub(super) fn claims(verdict: Verdict, count: usize) -> String {
    format!("{} {}", if count == 1 { "claim" } else { "claims" }, words(verdict, count))
}

pub(super) fn badge(verdict: Verdict) -> Markup {
    worded_badge(verdict, words(verdict, 1))
}

pub(super) fn worded_badge(verdict: Verdict, words: &str) -> Markup {
    html! { span.badge.(class(verdict)) { (words) } }
}
