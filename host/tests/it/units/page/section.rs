use figures::{Figure, Heatmap, Panel};
use ictd::page::section::cells;
use ictd::page::words::in_words;

#[test]
fn frames_are_in_order_row_by_row_and_what_is_not_finite_is_none() {
    let frame = |title: &str, x: f64| {
        let heatmap = Heatmap { rows: vec![vec![x, 0.5], vec![-1.0, 0.0]], ..Default::default() };
        Figure {
            title: title.into(),
            panels: vec![Panel::Heatmap(heatmap.clone()), Panel::Heatmap(heatmap)],
            ..Default::default()
        }
    };
    let of_frame =
        |title: &str, x: &str| format!("[\"{title}\",[[{x},50,-100,0],[{x},50,-100,0]]]");
    let expected = format!("[{},{}]", of_frame("a", "25"), of_frame("b", "null"));
    assert_eq!(cells(&[frame("a", 0.25), frame("b", f64::NAN)]), expected);
}

#[test]
fn names_of_records_are_words_and_all_else_stays() {
    let said = "p_form_0 0.767 (0.700 to 0.818), needs >= 0.9; q_form_2 0.5; other_name 1";
    let expected = "the share of P's squared norm in P[-1,-1]: 0.767 (0.700 to 0.818), needs >= 0.9; in layer 3 the share of \
                    Q's squared norm in Theorem 1's form: 0.5; other_name 1";
    assert_eq!(in_words(said), expected);
}
