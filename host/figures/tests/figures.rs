//! What figures show, read from the files and elements that they give; their bytes are the same on every platform.

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

/// Returns the texts of a picture with the corners of the areas that they take, measured by the font's own widths, and the
/// picture's size.
fn texts(svg: &str) -> (Vec<(String, [f64; 4])>, [f64; 2]) {
    let after = |text: &str, name: &str| -> Option<String> {
        Some(text.split_once(&format!(" {name}=\""))?.1.split_once('"')?.0.to_owned())
    };
    let number = |text: &str, name| after(text, name)?.parse::<f64>().ok();
    let numbers = |text: &str| -> Vec<f64> {
        text.split([' ', ',', '(', ')']).filter_map(|x| x.parse().ok()).collect()
    };
    let faces = [REGULAR, SEMI_BOLD].map(|font| ttf_parser::Face::parse(font, 0).unwrap());
    let width = |text: &str, size: f64, bold: bool| {
        let face = &faces[usize::from(bold)];
        let plain = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
        let glyphs = plain.replace("&amp;", "&");
        let glyphs = glyphs.chars().map(|c| face.glyph_index(c).unwrap_or_default());
        let units = glyphs.map(|glyph| face.glyph_hor_advance(glyph).map_or(0.0, f64::from));
        units.sum::<f64>() * size / f64::from(face.units_per_em())
    };
    let texts = svg.split("<text").skip(1).map(|element| {
        let (tag, content) = element.split_once("</text>").unwrap().0.split_once('>').unwrap();
        let (size, bold) = (number(tag, "font-size").unwrap(), tag.contains("font-weight"));
        let (mut words, mut wide) = (String::new(), 0.0);
        // Of a span: its tag, and its text, with what stands behind it.
        for part in format!(">{content}").split("<tspan").flat_map(|x| x.split("</tspan>")) {
            let (span, text) = part.split_once('>').unwrap_or(("", part));
            wide += width(text, number(span, "font-size").unwrap_or(size), bold);
            words += text;
        }
        let before = match after(tag, "text-anchor").as_deref() {
            Some("start") => 0.0,
            Some("middle") => wide / 2.0,
            _ => wide,
        };
        let area = match after(tag, "transform") {
            Some(place) => match numbers(&place)[..] {
                [x, y, -90.0] => [x - size, y - wide + before, x, y + before],
                _ => panic!("{place}"),
            },
            None => {
                let [x, y] = ["x", "y"].map(|name| number(tag, name).unwrap());
                [x - before, y - size, x - before + wide, y]
            }
        };
        (words, area)
    });
    match numbers(&after(svg, "viewBox").unwrap())[..] {
        [.., w, h] => (texts.collect(), [w, h]),
        _ => panic!("{svg}"),
    }
}

#[test]
fn every_text_of_a_figure_lies_inside_its_picture() {
    let (mut count, mut faults) = (0, Vec::new());
    let mut hold = |figure: &Figure| {
        let elements = figure.to_elements("f");
        for svg in elements.iter().chain([&figure.to_svg()]) {
            let (texts, [w, h]) = texts(svg);
            for (text, [left, top, right, bottom]) in texts {
                count += 1;
                if left < -0.1 || top < -0.1 || right > w + 0.1 || bottom > h + 0.1 {
                    faults.push(format!(
                        "{text:?}: {left} to {right} of {w}, {top} to {bottom} of {h}"
                    ));
                }
            }
        }
    };
    let long = "a sequential transformer's w_l & x_{ij} <with a name that no panel has room for>";
    for last in [1.0, 4000.0, 350_000.0, 5e15, -4e5, 1e-4] {
        for (log, label, curves) in [(false, "", 1), (true, "tasks", 7), (false, long, 25)] {
            let curve = Curve::plain(label, vec![0.0, last / 2.0, last], vec![last, 0.0, -last]);
            let axis = Axis { log, label: label.repeat(2), ..Default::default() };
            let panel = Panel::Curves(Curves {
                title: label.into(),
                x: axis.clone(),
                y: axis,
                curves: vec![curve; curves],
            });
            let heatmap = Heatmap {
                title: label.into(),
                rows: vec![vec![last; 9]; 65],
                blocks: vec![32],
                colour_bar: true,
            };
            let panels = [vec![panel; 2], vec![Panel::Heatmap(heatmap); 2]].concat();
            for (panels, columns) in [(&panels[..1], 1), (&panels[2..3], 1), (&panels[..], 3)] {
                let (title, subtitle) = (label.repeat(3), label.repeat(2));
                hold(&Figure { title, subtitle, panels: panels.to_vec(), columns });
            }
        }
    }
    [matrices(), curves()].iter().for_each(hold);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(count > 1500, "{count}");
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

/// The digests that every platform must give.
const EXPECTED: &str = include_str!("../../../tests/figures.txt");

/// Theorem 1's P and Q for d = 4 with a little noise.
fn matrices() -> Figure {
    let d = 4;
    let noise = |i: usize, j: usize| ((7 * i + 13 * j) % 11) as f64 / 50.0 - 0.1;
    let matrix = |f: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<f64>> {
        (0..2 * d + 1).map(|i| (0..2 * d + 1).map(|j| f(i, j) + noise(i, j)).collect()).collect()
    };
    let p = matrix(&|i, j| if i == 2 * d && j == 2 * d { 0.95 } else { 0.0 });
    let mut q = matrix(&|i, j| match (i < d, j == i, j == i + d) {
        (true, true, _) => -0.9,
        (true, _, true) => 0.85,
        _ => 0.0,
    });
    q[2 * d][0] = f64::NAN;
    let panel = |title: &str, rows, colour_bar| {
        Panel::Heatmap(Heatmap { title: title.into(), rows, blocks: vec![d, 2 * d], colour_bar })
    };
    Figure {
        title: "Learned parameters".into(),
        subtitle: "mean over 30 seeds, sign-aligned, divided by the largest entry".into(),
        panels: vec![panel("P_0", p, false), panel("Q_0", q, true)],
        columns: 2,
    }
}

/// Bands, gaps, single points, dashes and lines, on linear and logarithmic axes.
fn curves() -> Figure {
    let x: Vec<f64> = (0..=40).map(|i| f64::from(i) * 100.0).collect();
    let rising = |rate: f64| x.iter().map(|x| 1.0 - 1.0 / (1.0 + rate * x)).collect::<Vec<_>>();
    let error = |i: usize| 0.05 / (1.0 + i as f64 / 8.0);
    let stderr: Vec<f64> = (0..x.len()).map(error).collect();
    let mut gaps = rising(0.01);
    (gaps[10], gaps[12]) = (f64::NAN, f64::INFINITY);
    let mut similarity = Curves {
        title: "Similarity <to> \"batch TD\"".into(),
        x: Axis::linear("number of MRPs"),
        y: Axis::fixed("cosine", 0.0, 1.05),
        curves: vec![
            Curve::with_stderr("IWS", x.clone(), rising(0.003), &stderr),
            Curve::with_stderr("SS & w_l, x_{ij}", x.clone(), gaps, &stderr),
        ],
    };
    similarity.curves[1].dashed = true;
    let layers: Vec<f64> = (1..=40).map(f64::from).collect();
    let decay = |rate: f64| -> Vec<f64> {
        let halvings = |n: i32| (0..n).fold(1.0, |x, _| x * rate);
        (1..=40).map(|n| 1e-9 * halvings(n)).collect()
    };
    let errors = Curves {
        title: "Error |⟨φ, w_l⟩ + y_l|".into(),
        x: Axis::linear("layer l"),
        y: Axis::log("absolute error"),
        curves: (0..8)
            .map(|k| {
                let label = format!("construction {k}");
                Curve::plain(&label, layers.clone(), decay(0.5 + 0.06 * f64::from(k)))
            })
            .collect(),
    };
    Figure {
        title: "Curves with bands, and eight of them on a logarithmic axis".into(),
        subtitle: "bands are standard errors".into(),
        panels: vec![Panel::Curves(similarity), Panel::Curves(errors)],
        columns: 2,
    }
}

#[test]
fn the_bytes_of_figures_are_the_same_on_every_platform() {
    let mut found = String::new();
    for (name, content) in [
        ("curves-page.svg", curves().to_elements("curves").concat().into_bytes()),
        ("matrices.svg", matrices().to_svg().into_bytes()),
        ("matrices.pdf", matrices().to_pdf()),
        ("curves.svg", curves().to_svg().into_bytes()),
        ("curves.pdf", curves().to_pdf()),
    ] {
        // FNV-1a, 64 bits.
        let digest = content.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        found.push_str(&format!("{name:<16} {digest:016x}\n"));
        // To be looked at.
        if let Some(directory) = std::env::var_os("ICTD_FIGURES") {
            std::fs::write(std::path::Path::new(&directory).join(name), content).unwrap();
        }
    }
    let expected: String =
        EXPECTED.lines().filter(|l| !l.starts_with('#')).map(|l| format!("{l}\n")).collect();
    println!("{found}");
    assert!(found == expected, "tests/figures.txt is not what was found:\n{found}");
}
