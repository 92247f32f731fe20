use super::linear_batch::batch_gradient;
use super::work::{ParameterSet, Shape, VECTORS, Work, layer_matrices, load, matrices, unload};
use super::{Network, Parameters, Targets, TransformerNetwork, Window, Windows};
use crate::gradient::linear::Tape;
use crate::layer::Layer;
use crate::linalg::dot;
use crate::linalg::padded::Size;
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
    fn value(&mut self, window: &Window<S, D>) -> S {
        let readout = self.transformer.readout(&window.statistic());
        -dot(&readout, &window.query_token())
    }

    fn value_and_gradient(
        &mut self,
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

    fn sliding_batch_gradient(
        &mut self,
        windows: &Windows<S, D>,
        targets: Targets<S>,
        gradient: &mut Self::Parameters,
    ) -> S {
        // Of these calls each kind of number has one.
        match const { Size::of::<S>(K).rows } {
            8 => batch_gradient_on_stack::<S, D, K, C, L, 8>(self, windows, targets, gradient),
            16 => batch_gradient_on_stack::<S, D, K, C, L, 16>(self, windows, targets, gradient),
            24 => batch_gradient_on_stack::<S, D, K, C, L, 24>(self, windows, targets, gradient),
            _ => batch_gradient_on_stack::<S, D, K, C, L, K>(self, windows, targets, gradient),
        }
    }
}

/// The batch's gradient, computed on the stack; R is the length of a padded column.
fn batch_gradient_on_stack<
    S: Scalar,
    const D: usize,
    const K: usize,
    const C: usize,
    const L: usize,
    const R: usize,
>(
    network: &LinearNetwork<S, D, K, C, L>,
    windows: &Windows<S, D>,
    targets: Targets<S>,
    gradient: &mut Transformer<Layer<S, K>, C>,
) -> S {
    // R < K in arms that are never taken, but compiled.
    const { assert!(layer_matrices::<S>() <= 4 && matrices::<S>() <= 7) };
    let transformer = &network.transformer;
    let (stored, depth) = (transformer.layers().len(), transformer.depth());
    let size = Size { k: K, rows: R, known: false };
    let parameters = ParameterSet::Full;
    let shape = Shape { size, stored, depth, lambda: None, prior_count: None, parameters };
    let mut layers = [[[[S::ZERO; R]; K]; 4]; C];
    let mut sums = [[[[S::ZERO; R]; K]; 2]; C];
    let mut steps = [[[[S::ZERO; R]; K]; 3]; L];
    let mut columns = [[S::ZERO; R]; L];
    let mut scratch = [[[S::ZERO; R]; K]; 7];
    let mut vectors = [[S::ZERO; R]; VECTORS];
    let layers = &mut layers.as_flattened_mut().as_flattened_mut().as_flattened_mut()
        [..stored * layer_matrices::<S>() * size.matrix()];
    let sums = &mut sums.as_flattened_mut().as_flattened_mut().as_flattened_mut()
        [..stored * 2 * size.matrix()];
    load(&shape, layers, transformer.slices());
    let work = Work {
        layers,
        sums,
        steps: steps.as_flattened_mut().as_flattened_mut().as_flattened_mut(),
        columns: columns.as_flattened_mut(),
        matrices: scratch.as_flattened_mut().as_flattened_mut(),
        vectors: vectors.as_flattened_mut(),
    };
    let loss = batch_gradient::<S, D, false>(shape, work, windows, targets);
    unload(&shape, sums, gradient.slices_mut());
    loss
}
