use ictd::page::numbers::tables;
use serde_json::{Value, json};

fn of(value: Value) -> String {
    tables(value.as_object().expect("an object"))
}

#[test]
fn seeds_are_shown_with_their_spread_and_each_alone() {
    let seed = |s: u64, iws: f64| json!({"seed": s, "digest": format!("d{s}"), "iws": iws});
    let html = of(json!({"seeds": [seed(0, 1.0), seed(1, 2.0), seed(2, 6.0)]}));
    assert!(html.contains("3 seeds, at the end of training"), "{html}");
    let row = "<th scope=\"row\">IWS</th><td>2.000</td><td>1.500 to 4.000</td>\
               <td>1.000 to 6.000</td><td>3.000 ± 1.247</td>";
    assert!(html.contains(row), "{html}");
    assert!(html.contains("<td>d2</td><td>6.000</td>"), "{html}");
}

#[test]
fn layers_undefined_metrics_and_foreign_names_are_shown() {
    let seed = json!({"seed": 0, "vd": null, "p_bottom_right": [0.5, 0.25], "<b>": 1.5});
    let html = of(json!({"a & <i>": [seed]}));
    assert!(html.contains("P[−1, −1], layer 1</th><td>0.2500</td>"), "{html}");
    assert!(html.contains("&lt;b&gt;") && !html.contains("<b>") && !html.contains("<i>"));
    assert!(html.contains("<td>–</td>"), "{html}");
}

#[test]
fn objects_become_rows_and_numbers_are_short() {
    let html = of(json!({
        "constructions": {"td0": {"max_abs_error": 4.4e-16, "list": [1]}, "x": {}},
        "max_abs_error": 1e-16,
    }));
    assert!(html.contains("<th scope=\"row\">TD(0)</th><td>4.40e−16</td>"), "{html}");
    assert!(html.contains("<th scope=\"row\">max abs error</th><td>1.00e−16</td>"), "{html}");
}
