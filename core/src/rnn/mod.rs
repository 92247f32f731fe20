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

mod backward;
mod layer;

pub use backward::RnnTape;
pub use layer::RnnLayer;

use crate::linalg::zeros;
use crate::rng::Rng;
use crate::scalar::{Scalar, kernel};
use heapless::Vec;
use nalgebra::SVector;

/// The input of layer l >= 1 at step t.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
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

/// A deep recurrent network: X inputs, L layers of H units.
///
/// ```
/// use ictd_core::rng::Rng;
/// use ictd_core::rnn::{LayerInput, Rnn};
///
/// // The paper's: 3 layers of 4 units, for 4 features.
/// let mut rnn = Rnn::<f32, 10, 4, 3>::zeros(LayerInput::Current);
/// rnn.initialise_lane(0, &mut Rng::new(1));
/// let transition = [0.5, -0.25, 1.0, 0.0, 0.9, 0.45, -0.45, 0.0, 0.75, 0.0];
/// let query = [0.5, -0.25, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0];
/// assert!(rnn.value(&[transition, query]).is_finite());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Rnn<S: Scalar, const X: usize, const H: usize, const L: usize> {
    /// Layer 0, which reads the tokens.
    pub first: RnnLayer<S, X, H>,
    /// Layers 1 to L - 1.
    upper: Vec<RnnLayer<S, H, H>, L>,
    /// W_o, (H).
    pub output: SVector<S, H>,
    layer_input: LayerInput,
}

impl<S: Scalar, const X: usize, const H: usize, const L: usize> Rnn<S, X, H, L> {
    /// Returns a network of zeros.
    pub fn zeros(layer_input: LayerInput) -> Self {
        const {
            assert!(X >= 1 && H >= 1 && L >= 1, "a network has inputs, units and layers");
        }
        let upper = (1..L).map(|_| RnnLayer::ZERO).collect();
        Rnn { first: RnnLayer::ZERO, upper, output: zeros(), layer_input }
    }

    /// Draws the parameters of one lane from U(-1/sqrt(h), 1/sqrt(h)), all of them: PyTorch's
    /// initialisation of recurrent and of linear layers (the paper does not state one).
    pub fn initialise_lane(&mut self, lane: usize, rng: &mut Rng) {
        let bound = <S::Element as Scalar>::from_count(H as u64);
        let bound = <S::Element as Scalar>::ONE / Scalar::sqrt(bound);
        for x in self.slices_mut().flatten() {
            x.set_lane(lane, rng.uniform_in(-bound, bound));
        }
    }

    /// Returns the input of the layers above the first.
    pub fn layer_input(&self) -> LayerInput {
        self.layer_input
    }

    /// Layers 1 to L - 1.
    pub fn upper(&self) -> &[RnnLayer<S, H, H>] {
        &self.upper
    }

    /// [`Rnn::upper`], to be changed.
    pub fn upper_mut(&mut self) -> &mut [RnnLayer<S, H, H>] {
        &mut self.upper
    }

    /// Returns all parameters: W_ax^(0), W_aa^(0), b^(0), W_ax^(1), ..., W_o, each column by column.
    pub fn slices(&self) -> impl Iterator<Item = &[S]> {
        let layers = self.first.slices().into_iter();
        let layers = layers.chain(self.upper.iter().flat_map(RnnLayer::slices));
        layers.chain([self.output.as_slice()])
    }

    /// [`Rnn::slices`], to be changed.
    pub fn slices_mut(&mut self) -> impl Iterator<Item = &mut [S]> {
        let layers = self.first.slices_mut().into_iter();
        let layers = layers.chain(self.upper.iter_mut().flat_map(RnnLayer::slices_mut));
        layers.chain([self.output.as_mut_slice()])
    }

    /// Returns the hidden states after one more token. `before` and the result hold one state per layer.
    pub fn step(&self, before: &[[S; H]; L], token: &[S; X]) -> [[S; H]; L] {
        let mut after = [[S::ZERO; H]; L];
        step(self, before, token, &mut after);
        after
    }

    /// v = <W_o, a^(L-1)>.
    #[inline(always)]
    pub fn output(&self, hidden: &[[S; H]; L]) -> S {
        crate::linalg::dot_arrays(&self.output.data.0[0], &hidden[L - 1])
    }

    /// Returns the value of the last token, the query, after all tokens; from hidden states of 0.
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
    fn step as Step<'a, S: Scalar, const X: usize, const H: usize, const L: usize>(
        rnn: &'a Rnn<S, X, H, L>,
        before: &'a [[S; H]; L],
        token: &'a [S; X],
        after: &'a mut [[S; H]; L],
    ) {
        after[0] = rnn.first.forward(token, &before[0]);
        for (l, layer) in (1..L).zip(&rnn.upper) {
            let below = match rnn.layer_input {
                LayerInput::Current => after[l - 1],
                LayerInput::Delayed => before[l - 1],
            };
            after[l] = layer.forward(&below, &before[l]);
        }
    }
}
