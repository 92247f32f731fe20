use super::AttentionParameters;
use crate::error::Error;
use crate::layer::Layer;
use crate::rng::Rng;
use crate::scalar::Scalar;
use crate::transformer::Transformer;
use core::marker::PhantomData;

/// A transformer in training, with attention of kind A: see [`LinearNetwork`](super::LinearNetwork)
/// and [`SoftmaxNetwork`](super::SoftmaxNetwork).
///
/// C is the capacity for stored layers, L for layers in the pass.
#[derive(Clone, Debug, PartialEq)]
pub struct AttentionNetwork<
    A,
    S: Scalar,
    const D: usize,
    const K: usize,
    const C: usize,
    const L: usize,
> {
    pub(super) parameters: AttentionParameters<S, K, C>,
    pub(super) depth: usize,
    attention: PhantomData<A>,
}

impl<A, S: Scalar, const D: usize, const K: usize, const C: usize, const L: usize>
    AttentionNetwork<A, S, D, K, C, L>
{
    /// `depth` layers that share one pair (P, Q) of zeros.
    ///
    /// # Errors
    /// [`Error::Empty`] for depth 0, [`Error::CapacityExceeded`] beyond L.
    pub fn autoregressive(depth: usize) -> Result<Self, Error> {
        Self::from_parameters(AttentionParameters::zeros(1), depth)
    }

    /// `depth` layers with their own pairs (P_l, Q_l) of zeros.
    ///
    /// # Errors
    /// [`Error::Empty`] for depth 0, [`Error::CapacityExceeded`] beyond C or L.
    pub fn sequential(depth: usize) -> Result<Self, Error> {
        if depth > C {
            return Err(Error::CapacityExceeded { parameter: "layers", capacity: C });
        }
        Self::from_parameters(AttentionParameters::zeros(depth), depth)
    }

    /// From given parameters: one stored layer that all layers of the pass share, or `depth` of them.
    ///
    /// # Errors
    /// [`Error::Empty`] for depth 0 or no stored layer, [`Error::OutOfRange`] for another number of
    /// stored layers than 1 and `depth`, [`Error::CapacityExceeded`] beyond L.
    pub fn from_parameters(
        parameters: AttentionParameters<S, K, C>,
        depth: usize,
    ) -> Result<Self, Error> {
        crate::transition::check_token_size::<D, K>();
        if depth == 0 || parameters.stored() == 0 {
            return Err(Error::Empty { parameter: "layers" });
        }
        if parameters.stored() != 1 && parameters.stored() != depth {
            let accepted = "1 stored layer, or as many as the depth";
            return Err(Error::OutOfRange { parameter: "layers", accepted });
        }
        if depth > L {
            return Err(Error::CapacityExceeded { parameter: "layers", capacity: L });
        }
        Ok(AttentionNetwork { parameters, depth, attention: PhantomData })
    }

    /// L, the number of layers in the pass.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The network that one lane has learned.
    ///
    /// # Errors
    /// [`Error::NonFinite`] if its parameters blew up.
    pub fn transformer(&self, lane: usize) -> Result<Transformer<Layer<S::Element, K>, C>, Error> {
        let layers = self.parameters.lane_layers(lane);
        Transformer::from_stored(layers, self.parameters.stored(), self.depth)
    }

    /// Draws the initial parameters of one lane: Xavier normal with gain 0.1, and 0.1/L if sequential.
    pub(super) fn initialise(&mut self, lane: usize, rng: &mut Rng) {
        self.parameters.initialise_lane(lane, 0.1 / self.parameters.stored() as f64, rng);
    }
}
