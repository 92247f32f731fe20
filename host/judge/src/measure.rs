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
