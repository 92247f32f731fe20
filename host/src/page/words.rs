//! The names of records in words, and verdicts in words and colours.

use super::html::tag;
use crate::run::Verdict;

const WORDS: [(&str, &str); 24] = [
    ("p_blocks", "the largest diagonal of P's blocks over P[-1,-1]:"),
    ("p_blocks_most", "the largest of a layer:"),
    ("p_block_00", "the mean of P's block of phi and phi over P[-1,-1]:"),
    ("p_block_01", "of phi and γφ′:"),
    ("p_block_10", "of γφ′ and phi:"),
    ("p_block_11", "of γφ′ and γφ′:"),
    ("q_distance", "the distance of Q's blocks from Theorem 1's form:"),
    ("q_distance_one_layer", "from the form of one layer:"),
    ("q_distance_residual", "from the residual gradient's form:"),
    ("q_ratio", "seed by seed:"),
    ("p_largest_of_mean", "the largest of them:"),
    ("q_largest_of_mean", "the largest of them:"),
    ("q_block_10", "Q's lower left diagonal over the upper left one:"),
    ("q_block_11", "the lower right one:"),
    ("preconditioned_lead", "the lead over TD(0) with a step size a layer"),
    ("exploding", "the share of contexts with values beyond all rewards:"),
    ("iws_judged", "IWS seed by seed:"),
    ("one_step", "IWS of a single step of TD:"),
    ("vd_relative", "VD over mean v_TD²:"),
    ("outside_theta", "the share of P's and Q's squared norm outside of the set:"),
    ("outside_p", "the share of P's squared norm outside of the set:"),
    ("outside_q", "of Q's:"),
    ("alpha_converged", "the converged learning rate:"),
    ("alpha_settled", "the share of training after which it stays near its end:"),
];

pub fn in_words(text: &str) -> String {
    let word = |token: &str| {
        let name = token.trim_end_matches(' ');
        let (stem, layer) = match name.rsplit_once('_') {
            Some((stem, layer)) if layer.bytes().all(|b| b.is_ascii_digit()) => (stem, layer),
            _ => (name, "0"),
        };
        let found = WORDS.iter().find(|(known, _)| *known == name || *known == stem);
        let layer = layer.parse::<usize>().unwrap_or(0);
        match found {
            Some((_, words)) if layer > 0 => format!("in layer {} {words} ", layer + 1),
            Some((_, words)) => format!("{words} "),
            None => token.to_owned(),
        }
    };
    text.split_inclusive(' ').map(word).collect()
}

pub(super) const VERDICTS: [Verdict; 5] = [
    Verdict::Holds,
    Verdict::HoldsInPart,
    Verdict::DoesNotHold,
    Verdict::Undecided,
    Verdict::NotMeasured,
];

/// Returns a verdict's class in the style sheet, and its words for one claim and for several.
pub const fn shown(verdict: Verdict) -> [&'static str; 3] {
    match verdict {
        Verdict::Holds => ["holds", "holds", "hold"],
        Verdict::HoldsInPart => ["part", "holds in part", "hold in part"],
        Verdict::DoesNotHold => ["fails", "does not hold", "do not hold"],
        Verdict::Undecided => ["undecided", "cannot be told", "cannot be told"],
        Verdict::NotMeasured => ["unmeasured", "was not measured", "were not measured"],
    }
}

/// Returns "claims hold" and the like for a number of claims, which the caller prints.
pub(super) fn claims(verdict: Verdict, count: usize) -> String {
    let [_, one, several] = shown(verdict);
    if count == 1 { format!("claim {one}") } else { format!("claims {several}") }
}

pub(super) fn badge(verdict: Verdict, words: Option<&str>) -> String {
    let [class, own, _] = shown(verdict);
    tag(&format!("span class=\"badge {class}\""), words.unwrap_or(own))
}
