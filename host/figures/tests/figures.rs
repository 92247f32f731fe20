//! What figures show, read from the files and elements that they give.

use figures::{Axis, Curve, Curves, Figure, Heatmap, Panel, REGULAR, SEMI_BOLD};

fn heatmap(rows: Vec<Vec<f64>>) -> Figure {
    let heatmap = Heatmap { rows, ..Default::default() };
    Figure { panels: vec![Panel::Heatmap(heatmap)], ..Default::default() }
}

fn of_curve(curve: Curve, y: Axis) -> Figure {
    let curves = Curves { y, curves: vec![curve], ..Default::default() };
    Figure { panels: vec![Panel::Curves(curves)], ..Default::default() }
}

#[test]
fn row_0_is_on_top_and_the_scale_is_fixed() {
    let cells = |rows| -> Vec<[String; 3]> {
        let svg = heatmap(rows).to_svg();
        let rects = svg.lines().filter(|line| line.starts_with("<rect"));
        let parts = rects.map(|line| line.split('"').collect::<Vec<_>>());
        // The first is the paper.
        parts.skip(1).map(|of| [of[1], of[3], of[9]].map(str::to_owned)).collect()
    };
    let expected = |colours: [&str; 4]| -> Vec<[String; 3]> {
        let places = [("42", "46"), ("162", "46"), ("42", "166"), ("162", "166")];
        let cell = |((x, y), colour): ((&str, &str), &str)| [x, y, colour].map(str::to_owned);
        places.into_iter().zip(colours).map(cell).collect()
    };
    let [blue, white, red, grey] = ["#123f7d", "#fafafa", "#7a0826", "#a0a0a0"];
    assert_eq!(cells(vec![vec![-1.0, 0.0], vec![0.0, 1.0]]), expected([blue, white, white, red]));
    // Not stretched to the data; beyond the scale its end; NaN neither.
    let small = cells(vec![vec![0.1, 2.0], vec![-2.0, f64::NAN]]);
    assert_eq!(small, expected(["#fae7de", red, blue, grey]));
}

#[test]
fn figures_without_data_or_with_non_finite_data_are_drawn() {
    for log in [false, true] {
        for y in [vec![], vec![f64::NAN; 3], vec![0.0, -1.0, 1.0], vec![1.0, f64::NAN, 2.0]] {
            let curve = Curve::with_stderr("c", vec![0.0, 1.0, 2.0], y, &[0.0; 3]);
            let figure = of_curve(curve, Axis { log, ..Axis::linear("y") });
            let svg = figure.to_svg();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
    assert!(heatmap(vec![]).to_svg().contains("</svg>"));
}

#[test]
fn on_a_page_a_figure_has_its_colours_names_of_its_own_and_no_markup_of_others() {
    let curve = Curve::plain("<script>\"", vec![0.0, 1.0], vec![0.0, 1.0]);
    let mut figure = of_curve(curve, Axis::default());
    figure.title = "a < b & \"c\"".into();
    figure.panels.extend(heatmap(vec![vec![-1.0]]).panels);
    let element = figure.to_elements("f").concat();
    for text in [element.as_str(), &figure.to_svg()] {
        assert!(text.contains("a &lt; b &amp; &quot;c&quot;") && !text.contains("<script"));
    }
    for name in ["paper", "ink", "faint-ink", "axis", "grid", "curve-0"] {
        assert!(element.contains(&format!("=\"var(--figure-{name})\"")), "{name}");
    }
    assert!(element.contains("fill=\"#123f7d\""), "a number keeps its colour");
    let (_, id) = element.split_once("<clipPath id=\"f-0-clip").unwrap();
    let (number, _) = id.split_once('"').unwrap();
    assert!(element.contains(&format!("url(#f-0-clip{number})")));
}

/// Returns the labels of a vertical axis from its low end on, and checks that all of the picture is finite.
fn labels(log: bool, low: f64, high: f64) -> Vec<String> {
    let curve = Curve::plain("", vec![0.0, 1.0], vec![0.5, 0.5]);
    let (low, high) = (Some(low), Some(high));
    let svg = of_curve(curve, Axis { log, low, high, ..Default::default() }).to_svg();
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{low:?} {high:?} {log}");
    // A zero has no sign.
    let numbers = svg.split(|c: char| !(c.is_ascii_digit() || c == '-' || c == '.'));
    assert!(numbers.into_iter().all(|number| number != "-0"), "{svg}");
    let ends = svg.lines().filter(|line| line.contains("text-anchor=\"end\""));
    let texts = ends.filter_map(|line| line.strip_suffix("</text>")?.rsplit_once('>'));
    texts.map(|(_, text)| text.to_owned()).collect()
}

#[test]
fn ticks_are_round_numbers_inside_the_range() {
    assert_eq!(labels(false, 0.0, 1.1), ["0.00", "0.25", "0.50", "0.75", "1.00"]);
    assert_eq!(labels(false, -1.0, 1.0), ["−1.0", "−0.5", "0.0", "0.5", "1.0"]);
    assert_eq!(labels(false, -2.5e15, 5e15), ["−2.00e15", "0", "2.00e15", "4.00e15"]);
    assert_eq!(labels(true, 1e-17, 1e-14), ["10⁻¹⁷", "10⁻¹⁶", "10⁻¹⁵", "10⁻¹⁴"]);
}

#[test]
fn a_scale_is_never_empty() {
    for (low, high) in [(1.0, 1.0), (0.0, 0.0), (f64::NAN, 1.0), (f64::INFINITY, 0.0)] {
        for log in [false, true] {
            assert!(!labels(log, low, high).is_empty(), "{low} {high} {log}");
        }
    }
}

#[test]
fn the_font_has_every_character_that_figures_use() {
    let used = "αγδεηθλμπρστφχΔΣΦΩ0123456789−±×·²³⁻⁰¹⁴⁵⁶⁷⁸⁹≤≥≈√∞“”‘’–—…|()[]{}<>=+/";
    for font in [REGULAR, SEMI_BOLD] {
        let face = ttf_parser::Face::parse(font, 0).expect("the font parses");
        let missing: String = used.chars().filter(|c| face.glyph_index(*c).is_none()).collect();
        assert_eq!(missing, "");
    }
}

#[test]
fn subscripts_are_smaller() {
    let width = |text: &str| {
        let title = text.repeat(50);
        let svg = Figure { title, ..Default::default() }.to_svg();
        let (_, width) = svg.split_once("width=\"").unwrap();
        width.split('"').next().unwrap().parse::<f64>().unwrap()
    };
    assert!(width("w_l") < width("wl"));
}
