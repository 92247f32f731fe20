//! Small transformers and prompts. The golden data have the derivatives of both kinds of attention.

use crate::layer::Layer;
use crate::prompt::Prompt;
use crate::rng::Rng;
use nalgebra::{SMatrix, SVector};

/// d = 2, at most 8 columns.
pub(super) type SmallPrompt = Prompt<f64, 5, 8>;

pub(super) fn random_layer(rng: &mut Rng) -> Layer<f64, 5> {
    let mut draw = || SMatrix::from_fn(|_, _| rng.uniform_in(-0.6, 0.6));
    Layer { p: draw(), q: draw() }
}

/// Six context columns and a query.
pub(super) fn random_prompt(rng: &mut Rng) -> SmallPrompt {
    let mut draw = || SVector::from_fn(|_, _| rng.uniform_in(-1.0, 1.0));
    let columns: [SVector<f64, 5>; 6] = core::array::from_fn(|_| draw());
    Prompt::from_columns(&columns, draw()).unwrap()
}
