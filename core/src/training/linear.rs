use super::linear_batch::batch_gradient;
use super::{AttentionNetwork, AttentionParameters, Network, Targets, Window, Windows};
use crate::gradient::linear::Tape;
use crate::layer::Layer;
use crate::linalg::{dot, padded, zeros};
use crate::rng::Rng;
use crate::scalar::Scalar;
use crate::transformer::Transformer;
use heapless::Vec;

/// Linear attention, as a kind of [`AttentionNetwork`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linear;

/// A linear transformer in training. C is the capacity for stored layers, L for layers in the pass.
pub type LinearNetwork<S, const D: usize, const K: usize, const C: usize, const L: usize> =
    AttentionNetwork<Linear, S, D, K, C, L>;

/// A linear transformer whose layers share one pair (P, Q), of depth at most L.
pub type Autoregressive<S, const D: usize, const K: usize, const L: usize> =
    LinearNetwork<S, D, K, 1, L>;

/// A linear transformer of at most L layers with their own pairs (P_l, Q_l).
pub type Sequential<S, const D: usize, const K: usize, const L: usize> =
    LinearNetwork<S, D, K, L, L>;

impl<S: Scalar, const D: usize, const K: usize, const C: usize, const L: usize>
    LinearNetwork<S, D, K, C, L>
{
    #[inline(always)]
    fn all_lanes(&self) -> Transformer<Layer<S, K>, C> {
        Transformer::unchecked(self.parameters.layers(), self.parameters.stored(), self.depth)
    }
}

impl<S: Scalar, const D: usize, const K: usize, const C: usize, const L: usize> Network<S, D>
    for LinearNetwork<S, D, K, C, L>
{
    type Parameters = AttentionParameters<S, K, C>;

    fn parameters(&self) -> &Self::Parameters {
        &self.parameters
    }

    fn parameters_mut(&mut self) -> &mut Self::Parameters {
        &mut self.parameters
    }

    /// Xavier normal with gain 0.1, and 0.1/L if sequential.
    fn initialise_lane(&mut self, lane: usize, rng: &mut Rng) {
        self.initialise(lane, rng);
    }

    // The simple form, one window at a time: plain TD and the tests use it, no batch does.
    fn value(&self, window: &Window<S, D>) -> S {
        let readout = self.all_lanes().readout(&window.statistic());
        -dot(&readout, &window.query_token())
    }

    fn value_and_gradient(
        &self,
        window: &Window<S, D>,
        adjoint: impl FnOnce(S) -> S,
        gradient: &mut Self::Parameters,
    ) -> S {
        let transformer = self.all_lanes();
        let statistic = window.statistic();
        let Ok(tape) = Tape::<S, K, L>::forward(&transformer, &statistic, &window.query_token())
        else {
            // Not reached: every constructor checks the depth against L.
            return S::ZERO;
        };
        let mut layers: Vec<_, C> = crate::gradient::zero_layers(transformer.layers());
        tape.backward(&transformer, adjoint(tape.value()), &mut layers);
        gradient.add_layers(&layers);
        tape.value()
    }

    fn batch_gradient(
        &self,
        windows: &Windows<S, D>,
        targets: Targets<S>,
        gradient: &mut Self::Parameters,
    ) -> S {
        let LinearNetwork { parameters, depth, .. } = self;
        let layers = parameters.layers();
        let layers = &layers[..parameters.stored()];
        let mut sums = [Layer { p: zeros(), q: zeros() }; C];
        // Of these calls each kind of number has one.
        let loss = match const { padded::rows::<S>(K) } {
            16 => batch_gradient::<S, D, K, C, L, 16>(layers, *depth, windows, targets, &mut sums),
            24 => batch_gradient::<S, D, K, C, L, 24>(layers, *depth, windows, targets, &mut sums),
            _ => batch_gradient::<S, D, K, C, L, K>(layers, *depth, windows, targets, &mut sums),
        };
        gradient.add_layers(&sums);
        loss
    }
}
