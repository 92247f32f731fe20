//! The names of records, in words.

/// Names of measured numbers without the layer that ends them, and what they are.
const WORDS: [(&str, &str); 20] = [
    ("p_form", "the share of P's squared norm in P[-1,-1]:"),
    ("p_form_least", "the least such share of a layer:"),
    ("p_block_00", "the mean of P's block of phi and phi over P[-1,-1]:"),
    ("p_block_01", "of phi and γφ′:"),
    ("p_block_10", "of γφ′ and phi:"),
    ("p_block_11", "of γφ′ and γφ′:"),
    ("q_form", "the share of Q's squared norm in Theorem 1's form:"),
    ("q_form_one_layer", "in the form of one layer:"),
    ("q_form_residual", "in the residual gradient's form:"),
    ("q_ratio", "seed by seed:"),
    ("p_others_scaled", "P's other entries seed by seed:"),
    ("q_others_scaled", "Q's other entries seed by seed:"),
    ("iws_judged", "IWS seed by seed:"),
    ("one_step", "IWS of a single step of TD:"),
    ("vd_relative", "VD over mean v_TD²:"),
    ("outside_theta", "the share of P's and Q's squared norm outside of the set:"),
    ("outside_p", "the share of P's squared norm outside of the set:"),
    ("outside_q", "of Q's:"),
    ("alpha_converged", "the converged learning rate:"),
    ("alpha_settled", "the share of training after which it stays near its end:"),
];

/// Returns a text with words in place of the names of records.
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
