//! A window as the layers read it: its statistic G and its query's column, as they are or in units of the
//! context's own ([`crate::normalised`]; these are data: no gradient passes through them).

use super::shape::LinearShape;
use super::workspace::split;
use crate::linalg::any_size::{add_outers, mirror};
use crate::normalised::Units;
use crate::scalar::{Scalar, kernel};
use crate::training::Window;
use crate::training::outer_products::next_token;

/// Vectors that a read takes.
pub(super) const VECTORS: usize = 2;

kernel! {
    /// Writes G and z, and gives the factor 1/n that G lacks, or 1. `room` is a matrix and [`VECTORS`].
    pub(super) fn read as Read<'a, S: Scalar>(
        shape: &'a LinearShape<S::Element>,
        window: &'a Window<'a, S>,
        g: &'a mut [S],
        z: &'a mut [S],
        room: [&'a mut [S]; 2],
    ) -> S {
        let (k, lambda) = (shape.token_len(), shape.trace());
        let prior_count = shape.prior_count.map(S::splat);
        let [f, vectors] = room;
        let [token, trace] = split(vectors, k);
        let n = window.context_len();
        g.fill(S::ZERO);
        if prior_count.is_some() {
            f.fill(S::ZERO);
        }
        let (mut squared_rewards, dim) = (S::ZERO, window.dim());
        for i in 0..n {
            let [z, right] = next_token(window, 0, i, lambda, [&mut *token, &mut *trace]);
            add_outers(k, g, [(z, right)]);
            if prior_count.is_some() {
                squared_rewards += z[k - 1] * z[k - 1];
                let phi_next = window.phi(i + 1);
                add_outers(dim, f, [(z, z), (phi_next, phi_next)]);
            }
        }
        z.fill(S::ZERO);
        window.write_query(z);
        let n = S::from_count(n as u64);
        let Some(prior_count) = prior_count else { return S::ONE / n };
        let vectors = [&mut token[..dim], &mut trace[..dim]];
        let units = Units::new(f, squared_rewards, [n, prior_count], vectors);
        units.normalise(g);
        units.normalise_query(&mut z[..dim]);
        // Without a trace G is symmetric, on which the products count, and which roundings of T G T^T leave.
        if lambda.is_none() {
            mirror(k, g);
        }
        S::ONE
    }
}
