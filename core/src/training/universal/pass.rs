//! Contexts side by side, forwards and back.

use super::judged::Judged;
use super::{LENGTHS, S};
use crate::context::{Context, Window};
use crate::error::Error;
use crate::gradient::equivariant::Tape;
use crate::layer::{EquivariantLayer, LayerParameters, UniversalLayer};
use crate::mask::TdLambda;
use crate::model::UniversalModel;
use crate::normalised::{self, Normalised, Unnormalised, Whole};
use crate::scalar::Scalar;
use crate::transformer::Transformer;
use crate::value_function::within;
use crate::vector::Vector;

/// Contexts of one task, side by side.
pub(super) struct Contexts<const D: usize> {
    pub(super) unnormalised: Unnormalised<S, D>,
    pub(super) n: S,
    pub(super) reach: [S; D],
}

impl<const D: usize> Contexts<D> {
    pub(super) const ZERO: Self = Contexts {
        unnormalised: Unnormalised::ZERO,
        n: <S as Scalar>::ZERO,
        reach: [<S as Scalar>::ZERO; D],
    };

    pub(super) fn set_lane<W: Window<f32>>(
        &mut self,
        lane: usize,
        context: &Context<D, TdLambda, W>,
        gamma: f32,
    ) -> Result<(), Error> {
        let of_lane = context.read_to(gamma, 0, Whole)?;
        self.unnormalised.set_lane(lane, &of_lane);
        self.n.set_lane(lane, context.weight());
        let reach = normalised::reach(of_lane.root_mean_squares(context.weight()));
        for (to, from) in self.reach.iter_mut().zip(reach) {
            to.set_lane(lane, from);
        }
        Ok(())
    }
}

/// A forward pass over contexts, with what the way back needs.
pub(super) struct Pass<const D: usize, const M: usize, const C: usize> {
    pub(super) statistic: Normalised<S, D>,
    pub(super) share: S,
    pub(super) layers: Transformer<EquivariantLayer<S>, C>,
    pub(super) tape: Tape<S, D, C>,
    /// The features of the judged states, within reach.
    pub(super) features: [[S; D]; M],
    pub(super) values: [S; M],
    /// e of each context.
    pub(super) error: S,
}

impl<const D: usize, const M: usize, const C: usize> Pass<D, M, C> {
    pub(super) fn forward(
        transformer: &Transformer<UniversalLayer<S>, C>,
        contexts: &Contexts<D>,
        judged: &Judged<D, M>,
    ) -> Self {
        let prior_count = S::from_f64(UniversalModel::<f32>::PRIOR_COUNT);
        let statistic = Normalised::new(&contexts.unnormalised, contexts.n, prior_count);
        let d = statistic.features_seen();
        let share = d / (contexts.n + d);
        let layers = transformer.at(share);
        let tape = Tape::<S, D, C>::forward(&layers, &statistic);
        let mut weights = tape.weights();
        statistic.denormalise(&mut weights);
        let (mut values, mut features) = ([S::ZERO; M], [[S::ZERO; D]; M]);
        let mut error = S::ZERO;
        for s in 0..judged.len {
            features[s] = within(&judged.features[s], &contexts.reach);
            values[s] = features[s].dot(&weights);
            let difference = values[s] - judged.value[s];
            error += judged.weight[s] * (difference * difference);
        }
        Pass { statistic, share, layers, tape, features, values, error }
    }

    /// Adds the gradient of each context's e, with targets in the place of the values, times a factor and over the
    /// number of lengths.
    pub(super) fn backward(
        &self,
        judged: &Judged<D, M>,
        targets: &[S; M],
        factor: S,
        gradient: &mut Transformer<UniversalLayer<f32>, C>,
    ) {
        let mut w_bar = [S::ZERO; D];
        for s in 0..judged.len {
            let weight = judged.weight[s];
            let v_bar = (weight + weight) * (self.values[s] - targets[s]);
            w_bar.add_scaled(v_bar, &self.features[s]);
        }
        for w in &mut w_bar {
            *w *= factor;
        }
        self.statistic.adjoint_of_denormalise(&mut w_bar);
        let mut of_layers = [EquivariantLayer::ZERO; C];
        self.tape.backward(&self.layers, &w_bar, &mut of_layers);
        for (to, from) in gradient.layers_mut().iter_mut().zip(&of_layers) {
            let mut of_layer = UniversalLayer::ZERO;
            of_layer.add_adjoint(self.share, from);
            for (to, from) in to.matrices_mut().zip(of_layer.matrices()) {
                for (to, from) in to.iter_mut().zip(from) {
                    for lane in 0..S::LANES {
                        // A context that blew up teaches nothing.
                        if from.lane(lane).is_finite() {
                            *to += (1.0 / LENGTHS as f32) * from.lane(lane);
                        }
                    }
                }
            }
        }
    }
}
