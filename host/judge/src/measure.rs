//! Measures parameters from files: their element-wise metrics.

use crate::parameters::LayerParameters;
use compute::log::Matrices;
use ictd_core::metrics::ElementwiseMetrics;

/// Returns P and Q of a layer, with their element-wise metrics.
pub fn matrices(layer: &LayerParameters) -> Matrices {
    let k = layer.p.len().isqrt();
    let columns =
        |m: &[f32]| -> Vec<f64> { (0..m.len()).map(|at| m[at % k * k + at / k].into()).collect() };
    let element = ElementwiseMetrics::from_columns(k, &columns(&layer.p), &columns(&layer.q));
    Matrices { p: layer.p.clone(), q: layer.q.clone(), element }
}

/// Returns the mean and the largest absolute value of a matrix's entries other than the expected ones, over that of its largest
/// entry, where the matrix is the mean of a sample of seeds'.
pub fn others_beside_largest(seeds: &[Vec<f64>], sample: &[usize], expected: &[bool]) -> [f64; 2] {
    let mut mean = vec![0.0; expected.len()];
    for seed in sample {
        for (sum, x) in mean.iter_mut().zip(&seeds[*seed]) {
            *sum += x / sample.len() as f64;
        }
    }
    let size = |largest: f64, x: &f64| largest.max(x.abs());
    let others = || mean.iter().zip(expected).filter(|(_, is)| !**is).map(|(x, _)| x);
    let largest = mean.iter().fold(0.0, size);
    let (count, sum) = others().fold((0.0, 0.0), |(count, sum), x| (count + 1.0, sum + x.abs()));
    [sum / count / largest, others().fold(0.0, size) / largest]
}
