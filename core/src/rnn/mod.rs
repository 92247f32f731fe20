//! The recurrent network that the paper sets against the transformer (App. "Investigation of
//! In-Context TD with RNN").
//!
//! L layers of h units read the prompt token by token,
//!
//! ```text
//! a_{t+1}^(l) = tanh(W_ax^(l) x_t^(l) + W_aa^(l) a_t^(l) + b^(l))      a_0^(l) = 0
//! ```
//!
//! and v = <W_o, a_T^(L-1)> after the last token, the query. A token is the transformer's with a flag
//! row below: (phi; gamma phi'; R; 0) for a transition, (phi; 0; 0; 1) for the query; X = 2 d + 2
//! entries.
//!
//! [`Rnn`] is the network with its forward and backward passes; [`linear`] shows what no linear one
//! can do.

mod backward;
pub mod linear;

pub use backward::{RnnAdjoints, RnnTape};

use crate::rng::Rng;
use crate::scalar::{Scalar, kernel};
use nalgebra::{ArrayStorage, SMatrix, SVector};

/// What layer l >= 1 reads at step t.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum LayerInput {
    /// x_t^(l) = a_{t+1}^(l-1): what the layer below has just computed, as in every framework.
    #[default]
    Current,
    /// x_t^(l) = a_t^(l-1): the paper's formula read literally, which delays each layer by a step,
    /// so that with 3 layers the query never reaches the output.
    Delayed,
}

/// The number of parameters of an [`Rnn`] divided by h: how many columns of h numbers it has.
pub const fn parameter_columns(inputs: usize, hidden: usize, layers: usize) -> usize {
    // W_ax^(0), then W_ax^(l) for the other layers, W_aa^(l) and b^(l) for all, W_o.
    inputs + layers.saturating_sub(1) * hidden + layers * (hidden + 1) + 1
}

/// A deep recurrent network: X inputs, L layers of H units, C = [`parameter_columns`]`(X, H, L)`.
///
/// Its parameters are C columns of H numbers, in the order W_ax^(0), W_aa^(0), b^(0), W_ax^(1), ...,
/// W_o, the matrices column by column: one flat array, as optimisers and files want it.
#[derive(Clone, Debug, PartialEq)]
pub struct Rnn<S: Scalar, const X: usize, const H: usize, const L: usize, const C: usize> {
    columns: [[S; H]; C],
    layer_input: LayerInput,
}

/// The 3-layer network of the paper with h = 4, for features of dimension d = 4.
pub type PaperRnn<S> = Rnn<S, 10, 4, 3, { parameter_columns(10, 4, 3) }>;

impl<S: Scalar, const X: usize, const H: usize, const L: usize, const C: usize> Rnn<S, X, H, L, C> {
    /// A network of zeros.
    pub fn zeros(layer_input: LayerInput) -> Self {
        const {
            assert!(
                X >= 1 && H >= 1 && L >= 1 && C == parameter_columns(X, H, L),
                "C does not fit X inputs, H units and L layers: write C = parameter_columns(X, H, L)"
            );
        }
        Rnn { columns: [[S::ZERO; H]; C], layer_input }
    }

    /// Draws the parameters of one lane from U(-1/sqrt(h), 1/sqrt(h)), all of them: PyTorch's
    /// initialisation of recurrent and of linear layers (the paper does not state one).
    pub fn initialise_lane(&mut self, lane: usize, rng: &mut Rng) {
        let bound = <S::Element as Scalar>::from_count(H as u64);
        let bound = <S::Element as Scalar>::ONE / Scalar::sqrt(bound);
        for x in self.as_mut_slice() {
            x.set_lane(lane, rng.uniform_in(-bound, bound));
        }
    }

    /// What the layers above the first read.
    pub fn layer_input(&self) -> LayerInput {
        self.layer_input
    }

    /// All parameters.
    #[inline(always)]
    pub fn as_slice(&self) -> &[S] {
        self.columns.as_flattened()
    }

    /// All parameters.
    #[inline(always)]
    pub fn as_mut_slice(&mut self) -> &mut [S] {
        self.columns.as_flattened_mut()
    }

    /// The network that one lane has learned.
    pub fn lane(&self, lane: usize) -> Rnn<S::Element, X, H, L, C> {
        Rnn {
            columns: self.columns.map(|column| column.map(|x| x.lane(lane))),
            layer_input: self.layer_input,
        }
    }

    /// The first column of layer l's parameters.
    #[inline(always)]
    fn start(l: usize) -> usize {
        if l == 0 { 0 } else { X + H + 1 + (l - 1) * (2 * H + 1) }
    }

    /// Where W_aa of layer l starts, behind W_ax.
    #[inline(always)]
    fn recurrent_start(l: usize) -> usize {
        Self::start(l) + if l == 0 { X } else { H }
    }

    /// The columns of W_ax^(l): X of them for layer 0, H for the others.
    #[inline(always)]
    fn input_weights(&self, l: usize) -> &[[S; H]] {
        &self.columns[Self::start(l)..Self::recurrent_start(l)]
    }

    /// The columns of W_aa^(l).
    #[inline(always)]
    fn recurrent_weights(&self, l: usize) -> &[[S; H]] {
        &self.columns[Self::recurrent_start(l)..Self::recurrent_start(l) + H]
    }

    /// b^(l).
    #[inline(always)]
    fn bias(&self, l: usize) -> &[S; H] {
        &self.columns[Self::recurrent_start(l) + H]
    }

    /// W_o.
    #[inline(always)]
    fn output_weights(&self) -> &[S; H] {
        &self.columns[C - 1]
    }

    /// Layer 0's parameters, to read or set: W_ax, (H, X), W_aa, (H, H), b, (H).
    pub fn first_layer(&self) -> (SMatrix<S, H, X>, SMatrix<S, H, H>, SVector<S, H>) {
        (matrix(self.input_weights(0)), matrix(self.recurrent_weights(0)), vector(self.bias(0)))
    }

    /// Parameters of layer `l` >= 1 (0 counts as 1, beyond L as the last): W_ax and W_aa, (H, H),
    /// b, (H); none if there is only one layer.
    pub fn upper_layer(
        &self,
        l: usize,
    ) -> Option<(SMatrix<S, H, H>, SMatrix<S, H, H>, SVector<S, H>)> {
        if L == 1 {
            return None;
        }
        let l = l.clamp(1, L - 1);
        let wax = matrix(self.input_weights(l));
        Some((wax, matrix(self.recurrent_weights(l)), vector(self.bias(l))))
    }

    /// W_o, (H).
    pub fn output_layer(&self) -> SVector<S, H> {
        vector(self.output_weights())
    }

    /// Sets layer 0: W_ax, (H, X), W_aa, (H, H), b, (H).
    pub fn set_first_layer(
        &mut self,
        wax: &SMatrix<S, H, X>,
        waa: &SMatrix<S, H, H>,
        b: &SVector<S, H>,
    ) {
        self.columns[..X].copy_from_slice(&wax.data.0);
        self.columns[X..X + H].copy_from_slice(&waa.data.0);
        self.columns[X + H] = b.data.0[0];
    }

    /// Sets layer `l` from 1 to L - 1 (others are ignored): W_ax and W_aa, (H, H), b, (H).
    pub fn set_upper_layer(
        &mut self,
        l: usize,
        wax: &SMatrix<S, H, H>,
        waa: &SMatrix<S, H, H>,
        b: &SVector<S, H>,
    ) {
        if !(1..L).contains(&l) {
            return;
        }
        let (start, recurrent) = (Self::start(l), Self::recurrent_start(l));
        self.columns[start..start + H].copy_from_slice(&wax.data.0);
        self.columns[recurrent..recurrent + H].copy_from_slice(&waa.data.0);
        self.columns[recurrent + H] = b.data.0[0];
    }

    /// Sets W_o, (H).
    pub fn set_output_layer(&mut self, wo: &SVector<S, H>) {
        self.columns[C - 1] = wo.data.0[0];
    }

    /// The hidden states after one more token. `before` and the result hold one state per layer.
    pub fn step(&self, before: &[[S; H]; L], token: &[S; X]) -> [[S; H]; L] {
        let mut after = [[S::ZERO; H]; L];
        step(self, before, token, &mut after);
        after
    }

    /// v = <W_o, a^(L-1)>.
    #[inline(always)]
    pub fn output(&self, hidden: &[[S; H]; L]) -> S {
        let (wo, a) = (self.output_weights(), &hidden[L - 1]);
        let mut v = wo[0] * a[0];
        for i in 1..H {
            v += wo[i] * a[i];
        }
        v
    }

    /// The value of the last token, the query, after all tokens; from hidden states of 0.
    pub fn value<'a>(&self, tokens: impl IntoIterator<Item = &'a [S; X]>) -> S {
        let mut hidden = [[S::ZERO; H]; L];
        for token in tokens {
            hidden = self.step(&hidden, token);
        }
        self.output(&hidden)
    }
}

kernel! {
    /// The hidden states after one more token.
    fn step as Step<
        'a,
        S: Scalar,
        const X: usize,
        const H: usize,
        const L: usize,
        const C: usize,
    >(
        rnn: &'a Rnn<S, X, H, L, C>,
        before: &'a [[S; H]; L],
        token: &'a [S; X],
        after: &'a mut [[S; H]; L],
    ) {
        for l in 0..L {
            let mut sum = *rnn.bias(l);
            if l == 0 {
                add_product(&mut sum, rnn.input_weights(0), token);
            } else {
                let below = match rnn.layer_input {
                    LayerInput::Current => after[l - 1],
                    LayerInput::Delayed => before[l - 1],
                };
                add_product(&mut sum, rnn.input_weights(l), &below);
            }
            add_product(&mut sum, rnn.recurrent_weights(l), &before[l]);
            for i in 0..H {
                after[l][i] = sum[i].tanh();
            }
        }
    }
}

/// y += W x, in ascending order of x, W by columns.
#[inline(always)]
fn add_product<S: Scalar, const H: usize>(y: &mut [S; H], w: &[[S; H]], x: &[S]) {
    for (column, x_j) in w.iter().zip(x) {
        for i in 0..H {
            y[i] += column[i] * *x_j;
        }
    }
}

fn matrix<S: Scalar, const H: usize, const B: usize>(columns: &[[S; H]]) -> SMatrix<S, H, B> {
    let mut m = crate::linalg::zeros::<S, H, B>();
    for (to, from) in m.data.0.iter_mut().zip(columns) {
        *to = *from;
    }
    m
}

fn vector<S: Scalar, const H: usize>(column: &[S; H]) -> SVector<S, H> {
    SVector::from_array_storage(ArrayStorage([*column]))
}
