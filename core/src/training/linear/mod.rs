//! A linear transformer in training: one type for every number of features and layers, and for TD(lambda)'s masks.

mod batch;
mod pass;
mod shape;

use super::network::deviation;
use super::{Network, Storage, Targets, Window, Windows, batch_gradient_by_window};
use crate::error::{Error, Result, ensure, out_of_range};
use crate::layer::{Layer, LayerParameters};
use crate::rng::Rng;
use crate::scalar::Scalar;
use crate::transformer::Transformer;
use batch::batch_gradient;
use pass::WindowPass;
pub use shape::LinearShape;
use shape::Workspace;

/// A linear transformer in training. B stores its parameters: P_0, Q_0, P_1, ..., (K, K) each with K of
/// [`LinearShape::token_len`], column by column. W is its workspace, which may be borrowed so that a chip copies little.
#[derive(Clone, Debug)]
pub struct LinearNetwork<S: Scalar, B, W = B> {
    shape: LinearShape<S::Element>,
    parameters: B,
    work: W,
}

impl<S: Scalar, B: Storage<S>> LinearNetwork<S, B> {
    /// Returns a network of zeros; `zeros` returns storage for the given number of entries.
    /// Returns the errors of [`LinearNetwork::new`].
    pub fn zeros(shape: LinearShape<S::Element>, zeros: impl Fn(usize) -> B) -> Result<Self> {
        LinearNetwork::new(shape, zeros(shape.parameter_len()), zeros(shape.work_len()))
    }
}

impl<S: Scalar, B: Storage<S>, W: AsRef<[S]> + AsMut<[S]>> LinearNetwork<S, B, W> {
    /// Makes a network of [`LinearShape::parameter_len`] parameters, which computes in `work`, at least
    /// [`LinearShape::work_len`] numbers.
    /// Returns [`Error::OutOfRange`], naming the field of the shape or the argument.
    pub fn new(shape: LinearShape<S::Element>, parameters: B, work: W) -> Result<Self> {
        shape.check()?;
        let fits = parameters.as_ref().len() == shape.parameter_len();
        ensure(fits, out_of_range("parameters", "as many as `LinearShape::parameter_len`"))?;
        let fits = work.as_ref().len() >= shape.work_len();
        ensure(fits, out_of_range("work", "at least as many as `LinearShape::work_len`"))?;
        Ok(LinearNetwork { shape, parameters, work })
    }

    /// Returns the network's shape.
    pub fn shape(&self) -> &LinearShape<S::Element> {
        &self.shape
    }

    /// Returns matrix m of P_0, Q_0, P_1, ..., (K, K), column by column; `None` beyond the last one.
    pub fn matrix(&self, m: usize) -> Option<&[S]> {
        self.parameters.as_ref().chunks_exact(self.shape.matrix_len()).nth(m)
    }

    /// Returns the transformer that one lane has learned, padded with zeros to (K - 1) / 2 features. C is the capacity
    /// for stored layers.
    /// Returns [`Error::NonFinite`] if its parameters blew up; [`Error::CapacityExceeded`] if layers or features do not fit.
    pub fn transformer<const K: usize, const C: usize>(
        &self,
        lane: usize,
    ) -> Result<Transformer<Layer<S::Element, K>, C>> {
        let LinearShape { dim: d, stored, depth, .. } = self.shape;
        let (k, capacity) = (self.shape.token_len(), (K - 1) / 2);
        ensure(stored <= C, Error::capacity("layers", C))?;
        ensure(k <= K, Error::capacity("dim", capacity))?;
        // phi, phi' and r of the small token among those of the large one.
        let place = |i: usize| match i {
            _ if i < d => i,
            _ if i < 2 * d => capacity + i - d,
            _ => 2 * capacity,
        };
        let mut layers = [Layer::ZERO; C];
        let rooms =
            layers.iter_mut().flat_map(|layer: &mut Layer<S::Element, K>| layer.matrices_mut());
        let mut numbers = self.parameters.as_ref().iter();
        for to in rooms {
            for j in 0..k {
                for (i, x) in (0..k).zip(numbers.by_ref()) {
                    if let Some(to) = to.get_mut(place(j) * K + place(i)) {
                        *to = x.lane(lane);
                    }
                }
            }
        }
        Transformer::from_stored(layers, stored, depth)
    }

    fn pass(&mut self, window: &Window<S>) -> Result<WindowPass<'_, S>> {
        self.check(window)?;
        let LinearNetwork { shape, parameters, work } = self;
        Ok(WindowPass::new(shape, parameters.as_ref(), work.as_mut(), window))
    }
}

impl<S: Scalar, B: Storage<S>, W: AsRef<[S]> + AsMut<[S]>> Network<S> for LinearNetwork<S, B, W> {
    type Parameters = B;

    fn parameters(&self) -> &B {
        &self.parameters
    }

    fn parameters_mut(&mut self) -> &mut B {
        &mut self.parameters
    }

    fn dim(&self) -> usize {
        self.shape.dim
    }

    /// Draws Xavier normal numbers with the shape's gain, N(0, (gain sqrt(2 / (rows + columns)))^2).
    fn initialise_lane(&mut self, lane: usize, rng: &mut Rng) {
        let deviation = deviation::<S::Element>(self.shape.gain, self.shape.token_len());
        for x in self.parameters.as_mut() {
            x.set_lane(lane, deviation * rng.normal::<S::Element>());
        }
    }

    fn value(&mut self, window: &Window<S>) -> Result<S> {
        self.pass(window).map(WindowPass::value)
    }

    fn value_and_gradient(
        &mut self,
        window: &Window<S>,
        adjoint: impl FnOnce(S) -> S,
        gradient: &mut B,
    ) -> Result<S> {
        let mut pass = self.pass(window)?;
        let value = pass.forward();
        pass.backward(adjoint(value), gradient.as_mut());
        Ok(value)
    }

    /// Computes sliding windows together (module `batch`), and growing ones one by one.
    fn batch_gradient(
        &mut self,
        windows: &Windows<S>,
        targets: Targets<S>,
        gradient: &mut B,
    ) -> Result<S> {
        if !windows.slide() {
            return batch_gradient_by_window(self, windows, targets, gradient);
        }
        self.check(windows)?;
        let LinearNetwork { shape, parameters, work } = self;
        let work = Workspace::load(shape, parameters.as_ref(), work.as_mut());
        Ok(batch_gradient(shape, work, windows, targets, gradient.as_mut()))
    }
}
