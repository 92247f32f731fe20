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

use super::{Network, Parameters, Window};
use crate::error::{Result, ensure, out_of_range};
use crate::linalg::arrays::{add, add_scaled, dot};
use crate::linalg::{dot_arrays, keep_apart, zeros};
use crate::rng::Rng;
use crate::scalar::{Scalar, kernel};
use heapless::Vec;
use nalgebra::{SMatrix, SVector};

/// The input of layer l >= 1 at step t.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum LayerInput {
    /// x_t^(l) = a_{t+1}^(l-1): what the layer below has just computed, as in every framework.
    #[default]
    Current,
    /// x_t^(l) = a_t^(l-1): the paper's formula read literally, which delays each layer by a step,
    /// so that with 3 layers the query never reaches the output.
    Delayed,
}

/// A deep recurrent network in training: X inputs, L layers of H units; contexts of at most N transitions.
///
/// ```
/// use ictd_core::rng::Rng;
/// use ictd_core::training::{LayerInput, Network, Rnn, Windows};
///
/// // The paper's: 3 layers of 4 units, for 4 features.
/// let mut rnn = Rnn::<f32, 10, 4, 3, 30>::zeros(LayerInput::Current);
/// rnn.initialise_lane(0, &mut Rng::new(1));
/// let windows = Windows::new(4, &[0.5; 4 * 9], &[0.75; 8], 6, 0.9)?;
/// assert!(rnn.value(&windows.window(0)?)?.is_finite());
/// # Ok::<(), ictd_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Rnn<S: Scalar, const X: usize, const H: usize, const L: usize, const N: usize> {
    /// Layer 0, which reads the tokens.
    pub first: RnnLayer<S, X, H>,
    /// Layers 1 to L - 1.
    pub upper: Vec<RnnLayer<S, H, H>, L>,
    /// W_o, (H).
    pub output: SVector<S, H>,
    layer_input: LayerInput,
    /// How many entries a token has: X, or fewer with fewer features.
    inputs: usize,
}

/// The parameters of one recurrent layer of H units that reads I numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RnnLayer<S: Scalar, const I: usize, const H: usize> {
    /// W_ax, (H, I).
    pub input: SMatrix<S, H, I>,
    /// W_aa, (H, H).
    pub recurrent: SMatrix<S, H, H>,
    /// b, (H).
    pub bias: SVector<S, H>,
}

impl<S: Scalar, const X: usize, const H: usize, const L: usize, const N: usize> Rnn<S, X, H, L, N> {
    /// Returns a network of zeros.
    pub fn zeros(layer_input: LayerInput) -> Self {
        const {
            assert!(X >= 4 && X.is_multiple_of(2), "a token with its flag has X = 2 d + 2 entries");
            assert!(H >= 1 && L >= 1, "a network has units and layers");
        }
        let upper = (1..L).map(|_| RnnLayer::ZERO).collect();
        Rnn { first: RnnLayer::ZERO, upper, output: zeros(), layer_input, inputs: X }
    }

    /// Returns the same network for `dim` features, at most X / 2 - 1. W_ax^(0) then has 2 dim + 2 columns.
    /// Returns [`Error::OutOfRange`](crate::Error::OutOfRange) otherwise.
    pub fn with_dim(self, dim: usize) -> Result<Self> {
        let fits = (1..X / 2).contains(&dim);
        ensure(fits, out_of_range("dim", "1 to what the network has inputs for"))?;
        Ok(Rnn { inputs: 2 * dim + 2, ..self })
    }

    /// Returns the hidden states after one more token. `before` and the result hold one state per layer.
    pub fn step(&self, before: &[[S; H]; L], token: &[S; X]) -> [[S; H]; L] {
        let mut after = [[S::ZERO; H]; L];
        step(self, before, token, &mut after);
        after
    }

    /// Returns v = <W_o, a^(L-1)>.
    #[inline(always)]
    pub fn output(&self, hidden: &[[S; H]; L]) -> S {
        dot_arrays(&self.output.data.0[0], &hidden[L - 1])
    }

    /// Returns token t of a window: of its context with the flag 0, and for t = n the query with the flag 1.
    #[inline(always)]
    fn token(&self, window: &Window<S>, t: usize) -> [S; X] {
        if t == window.context_len() {
            let mut query = window.query_column::<X>().data.0[0];
            if let Some(flag) = query.get_mut(self.inputs - 1) {
                *flag = S::ONE;
            }
            return query;
        }
        if self.inputs == X {
            // The memory row of the average-reward token has the place of the flag, and is 0.
            return window.column::<X>(t).data.0[0];
        }
        let mut token = [S::ZERO; X];
        window.write_token(self.dim(), t, &mut token);
        token
    }
}

impl<S: Scalar, const X: usize, const H: usize, const L: usize, const N: usize> Parameters<S>
    for Rnn<S, X, H, L, N>
{
    /// Returns W_ax^(0), W_aa^(0), b^(0), W_ax^(1), ..., W_o, each column by column.
    fn slices(&self) -> impl Iterator<Item = &[S]> {
        let layers = self.first.slices(self.inputs).into_iter();
        let layers = layers.chain(self.upper.iter().flat_map(|layer| layer.slices(H)));
        layers.chain([self.output.as_slice()])
    }

    fn slices_mut(&mut self) -> impl Iterator<Item = &mut [S]> {
        let layers = self.first.slices_mut(self.inputs).into_iter();
        let layers = layers.chain(self.upper.iter_mut().flat_map(|layer| layer.slices_mut(H)));
        layers.chain([self.output.as_mut_slice()])
    }
}

impl<S: Scalar, const X: usize, const H: usize, const L: usize, const N: usize> Network<S>
    for Rnn<S, X, H, L, N>
{
    type Parameters = Self;
    const CONTEXT_CAPACITY: Option<usize> = Some(N);

    fn dim(&self) -> usize {
        self.inputs / 2 - 1
    }

    fn parameters(&self) -> &Self {
        self
    }

    fn parameters_mut(&mut self) -> &mut Self {
        self
    }

    /// Draws all parameters from U(-1/sqrt(h), 1/sqrt(h)): PyTorch's
    /// initialisation of recurrent and of linear layers (the paper does not state one).
    fn initialise_lane(&mut self, lane: usize, rng: &mut Rng) {
        let bound = <S::Element as Scalar>::from_count(H as u64);
        let bound = <S::Element as Scalar>::ONE / Scalar::sqrt(bound);
        for x in self.numbers_mut() {
            x.set_lane(lane, rng.uniform_in(-bound, bound));
        }
    }

    fn value(&mut self, window: &Window<S>) -> Result<S> {
        self.check(window)?;
        let mut hidden = [[S::ZERO; H]; L];
        for t in 0..=window.context_len() {
            hidden = self.step(&hidden, &self.token(window, t));
        }
        Ok(self.output(&hidden))
    }

    fn value_and_gradient(
        &mut self,
        window: &Window<S>,
        adjoint: impl FnOnce(S) -> S,
        gradient: &mut Self,
    ) -> Result<S> {
        self.check(window)?;
        let n = window.context_len();
        let start = [[S::ZERO; H]; L];
        // The hidden states after each token of the context, and after the query.
        let (mut after, mut last) = ([start; N], start);
        for t in 0..=n {
            let (before, after) = after.split_at_mut(t);
            let after = if t == n { &mut last } else { &mut after[0] };
            step(self, before.last().unwrap_or(&start), &self.token(window, t), after);
        }
        let v = self.output(&last);
        // Backward through time, with the adjoints of the hidden states after token t.
        let (seed, mut a_bar) = (adjoint(v), start);
        for i in 0..H {
            a_bar[L - 1][i] = seed * self.output[i];
            gradient.output[i] += seed * last[L - 1][i];
        }
        for t in (0..=n).rev() {
            let before = if t == 0 { &start } else { &after[t - 1] };
            let after = if t == n { &last } else { &after[t] };
            token_back(self, gradient, &mut a_bar, before, after, &self.token(window, t));
        }
        Ok(v)
    }
}

kernel! {
    fn step as Step<'a, S: Scalar, const X: usize, const H: usize, const L: usize, const N: usize>(
        rnn: &'a Rnn<S, X, H, L, N>,
        before: &'a [[S; H]; L],
        token: &'a [S; X],
        after: &'a mut [[S; H]; L],
    ) {
        // The compiler then knows the number of inputs.
        match token.get(..rnn.inputs) {
            Some(fewer) if fewer.len() < X => rnn.first.forward(fewer, &before[0], &mut after[0]),
            _ => rnn.first.forward(token, &before[0], &mut after[0]),
        }
        for (l, layer) in (1..L).zip(&rnn.upper) {
            let below = match rnn.layer_input {
                LayerInput::Current => after[l - 1],
                LayerInput::Delayed => before[l - 1],
            };
            layer.forward(&below, &before[l], &mut after[l]);
        }
    }
}

kernel! {
    /// Goes one token back: turns the adjoints of the hidden states after it into those before it, and adds to
    /// `gradient`.
    fn token_back as TokenBack<
        'a,
        S: Scalar,
        const X: usize,
        const H: usize,
        const L: usize,
        const N: usize,
    >(
        rnn: &'a Rnn<S, X, H, L, N>,
        gradient: &'a mut Rnn<S, X, H, L, N>,
        a_bar: &'a mut [[S; H]; L],
        before: &'a [[S; H]; L],
        after: &'a [[S; H]; L],
        token: &'a [S; X],
    ) {
        let mut before_bar = [[S::ZERO; H]; L];
        for (l, (layer, gradient)) in (1..L).zip(rnn.upper.iter().zip(&mut gradient.upper)).rev() {
            let g = through_tanh(&a_bar[l], &after[l]);
            let (below, below_bar) = match rnn.layer_input {
                LayerInput::Current => (&after[l - 1], &mut a_bar[l - 1]),
                LayerInput::Delayed => (&before[l - 1], &mut before_bar[l - 1]),
            };
            add_transposed_product(below_bar, &layer.input.data.0, &g);
            layer.backward(&g, below, &before[l], gradient, &mut before_bar[l]);
        }
        let g = through_tanh(&a_bar[0], &after[0]);
        let (gradient, below) = (&mut gradient.first, &mut before_bar[0]);
        match token.get(..rnn.inputs) {
            Some(fewer) if fewer.len() < X => {
                rnn.first.backward(&g, fewer, &before[0], gradient, below);
            }
            _ => rnn.first.backward(&g, token, &before[0], gradient, below),
        }
        *a_bar = before_bar;
    }
}

/// Returns the adjoint of x from that of a = tanh(x): tanh' = 1 - tanh^2.
#[inline(always)]
fn through_tanh<S: Scalar, const H: usize>(a_bar: &[S; H], a: &[S; H]) -> [S; H] {
    let mut g = *a_bar;
    for i in 0..H {
        keep_apart::<S>();
        g[i] *= S::ONE - a[i] * a[i];
    }
    g
}

impl<S: Scalar, const I: usize, const H: usize> RnnLayer<S, I, H> {
    const ZERO: Self = RnnLayer { input: zeros(), recurrent: zeros(), bias: zeros() };

    /// Returns the parameters of the first inputs.
    fn slices(&self, inputs: usize) -> [&[S]; 3] {
        let RnnLayer { input, recurrent, bias } = self;
        let input = input.as_slice().get(..inputs * H).unwrap_or_default();
        [input, recurrent.as_slice(), bias.as_slice()]
    }

    fn slices_mut(&mut self, inputs: usize) -> [&mut [S]; 3] {
        let RnnLayer { input, recurrent, bias } = self;
        let input = input.as_mut_slice().get_mut(..inputs * H).unwrap_or_default();
        [input, recurrent.as_mut_slice(), bias.as_mut_slice()]
    }

    /// Computes out = tanh(W_ax x + W_aa a + b), each sum in ascending order.
    #[inline(always)]
    fn forward(&self, x: &[S], a: &[S; H], out: &mut [S; H]) {
        let mut sum = self.bias.data.0[0];
        for (column, x_j) in self.input.data.0.iter().zip(x) {
            add_scaled(&mut sum, *x_j, column);
        }
        for (column, a_j) in self.recurrent.data.0.iter().zip(a) {
            add_scaled(&mut sum, *a_j, column);
        }
        // In `out`, so that the sums stay in registers. (`map` may stay a call, which a kernel must not make.)
        *out = sum;
        for x in out {
            *x = x.tanh();
        }
    }

    /// Backpropagates g, the adjoint of the pre-activation in [`RnnLayer::forward`], into the adjoints of the
    /// parameters and of a.
    #[inline(always)]
    fn backward(&self, g: &[S; H], x: &[S], a: &[S; H], gradient: &mut Self, a_bar: &mut [S; H]) {
        for (column, x_j) in gradient.input.data.0.iter_mut().zip(x) {
            add_scaled(column, *x_j, g);
        }
        for (column, a_j) in gradient.recurrent.data.0.iter_mut().zip(a) {
            add_scaled(column, *a_j, g);
        }
        add(&mut gradient.bias.data.0[0], g);
        add_transposed_product(a_bar, &self.recurrent.data.0, g);
    }
}

/// Computes x-bar += W^T g, W by columns.
#[inline(always)]
fn add_transposed_product<S: Scalar, const H: usize, const I: usize>(
    x_bar: &mut [S; I],
    w: &[[S; H]; I],
    g: &[S; H],
) {
    for (x, column) in x_bar.iter_mut().zip(w) {
        *x += dot(column, g);
    }
}
