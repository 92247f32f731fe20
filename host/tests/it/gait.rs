//! README's sentences about the gait recording: by column, with intervals over blocks of its rows.

use crate::common::*;
use crate::predict::predictions;
use ictd::experiments::statistics::{Interval, resampled};

const COLUMNS: [&str; 3] = ["ankle_vertical", "leg_vertical", "trunk_forward"];
/// Rows of a block: four seconds, longer than what a prediction is about.
const BLOCK: usize = 256;
/// Rows that `predict` leaves out at the beginning.
const LEFT_OUT: u64 = 50;

#[test]
fn the_guide_says_what_the_gait_recording_tells_apart() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = Folder::new();
    ictd(&out, &format!("predict {}/assets/signals/gait.csv", root.display()));
    // The squared errors of a block: of each column, of the universal model and of another.
    let ratios = |other: &str| -> [Interval; 4] {
        let blocks: Vec<Vec<[f64; 2]>> = COLUMNS
            .map(|column| {
                let rows = predictions(&out, column, 0.9).into_iter();
                let judged =
                    rows.filter(|(row, followed, _)| *row > LEFT_OUT && followed.is_some());
                let squares: Vec<[f64; 2]> = judged
                    .map(|(_, followed, of)| {
                        ["universal", other].map(|name| of[name] - followed.unwrap()).map(|x| x * x)
                    })
                    .collect();
                let sum = |block: &[[f64; 2]]| {
                    block.iter().fold([0.0; 2], |sum, x| [sum[0] + x[0], sum[1] + x[1]])
                };
                squares.chunks(BLOCK).map(sum).collect()
            })
            .into();
        std::array::from_fn(|which| {
            resampled([blocks[0].len()], |[places]| {
                let ratio = |column: &Vec<[f64; 2]>| {
                    let sum = |i: usize| places.iter().map(|at| column[*at][i]).sum::<f64>();
                    sum(0) / sum(1)
                };
                match blocks.get(which) {
                    Some(column) => ratio(column),
                    None => libm::cbrt(blocks.iter().map(ratio).product()),
                }
            })
        })
    };
    let [lstd, td] = ["lstd ridge=3.0 retention=0.998", "td step_size=0.03 lambda=0.9"].map(ratios);
    let text = |of: [Interval; 4]| {
        let [ankle, leg, trunk, all] = of.map(|x| format!("{x:.2}"));
        format!("{ankle}, {leg} and {trunk} (geometric mean {all})")
    };
    let page = root.text("src/guide/signals.md");
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        format!(
            "Relative to LSTD(0.9) with the setting that is best for all three columns, the universal model's errors are {}",
            text(lstd)
        ),
        format!("Relative to online TD(0.9) they are {}", text(td)),
    ] {
        assert!(page.contains(&said), "the page lacks: {said}");
    }
}
