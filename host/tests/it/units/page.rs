use clap::{Args as _, Command};
use figures::{Figure, Heatmap, Panel};
use ictd::commands::evaluate::Evaluate;
use ictd::experiments::{self, demo::Demo};
use ictd::page::command_line::repeats;
use ictd::page::numbers::tables;
use ictd::page::section::{cells, rows};
use ictd::page::words::in_words;
use serde_json::json;

#[test]
fn a_command_line_has_what_differs_from_the_defaults() {
    let demo = Demo::augment_args(Command::new("demo"));
    let evaluate = Evaluate::augment_args(Command::new("evaluate"));
    let root = Command::new("ictd").subcommands([demo, evaluate]);
    let root = root.subcommands(experiments::commands());
    let figure_2 = json!({"seeds": 4, "tasks": 400});
    let own = json!({"data": "it's; $(x).csv", "quiet": false});
    for (command, seed, config, line) in [
        ("demo", 0, json!({"tasks": 300, "gamma": 0.9, "task": "mdp"}), "demo"),
        ("demo", 3, json!({"tasks": 20, "task": "loop"}), "demo --seed 3 --tasks 20 --task loop"),
        ("figure-2", 0, figure_2, "reproduce figure-2 --seeds 4 --tasks 400"),
        ("figure-2", 0, json!({}), "reproduce figure-2"),
        ("universal", 0, json!({"fresh-tasks": 2000}), "reproduce universal"),
        ("universal", 0, json!({"fresh-tasks": 512}), "universal --fresh-tasks 512"),
        ("evaluate", 0, own, "evaluate --data 'it'\\''s; $(x).csv'"),
    ] {
        assert_eq!(repeats(&root, command, seed, config.as_object().unwrap()), line);
    }
}

#[test]
fn seeds_are_shown_with_their_spread_layer_by_layer_and_other_results_one_by_one() {
    let seed = |s: u64, iws: f64| {
        let digest = format!("d{s}");
        json!({"seed": s, "digest": digest, "iws": iws, "vd": null, "p_bottom_right": [0.5, iws]})
    };
    let results = json!({
        "seeds": [seed(0, 1.0), seed(1, 2.0), seed(2, 6.0)],
        "a & <i>": [json!({"seed": 0, "<b>": 1.5})],
        "constructions": {"td0": {"max_abs_error": 4.4e-16, "list": [1]}, "x": {}},
        "max_abs_error": 1e-16,
    });
    let html = tables(results.as_object().expect("an object"));
    let spread = "<td>2.000</td><td>1.500 to 4.000</td><td>1.000 to 6.000</td>\
                  <td>3.000 ± 1.528</td>";
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
fn no_panel_stands_alone_below_others() {
    assert_eq!(rows(4, 3), [2, 2]);
    assert_eq!(rows(7, 2), [3, 2, 2]);
    assert_eq!(rows(8, 4), [2, 2, 2, 2]);
    for (panels, columns) in (0..40).flat_map(|panels| [2, 3, 4].map(|columns| (panels, columns))) {
        let rows = rows(panels, columns);
        assert_eq!(rows.iter().sum::<usize>(), panels);
        let last = rows.last().copied().unwrap_or(0);
        assert!(rows.len() < 2 || last > 1, "{panels}: {rows:?}");
        assert!(rows.iter().all(|row| *row <= 3));
    }
}

#[test]
fn names_of_records_are_words_and_all_else_stays() {
    let said = "p_blocks_0 0.767 (0.700 to 0.818), needs >= 0.9; q_distance_2 0.5; other_name 1";
    let expected = "the largest diagonal of P's blocks over P[-1,-1]: 0.767 (0.700 to 0.818), needs >= 0.9; in layer 3 the \
                    distance of Q's blocks from Theorem 1's form: 0.5; other_name 1";
    assert_eq!(in_words(said), expected);
}
