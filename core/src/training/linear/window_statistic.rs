//! The statistic G and the query's column of a window.

use super::shape::LinearShape;
use super::workspace::split;
use crate::linalg::any_size::add_outers;
use crate::scalar::{Scalar, kernel};
use crate::training::Window;
use crate::training::outer_products::next_token;

/// Vectors that [`window_statistic`] needs.
pub(super) const VECTORS: usize = 2;

kernel! {
    /// Writes G and z_q, and returns 1/n. `vectors` is room for [`VECTORS`].
    pub(super) fn window_statistic as WindowStatistic<'a, S: Scalar>(
        shape: &'a LinearShape<S::Element>,
        window: &'a Window<'a, S>,
        g: &'a mut [S],
        z: &'a mut [S],
        vectors: &'a mut [S],
    ) -> S {
        let (k, trace_decay) = (shape.token_len(), shape.trace());
        let [token, trace] = split(vectors, k);
        let n = window.context_len();
        g.fill(S::ZERO);
        for i in 0..n {
            let [z, right] = next_token(window, 0, i, trace_decay, [&mut *token, &mut *trace]);
            add_outers(k, g, [(z, right)]);
        }
        z.fill(S::ZERO);
        window.write_query(z);
        S::ONE / S::from_count(n as u64)
    }
}
