//! A forward pass of softmax attention, kept so that it can be walked backwards.
//!
//! Forward, for each context column r (the scores are made and used one row at a time):
//!
//! ```text
//! k_r = Q_l^T z_r      v_r = (1/n) P_l z_r      A_rc = softmax over c of <k_r, z_c>, the query's column too
//! z_c(next) = z_c + sum_r A_rc v_r              TF_L = -z_q[K] after the last layer
//! ```
//!
//! Reverse, from the adjoints x-bar_c of the next layer's columns:
//!
//! ```text
//! A-bar_rc = <v_r, x-bar_c>      v-bar_r = sum_c A_rc x-bar_c      s-bar_rc = A_rc (A-bar_rc - <v_r, v-bar_r>)
//! k-bar_r  = sum_c s-bar_rc z_c  P-bar += (1/n) v-bar_r z_r^T      Q-bar += z_r k-bar_r^T
//! z-bar_c  = x-bar_c + sum_r s-bar_rc k_r                          z-bar_r += (1/n) P^T v-bar_r + Q k-bar_r
//! ```
//!
//! (<v_r, v-bar_r> is sum_c A_rc A-bar_rc.) Exponentials are powers of 2, of keys times log2 e, and a row's
//! normalisation goes into v_r, not into each exponential.
//!
//! A tape keeps, per layer, the columns, k_r, v_r, the exponentials and each row's normalisation:
//! n^2 + 3 K n numbers. (Recomputing the exponentials instead costs a sixth of the training's time.) In the last layer
//! only the query's column matters. Its adjoint is -1 in one entry times the seed: forward and reverse are
//! one pass there, linear in the seed, and the tape keeps nothing:
//!
//! ```text
//! u_r = (v_r)[K]      w_r = A_rq u_r      TF_L = -(z_q[K] + sum_r w_r)
//! s-bar_rc = A_rc w_r, less w_r in the query's column
//! ```

use super::layers::{LastLayer, LayerTape, backward_layer, forward_layer, last_layer};
use super::scores::PromptColumns;
use crate::entrywise::Entrywise as _;
use crate::error::{Error, Result};
use crate::layer::Layer;
use crate::linalg::arrays::{add_scaled, scale, vector};
use crate::prompt::Prompt;
use crate::scalar::Scalar;
use crate::transformer::Transformer;
use nalgebra::SVector;

/// Room for n <= N context columns and L layers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tape<S: Scalar, const K: usize, const L: usize, const N: usize> {
    layers: [LayerTape<S, K, N>; L],
    n: usize,
    depth: usize,
    /// Adjoints of a layer's output and of its input, in turns.
    adjoint: [PromptColumns<S, K, N>; 2],
    last: LastLayer<S, K>,
}

impl<S: Scalar, const K: usize, const L: usize, const N: usize> Tape<S, K, L, N> {
    pub(super) fn new() -> Self {
        Tape {
            layers: [const { LayerTape::ZEROS }; L],
            n: 0,
            depth: 0,
            adjoint: [PromptColumns::ZERO; 2],
            last: LastLayer::ZERO,
        }
    }

    /// Makes room for n context columns and `depth` layers, and returns Z_0 for the caller to fill in; `None` if they do not fit.
    #[inline(always)]
    pub(super) fn input(&mut self, n: usize, depth: usize) -> Option<&mut PromptColumns<S, K, N>> {
        if n > N {
            return None;
        }
        (self.n, self.depth) = (n, depth);
        // The last layer keeps none.
        for layer in self.layers.get_mut(..depth)?.split_last_mut()?.1 {
            layer.exponentials.resize(n, [S::ZERO; N]).ok()?;
        }
        self.layers.first_mut().map(|layer| &mut layer.z)
    }

    /// Returns TF_L of the columns given to [`Self::input`]. The pass's layer l is `layers`' layer first + l
    /// modulo their number.
    pub(super) fn forward(&mut self, layers: &[Layer<S, K>], first: usize) -> S {
        let (n, last) = (self.n, self.depth - 1);
        let inverse_len = S::ONE / S::from_count(n as u64);
        for l in 0..last {
            if let [tape, next] = &mut self.layers[l..l + 2] {
                let layer = &layers[(first + l) % layers.len()];
                forward_layer(tape, &mut next.z, layer, inverse_len, n);
            }
        }
        let Tape { layers: tapes, adjoint: [z_bar, _], last: pass, .. } = self;
        let (z, layer) = (&tapes[last].z, &layers[(first + last) % layers.len()]);
        last_layer(pass, z, z_bar, layer, inverse_len, n);
        -(z.query[K - 1] + pass.sum)
    }

    /// Walks back from TF_L-bar = `seed`, adding the adjoints of the layers given to
    /// [`Self::forward`] to `sums`. Returns those of Z_0.
    pub(super) fn backward(
        &mut self,
        layers: &[Layer<S, K>],
        first: usize,
        seed: S,
        sums: &mut [Layer<S, K>],
    ) -> &PromptColumns<S, K, N> {
        let (n, last) = (self.n, self.depth - 1);
        let sum = &mut sums[(first + last) % layers.len()];
        let p_seed = seed / S::from_count(n as u64);
        for j in 0..K {
            sum.p.data.0[j][K - 1] += p_seed * self.last.p_bar[j];
            add_scaled(&mut sum.q.data.0[j], seed, &self.last.q_bar[j]);
        }
        let [mut x_bar, mut z_bar] = self.adjoint.each_mut();
        for column in x_bar.context[..n].iter_mut().chain([&mut x_bar.query]) {
            scale(column, seed);
        }
        for l in (0..last).rev() {
            let at = (first + l) % layers.len();
            backward_layer(&self.layers[l], x_bar, z_bar, &layers[at], &mut sums[at], n);
            core::mem::swap(&mut x_bar, &mut z_bar);
        }
        x_bar
    }
}

/// Returns TF_L(Z_0) of softmax attention and its derivative with respect to the query's column, (K).
///
/// C is the capacity for stored layers, L for layers in the pass, N for context columns.
/// Returns [`Error::Empty`] without context, [`Error::CapacityExceeded`] if the transformer is deeper than L.
pub fn value_and_query_gradient<
    S: Scalar,
    const K: usize,
    const C: usize,
    const L: usize,
    const N: usize,
>(
    transformer: &Transformer<Layer<S, K>, C>,
    prompt: &Prompt<S, K, N>,
) -> Result<(S, SVector<S, K>)> {
    prompt.inverse_len()?;
    let mut tape = Tape::<S, K, L, N>::new();
    let z = tape
        .input(prompt.context_len(), transformer.depth())
        .ok_or(Error::capacity("layers", L))?;
    for (column, token) in z.context.iter_mut().zip(prompt.context()) {
        *column = token.data.0[0];
    }
    z.query = prompt.query().data.0[0];
    let value = tape.forward(transformer.layers(), 0);
    let mut sums = [Layer { p: crate::linalg::zeros(), q: crate::linalg::zeros() }; C];
    let z_bar = tape.backward(transformer.layers(), 0, S::ONE, &mut sums);
    Ok((value, vector(z_bar.query)))
}
