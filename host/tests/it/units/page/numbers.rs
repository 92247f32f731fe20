use ictd::page::numbers::tables;
use serde_json::{Value, json};

fn of(value: Value) -> String {
    tables(value.as_object().expect("an object"))
}

#[test]
fn seeds_are_shown_with_their_spread_layer_by_layer_and_other_results_one_by_one() {
    let seed = |s: u64, iws: f64| {
        let digest = format!("d{s}");
        json!({"seed": s, "digest": digest, "iws": iws, "vd": null, "p_bottom_right": [0.5, iws]})
    };
    let html = of(json!({
        "seeds": [seed(0, 1.0), seed(1, 2.0), seed(2, 6.0)],
        "a & <i>": [json!({"seed": 0, "<b>": 1.5})],
        "constructions": {"td0": {"max_abs_error": 4.4e-16, "list": [1]}, "x": {}},
        "max_abs_error": 1e-16,
    }));
    let spread = "<td>2.000</td><td>1.500 to 4.000</td><td>1.000 to 6.000</td>\
                  <td>3.000 ± 1.247</td>";
    for shown in [
        "3 seeds, at the end of training",
        &format!("<th scope=\"row\">IWS</th>{spread}"),
        &format!("<th scope=\"row\">P[−1, −1], layer 1</th>{spread}"),
        "&lt;b&gt;",
        "<th scope=\"row\">constructions, TD(0), max abs error</th><td>4.40e−16</td>",
        "<th scope=\"row\">max abs error</th><td>1.00e−16</td>",
    ] {
        assert!(html.contains(shown), "{shown}: {html}");
    }
    assert!(!html.contains("<b>") && !html.contains("<i>") && !html.contains("VD"), "{html}");
}
