use super::network::BatchLoss;
use super::{Network, Parameters, Targets, Window, Windows};
use crate::error::Error;
use crate::rng::Rng;
use crate::rnn::{LayerInput, Rnn, RnnTape};
use crate::scalar::Scalar;

/// The deep recurrent network in training: X = 2 D + 2 inputs (the token and its flag), L layers of H
/// units, contexts of at most N transitions.
#[derive(Clone, Debug, PartialEq)]
pub struct RnnNetwork<
    S: Scalar,
    const D: usize,
    const X: usize,
    const H: usize,
    const L: usize,
    const N: usize,
> {
    rnn: Rnn<S, X, H, L>,
}

impl<S: Scalar, const D: usize, const X: usize, const H: usize, const L: usize, const N: usize>
    RnnNetwork<S, D, X, H, L, N>
{
    /// A network of zeros.
    pub fn new(layer_input: LayerInput) -> Self {
        Self::from_rnn(Rnn::zeros(layer_input))
    }

    /// From given parameters.
    pub fn from_rnn(rnn: Rnn<S, X, H, L>) -> Self {
        const {
            assert!(X == 2 * D + 2, "a token with its flag has X = 2 * D + 2 entries");
        }
        RnnNetwork { rnn }
    }

    /// The network of all lanes.
    pub fn rnn(&self) -> &Rnn<S, X, H, L> {
        &self.rnn
    }

    /// Context token j of a window with its flag, 0.
    #[inline(always)]
    fn token(window: &Window<S, D>, j: usize) -> [S; X] {
        // The memory row of the average-reward token stands where the flag does, and is 0.
        window.token::<X>(j).data.0[0]
    }

    /// The value of a window, left on the tape.
    fn forward(
        &self,
        tape: &mut RnnTape<S, X, H, L, N>,
        window: &Window<S, D>,
    ) -> Result<S, Error> {
        let context = (0..window.context_len()).map(|j| Self::token(window, j));
        tape.forward(&self.rnn, context, Self::query(window))
    }

    /// The query with its flag, 1.
    #[inline(always)]
    fn query(window: &Window<S, D>) -> [S; X] {
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

impl<S: Scalar, const D: usize, const X: usize, const H: usize, const L: usize, const N: usize>
    Network<S, D> for RnnNetwork<S, D, X, H, L, N>
{
    type Parameters = Rnn<S, X, H, L>;

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
    fn value(&mut self, window: &Window<S, D>) -> S {
        let mut hidden = [[S::ZERO; H]; L];
        for j in 0..window.context_len() {
            hidden = self.rnn.step(&hidden, &Self::token(window, j));
        }
        self.rnn.output(&self.rnn.step(&hidden, &Self::query(window)))
    }

    /// A window of more than N transitions has value 0 here, and nothing can be learned of it.
    fn value_and_gradient(
        &mut self,
        window: &Window<S, D>,
        adjoint: impl FnOnce(S) -> S,
        gradient: &mut Self::Parameters,
    ) -> S {
        let mut tape = RnnTape::new();
        let Ok(v) = self.forward(&mut tape, window) else { return S::ZERO };
        tape.backward(&self.rnn, adjoint(v), gradient);
        v
    }

    /// On one tape.
    fn sliding_batch_gradient(
        &mut self,
        windows: &Windows<S, D>,
        targets: Targets<S>,
        gradient: &mut Self::Parameters,
    ) -> S {
        let mut tape = RnnTape::new();
        let mut loss = BatchLoss::new(windows, targets);
        for t in loss.times() {
            let Ok(v) = self.forward(&mut tape, &windows.window(t)) else { return S::ZERO };
            if let Some(v_bar) = loss.take(t, v) {
                tape.backward(&self.rnn, v_bar, gradient);
            }
        }
        loss.mean()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::SVector;

    type Small = RnnNetwork<f64, 2, 6, 4, 3, 4>;

    #[test]
    fn a_window_becomes_tokens_with_a_flag_and_its_gradient_descends_the_loss() {
        let mut rng = Rng::new(1);
        let features: [SVector<f64, 2>; 9] =
            core::array::from_fn(|_| SVector::from_fn(|_, _| rng.uniform_in(-1.0, 1.0)));
        let rewards: [f64; 8] = core::array::from_fn(|_| rng.uniform_in(-1.0, 1.0));
        let windows = Windows::new(&features, &rewards, 4, 0.9).unwrap();
        let mut network = Small::new(LayerInput::Current);
        network.initialise_lane(0, &mut rng);
        let window = windows.window(1);
        let mut tokens = [[0.0; 6]; 5];
        for j in 0..4 {
            let (phi, phi_next) = (features[1 + j], 0.9 * features[2 + j]);
            tokens[j] = [phi[0], phi[1], phi_next[0], phi_next[1], rewards[1 + j], 0.0];
        }
        tokens[4] = [features[6][0], features[6][1], 0.0, 0.0, 0.0, 1.0];
        assert_eq!(network.value(&window), network.rnn().value(&tokens));

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
