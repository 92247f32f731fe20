//! Two heads of linear attention in training: the transformer of average-reward TD.

mod pass;

use super::any_linear::{Numbers, check_shape, has_room};
use super::transformer_network::{deviation, initial_gain};
use super::{Network, Parameters, Storage, Targets, Window, Windows};
use crate::error::Error;
use crate::layer::{LayerParameters as _, TwoHeadLayer};
use crate::linalg::padded::Size;
use crate::rng::Rng;
use crate::scalar::Scalar;
use crate::transformer::Transformer;
use core::marker::PhantomData;
use pass::{Pass, Shape, batch_gradient};

/// The transformer of average-reward TD (eq. "Z two-head update") in training, of any number of features d <= D and
/// layers L, stored once or one for each. Its tokens (phi; phi'; R; 0) have K = 2d + 2 numbers, the last of which is
/// memory; its values are differential, so that windows' discounts are for nothing. All of P, Q and W of both heads
/// is trained.
///
/// ```
/// use ictd_core::rng::Rng;
/// use ictd_core::training::{Network, Parameters, TwoHeads};
///
/// // Two features, three layers that share their parameters.
/// let mut network = TwoHeads::<f32, Vec<f32>, 2>::new(2, 1, 3, |len| vec![0.0; len])?;
/// network.initialise_lane(0, &mut Rng::new(1));
/// assert_eq!(network.parameters().numbers().count(), 6 * 6 * 6);
/// # Ok::<(), ictd_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TwoHeads<S, B, const D: usize> {
    shape: Shape,
    parameters: Numbers<B>,
    work: B,
    numbers: PhantomData<S>,
}

impl<S: Scalar, B: Storage<S>, const D: usize> TwoHeads<S, B, D> {
    /// `depth` layers for tokens of `dim` features: one stored layer of zeros that they share, or one for each.
    /// `zeros` makes room for so many numbers.
    ///
    /// # Errors
    /// [`Error::CapacityExceeded`] unless 1 <= `dim` <= D; [`Error::Empty`] for depth 0;
    /// [`Error::OutOfRange`] if there is less room than asked for, or `stored` is neither 1 nor `depth`.
    pub fn new(
        dim: usize,
        stored: usize,
        depth: usize,
        zeros: impl Fn(usize) -> B,
    ) -> Result<Self, Error> {
        check_shape::<D>(dim, stored, depth)?;
        let shape = Shape { size: Size::of::<S>(2 * dim + 2), stored, depth };
        let (len, of_work) = (stored * shape.layer(), shape.work::<S>());
        let (numbers, work) = (zeros(len), zeros(of_work));
        has_room([(&numbers, len), (&work, of_work)])?;
        Ok(TwoHeads { shape, parameters: Numbers { numbers, len }, work, numbers: PhantomData })
    }

    /// L.
    pub fn depth(&self) -> usize {
        self.shape.depth
    }

    /// The network of one lane.
    ///
    /// # Errors
    /// As [`TwoHeads::new`].
    pub fn alone<C: Storage<S::Element>>(
        &self,
        lane: usize,
        zeros: impl Fn(usize) -> C,
    ) -> Result<TwoHeads<S::Element, C, D>, Error> {
        let Shape { stored, depth, .. } = self.shape;
        let mut alone = TwoHeads::<S::Element, C, D>::new(self.dim(), stored, depth, zeros)?;
        for (to, from) in alone.parameters.numbers_mut().zip(self.parameters.numbers()) {
            *to = from.lane(lane);
        }
        Ok(alone)
    }

    /// The transformer that one lane has learned; K = 2d + 2. C is the capacity for stored layers.
    ///
    /// # Errors
    /// [`Error::NonFinite`] if its parameters blew up; [`Error::CapacityExceeded`] for more layers than C;
    /// [`Error::OutOfRange`] for another K.
    pub fn transformer<const K: usize, const C: usize>(
        &self,
        lane: usize,
    ) -> Result<Transformer<TwoHeadLayer<S::Element, K>, C>, Error> {
        if self.shape.size.k != K {
            return Err(Error::OutOfRange { parameter: "K", accepted: "2 d + 2" });
        }
        let mut layers = [TwoHeadLayer::<S::Element, K>::ZERO; C];
        let to = layers.iter_mut().flat_map(|layer| layer.matrices_mut()).flatten();
        for (to, from) in to.zip(self.parameters.numbers()) {
            *to = from.lane(lane);
        }
        Transformer::from_stored(layers, self.shape.stored, self.shape.depth)
    }

    fn pass(&mut self) -> Pass<'_, S> {
        let matrices = self.parameters.of_matrices(self.shape.size.k * self.shape.size.k);
        Pass::new(self.shape, matrices, self.work.as_mut())
    }
}

impl<S: Scalar, B: Storage<S>, const D: usize> Network<S, D> for TwoHeads<S, B, D> {
    type Parameters = Numbers<B>;

    fn parameters(&self) -> &Numbers<B> {
        &self.parameters
    }

    fn parameters_mut(&mut self) -> &mut Numbers<B> {
        &mut self.parameters
    }

    fn dim(&self) -> usize {
        (self.shape.size.k - 2) / 2
    }

    /// Xavier normal with gain 0.1, and 0.1/L if sequential: N(0, (gain sqrt(2 / (rows + columns)))^2), where W is
    /// (K, 2K).
    fn initialise_lane(&mut self, lane: usize, rng: &mut Rng) {
        let Shape { size: Size { k, .. }, stored, .. } = self.shape;
        let deviation = deviation::<S::Element>(initial_gain(stored), k);
        let of_w = deviation * Scalar::sqrt(<S::Element as Scalar>::from_f64(2.0 / 3.0));
        let numbers = &mut self.parameters.numbers.as_mut()[..self.parameters.len];
        for (m, matrix) in numbers.chunks_exact_mut(k * k).enumerate() {
            let deviation = if m % 3 == 2 { of_w } else { deviation };
            for x in matrix {
                x.set_lane(lane, deviation * rng.normal::<S::Element>());
            }
        }
    }

    fn value(&mut self, window: &Window<S, D>) -> S {
        let window = Window { from: window.from.with_dim(Network::<S, D>::dim(self)) };
        self.pass().forward(&window)
    }

    fn value_and_gradient(
        &mut self,
        window: &Window<S, D>,
        adjoint: impl FnOnce(S) -> S,
        gradient: &mut Numbers<B>,
    ) -> S {
        let window = Window { from: window.from.with_dim(Network::<S, D>::dim(self)) };
        let mut pass = self.pass();
        let value = pass.forward(&window);
        pass.backward(adjoint(value));
        pass.finish(&mut gradient.numbers.as_mut()[..gradient.len]);
        value
    }

    fn batch_gradient(
        &mut self,
        windows: &Windows<S, D>,
        targets: Targets<S>,
        gradient: &mut Numbers<B>,
    ) -> S {
        let windows = windows.with_dim(Network::<S, D>::dim(self));
        batch_gradient(
            self.pass(),
            &windows,
            targets,
            &mut gradient.numbers.as_mut()[..gradient.len],
        )
    }
}

#[cfg(test)]
mod tests;
