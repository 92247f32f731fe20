//! The layers before the last two, whose maps B = I + A are formed.
//!
//! ```text
//! A = P G Q      V = G + A G      G' = B G B^T = V + V A^T      z' = B z
//! ```
//!
//! and back, with H = G-bar + G-bar^T (G is symmetric, so no more of G-bar is needed):
//!
//! ```text
//! A-bar = H V + z-bar z^T        P-bar += A-bar (G Q)^T      Q-bar += G P^T A-bar
//! H <- B^T H B + E + E^T, E = P^T A-bar Q^T                  z-bar <- B^T z-bar
//! ```

use super::{BatchLayer, LayerSum};
use crate::linalg::padded::{
    Columns, Onto, TwoSided, add_mul_vector, add_outers, mirror, mul_onto, mul_transpose_onto,
    mul_transpose_onto_symmetric, zeros,
};
use crate::scalar::Scalar;

/// A layer's pass.
#[derive(Clone, Copy)]
pub(super) struct Step<S: Scalar, const R: usize, const K: usize> {
    pub(super) g: Columns<S, R, K>,
    pub(super) a: Columns<S, R, K>,
    v: Columns<S, R, K>,
    pub(super) z: [S; R],
}

impl<S: Scalar, const R: usize, const K: usize> Step<S, R, K> {
    pub(super) const ZEROS: Self = {
        let zeros = [[S::ZERO; R]; K];
        Step { g: zeros, a: zeros, v: zeros, z: [S::ZERO; R] }
    };

    /// A from G.
    #[inline(always)]
    pub(super) fn form(&mut self, layer: &BatchLayer<S, R, K>, g_q: &mut Columns<S, R, K>) {
        mul_onto(g_q, Onto::Zeros, &self.g, &layer.q.m);
        mul_onto(&mut self.a, Onto::Zeros, &layer.p.m, g_q);
    }

    /// G and z of the next layer.
    #[inline(always)]
    pub(super) fn forward(&mut self, next: &mut Self) {
        mul_onto(&mut self.v, Onto::Matrix(&self.g), &self.a, &self.g);
        mul_transpose_onto_symmetric(&mut next.g, Onto::Matrix(&self.v), &self.v, &self.a);
        next.z = add_mul_vector(&self.z, &self.a, &self.z);
    }

    /// A-bar = onto + H V + z-bar z^T, from H and z-bar of the next layer.
    #[inline(always)]
    pub(super) fn a_bar(
        &self,
        a_bar: &mut Columns<S, R, K>,
        onto: Onto<S, R, K>,
        h: &Columns<S, R, K>,
        z_bar: &[S; R],
    ) {
        mul_onto(a_bar, onto, h, &self.v);
        add_outers(a_bar, [(z_bar, &self.z)]);
    }

    /// Turns H and z-bar of the next layer into this one's, and adds to its parameters' adjoints.
    #[inline(always)]
    pub(super) fn backward(
        &self,
        layer: &BatchLayer<S, R, K>,
        sum: &mut LayerSum<S, R, K>,
        h: &mut Columns<S, R, K>,
        z_bar: &mut [S; R],
        [a_bar, product]: &mut [Columns<S, R, K>; 2],
    ) {
        self.a_bar(a_bar, Onto::Zeros, h, z_bar);
        // G Q
        mul_onto(product, Onto::Zeros, &self.g, &layer.q.m);
        mul_transpose_onto(&mut sum.p, Onto::Itself, a_bar, product);
        // P^T A-bar
        layer.p.transpose_mul(product, a_bar);
        mul_onto(&mut sum.q, Onto::Itself, &self.g, product);
        let e = a_bar;
        mul_transpose_onto(e, Onto::Zeros, product, &layer.q.m);

        let a = TwoSided::of(self.a);
        let mut h_b = zeros();
        mul_onto(&mut h_b, Onto::Matrix(h), h, &a.m);
        for j in 0..K {
            h[j] = a.add_transpose_mul_vector(&h_b[j], &h_b[j]);
            for i in 0..K {
                h[j][i] += e[j][i] + e[i][j];
            }
        }
        mirror(h);
        *z_bar = a.add_transpose_mul_vector(z_bar, z_bar);
    }
}
