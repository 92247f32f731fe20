//! The read of the context: regularised LSTD.

use crate::context::{Context, Forgetting, LstdSystem};
use crate::error::Error;
use crate::linalg::linear_system::solve;
use crate::mask::TdLambda;
use crate::scalar::Scalar;
use crate::value_function::{ClippedValueFunction, ValueClipInputs, ValueFunction};
use nalgebra::SMatrix;

/// The ridge, in transitions.
const RIDGE: f32 = 1.0;
/// A feature may reach 3 root mean squares: this many times what it may for a [`ClippedValueFunction`] elsewhere.
const REACH: f32 = 1.5;

/// Returns the value function of a cumulant for a discount: (A + ridge diag(F) / n) w = b.
pub(super) fn value_function<const D: usize, const C: usize>(
    context: &Context<D, TdLambda, Forgetting, f32, C>,
    cumulant: usize,
    gamma: f32,
) -> Result<ClippedValueFunction<f32, D>, Error> {
    let system = LstdSystem::<f32, D>::new(&context.discounted(gamma, cumulant)?);
    let n = context.effective_len();
    let ridge = RIDGE * (1.0 + D as f32 / n) / n;
    let mut a = SMatrix::<f32, D, D>::from_fn(|i, j| system.a[i][j]);
    let mut root_mean_squares = [0.0; D];
    for i in 0..D {
        let square = 0.5 * system.squares[i];
        // A feature that was always 0 has the weight 0.
        a[(i, i)] += if square > 0.0 { ridge * square } else { 1.0 };
        root_mean_squares[i] = REACH * Scalar::sqrt(square / n);
    }
    let weights = solve(a, system.b.into(), D, "A of the context")?;
    let max_abs_reward = context.max_abs_reward(cumulant);
    let inputs = ValueClipInputs { effective_len: n, gamma, max_abs_reward };
    Ok(ClippedValueFunction::new(ValueFunction { weights }, root_mean_squares, inputs))
}
