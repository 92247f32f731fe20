//! One window's pass forward, and back.

use crate::layer::Layer;
use crate::linalg::{
    add_identity, add_outer, add_scaled, mul, mul_transpose, mul_vector, transpose,
    transpose_mul_vector, zeros,
};
use crate::scalar::Real;
use nalgebra::{SMatrix, SVector};

/// A pass through the layers: with G_0 symmetric and over its trace,
/// `B_l = I + P G_l Q, G_{l+1} = B_l G_l B_l^T, z_{l+1} = B_l z_l, TF_L = -z_L[K]`.
pub(super) struct Tape<R: Real, const K: usize, const L: usize> {
    g: [SMatrix<R, K, K>; L],
    b: [SMatrix<R, K, K>; L],
    z: [SVector<R, K>; L],
}

impl<R: Real, const K: usize, const L: usize> Tape<R, K, L> {
    pub(super) fn new(g: &SMatrix<R, K, K>, z: SVector<R, K>) -> Self {
        Tape { g: [*g; L], b: [zeros(); L], z: [z; L] }
    }

    /// Returns TF_L.
    pub(super) fn forward(&mut self, Layer { p, q }: &Layer<R, K>) -> R {
        let (mut g, mut z) = (self.g[0], self.z[0]);
        for l in 0..L {
            (self.g[l], self.z[l]) = (g, z);
            let b = &mut self.b[l];
            *b = mul(&mul(p, &g), q);
            add_identity(b);
            z = mul_vector(b, &z);
            if l + 1 < L {
                g = mul_transpose(&mul(b, &g), b);
            }
        }
        -z.data.0[0][K - 1]
    }

    /// Adds the gradient of TF_L times a scale, with z-bar_L = -scale e_K and H = G-bar + G-bar^T = 0 behind the last layer:
    ///
    /// ```text
    /// B-bar = z-bar z^T + H B G       P-bar += B-bar (G Q)^T       Q-bar += (P G)^T B-bar
    /// M = P^T B-bar Q^T               H <- B^T H B + M + M^T       z-bar <- B^T z-bar
    /// ```
    pub(super) fn backward(
        &self,
        Layer { p, q }: &Layer<R, K>,
        scale: R,
        gradient: &mut Layer<R, K>,
    ) {
        let (mut h, mut z_bar) = (zeros::<R, K, K>(), zeros::<R, K, 1>());
        z_bar.data.0[0][K - 1] = -scale;
        for l in (0..L).rev() {
            let (g, b) = (&self.g[l], &self.b[l]);
            let mut b_bar = mul(&mul(&h, b), g);
            add_outer(&mut b_bar, &z_bar, &self.z[l]);
            add_scaled(&mut gradient.p, R::ONE, &mul_transpose(&b_bar, &mul(g, q)));
            let p_b = mul(&transpose(p), &b_bar);
            add_scaled(&mut gradient.q, R::ONE, &mul(g, &p_b));
            if l > 0 {
                let m = mul_transpose(&p_b, q);
                h = mul(&mul(&transpose(b), &h), b);
                add_scaled(&mut h, R::ONE, &m);
                add_scaled(&mut h, R::ONE, &transpose(&m));
                z_bar = transpose_mul_vector(b, &z_bar);
            }
        }
    }
}
