mod first_layer;

use super::network::BatchLoss;
use super::parameters::deviation;
use super::{Network, Parameters as _, Targets, Window, Windows, batch_gradient_by_window};
use crate::error::Error;
use crate::gradient::softmax::Tape;
use crate::layer::{Layer, LayerParameters as _};
use crate::rng::Rng;
use crate::scalar::Scalar;
use crate::transformer::Transformer;
use first_layer::FirstLayer;

/// A softmax transformer in training, on tokens of size K = 2 d + 1. C is the capacity for stored layers, L for layers
/// in the pass, N for context columns.
///
/// A batch needs a tape of the layers and the rows of the first, O(N^2 + K N) numbers each, on the stack.
#[derive(Clone, Debug, PartialEq)]
pub struct SoftmaxNetwork<S: Scalar, const K: usize, const C: usize, const L: usize, const N: usize>
{
    transformer: Transformer<Layer<S, K>, C>,
}

impl<S: Scalar, const K: usize, const C: usize, const L: usize, const N: usize>
    SoftmaxNetwork<S, K, C, L, N>
{
    /// Makes a network of a transformer whose numbers are the first parameters.
    ///
    /// # Errors
    /// [`Error::CapacityExceeded`] if it is deeper than L.
    pub fn new(transformer: Transformer<Layer<S, K>, C>) -> Result<Self, Error> {
        const {
            assert!(K % 2 == 1, "a discounted prompt has tokens of size K = 2 * D + 1");
        }
        if transformer.depth() > L {
            return Err(Error::CapacityExceeded { parameter: "layers", capacity: L });
        }
        Ok(SoftmaxNetwork { transformer })
    }

    /// Makes `depth` layers of zeros: one pair (P, Q) that they share if `stored` is 1, or one for each.
    ///
    /// # Errors
    /// [`Error::Empty`] for depth 0, [`Error::CapacityExceeded`] beyond C or L.
    pub fn zeros(stored: usize, depth: usize) -> Result<Self, Error> {
        if stored == 1 {
            return Self::new(Transformer::autoregressive(Layer::ZERO, depth)?);
        }
        let layers = [Layer::ZERO; C];
        let layers = layers.get(..depth);
        let refused = Error::CapacityExceeded { parameter: "layers", capacity: C };
        Self::new(Transformer::sequential(layers.ok_or(refused)?)?)
    }

    /// Returns the transformer that one lane has learned.
    ///
    /// # Errors
    /// [`Error::NonFinite`] if its parameters blew up.
    pub fn transformer(&self, lane: usize) -> Result<Transformer<Layer<S::Element, K>, C>, Error> {
        let mut layers = [Layer::ZERO; C];
        for (to, layer) in layers.iter_mut().zip(self.transformer.layers()) {
            *to = layer.lane(lane);
        }
        let stored = self.transformer.layers().len();
        Transformer::from_stored(layers, stored, self.transformer.depth())
    }

    /// TF_L of a window, left on the tape; none if the window has more than N context columns.
    #[inline(always)]
    fn forward(&self, tape: &mut Tape<S, K, L, N>, window: &Window<S>) -> Option<S> {
        let n = window.context_len();
        debug_assert!(n <= N, "{n} context columns on a tape for {N}");
        if window.dim() != K / 2 {
            return None;
        }
        let z = tape.input(n, self.transformer.depth()).ok()?;
        for (j, column) in z.context[..n].iter_mut().enumerate() {
            *column = window.token::<K>(j).data.0[0];
        }
        z.query = window.query_token::<K>().data.0[0];
        Some(tape.forward::<false>(self.transformer.layers(), 0))
    }
}

impl<S: Scalar, const K: usize, const C: usize, const L: usize, const N: usize> Network<S>
    for SoftmaxNetwork<S, K, C, L, N>
{
    type Parameters = Transformer<Layer<S, K>, C>;

    fn dim(&self) -> usize {
        K / 2
    }

    fn parameters(&self) -> &Self::Parameters {
        &self.transformer
    }

    fn parameters_mut(&mut self) -> &mut Self::Parameters {
        &mut self.transformer
    }

    fn context_capacity(&self) -> Option<usize> {
        Some(N)
    }

    /// Draws the numbers in the order in which they are stored: Xavier normal with gain 0.1, and 0.1/L if each layer has
    /// its own, N(0, (gain sqrt(2 / (K + K)))^2).
    fn initialise_lane(&mut self, lane: usize, rng: &mut Rng) {
        let deviation = deviation::<S::Element>(0.1 / self.transformer.layers().len() as f64, K);
        for x in self.transformer.numbers_mut() {
            x.set_lane(lane, deviation * rng.normal::<S::Element>());
        }
    }

    /// NaN for a window of more than N context columns, or of other features, of which nothing can be learned.
    fn value(&mut self, window: &Window<S>) -> S {
        self.forward(&mut Tape::new(), window).unwrap_or(S::from_f64(f64::NAN))
    }

    fn value_and_gradient(
        &mut self,
        window: &Window<S>,
        adjoint: impl FnOnce(S) -> S,
        gradient: &mut Self::Parameters,
    ) -> S {
        let mut tape = Tape::new();
        let Some(v) = self.forward(&mut tape, window) else { return S::from_f64(f64::NAN) };
        tape.backward::<false>(self.transformer.layers(), 0, adjoint(v), gradient.layers_mut());
        v
    }

    /// Windows that slide are recorded on one tape: they share the first layer's scores.
    fn batch_gradient(
        &mut self,
        windows: &Windows<S>,
        targets: Targets<S>,
        gradient: &mut Self::Parameters,
    ) -> S {
        if !windows.slide() {
            return batch_gradient_by_window(self, windows, targets, gradient);
        }
        let n = windows.context_len();
        debug_assert!(n <= N, "{n} context columns on a tape for {N}");
        if n > N || windows.dim() != K / 2 {
            return S::from_f64(f64::NAN);
        }
        let (layers, depth) = (self.transformer.layers(), self.transformer.depth());
        let sum = gradient.layers_mut();
        let mut tape = Tape::<S, K, L, N>::new();
        let mut loss = BatchLoss::new(windows, targets);
        if depth == 1 {
            for t in loss.passes() {
                let Some(v) = self.forward(&mut tape, &windows.window(t)) else { continue };
                if let Some(v_bar) = loss.take(t, v) {
                    tape.backward::<false>(layers, 0, v_bar, sum);
                }
            }
        } else {
            // The tape is of the layers after the first.
            let mut first = FirstLayer::new();
            for t in loss.passes() {
                let Ok(second) = tape.input(n, depth - 1) else { continue };
                first.forward(windows, &layers[0], t, second);
                let v = tape.forward::<true>(layers, 1);
                if let Some(v_bar) = loss.take(t, v) {
                    let x_bar = tape.backward::<true>(layers, 1, v_bar, sum);
                    first.backward(windows, t, x_bar, &mut sum[0]);
                }
            }
        }
        loss.mean()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::training::tests::random_windows;

    type Network3<S> = SoftmaxNetwork<S, 5, 3, 3, 6>;

    #[test]
    fn a_batch_is_its_windows_one_by_one() {
        let mut rng = Rng::new(1);
        let (features, rewards) = random_windows::<f64>(&mut rng);
        let given = [0.5, -1.0, 0.25, 0.0, 2.0, 1.0, -0.5, 0.75, 1.5, 0.1];
        // Contexts shorter and longer than the batch, in and beyond whole tiles of rows.
        for (n, depth, stored) in [(5, 3, 1), (1, 3, 1), (6, 2, 2), (4, 1, 1), (3, 3, 3), (6, 3, 1)]
        {
            let windows = Windows::new(2, features.as_flattened(), &rewards, n, 0.9).unwrap();
            let mut network = Network3::<f64>::zeros(stored, depth).unwrap();
            network.initialise_lane(0, &mut rng);
            network.parameters_mut().numbers_mut().for_each(|x| *x *= 20.0 * stored as f64);
            for targets in [Targets::Bootstrapped, Targets::Given(&given)] {
                let mut together = network.parameters().zeros_like();
                let mut one_by_one = together.clone();
                let loss = network.batch_gradient(&windows, targets, &mut together);
                let want =
                    batch_gradient_by_window(&mut network, &windows, targets, &mut one_by_one);
                assert!((loss - want).abs() < 1e-13 * want, "{n} {depth} {stored}");
                for (a, b) in together.numbers().zip(one_by_one.numbers()) {
                    assert!((a - b).abs() < 1e-12, "{n} {depth} {stored}: {a} {b}");
                }
            }
        }
    }

    #[test]
    fn a_network_that_blows_up_stays_finite() {
        let mut rng = Rng::new(3);
        let (features, rewards) = random_windows::<f32>(&mut rng);
        let windows = Windows::new(2, features.as_flattened(), &rewards, 5, 0.9).unwrap();
        let mut network = Network3::<f32>::zeros(1, 3).unwrap();
        // Scores in the tens, where each window is still itself; then in the thousands, where all but one
        // exponential of a row are at the lower end.
        for (size, same) in [(30.0, true), (3000.0, false)] {
            for (m, size) in network.parameters_mut().slices_mut().zip([0.1, size]) {
                m.fill_with(|| size * rng.uniform_in(-1.0, 1.0));
            }
            let mut together = network.parameters().zeros_like();
            let mut one_by_one = together.clone();
            let targets = Targets::Bootstrapped;
            let loss = network.batch_gradient(&windows, targets, &mut together);
            let want = batch_gradient_by_window(&mut network, &windows, targets, &mut one_by_one);
            assert!(loss.is_finite() && together.numbers().all(|g| g.is_finite()));
            assert!(!same || (loss - want).abs() < 1e-5 * want, "{loss} {want}");
        }
    }
}
