//! Softmax attention.
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
//! n^2 + 3 K n numbers. (Inference keeps K n: it needs a row of scores at a time. Recomputing the
//! exponentials instead of keeping them costs a sixth of the training's time.) Of the last layer only
//! the query's column matters, whose adjoint is -1 in one entry times the seed: forward and reverse are
//! one pass there, linear in the seed, and nothing is kept:
//!
//! ```text
//! u_r = (v_r)[K]      w_r = A_rq u_r      TF_L = -(z_q[K] + sum_r w_r)
//! s-bar_rc = A_rc w_r, less w_r in the query's column
//! ```

mod layers;
pub(crate) mod rows;

use super::Gradient;
use crate::error::Error;
use crate::layer::{Layer, LayerParameters as _};
use crate::linalg::arrays::{add_scaled, scale, vector};
use crate::prompt::Prompt;
use crate::scalar::Scalar;
use crate::transformer::Transformer;
use heapless::Vec;
use layers::{LastLayer, backward_layer, forward_layer, last_layer};

/// The columns of Z, or their adjoints: n context columns (N is the capacity) and the query's.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Columns<S: Scalar, const K: usize, const N: usize> {
    pub(crate) context: [[S; K]; N],
    pub(crate) query: [S; K],
}

impl<S: Scalar, const K: usize, const N: usize> Columns<S, K, N> {
    const ZEROS: Self = Columns { context: [[S::ZERO; K]; N], query: [S::ZERO; K] };

    #[inline(always)]
    fn scale(&mut self, s: S, n: usize) {
        for column in &mut self.context[..n] {
            scale(column, s);
        }
        scale(&mut self.query, s);
    }
}

/// The record of one layer's forward pass.
#[derive(Clone, Debug, PartialEq)]
struct LayerTape<S: Scalar, const K: usize, const N: usize> {
    /// Z_l.
    z: Columns<S, K, N>,
    /// k_r = Q^T z_r.
    keys: [[S; K]; N],
    /// v_r = (1/n) P z_r, times the row's normalisation.
    values: [[S; K]; N],
    /// E_rc = e^(score - shift), tile after tile of rows; in a tile column after column, n of them.
    exponentials: Vec<[S; N], N>,
    /// e^(score - shift) of the query's column.
    query_exponentials: [S; N],
    /// 1 / sum_c e^(score - shift).
    normalisation: [S; N],
}

impl<S: Scalar, const K: usize, const N: usize> LayerTape<S, K, N> {
    const ZEROS: Self = LayerTape {
        z: Columns::ZEROS,
        keys: [[S::ZERO; K]; N],
        values: [[S::ZERO; K]; N],
        exponentials: Vec::new(),
        query_exponentials: [S::ZERO; N],
        normalisation: [S::ZERO; N],
    };
}

/// A forward pass that can be walked backwards, with room for n <= N context columns and L layers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tape<S: Scalar, const K: usize, const L: usize, const N: usize> {
    layers: [LayerTape<S, K, N>; L],
    n: usize,
    depth: usize,
    /// Adjoints of a layer's output and of its input, in turns.
    adjoint: [Columns<S, K, N>; 2],
    last: LastLayer<S, K>,
}

impl<S: Scalar, const K: usize, const L: usize, const N: usize> Tape<S, K, L, N> {
    /// Room for a forward pass.
    pub(crate) fn new() -> Self {
        Tape {
            layers: [const { LayerTape::ZEROS }; L],
            n: 0,
            depth: 0,
            adjoint: [const { Columns::ZEROS }; 2],
            last: LastLayer::ZEROS,
        }
    }

    /// Makes room for n context columns and `depth` layers, and gives Z_0 to be filled in.
    ///
    /// # Errors
    /// [`Error::Empty`] for no context or no layer, [`Error::CapacityExceeded`] beyond N or L.
    #[inline(always)]
    pub(crate) fn input(&mut self, n: usize, depth: usize) -> Result<&mut Columns<S, K, N>, Error> {
        if n == 0 {
            return Err(Error::Empty { parameter: "context" });
        }
        if n > N {
            return Err(Error::CapacityExceeded { parameter: "context", capacity: N });
        }
        if depth > L {
            return Err(Error::CapacityExceeded { parameter: "layers", capacity: L });
        }
        (self.n, self.depth) = (n, depth);
        // The last layer keeps none.
        for layer in &mut self.layers[..depth.saturating_sub(1)] {
            // n <= N fits.
            let _ = layer.exponentials.resize(n, [S::ZERO; N]);
        }
        let first = self.layers.first_mut();
        first.map(|layer| &mut layer.z).ok_or(Error::Empty { parameter: "layers" })
    }

    /// TF_L of the columns given to [`Self::input`]. The pass's layer l is `layers`' layer first + l
    /// modulo their number. With `INPUT_ADJOINTS` the backward pass can find the adjoints of Z_0 also
    /// if L = 1.
    pub(crate) fn forward<const INPUT_ADJOINTS: bool>(
        &mut self,
        layers: &[Layer<S, K>],
        first: usize,
    ) -> S {
        let n = self.n;
        let inverse_len = S::ONE / S::from_count(n as u64);
        let last = self.depth - 1;
        for l in 0..last {
            if let [tape, next] = &mut self.layers[l..l + 2] {
                let layer = &layers[(first + l) % layers.len()];
                forward_layer(tape, &mut next.z, layer, inverse_len, n);
            }
        }
        let Tape { layers: tapes, adjoint: [z_bar, _], last: pass, .. } = self;
        let (z, layer) = (&tapes[last].z, &layers[(first + last) % layers.len()]);
        if INPUT_ADJOINTS || last > 0 {
            last_layer::<S, true, K, N>(pass, z, z_bar, layer, inverse_len, n);
        } else {
            last_layer::<S, false, K, N>(pass, z, z_bar, layer, inverse_len, n);
        }
        -(z.query[K - 1] + pass.sum)
    }

    /// Walks back from TF_L-bar = `seed`, adding the adjoints of the layers given to
    /// [`Self::forward`] to `sums`. Returns the adjoints of Z_0 if `INPUT_ADJOINTS`, which must then
    /// also have been asked of the forward pass; else what it returns means nothing.
    pub(crate) fn backward<const INPUT_ADJOINTS: bool>(
        &mut self,
        layers: &[Layer<S, K>],
        first: usize,
        seed: S,
        sums: &mut [Layer<S, K>],
    ) -> &Columns<S, K, N> {
        let n = self.n;
        let last = self.depth - 1;
        let sum = &mut sums[(first + last) % layers.len()];
        let p_seed = seed / S::from_count(n as u64);
        for j in 0..K {
            sum.p.data.0[j][K - 1] += p_seed * self.last.p_bar[j];
            add_scaled(&mut sum.q.data.0[j], seed, &self.last.q_bar[j]);
        }
        self.adjoint[0].scale(seed, n);
        let mut current = 0;
        for l in (0..last).rev() {
            let [one, other] = &mut self.adjoint;
            let (x_bar, z_bar) = if current == 0 { (&*one, other) } else { (&*other, one) };
            let tape = &self.layers[l];
            let at = (first + l) % layers.len();
            let (layer, sum) = (&layers[at], &mut sums[at]);
            if INPUT_ADJOINTS || l > 0 {
                backward_layer::<S, true, K, N>(tape, x_bar, z_bar, layer, sum, n);
            } else {
                backward_layer::<S, false, K, N>(tape, x_bar, z_bar, layer, sum, n);
            }
            current = 1 - current;
        }
        &self.adjoint[current]
    }
}

/// TF_L(Z_0) of softmax attention and its derivatives with respect to the parameters, the query and
/// the context.
///
/// C is the capacity for stored layers, L for layers in the pass, N for context columns.
///
/// # Errors
/// [`Error::Empty`] without context, [`Error::CapacityExceeded`] if the transformer is deeper than L.
pub fn value_and_gradient<
    S: Scalar,
    const K: usize,
    const C: usize,
    const L: usize,
    const N: usize,
>(
    transformer: &Transformer<Layer<S, K>, C>,
    prompt: &Prompt<S, K, N>,
) -> Result<Gradient<S, K, C, N>, Error> {
    let mut tape = Tape::<S, K, L, N>::new();
    let n = prompt.context_len();
    let z = tape.input(n, transformer.depth())?;
    for (column, token) in z.context.iter_mut().zip(prompt.context()) {
        *column = token.data.0[0];
    }
    z.query = prompt.query().data.0[0];
    let stored = transformer.layers();
    let value = tape.forward::<true>(stored, 0);
    let mut layers: Vec<Layer<S, K>, C> = stored.iter().map(|_| Layer::ZERO).collect();
    let z_bar = tape.backward::<true>(stored, 0, S::ONE, &mut layers);
    let mut prompt_bar = prompt.clone();
    for (column, adjoint) in prompt_bar.columns_mut().zip(&z_bar.context[..n]) {
        column.data.0[0] = *adjoint;
    }
    prompt_bar.set_query(vector(z_bar.query));
    Ok(Gradient { value, layers, prompt: prompt_bar })
}
