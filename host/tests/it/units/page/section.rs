use figures::{Figure, Heatmap, Panel};
use ictd::page::section::cells;

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
