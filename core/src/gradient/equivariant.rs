//! Layers of ten numbers on a statistic in blocks: the weights of the value function, and their derivatives
//! with respect to the numbers.
//!
//! Forward, with 1/n in G_0 ([`crate::normalised`]):
//!
//! ```text
//! B_l = I + P_l G_l Q_l      G_{l+1} = B_l G_l B_l^T      u_L = e_K,  u_l = B_l^T u_{l+1}      w~ = -u_0 (features)
//! ```
//!
//! Reverse, from u-bar_0 = -(w~-bar; 0; 0) and G-bar = 0 beyond the last layer's:
//!
//! ```text
//! u-bar_{l+1} = B_l u-bar_l
//! B-bar_l = u_{l+1} u-bar_l^T + G-bar_{l+1} B_l G_l^T + G-bar_{l+1}^T B_l G_l
//! P-bar_l = B-bar_l (G_l Q_l)^T      Q-bar_l = (P_l G_l)^T B-bar_l
//! G-bar_l = B_l^T G-bar_{l+1} B_l + P_l^T B-bar_l Q_l^T
//! ```
//!
//! of which P-bar and Q-bar are contracted with their blocks' identities, so that no more of them is computed.

use crate::block_matrix::{BlockMatrix, SquareMatrix};
use crate::layer::{EquivariantLayer, LinearLayer, mul_left, mul_right, transposed};
use crate::normalised::Normalised;
use crate::scalar::Scalar;
use crate::transformer::Transformer;
use crate::transition::Token;
use crate::vector::Vector;

/// A forward pass that can be walked backwards. L is the capacity for layers in the pass.
#[derive(Clone, Debug)]
pub struct Tape<S, const D: usize, const L: usize> {
    g: [BlockMatrix<S, D>; L],
    b: [BlockMatrix<S, D>; L],
    /// u_0, u_1, ...
    u: [Token<S, D, 1>; L],
}

impl<S: Scalar, const D: usize, const L: usize> Tape<S, D, L> {
    /// Returns the forward pass of a transformer of at most L layers.
    #[inline(always)]
    pub fn forward<const C: usize>(
        transformer: &Transformer<EquivariantLayer<S>, C>,
        statistic: &Normalised<S, D>,
    ) -> Self {
        debug_assert!(transformer.depth() <= L, "{} layers on a tape for {L}", transformer.depth());
        let mut tape =
            Tape { g: [BlockMatrix::ZERO; L], b: [BlockMatrix::ZERO; L], u: [Token::ZERO; L] };
        let depth = transformer.depth().min(L);
        let mut g = statistic.g;
        for (l, layer) in transformer.pass().take(L).enumerate() {
            tape.g[l] = g;
            layer.column_map_to(&g, S::ONE, &mut tape.b[l]);
            if l + 1 < depth {
                let mut b_g = BlockMatrix::ZERO;
                tape.b[l].mul_to(&tape.g[l], &mut b_g);
                b_g.mul_transpose_to(&tape.b[l], &mut g);
            }
        }
        let mut u = BlockMatrix::<S, D>::e_k();
        for l in (0..depth).rev() {
            u = tape.b[l].transpose_mul_vector(&u);
            tape.u[l] = u;
        }
        tape
    }

    /// w~, in the units of the normalised read.
    #[inline(always)]
    pub fn weights(&self) -> [S; D] {
        self.u[0].phi.map(|u| -u)
    }

    /// Adds to the gradient of each stored layer what the adjoint of w~ passes back.
    #[inline(always)]
    pub fn backward<const C: usize>(
        &self,
        transformer: &Transformer<EquivariantLayer<S>, C>,
        w_bar: &[S; D],
        gradient: &mut [EquivariantLayer<S>],
    ) {
        let depth = transformer.depth().min(L);
        let mut u_bars = [Token::ZERO; L];
        let mut u_bar = Token { phi: w_bar.map(|w| -w), ..Token::ZERO };
        for l in 0..depth {
            u_bars[l] = u_bar;
            u_bar = self.b[l].mul_vector(&u_bar);
        }
        let mut g_bar = BlockMatrix::ZERO;
        let stored = gradient.len();
        for (l, layer) in transformer.pass().take(L).enumerate().rev() {
            let (g, b) = (&self.g[l], &self.b[l]);
            let mut b_bar = BlockMatrix::ZERO;
            let u_next = if l + 1 < depth { self.u[l + 1] } else { BlockMatrix::<S, D>::e_k() };
            b_bar.add_outer(&u_next, &u_bars[l]);
            if l + 1 < depth {
                let (mut g_bar_b, mut x) = (BlockMatrix::ZERO, BlockMatrix::ZERO);
                g_bar.mul_to(b, &mut g_bar_b);
                g_bar_b.mul_transpose_to(g, &mut x);
                b_bar.add(&x);
                b.mul_to(g, &mut x);
                b_bar.add(&g_bar.transpose_mul(&x));
                g_bar = b.transpose_mul(&g_bar_b);
            }
            if let Some(gradient) = gradient.get_mut(if stored == 1 { 0 } else { l }) {
                add_rows(&mut gradient.p, &b_bar, &mul_right(g, layer.q));
                add_columns(&mut gradient.q, &mul_left(layer.p, g), &b_bar);
            }
            let passed = mul_left(transposed(layer.p), &mul_right(&b_bar, transposed(layer.q)));
            g_bar.add(&passed);
        }
    }
}

/// p-bar += the contraction of X Y^T: of each block the trace.
#[inline(always)]
fn add_rows<S: Scalar, const D: usize>(
    p_bar: &mut [S; 5],
    x: &BlockMatrix<S, D>,
    y: &BlockMatrix<S, D>,
) {
    for (x, y) in x.columns().zip(y.columns()) {
        p_bar[0] += x.phi.dot(&y.phi);
        p_bar[1] += x.phi.dot(&y.phi_next);
        p_bar[2] += x.phi_next.dot(&y.phi);
        p_bar[3] += x.phi_next.dot(&y.phi_next);
        p_bar[4] += x.rewards[0] * y.rewards[0];
    }
}

/// q-bar += the contraction of X^T Y.
#[inline(always)]
fn add_columns<S: Scalar, const D: usize>(
    q_bar: &mut [S; 5],
    x: &BlockMatrix<S, D>,
    y: &BlockMatrix<S, D>,
) {
    for j in 0..D {
        q_bar[0] += x.phi[j].dot(&y.phi[j]);
        q_bar[1] += x.phi[j].dot(&y.phi_next[j]);
        q_bar[2] += x.phi_next[j].dot(&y.phi[j]);
        q_bar[3] += x.phi_next[j].dot(&y.phi_next[j]);
    }
    q_bar[4] += x.reward.dot(&y.reward);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;
    use crate::gradient::linear;
    use crate::layer::{Layer, LayerParameters};
    use crate::linalg::zeros;
    use crate::mask::TdLambda;
    use crate::normalised::Whole;
    use crate::rng::Rng;
    use crate::statistic::Statistic;
    use nalgebra::{SMatrix, SVector};
    use std::vec::Vec;

    fn statistic<const D: usize>(seed: u64) -> Normalised<f64, D> {
        let (mut rng, mask) = (Rng::new(seed), TdLambda::new(0.7).unwrap());
        let mut context = Context::<D, _, _, f64>::with(mask, crate::context::Growing);
        let mut phi = || core::array::from_fn::<f64, D, _>(|_| rng.uniform_in(-1.0, 1.0));
        for _ in 0..7 {
            let (here, next, r) = (phi(), phi(), phi()[0]);
            context.observe(&here, r, &next).unwrap();
        }
        let unnormalised = context.read_to(0.9, 0, Whole).unwrap();
        Normalised::new(&unnormalised, 7.0, 2.0)
    }

    fn layers(count: usize) -> Vec<EquivariantLayer<f64>> {
        let mut rng = Rng::new(1);
        let mut five = || core::array::from_fn(|_| rng.uniform_in(-0.5, 0.5));
        (0..count).map(|_| EquivariantLayer { p: five(), q: five() }).collect()
    }

    fn loss<const D: usize, const C: usize>(
        transformer: &Transformer<EquivariantLayer<f64>, C>,
        statistic: &Normalised<f64, D>,
        w_bar: &[f64; D],
    ) -> f64 {
        Tape::<f64, D, 6>::forward(transformer, statistic).weights().dot(w_bar)
    }

    #[test]
    fn it_is_the_contraction_of_the_full_gradient_and_that_of_finite_differences() {
        fn check<const D: usize, const K: usize>(stored: usize, depth: usize) {
            let (statistic, layers) = (statistic::<D>(3), layers(stored));
            let transformer = if stored == 1 {
                Transformer::<_, 4>::autoregressive(layers[0], depth).unwrap()
            } else {
                Transformer::sequential(&layers).unwrap()
            };
            let w_bar = core::array::from_fn::<f64, D, _>(|i| 0.3 + i as f64);
            let tape = Tape::<f64, D, 6>::forward(&transformer, &statistic);
            let mut gradient = [EquivariantLayer::ZERO; 4];
            let gradient = &mut gradient[..stored];
            tape.backward(&transformer, &w_bar, gradient);

            // The value of a query with these features is <w~, w_bar>.
            let dense: Vec<Layer<f64, K>> =
                layers.iter().map(EquivariantLayer::dense::<D, K>).collect();
            let full = if stored == 1 {
                Transformer::<_, 4>::autoregressive(dense[0], depth).unwrap()
            } else {
                Transformer::sequential(&dense).unwrap()
            };
            let g = SMatrix::<f64, K, K>::from_fn(|i, j| {
                let column = statistic.g.columns().nth(j).unwrap();
                *column.phi.iter().chain(&column.phi_next).chain(&column.rewards).nth(i).unwrap()
            });
            let mut query = zeros::<f64, K, 1>();
            query.fixed_rows_mut::<D>(0).copy_from(&SVector::from(w_bar));
            let statistic_of_g = Statistic { g, inverse_len: 1.0 };
            let (value, full_gradient) = linear::value_and_parameter_gradient::<f64, K, 4, 6>(
                &full,
                &statistic_of_g,
                &query,
            )
            .unwrap();
            let full_gradient = full_gradient.layers();
            assert!((value - tape.weights().dot(&w_bar)).abs() < 1e-12);

            for l in 0..stored {
                let contracted = EquivariantLayer::contract::<D, K>(&full_gradient[l]);
                let step = 1e-6;
                for m in 0..10 {
                    let of = |layer: &EquivariantLayer<f64>| {
                        *layer.p.iter().chain(&layer.q).nth(m).unwrap()
                    };
                    let (got, want) = (of(&gradient[l]), of(&contracted));
                    assert!(
                        (got - want).abs() <= 1e-10 * want.abs().max(1.0),
                        "{l} {m}: {got} {want}"
                    );
                    let moved = |by: f64| {
                        let mut layers = layers.clone();
                        let EquivariantLayer { p, q } = &mut layers[l];
                        *p.iter_mut().chain(q).nth(m).unwrap() += by;
                        let moved = if stored == 1 {
                            Transformer::<_, 4>::autoregressive(layers[0], depth).unwrap()
                        } else {
                            Transformer::sequential(&layers).unwrap()
                        };
                        loss(&moved, &statistic, &w_bar)
                    };
                    let difference = (moved(step) - moved(-step)) / (2.0 * step);
                    assert!((got - difference).abs() <= 1e-6 * got.abs().max(1.0), "{l} {m}");
                }
            }
        }
        check::<1, 3>(1, 1);
        check::<3, 7>(1, 4);
        check::<2, 5>(3, 3);
        check::<4, 9>(2, 2);
    }
}
