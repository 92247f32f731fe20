//! A linear transformer in training whose shape is known at run time only: one type, compiled once, for
//! every number of features and layers.

mod pass;

use super::linear_batch::batch_gradient;
use super::read::NORMALISED;
use super::transformer_network::{deviation, initial_gain, initialise};
use super::work::{
    ParameterSet, Shape, VECTORS, Work, layer_matrices, load, matrices, step_matrices, unload,
};
use super::{Network, Parameters, Targets, Window, Windows, batch_gradient_by_window};
use crate::error::Error;
use crate::layer::{Layer, LayerParameters, add_traces, means_of_traces};
use crate::linalg;
use crate::linalg::padded::Size;
use crate::mask::{Mask, TdLambda};
use crate::rng::Rng;
use crate::scalar::{Scalar, check_lanes};
use crate::transformer::Transformer;
use core::fmt::Debug;
use pass::Pass;

/// Where a network of any shape keeps its numbers: an array or, where there is a heap, a `Vec`.
pub trait Storage<S>: AsRef<[S]> + AsMut<[S]> + Clone + Debug {}

impl<S, B: AsRef<[S]> + AsMut<[S]> + Clone + Debug> Storage<S> for B {}

/// A linear transformer in training, of d <= D features and any number of layers; K = 2D + 1. It is bit for bit the
/// [`LinearNetwork`](super::LinearNetwork) of its shape.
///
/// ```
/// use ictd_core::training::{AnyLinear, Network, Parameters};
/// use ictd_core::rng::Rng;
///
/// // Three features where there is room for four, five layers that share one pair (P, Q).
/// let mut network = AnyLinear::<f32, Vec<f32>, 4, 9>::new(3, 1, 5, |len| vec![0.0; len])?;
/// network.initialise_lane(0, &mut Rng::new(1));
/// assert_eq!(network.parameters().numbers().count(), 2 * 7 * 7);
/// # Ok::<(), ictd_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct AnyLinear<S: Scalar, B, const D: usize, const K: usize> {
    shape: Shape<S>,
    parameters: Numbers<B>,
    work: B,
    /// Of the initial parameters.
    gain: f64,
}

/// The numbers of a network of any shape: P_0, Q_0, P_1, ..., (2d + 1, 2d + 1) each, column by column; or
/// five for each of them ([`ParameterSet`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers<B> {
    pub(super) numbers: B,
    pub(super) len: usize,
}

impl<B> Numbers<B> {
    /// Those of each matrix.
    pub(super) fn of_matrices<S: 'static>(&self, len: usize) -> impl Iterator<Item = &[S]>
    where
        B: AsRef<[S]>,
    {
        self.numbers.as_ref()[..self.len].chunks_exact(len)
    }
}

impl<S: Scalar, B: Storage<S>> Parameters<S> for Numbers<B> {
    fn zeros_like(&self) -> Self {
        let mut zeros = self.clone();
        zeros.numbers.as_mut().fill(S::ZERO);
        zeros
    }

    fn slices(&self) -> impl Iterator<Item = &[S]> {
        core::iter::once(&self.numbers.as_ref()[..self.len])
    }

    fn slices_mut(&mut self) -> impl Iterator<Item = &mut [S]> {
        core::iter::once(&mut self.numbers.as_mut()[..self.len])
    }
}

impl<S: Scalar, B: Storage<S>, const D: usize, const K: usize> AnyLinear<S, B, D, K> {
    /// `depth` layers for tokens of `dim` features: one stored pair (P, Q) of zeros that they share, or
    /// one for each. `zeros` makes room for so many numbers.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless 1 <= `dim` <= D; [`Error::Empty`] for depth 0;
    /// [`Error::CapacityExceeded`] if there is less room than that, or `stored` is neither 1 nor `depth`.
    pub fn new(
        dim: usize,
        stored: usize,
        depth: usize,
        zeros: impl Fn(usize) -> B,
    ) -> Result<Self, Error> {
        crate::transition::check_token_size::<D, K>();
        check_shape::<D>(dim, stored, depth)?;
        let (size, parameters) = (Size::of::<S>(2 * dim + 1), ParameterSet::Full);
        let shape = Shape { size, stored, depth, lambda: None, prior_count: None, parameters };
        let parameters = Numbers { numbers: zeros(0), len: 0 };
        let (work, gain) = (zeros(work_len(&shape)), initial_gain(stored));
        let network = AnyLinear { work, shape, parameters, gain };
        network.with_parameters(ParameterSet::Full, zeros)
    }

    /// The same network, whose trained numbers are these, zeros at first.
    ///
    /// # Errors
    /// As [`AnyLinear::new`].
    pub fn with_parameters(
        mut self,
        parameters: ParameterSet,
        zeros: impl Fn(usize) -> B,
    ) -> Result<Self, Error> {
        let len = 2 * self.shape.stored * parameters.len(self.shape.size.k);
        self.shape.parameters = parameters;
        self.parameters = Numbers { numbers: zeros(len), len };
        self.with_room()
    }

    /// The same network, which reads contexts without units ([`crate::normalised`]), with a prior count n_0.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless n_0 > 0; [`Error::CapacityExceeded`] for more than 32 features.
    pub fn normalised(mut self, prior_count: S::Element) -> Result<Self, Error> {
        let above_0 = |n| n > Scalar::ZERO;
        let prior_count = check_lanes(prior_count, "prior_count", above_0, "above 0")?;
        if Network::dim(&self) > NORMALISED {
            return Err(Error::CapacityExceeded { parameter: "dim", capacity: NORMALISED });
        }
        self.shape.prior_count = Some(S::splat(prior_count));
        Ok(self)
    }

    /// The same network under TD(lambda)'s mask, for 0 TD(0)'s.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless 0 <= lambda <= 1; as [`AnyLinear::new`].
    pub fn with_lambda(
        mut self,
        lambda: S::Element,
        zeros: impl Fn(usize) -> B,
    ) -> Result<Self, Error> {
        let lambda = TdLambda::new(lambda)?.lambda();
        self.shape.lambda = (lambda != Scalar::ZERO).then(|| S::splat(lambda));
        self.work = zeros(work_len(&self.shape));
        self.with_room()
    }

    /// The same network, whose initial parameters are drawn with this gain of Xavier's, not 0.1 (0.1 / L if each
    /// layer has its own).
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless it is a number above 0.
    pub fn with_initial_gain(self, gain: f64) -> Result<Self, Error> {
        let above_0 = |gain: f64| gain > 0.0 && gain.is_finite();
        let gain = check_lanes(gain, "gain", above_0, "above 0")?;
        Ok(AnyLinear { gain, ..self })
    }

    fn with_room(self) -> Result<Self, Error> {
        let Numbers { numbers, len } = &self.parameters;
        has_room([(numbers, *len), (&self.work, work_len(&self.shape))])?;
        Ok(self)
    }

    /// The trace decay of its mask.
    pub fn lambda(&self) -> S {
        self.shape.lambda.unwrap_or(S::ZERO)
    }

    /// n_0 of the normalised read; none if contexts are read as they are.
    pub fn prior_count(&self) -> Option<S> {
        self.shape.prior_count
    }

    /// L.
    pub fn depth(&self) -> usize {
        self.shape.depth
    }

    /// The stored layers, each of which has P and Q.
    pub fn stored(&self) -> usize {
        self.shape.stored
    }

    /// Writes matrix m of P_0, Q_0, P_1, ..., (2d + 1, 2d + 1) numbers, column by column.
    pub fn write_matrix(&self, m: usize, to: &mut [S]) {
        let Shape { size: Size { k, .. }, parameters, .. } = self.shape;
        let size = Size { k, rows: k, known: false };
        if let Some(numbers) = self.of_matrices().nth(m) {
            parameters.write(size, numbers, &mut to[..k * k]);
        }
    }

    fn of_matrices(&self) -> impl Iterator<Item = &[S]> {
        self.parameters.of_matrices(self.shape.parameters.len(self.shape.size.k))
    }

    /// The network of one lane.
    ///
    /// # Errors
    /// As [`AnyLinear::new`].
    pub fn alone<C: Storage<S::Element>>(
        &self,
        lane: usize,
        zeros: impl Fn(usize) -> C,
    ) -> Result<AnyLinear<S::Element, C, D, K>, Error> {
        let Shape { stored, depth, parameters, prior_count, .. } = self.shape;
        let lambda = self.lambda().lane(lane);
        let mut alone = AnyLinear::new(Network::dim(self), stored, depth, &zeros)?
            .with_parameters(parameters, &zeros)?
            .with_lambda(lambda, &zeros)?;
        alone.shape.prior_count = prior_count.map(|n| n.lane(lane));
        let numbers = alone.parameters.numbers.as_mut();
        for (to, from) in numbers.iter_mut().zip(self.parameters.numbers.as_ref()) {
            *to = from.lane(lane);
        }
        Ok(alone)
    }

    /// The transformer that one lane has learned, among D features: with zeros for the tokens' entries
    /// that it does not have. C is the capacity for stored layers.
    ///
    /// # Errors
    /// [`Error::NonFinite`] if its parameters blew up; [`Error::CapacityExceeded`] for more than C.
    pub fn transformer<const C: usize>(
        &self,
        lane: usize,
    ) -> Result<Transformer<Layer<S::Element, K>, C>, Error> {
        if self.shape.stored > C {
            return Err(Error::CapacityExceeded { parameter: "layers", capacity: C });
        }
        let (d, k) = (Network::dim(self), self.shape.size.k);
        // phi, phi' and r of the small token among those of the large one.
        let place = |i: usize| {
            if i < d {
                i
            } else if i < 2 * d {
                D + i - d
            } else {
                2 * D
            }
        };
        let mut layers = [Layer::ZERO; C];
        let rooms =
            layers.iter_mut().flat_map(|layer: &mut Layer<S::Element, K>| layer.matrices_mut());
        let mut of_lanes = linalg::zeros::<S, K, K>();
        for (m, to) in rooms.take(2 * self.shape.stored).enumerate() {
            let from = of_lanes.as_mut_slice();
            self.write_matrix(m, from);
            for j in 0..k {
                for i in 0..k {
                    to[place(j) * K + place(i)] = from[j * k + i].lane(lane);
                }
            }
        }
        Transformer::from_stored(layers, self.shape.stored, self.shape.depth)
    }

    /// Loads the parameters into the room for a pass over one window.
    fn pass(&mut self, windows: &mut Windows<S, D>) -> Pass<'_, S> {
        *windows = windows.with_dim(Network::dim(self));
        let work = cut(&self.shape, self.work.as_mut());
        let len = self.shape.parameters.len(self.shape.size.k);
        load(&self.shape, work.layers, self.parameters.of_matrices(len));
        Pass::new(self.shape, work)
    }
}

/// Refuses other than 1 to D features, no layers, and a number of stored layers that is neither 1 nor `depth`.
pub(super) fn check_shape<const D: usize>(
    dim: usize,
    stored: usize,
    depth: usize,
) -> Result<(), Error> {
    if !(1..=D).contains(&dim) {
        return Err(Error::CapacityExceeded { parameter: "dim", capacity: D });
    }
    if depth == 0 {
        return Err(Error::Empty { parameter: "layers" });
    }
    if stored != 1 && stored != depth {
        let accepted = "one stored layer, or one for each in the pass";
        return Err(Error::OutOfRange { parameter: "layers", accepted });
    }
    Ok(())
}

/// Refuses storages with less room than asked for.
pub(super) fn has_room<S>(storages: [(&impl AsRef<[S]>, usize); 2]) -> Result<(), Error> {
    if storages.iter().all(|(storage, len)| storage.as_ref().len() >= *len) {
        return Ok(());
    }
    Err(Error::OutOfRange { parameter: "room", accepted: "as many numbers as asked for" })
}

/// The numbers of [`Work`].
fn work_len<S: Scalar>(shape: &Shape<S>) -> usize {
    let Shape { size, stored, depth, lambda, .. } = shape;
    let steps = depth * step_matrices(lambda.is_some());
    let whole = stored * (layer_matrices::<S>() + 2) + steps + matrices::<S>();
    whole * size.matrix() + (depth + VECTORS) * size.rows
}

fn cut<'a, S: Scalar>(shape: &Shape<S>, room: &'a mut [S]) -> Work<'a, S> {
    let Shape { size, stored, depth, lambda, .. } = shape;
    let matrix = size.matrix();
    let (layers, room) = room.split_at_mut(stored * layer_matrices::<S>() * matrix);
    let (sums, room) = room.split_at_mut(stored * 2 * matrix);
    let (steps, room) = room.split_at_mut(depth * step_matrices(lambda.is_some()) * matrix);
    let (columns, room) = room.split_at_mut(depth * size.rows);
    let (matrices, room) = room.split_at_mut(matrices::<S>() * matrix);
    Work { layers, sums, steps, columns, matrices, vectors: &mut room[..VECTORS * size.rows] }
}

impl<S: Scalar, B: Storage<S>, const D: usize, const K: usize> Network<S, D>
    for AnyLinear<S, B, D, K>
{
    type Parameters = Numbers<B>;

    fn parameters(&self) -> &Numbers<B> {
        &self.parameters
    }

    fn parameters_mut(&mut self) -> &mut Numbers<B> {
        &mut self.parameters
    }

    fn dim(&self) -> usize {
        (self.shape.size.k - 1) / 2
    }

    /// Xavier normal with gain 0.1, and 0.1/L if sequential, or with [`AnyLinear::with_initial_gain`]'s; of layers
    /// of ten numbers that, projected ([`EquivariantLayer::project`](crate::layer::EquivariantLayer::project)).
    fn initialise_lane(&mut self, lane: usize, rng: &mut Rng) {
        let Shape { size, parameters, .. } = self.shape;
        if parameters == ParameterSet::Full {
            return initialise(&mut self.parameters, self.gain, size.k, lane, rng);
        }
        let (k, mut matrix) = (size.k, linalg::zeros::<S::Element, K, K>());
        let matrix = &mut matrix.as_mut_slice()[..k * k];
        for numbers in self.parameters.slices_mut().flat_map(|all| all.chunks_exact_mut(5)) {
            for x in &mut *matrix {
                *x = deviation::<S::Element>(self.gain, k) * rng.normal::<S::Element>();
            }
            let mut five = [Scalar::ZERO; 5];
            add_traces((k - 1) / 2, k, matrix, &mut five);
            means_of_traces((k - 1) / 2, &mut five);
            numbers.iter_mut().zip(five).for_each(|(to, from)| to.set_lane(lane, from));
        }
    }

    fn value(&mut self, window: &Window<S, D>) -> S {
        let mut window = *window;
        self.pass(&mut window.from).value(&window)
    }

    fn value_and_gradient(
        &mut self,
        window: &Window<S, D>,
        adjoint: impl FnOnce(S) -> S,
        gradient: &mut Numbers<B>,
    ) -> S {
        let mut window = *window;
        let mut pass = self.pass(&mut window.from);
        let value = pass.forward(&window);
        pass.backward(adjoint(value), &mut gradient.numbers.as_mut()[..gradient.len]);
        value
    }

    /// Windows that grow share no work; read without units, they are at least kernels of their own.
    fn batch_gradient(
        &mut self,
        windows: &Windows<S, D>,
        targets: Targets<S>,
        gradient: &mut Numbers<B>,
    ) -> S {
        if windows.slide() || self.shape.prior_count.is_some() {
            self.sliding_batch_gradient(windows, targets, gradient)
        } else {
            batch_gradient_by_window(self, windows, targets, gradient)
        }
    }

    fn sliding_batch_gradient(
        &mut self,
        windows: &Windows<S, D>,
        targets: Targets<S>,
        gradient: &mut Numbers<B>,
    ) -> S {
        let (len, dim) = (self.shape.parameters.len(self.shape.size.k), Network::dim(self));
        let Work { layers, sums, steps, columns, matrices, vectors } =
            cut(&self.shape, self.work.as_mut());
        load(&self.shape, layers, self.parameters.of_matrices(len));
        let work = Work { layers, sums, steps, columns, matrices, vectors };
        let (shape, windows) = (self.shape, windows.with_dim(dim));
        let loss = if shape.prior_count.is_some() {
            batch_gradient::<S, D, true>(shape, work, &windows, targets)
        } else {
            batch_gradient::<S, D, false>(shape, work, &windows, targets)
        };
        let gradient = gradient.numbers.as_mut()[..gradient.len].chunks_exact_mut(len);
        unload(&self.shape, sums, gradient);
        loss
    }
}

#[cfg(test)]
mod tests;
