//! The weights that dense layers of linear attention read out of a statistic.

use super::Transformer;
use crate::entrywise::Entrywise;
use crate::layer::Layer;
use crate::linalg::{identity, mul_to, mul_vector, transpose, transpose_mul_vector, zeros};
use crate::scalar::Scalar;
use crate::statistic::Statistic;
use nalgebra::{SMatrix, SVector};

impl<S: Scalar, const K: usize, const C: usize> Transformer<Layer<S, K>, C> {
    /// Returns (B_{L-1} ... B_0)^T e_K, the vector u with TF_L = -<u, z_q> for every query column z_q.
    ///
    /// The last two layers act on vectors only. For the layer before them B is formed, but its B G B^T is applied factor by
    /// factor; for the layers before that G, B and their product are formed.
    pub fn readout(&self, statistic: &Statistic<S, K>) -> SVector<S, K> {
        let Statistic { g, inverse_len } = statistic;
        match self.depth.checked_sub(3) {
            None => self.last_two_layers(g, *inverse_len, None),
            Some(0) => {
                let mut b = zeros();
                self.layers[0].column_map_to(g, *inverse_len, &mut b);
                transpose_mul_vector(&b, &self.last_two_layers(g, *inverse_len, Some(&b)))
            }
            Some(formed) => self.deep_readout(g, *inverse_len, formed),
        }
    }

    /// Returns the readout of more than three layers; the first `formed` layers form G, B and their product.
    #[cfg_attr(target_os = "none", inline(never))]
    fn deep_readout(&self, g: &SMatrix<S, K, K>, inverse_len: S, formed: usize) -> SVector<S, K> {
        let (mut g, mut b, mut identity, mut zeros) = (*g, zeros(), identity(), zeros());
        // References, which swap without a copy.
        let (mut product, mut other) = (&mut identity, &mut zeros);
        let mut layers = self.pass();
        for layer in layers.by_ref().take(formed) {
            layer.column_map_to(&g, inverse_len, &mut b);
            mul_to(&b, &g, other);
            mul_to(other, &transpose(&b), &mut g);
            mul_to(&b, product, other);
            core::mem::swap(&mut product, &mut other);
        }
        layers.next().unwrap_or(&self.layers[0]).column_map_to(&g, inverse_len, &mut b);
        let u = self.last_two_layers(&g, inverse_len, Some(&b));
        transpose_mul_vector(product, &transpose_mul_vector(&b, &u))
    }

    /// Returns (B_{L-1} B_{L-2})^T e_K, or B_0^T e_K of a single layer, from G_{L-2} = B G B^T with the
    /// B and G of the layer before (no B: G itself).
    #[cfg_attr(target_os = "none", inline(never))]
    fn last_two_layers(
        &self,
        g: &SMatrix<S, K, K>,
        inverse_len: S,
        b: Option<&SMatrix<S, K, K>>,
    ) -> SVector<S, K> {
        let times_g = |x: &_| match b {
            None => mul_vector(g, x),
            Some(b) => mul_vector(b, &mul_vector(g, &transpose_mul_vector(b, x))),
        };
        let times_g_transposed = |x: &_| match b {
            None => transpose_mul_vector(g, x),
            Some(b) => mul_vector(b, &transpose_mul_vector(g, &transpose_mul_vector(b, x))),
        };
        // x + (1/n) a
        let plus = |x: &SVector<S, K>, a: &SVector<S, K>| {
            let mut out = *x;
            Entrywise::add_scaled(&mut out, inverse_len, a);
            out
        };
        let mut layers = self.pass().rev();
        let (mut e_k, mut p) = (zeros::<S, K, 1>(), zeros::<S, K, 1>());
        e_k[K - 1] = S::ONE;
        let Some(last) = layers.next() else { return e_k };
        for j in 0..K {
            p[j] = last.p.data.0[j][K - 1];
        }
        let Some(before) = layers.next() else {
            return plus(&e_k, &transpose_mul_vector(&last.q, &times_g_transposed(&p)));
        };
        let b_x = |x: &_| plus(x, &mul_vector(&before.p, &times_g(&mul_vector(&before.q, x))));
        let b_transposed_x = |x: &_| {
            let read = times_g_transposed(&transpose_mul_vector(&before.p, x));
            plus(x, &transpose_mul_vector(&before.q, &read))
        };
        // G_{L-1}^T p = B_{L-2} G_{L-2}^T B_{L-2}^T p
        let read = b_x(&times_g_transposed(&b_transposed_x(&p)));
        b_transposed_x(&plus(&e_k, &transpose_mul_vector(&last.q, &read)))
    }
}
