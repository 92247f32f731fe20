use super::{Network, Parameters, Window};
use crate::rng::Rng;
use crate::rnn::{LayerInput, Rnn, RnnTape};
use crate::scalar::Scalar;

/// The deep recurrent network in training: X = 2 d + 2 inputs (the token and its flag), L layers of H
/// units, contexts of at most N transitions.
#[derive(Clone, Debug, PartialEq)]
pub struct RnnNetwork<S: Scalar, const X: usize, const H: usize, const L: usize, const N: usize> {
    rnn: Rnn<S, X, H, L>,
}

impl<S: Scalar, const X: usize, const H: usize, const L: usize, const N: usize>
    RnnNetwork<S, X, H, L, N>
{
    /// Returns a network of zeros.
    pub fn new(layer_input: LayerInput) -> Self {
        const {
            assert!(X >= 4 && X.is_multiple_of(2), "a token with its flag has X = 2 d + 2 entries");
        }
        RnnNetwork { rnn: Rnn::zeros(layer_input) }
    }

    /// Context token j of a window with its flag, 0.
    #[inline(always)]
    fn token(window: &Window<S>, j: usize) -> [S; X] {
        // The memory row of the average-reward token stands where the flag does, and is 0.
        window.token::<X>(j).data.0[0]
    }

    /// Returns the query with its flag, 1.
    #[inline(always)]
    fn query(window: &Window<S>) -> [S; X] {
        let mut token = window.query_token::<X>().data.0[0];
        token[X - 1] = S::ONE;
        token
    }
}

impl<S: Scalar, const X: usize, const H: usize, const L: usize> Parameters<S> for Rnn<S, X, H, L> {
    fn zeros_like(&self) -> Self {
        Rnn::zeros(self.layer_input())
    }
    fn slices(&self) -> impl Iterator<Item = &[S]> {
        Rnn::slices(self)
    }
    fn slices_mut(&mut self) -> impl Iterator<Item = &mut [S]> {
        Rnn::slices_mut(self)
    }
}

impl<S: Scalar, const X: usize, const H: usize, const L: usize, const N: usize> Network<S>
    for RnnNetwork<S, X, H, L, N>
{
    type Parameters = Rnn<S, X, H, L>;

    fn dim(&self) -> usize {
        X / 2 - 1
    }

    fn parameters(&self) -> &Self::Parameters {
        &self.rnn
    }

    fn parameters_mut(&mut self) -> &mut Self::Parameters {
        &mut self.rnn
    }

    fn context_capacity(&self) -> Option<usize> {
        Some(N)
    }

    /// U(-1/sqrt(h), 1/sqrt(h)).
    fn initialise_lane(&mut self, lane: usize, rng: &mut Rng) {
        self.rnn.initialise_lane(lane, rng);
    }

    /// For windows of any length.
    fn value(&mut self, window: &Window<S>) -> S {
        let mut hidden = [[S::ZERO; H]; L];
        for j in 0..window.context_len() {
            hidden = self.rnn.step(&hidden, &Self::token(window, j));
        }
        self.rnn.output(&self.rnn.step(&hidden, &Self::query(window)))
    }

    /// A window of more than N transitions has value 0 here, and nothing can be learned of it.
    fn value_and_gradient(
        &mut self,
        window: &Window<S>,
        adjoint: impl FnOnce(S) -> S,
        gradient: &mut Self::Parameters,
    ) -> S {
        let mut tape = RnnTape::<S, X, H, L, N>::new();
        let context = (0..window.context_len()).map(|j| Self::token(window, j));
        let Ok(v) = tape.forward(&self.rnn, context, Self::query(window)) else { return S::ZERO };
        tape.backward(&self.rnn, adjoint(v), gradient, |_, _| ());
        v
    }
}
