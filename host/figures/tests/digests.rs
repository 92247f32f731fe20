//! Every kind of figure, from fixed numbers: its bytes are the same on every platform.
//!
//! With `ICTD_FIGURES=DIR` the pictures are left there, to be looked at.

use figures::{Axis, Curve, Curves, Figure, Heatmap, Panel};
use ictd_core::digest::Digest;
use std::path::Path;

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
        ("curves-page.svg", curves().to_elements("curves").concat()),
        ("matrices.svg", matrices().to_svg()),
        ("curves.svg", curves().to_svg()),
    ] {
        let mut digest = Digest::EMPTY;
        digest.bytes(content.as_bytes());
        found.push_str(&format!("{name:<16} {digest}\n"));
        if let Some(directory) = std::env::var_os("ICTD_FIGURES") {
            std::fs::write(Path::new(&directory).join(name), content).expect("writable");
        }
    }
    let expected: String =
        EXPECTED.lines().filter(|l| !l.starts_with('#')).map(|l| format!("{l}\n")).collect();
    println!("{found}");
    assert!(found == expected, "tests/figures.txt is not what was found:\n{found}");
}
