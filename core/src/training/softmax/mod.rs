//! Softmax attention in training, and what a batch's windows share.

mod first_layer;
mod layers;
mod scores;
mod tape;

use super::network::{BatchLoss, deviation};
use super::{Network, Parameters as _, Targets, Window, Windows, batch_gradient_by_window};
use crate::error::{Error, Result, ensure};
use crate::layer::{Layer, LayerParameters as _};
use crate::rng::Rng;
use crate::scalar::Scalar;
use crate::transformer::Transformer;
use first_layer::FirstLayer;
use tape::Tape;
pub use tape::value_and_query_gradient;

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
    /// Makes a network of a transformer whose numbers are the first parameters, or returns [`Error::CapacityExceeded`] if it
    /// is deeper than L.
    pub fn new(transformer: Transformer<Layer<S, K>, C>) -> Result<Self> {
        const {
            assert!(K % 2 == 1, "a discounted prompt has tokens of size K = 2 * D + 1");
        }
        ensure(transformer.depth() <= L, Error::capacity("layers", L))?;
        Ok(SoftmaxNetwork { transformer })
    }

    /// Makes `depth` layers of zeros: one pair (P, Q) that they share if `stored` is 1, or one for each.
    /// Returns [`Error::Empty`] for depth 0, [`Error::CapacityExceeded`] beyond C or L.
    pub fn zeros(stored: usize, depth: usize) -> Result<Self> {
        if stored == 1 {
            return Self::new(Transformer::autoregressive(Layer::ZERO, depth)?);
        }
        ensure(depth <= L, Error::capacity("layers", L))?;
        Self::new(Transformer::sequential(&[Layer::ZERO; L][..depth])?)
    }

    /// Returns the transformer that one lane has learned, or [`Error::NonFinite`] if its parameters blew up.
    pub fn transformer(&self, lane: usize) -> Result<Transformer<Layer<S::Element, K>, C>> {
        let mut layers = [Layer::ZERO; C];
        for (to, layer) in layers.iter_mut().zip(self.transformer.layers()) {
            *to = layer.lane(lane);
        }
        let stored = self.transformer.layers().len();
        Transformer::from_stored(layers, stored, self.transformer.depth())
    }

    /// Returns TF_L of a window and records it on the tape; `None` if the window has more than N context columns or another
    /// number of features.
    #[inline(always)]
    fn forward(&self, tape: &mut Tape<S, K, L, N>, window: &Window<S>) -> Option<S> {
        let n = window.context_len();
        let fits = window.dim() == K / 2;
        let z = fits.then(|| tape.input(n, self.transformer.depth()))??;
        for (j, column) in z.context[..n].iter_mut().enumerate() {
            *column = window.token::<K>(j).data.0[0];
        }
        z.query = window.query_token::<K>().data.0[0];
        Some(tape.forward(self.transformer.layers(), 0))
    }
}

impl<S: Scalar, const K: usize, const C: usize, const L: usize, const N: usize> Network<S>
    for SoftmaxNetwork<S, K, C, L, N>
{
    type Parameters = Transformer<Layer<S, K>, C>;
    const CONTEXT_CAPACITY: Option<usize> = Some(N);

    fn dim(&self) -> usize {
        K / 2
    }

    fn parameters(&self) -> &Self::Parameters {
        &self.transformer
    }

    fn parameters_mut(&mut self) -> &mut Self::Parameters {
        &mut self.transformer
    }

    /// Draws the parameters in their stored order: Xavier normal with gain 0.1, and 0.1/L if each layer has
    /// its own, N(0, (gain sqrt(2 / (K + K)))^2).
    fn initialise_lane(&mut self, lane: usize, rng: &mut Rng) {
        let deviation = deviation::<S::Element>(0.1 / self.transformer.layers().len() as f64, K);
        for x in self.transformer.numbers_mut() {
            x.set_lane(lane, deviation * rng.normal::<S::Element>());
        }
    }

    /// Returns NaN if the window has more than N context columns or another number of features.
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
        tape.backward(self.transformer.layers(), 0, adjoint(v), gradient.layers_mut());
        v
    }

    /// Records windows that slide on one tape: they share the first layer's scores.
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
        if n > N || windows.dim() != K / 2 {
            return S::from_f64(f64::NAN);
        }
        let (layers, depth) = (self.transformer.layers(), self.transformer.depth());
        let sum = gradient.layers_mut();
        let mut tape = Tape::<S, K, L, N>::new();
        let mut loss = BatchLoss::new(windows, targets);
        let mut first = FirstLayer::new();
        for t in loss.passes() {
            let of = loss.pass(t);
            if depth == 1 {
                let Some(v) = self.forward(&mut tape, &of.window) else { continue };
                if let Some(v_bar) = loss.take(&of, v) {
                    tape.backward(layers, 0, v_bar, sum);
                }
            } else {
                // The tape is of the layers after the first.
                let Some(second) = tape.input(n, depth - 1) else { continue };
                first_layer::forward(&mut first, windows, &layers[0], t, second);
                let v = tape.forward(layers, 1);
                if let Some(v_bar) = loss.take(&of, v) {
                    let x_bar = tape.backward(layers, 1, v_bar, sum);
                    first_layer::backward(&mut first, windows, t, x_bar, &mut sum[0]);
                }
            }
        }
        loss.mean()
    }
}
