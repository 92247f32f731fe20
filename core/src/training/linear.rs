use super::linear_batch::batch_gradient;
use super::{Network, Targets, TransformerNetwork, Window, Windows};
use crate::gradient::linear::Tape;
use crate::layer::Layer;
use crate::linalg::{dot, padded};
use crate::rng::Rng;
use crate::scalar::Scalar;
use crate::transformer::Transformer;

/// Linear attention, as a kind of [`TransformerNetwork`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linear;

/// A linear transformer in training. C is the capacity for stored layers, L for layers in the pass.
pub type LinearNetwork<S, const D: usize, const K: usize, const C: usize, const L: usize> =
    TransformerNetwork<Linear, S, D, K, C, L>;

/// A linear transformer whose layers share one pair (P, Q), of depth at most L.
pub type Autoregressive<S, const D: usize, const K: usize, const L: usize> =
    LinearNetwork<S, D, K, 1, L>;

/// A linear transformer of at most L layers with their own pairs (P_l, Q_l).
pub type Sequential<S, const D: usize, const K: usize, const L: usize> =
    LinearNetwork<S, D, K, L, L>;

impl<S: Scalar, const D: usize, const K: usize, const C: usize, const L: usize> Network<S, D>
    for LinearNetwork<S, D, K, C, L>
{
    type Parameters = Transformer<Layer<S, K>, C>;

    fn parameters(&self) -> &Self::Parameters {
        &self.transformer
    }

    fn parameters_mut(&mut self) -> &mut Self::Parameters {
        &mut self.transformer
    }

    /// Xavier normal with gain 0.1, and 0.1/L if sequential.
    fn initialise_lane(&mut self, lane: usize, rng: &mut Rng) {
        self.initialise(lane, rng);
    }

    // The simple form, one window at a time: plain TD and the tests use it, no batch does.
    fn value(&self, window: &Window<S, D>) -> S {
        let readout = self.transformer.readout(&window.statistic());
        -dot(&readout, &window.query_token())
    }

    fn value_and_gradient(
        &self,
        window: &Window<S, D>,
        adjoint: impl FnOnce(S) -> S,
        gradient: &mut Self::Parameters,
    ) -> S {
        let statistic = window.statistic();
        let query = window.query_token();
        let tape = Tape::<S, K, L>::forward(&self.transformer, &statistic, &query);
        tape.backward(&self.transformer, adjoint(tape.value()), gradient.layers_mut());
        tape.value()
    }

    fn batch_gradient(
        &self,
        windows: &Windows<S, D>,
        targets: Targets<S>,
        gradient: &mut Self::Parameters,
    ) -> S {
        let (stored, depth) = (self.transformer.layers(), self.transformer.depth());
        let gradient = gradient.layers_mut();
        // Of these calls each kind of number has one.
        match const { padded::rows::<S>(K) } {
            16 => batch_gradient::<S, D, K, C, L, 16>(stored, depth, windows, targets, gradient),
            24 => batch_gradient::<S, D, K, C, L, 24>(stored, depth, windows, targets, gradient),
            _ => batch_gradient::<S, D, K, C, L, K>(stored, depth, windows, targets, gradient),
        }
    }
}
