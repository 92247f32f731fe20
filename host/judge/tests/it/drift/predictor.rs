//! The predictor over a long stream, a noisy sine at level 20: it predicts at the end as it does near the beginning.

use super::soak;
use ictd_core::Predictor;
use ictd_core::rng::Rng;
use ictd_core::scalar::Real;
use std::f64::consts::TAU;

const HORIZON: f64 = 10.0;
/// Samples that are judged together, from which on, and after how many of them what is left of a weighted mean is nothing.
const JUDGED: usize = 100_000;
const BEGIN: usize = 100_000;
const TAIL: usize = 150;

fn square(x: f64) -> f64 {
    x * x
}

/// Returns the errors over the variance of what followed, and the share in the band, of a stretch of the stream.
fn judge(seen: &[(f64, [f64; 3])]) -> [f64; 2] {
    let gamma = 1.0 - 1.0 / HORIZON;
    let (mut mean, mut judged) = (20.0, Vec::new());
    for (t, (x, band)) in seen.iter().enumerate().rev() {
        if t < JUDGED {
            judged.push((mean, *band));
        }
        mean = (1.0 - gamma) * x + gamma * mean;
    }
    let n = judged.len() as f64;
    let average = judged.iter().map(|(y, _)| y).sum::<f64>() / n;
    let variance = judged.iter().map(|(y, _)| square(y - average)).sum::<f64>();
    let error = judged.iter().map(|(y, [value, ..])| square(y - value)).sum::<f64>();
    let held = judged.iter().filter(|(y, [_, low, high])| (*low..=*high).contains(y)).count();
    [error / variance, held as f64 / n]
}

#[test]
fn a_long_stream_is_predicted_at_its_end_as_near_its_beginning() {
    let len = soak();
    let mut predictor = Predictor::<1, f64>::new([HORIZON as f32]).unwrap();
    let (mut rng, mut stretches) = (Rng::new(3), [Vec::new(), Vec::new()]);
    let begins = [BEGIN, len - JUDGED - TAIL];
    for t in 0..len {
        let wave: f64 = Real::sin((t % 50) as f64 * TAU / 50.0);
        let x = 20.0 + 3.0 * wave + rng.uniform_in::<f64>(-0.5, 0.5);
        let [p] = predictor.observe(x).predictions;
        for (begin, stretch) in begins.iter().zip(&mut stretches) {
            if (*begin..begin + JUDGED + TAIL).contains(&t) {
                stretch.push((x, [p.mean, p.low, p.high]));
            }
        }
    }
    let [[error, held], [error_at_end, held_at_end]] = stretches.map(|stretch| judge(&stretch));
    println!("{len} samples: error over variance {error:.4}, at the end {error_at_end:.4}");
    println!("in the band {held:.3} and {held_at_end:.3}");
    assert!(error < 0.02 && error_at_end < 1.05 * error);
    assert!([held, held_at_end].iter().all(|held| (0.88..0.92).contains(held)));
}
