//! The paper's constructions: parameters with which a forward pass is, layer by layer, an algorithm
//! of [`crate::td`]. The files of the two folders bear the same names.
//!
//! ```
//! use ictd_core::attention::{Attention, Td0, TdLambda};
//! use ictd_core::constructions::{learning_rate, one_layer, residual_gradient, td_lambda, td0};
//! use ictd_core::nalgebra::SVector;
//! use ictd_core::{Error, layer::Layer, prompt::Prompt, td, transformer::Transformer};
//! use ictd_core::transition::Transition;
//!
//! let phi = [[1.0, 0.5], [-0.5, 1.0], [0.25, -1.0]].map(SVector::from);
//! let transition = |j: usize| Transition { phi: phi[j], reward: j as f64, phi_next: phi[j + 1] };
//! let (transitions, query) = ([transition(0), transition(1)], phi[2]);
//! let (gamma, c) = (0.9, learning_rate::<f64, 2>(0.1));
//!
//! // The value of the query by L layers ...
//! let prompt = Prompt::<f64, 5, 2>::discounted(&transitions, gamma, &query)?;
//! fn value(layer: Layer<f64, 5>, depth: usize, of: &Prompt<f64, 5, 2>, mask: impl Attention<f64, 5, Layer = Layer<f64, 5>>) -> Result<f64, Error> {
//!     Transformer::<_, 1>::autoregressive(layer, depth)?.value(of, &mask)
//! }
//! // ... is that of L updates of the weights from 0.
//! let updated = |update: &dyn Fn(&SVector<f64, 2>) -> Result<SVector<f64, 2>, Error>| {
//!     Ok::<f64, Error>(update(&update(&SVector::zeros())?)?.dot(&query))
//! };
//! let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
//!
//! let td0_mask = Td0;
//! let by_td0 = updated(&|w| td::td0::update(w, &c, &transitions, gamma))?;
//! close(value(td0(&c), 2, &prompt, td0_mask)?, by_td0);
//! close(value(one_layer(&c), 1, &prompt, td0_mask)?, value(td0(&c), 1, &prompt, td0_mask)?);
//! let by_gradient = updated(&|w| td::residual_gradient::update(w, &c, &transitions, gamma))?;
//! close(value(residual_gradient(&c), 2, &prompt, td0_mask)?, by_gradient);
//! let trace_mask = TdLambda::new(0.5)?;
//! let by_td_lambda = updated(&|w| td::td_lambda::update(w, &c, &transitions, gamma, 0.5))?;
//! close(value(td_lambda(&c), 2, &prompt, trace_mask)?, by_td_lambda);
//! # Ok::<(), Error>(())
//! ```

mod average_reward;
mod residual_gradient;
mod td0;
mod td_lambda;

pub use average_reward::average_reward;
pub use residual_gradient::residual_gradient;
pub use td_lambda::td_lambda;
pub use td0::{one_layer, td0};

use crate::linalg::zeros;
use crate::scalar::Scalar;
use crate::transition::check_token_size;
use nalgebra::SMatrix;

/// The matrix with a 1 at (row, column) and zeros elsewhere.
fn unit<S: Scalar, const K: usize>(row: usize, column: usize) -> SMatrix<S, K, K> {
    let mut m = zeros();
    m[(row, column)] = S::ONE;
    m
}

/// Writes s C^T into the (D, D) block of `m` at block row and block column.
fn set_block<S: Scalar, const D: usize, const K: usize>(
    m: &mut SMatrix<S, K, K>,
    block_row: usize,
    block_column: usize,
    s: S,
    c: &SMatrix<S, D, D>,
) {
    check_token_size::<D, K>();
    for i in 0..D {
        for j in 0..D {
            m[(block_row * D + i, block_column * D + j)] = s * c[(j, i)];
        }
    }
}

/// alpha I, the preconditioner of plain batch TD with learning rate alpha, (D, D). Which alpha converges:
/// [`crate::td`](crate::td#step-sizes).
pub fn learning_rate<S: Scalar, const D: usize>(alpha: S) -> SMatrix<S, D, D> {
    crate::linalg::scale(alpha, &crate::linalg::identity())
}
