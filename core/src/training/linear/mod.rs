//! A linear transformer in training: one type for every number of features and layers, one head or two, any mask.

mod batch;
mod pass;
mod shape;
mod two_heads;
mod window_statistic;
mod workspace;

use super::network::deviation;
use super::{Network, Parameters, Targets, Window, Windows, batch_gradient_by_window};
use crate::error::Error;
use crate::layer::{Layer, LayerParameters, ParameterSet};
use crate::rng::Rng;
use crate::scalar::{Real, Scalar};
use crate::transformer::Transformer;
use batch::batch_gradient;
use core::fmt::Debug;
use pass::WindowPass;
pub use shape::LinearShape;
use workspace::Workspace;

/// Where a network keeps its numbers: an array or, where there is a heap, a `Vec`.
pub trait Storage<S>: AsRef<[S]> + AsMut<[S]> + Clone + Debug {}

impl<S, B: AsRef<[S]> + AsMut<[S]> + Clone + Debug> Storage<S> for B {}

/// A linear transformer in training. B stores its trained numbers; W is the memory that it computes in, which may be
/// borrowed: a chip then moves little.
#[derive(Clone, Debug)]
pub struct LinearNetwork<S: Scalar, B, W = B> {
    shape: LinearShape<S::Element>,
    parameters: LinearParameters<B>,
    work: W,
}

/// The trained numbers of a network: P_0, Q_0, P_1, ... ([`LinearShape::token_len`] squared each, column by
/// column), of two heads P, Q, W of each; or five for each of them ([`ParameterSet`]).
#[derive(Clone, Debug, PartialEq)]
pub struct LinearParameters<B> {
    numbers: B,
    len: usize,
}

impl<B> LinearParameters<B> {
    fn all<S>(&self) -> &[S]
    where
        B: AsRef<[S]>,
    {
        &self.numbers.as_ref()[..self.len]
    }

    fn all_mut<S>(&mut self) -> &mut [S]
    where
        B: AsMut<[S]>,
    {
        &mut self.numbers.as_mut()[..self.len]
    }
}

impl<S: Scalar, B: Storage<S>> Parameters<S> for LinearParameters<B> {
    fn slices(&self) -> impl Iterator<Item = &[S]> {
        core::iter::once(self.all())
    }

    fn slices_mut(&mut self) -> impl Iterator<Item = &mut [S]> {
        core::iter::once(self.all_mut())
    }
}

impl<S: Scalar, B: Storage<S>> LinearNetwork<S, B> {
    /// Makes a network of zeros in storage of one kind, of which `zeros` makes as much as it is asked for.
    ///
    /// # Errors
    /// As [`LinearNetwork::new`].
    pub fn zeros(
        shape: LinearShape<S::Element>,
        zeros: impl Fn(usize) -> B,
    ) -> Result<Self, Error> {
        LinearNetwork::new(shape, zeros(shape.parameter_len()), zeros(shape.work_len()))
    }
}

impl<R: Real> LinearShape<R> {
    /// Returns how many numbers a network needs to compute in.
    pub fn work_len(&self) -> usize {
        if self.heads == 2 { two_heads::work_len(self) } else { workspace::len(self) }
    }
}

impl<S: Scalar, B: Storage<S>, W: AsRef<[S]> + AsMut<[S]>> LinearNetwork<S, B, W> {
    /// Makes a network whose trained numbers are the first [`LinearShape::parameter_len`] of `numbers`, and that
    /// computes in `work`, [`LinearShape::work_len`] numbers.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], naming the part of the shape that is not as [`LinearShape`] says, or `room` if there are
    /// less numbers than that.
    pub fn new(shape: LinearShape<S::Element>, numbers: B, work: W) -> Result<Self, Error> {
        shape.check()?;
        let len = shape.parameter_len();
        if numbers.as_ref().len() < len || work.as_ref().len() < shape.work_len() {
            let accepted = "as many numbers as the shape asks for";
            return Err(Error::OutOfRange { parameter: "room", accepted });
        }
        Ok(LinearNetwork { shape, parameters: LinearParameters { numbers, len }, work })
    }

    /// Returns the network's shape.
    pub fn shape(&self) -> &LinearShape<S::Element> {
        &self.shape
    }

    /// Writes matrix m of P_0, Q_0, P_1, ..., or of P, Q, W of each head, column by column.
    pub fn write_matrix(&self, m: usize, to: &mut [S]) {
        let k = self.shape.token_len();
        if let Some(numbers) = self.parameters.all().chunks_exact(self.shape.matrix_len()).nth(m) {
            self.shape.parameters.write(k, numbers, &mut to[..k * k]);
        }
    }

    /// Returns the transformer of one head that one lane has learned, among (K - 1) / 2 features: with zeros for the
    /// tokens' entries that it does not have. C is the capacity for stored layers.
    ///
    /// # Errors
    /// [`Error::NonFinite`] if its parameters blew up; [`Error::CapacityExceeded`] for more layers or features;
    /// [`Error::OutOfRange`] for two heads.
    pub fn transformer<const K: usize, const C: usize>(
        &self,
        lane: usize,
    ) -> Result<Transformer<Layer<S::Element, K>, C>, Error> {
        let LinearShape { dim: d, heads, stored, depth, .. } = self.shape;
        let (k, capacity) = (self.shape.token_len(), (K - 1) / 2);
        if heads != 1 {
            return Err(Error::OutOfRange { parameter: "heads", accepted: "one" });
        }
        if stored > C {
            return Err(Error::CapacityExceeded { parameter: "layers", capacity: C });
        }
        if k > K {
            return Err(Error::CapacityExceeded { parameter: "dim", capacity });
        }
        // phi, phi' and r of the small token among those of the large one.
        let place = |i: usize| match i {
            _ if i < d => i,
            _ if i < 2 * d => capacity + i - d,
            _ => 2 * capacity,
        };
        let mut layers = [Layer::ZERO; C];
        let rooms =
            layers.iter_mut().flat_map(|layer: &mut Layer<S::Element, K>| layer.matrices_mut());
        let mut of_lanes = [[S::ZERO; K]; K];
        for (m, to) in rooms.take(2 * stored).enumerate() {
            let from = of_lanes.as_flattened_mut();
            self.write_matrix(m, from);
            for j in 0..k {
                for i in 0..k {
                    to[place(j) * K + place(i)] = from[j * k + i].lane(lane);
                }
            }
        }
        Transformer::from_stored(layers, stored, depth)
    }
}

impl<S: Scalar, B: Storage<S>, W: AsRef<[S]> + AsMut<[S]>> Network<S> for LinearNetwork<S, B, W> {
    type Parameters = LinearParameters<B>;

    fn parameters(&self) -> &LinearParameters<B> {
        &self.parameters
    }

    fn parameters_mut(&mut self) -> &mut LinearParameters<B> {
        &mut self.parameters
    }

    fn dim(&self) -> usize {
        self.shape.dim
    }

    /// Draws Xavier normal numbers with the shape's gain, N(0, (gain sqrt(2 / (rows + columns)))^2), where W of a head
    /// is (K, 2K); for layers of ten numbers these, projected.
    fn initialise_lane(&mut self, lane: usize, rng: &mut Rng) {
        let LinearNetwork { shape, parameters, work } = self;
        let k = shape.token_len();
        let deviation = deviation::<S::Element>(shape.gain, k);
        let of_w = deviation * Scalar::sqrt(<S::Element as Scalar>::from_f64(2.0 / 3.0));
        let is_full = shape.parameters == ParameterSet::Full;
        for (m, matrix) in parameters.all_mut().chunks_exact_mut(shape.matrix_len()).enumerate() {
            let deviation = if shape.heads == 2 && m % 3 == 2 { of_w } else { deviation };
            let drawn = if is_full { &mut *matrix } else { &mut work.as_mut()[..k * k] };
            for x in &mut *drawn {
                x.set_lane(lane, deviation * rng.normal::<S::Element>());
            }
            if !is_full {
                let five = ParameterSet::nearest(k, drawn).map(|x| x.lane(lane));
                matrix.iter_mut().zip(five).for_each(|(to, from)| to.set_lane(lane, from));
            }
        }
    }

    /// Returns NaN for a window of other features.
    fn value(&mut self, window: &Window<S>) -> S {
        let LinearNetwork { shape, parameters, work } = self;
        if window.dim() != shape.dim {
            return S::from_f64(f64::NAN);
        }
        let (numbers, work) = (parameters.all(), work.as_mut());
        if shape.heads == 2 {
            two_heads::Pass::new(shape, numbers, work).forward(window)
        } else {
            WindowPass::new(shape, numbers, work, window).value()
        }
    }

    fn value_and_gradient(
        &mut self,
        window: &Window<S>,
        adjoint: impl FnOnce(S) -> S,
        gradient: &mut LinearParameters<B>,
    ) -> S {
        let LinearNetwork { shape, parameters, work } = self;
        if window.dim() != shape.dim {
            return S::from_f64(f64::NAN);
        }
        let (numbers, work) = (parameters.all(), work.as_mut());
        if shape.heads == 2 {
            let mut pass = two_heads::Pass::new(shape, numbers, work);
            let value = pass.forward(window);
            pass.backward(adjoint(value));
            pass.finish(gradient.all_mut());
            value
        } else {
            let mut pass = WindowPass::new(shape, numbers, work, window);
            let value = pass.forward();
            pass.backward(adjoint(value), gradient.all_mut());
            value
        }
    }

    /// Takes windows of one head that grow one by one, unless they are read without units.
    fn batch_gradient(
        &mut self,
        windows: &Windows<S>,
        targets: Targets<S>,
        gradient: &mut LinearParameters<B>,
    ) -> S {
        let LinearNetwork { shape, parameters, work } = &mut *self;
        if windows.dim() != shape.dim {
            return S::from_f64(f64::NAN);
        }
        let (numbers, work, to) = (parameters.all(), work.as_mut(), gradient.all_mut());
        if shape.heads == 2 {
            let pass = two_heads::Pass::new(shape, numbers, work);
            two_heads::batch_gradient(pass, windows, targets, to)
        } else if windows.slide() || shape.prior_count.is_some() {
            batch_gradient(shape, Workspace::load(shape, numbers, work), windows, targets, to)
        } else {
            batch_gradient_by_window(self, windows, targets, gradient)
        }
    }
}
