//! What the figures module can draw: `cargo run -p host --example gallery -- DIR`.

use ictd::figures::{Axis, Curve, Curves, Figure, Heatmap, HorizontalLine, Panel, animation};
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).unwrap_or_else(|| "gallery".into());
    std::fs::create_dir_all(&directory)?;
    for (name, figure) in [("matrices", matrices(1.0)), ("curves", curves())] {
        let path = Path::new(&directory).join(name);
        std::fs::write(path.with_extension("svg"), figure.to_svg())?;
        std::fs::write(path.with_extension("png"), figure.to_png()?)?;
    }
    let frames: Vec<_> = (0..=20).map(|i| matrices(f64::from(i) / 20.0)).collect();
    std::fs::write(Path::new(&directory).join("matrices.gif"), animation(&frames, 8)?)?;
    Ok(())
}

/// Theorem 1's P and Q for d = 4 with a little noise, diagonals of the given strength.
fn matrices(strength: f64) -> Figure {
    let d = 4;
    let noise = |i: usize, j: usize| 0.1 * ((7 * i + 13 * j) as f64).sin();
    let matrix = |f: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<f64>> {
        (0..2 * d + 1).map(|i| (0..2 * d + 1).map(|j| f(i, j) + noise(i, j)).collect()).collect()
    };
    let p = matrix(&|i, j| if i == 2 * d && j == 2 * d { 0.95 * strength } else { 0.0 });
    let q = matrix(&|i, j| match (i < d, j == i, j == i + d) {
        (true, true, _) => -0.9 * strength,
        (true, _, true) => 0.85 * strength,
        _ => 0.0,
    });
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

/// Two panels of curves over training.
fn curves() -> Figure {
    let x: Vec<f64> = (0..=80).map(|i| 50.0 * i as f64).collect();
    let rising = |rate: f64, end: f64| -> Vec<f64> {
        x.iter().map(|x| end * (1.0 - (-x / rate).exp())).collect()
    };
    let curve = |label: &str, rate, end| {
        let y = rising(rate, end);
        let stderr: Vec<_> = x.iter().map(|x| 0.02 + 0.04 * (-x / 900.0).exp()).collect();
        Curve::with_stderr(label, x.clone(), y, &stderr)
    };
    let elements = Curves {
        title: "Elements of Q_0".into(),
        x: Axis::linear("number of MRPs"),
        y: Axis::linear(""),
        curves: vec![
            curve("tr(Q[:d, :d])/d", 700.0, -0.92),
            curve("tr(Q[:d, d:2d])/d", 900.0, 0.81),
            curve("mean |others|", 500.0, 0.06),
        ],
        ..Default::default()
    };
    let falling: Vec<_> = x.iter().map(|x| 0.001 + 0.4 * (-x / 300.0).exp()).collect();
    let stderr: Vec<_> = falling.iter().map(|y| 0.2 * y).collect();
    let difference = Curves {
        title: "Value difference".into(),
        x: Axis::linear("number of MRPs"),
        y: Axis::log("VD"),
        curves: vec![Curve::with_stderr("", x.clone(), falling, &stderr)],
        lines: vec![HorizontalLine { label: "batch TD".into(), y: 0.004 }],
    };
    Figure {
        title: "In-context TD emerges".into(),
        subtitle: "mean over 30 seeds with standard error".into(),
        panels: vec![Panel::Curves(elements), Panel::Curves(difference)],
        columns: 2,
    }
}
