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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::training::{Targets, Windows};

    type Small = RnnNetwork<f64, 6, 4, 3, 4>;

    #[test]
    fn a_window_becomes_tokens_with_a_flag_and_its_gradient_descends_the_loss() {
        let mut rng = Rng::new(1);
        let features: [[f64; 2]; 9] =
            core::array::from_fn(|_| core::array::from_fn(|_| rng.uniform_in(-1.0, 1.0)));
        let rewards: [f64; 8] = core::array::from_fn(|_| rng.uniform_in(-1.0, 1.0));
        let windows = Windows::new(2, features.as_flattened(), &rewards, 4, 0.9).unwrap();
        let mut network = Small::new(LayerInput::Current);
        network.initialise_lane(0, &mut rng);
        let window = windows.window(1);
        let mut tokens = [[0.0; 6]; 5];
        for j in 0..4 {
            let (phi, phi_next) = (features[1 + j], features[2 + j].map(|x| 0.9 * x));
            tokens[j] = [phi[0], phi[1], phi_next[0], phi_next[1], rewards[1 + j], 0.0];
        }
        tokens[4] = [features[6][0], features[6][1], 0.0, 0.0, 0.0, 1.0];
        assert_eq!(network.value(&window), network.parameters().value(&tokens));

        let targets = [0.3, -0.2, 0.1];
        let mut gradient = network.parameters().zeros_like();
        let given = Targets::Given(&targets);
        let loss = network.batch_gradient(&windows, given, &mut gradient);
        let mut moved = network.clone();
        for (x, g) in moved.parameters_mut().numbers_mut().zip(gradient.numbers()) {
            *x -= 1e-3 * g;
        }
        let squares: f64 = gradient.numbers().map(|g| g * g).sum();
        let after = moved.batch_gradient(&windows, given, &mut gradient);
        let predicted = loss - 1e-3 * squares;
        assert!((after - predicted).abs() < 0.05 * (loss - after), "{loss} {after} {predicted}");
    }
}
