use crate::error::Error;
use crate::layer::{Layer, LayerParameters};
use crate::rng::Rng;
use crate::scalar::{Real, Scalar};
use crate::training::Parameters;
use crate::transformer::Transformer;
use core::marker::PhantomData;

/// A transformer in training, with attention of kind A: see [`LinearNetwork`](super::LinearNetwork)
/// and [`SoftmaxNetwork`](super::SoftmaxNetwork).
///
/// C is the capacity for stored layers, L for layers in the pass.
#[derive(Clone, Debug, PartialEq)]
pub struct TransformerNetwork<
    A,
    S: Scalar,
    const D: usize,
    const K: usize,
    const C: usize,
    const L: usize,
> {
    pub(super) transformer: Transformer<Layer<S, K>, C>,
    attention: PhantomData<A>,
}

impl<A, S: Scalar, const D: usize, const K: usize, const C: usize, const L: usize>
    TransformerNetwork<A, S, D, K, C, L>
{
    /// From a transformer whose numbers are the first parameters.
    ///
    /// # Errors
    /// [`Error::CapacityExceeded`] if it is deeper than L.
    pub fn new(transformer: Transformer<Layer<S, K>, C>) -> Result<Self, Error> {
        crate::transition::check_token_size::<D, K>();
        if transformer.depth() > L {
            return Err(Error::CapacityExceeded { parameter: "layers", capacity: L });
        }
        Ok(TransformerNetwork { transformer, attention: PhantomData })
    }

    /// `depth` layers that share one pair (P, Q) of zeros.
    ///
    /// # Errors
    /// [`Error::Empty`] for depth 0, [`Error::CapacityExceeded`] beyond L.
    pub fn autoregressive(depth: usize) -> Result<Self, Error> {
        Self::new(Transformer::autoregressive(Layer::ZERO, depth)?)
    }

    /// `depth` layers with their own pairs (P_l, Q_l) of zeros.
    ///
    /// # Errors
    /// [`Error::Empty`] for depth 0, [`Error::CapacityExceeded`] beyond C or L.
    pub fn sequential(depth: usize) -> Result<Self, Error> {
        if depth > C {
            return Err(Error::CapacityExceeded { parameter: "layers", capacity: C });
        }
        Self::new(Transformer::sequential(&[Layer::ZERO; C][..depth])?)
    }

    /// The transformer that one lane has learned.
    ///
    /// # Errors
    /// [`Error::NonFinite`] if its parameters blew up.
    pub fn transformer(&self, lane: usize) -> Result<Transformer<Layer<S::Element, K>, C>, Error> {
        let mut layers = [Layer::ZERO; C];
        for (to, layer) in layers.iter_mut().zip(self.transformer.layers()) {
            *to = layer.lane(lane);
        }
        let stored = self.transformer.layers().len();
        Transformer::from_stored(layers, stored, self.transformer.depth())
    }

    /// Draws the initial parameters of one lane, in the order in which they are stored: Xavier normal
    /// with gain 0.1, and 0.1/L if sequential, N(0, (gain sqrt(2 / (K + K)))^2).
    pub(super) fn initialise(&mut self, lane: usize, rng: &mut Rng) {
        let stored = self.transformer.layers().len();
        initialise(&mut self.transformer, initial_gain(stored), K, lane, rng);
    }
}

/// That of `stored` layers unless told otherwise: 0.1, and 0.1 / L if each has parameters of its own.
pub(super) fn initial_gain(stored: usize) -> f64 {
    0.1 / stored as f64
}

/// Draws the parameters of one lane for tokens of size k.
pub(super) fn initialise<S: Scalar>(
    parameters: &mut impl Parameters<S>,
    gain: f64,
    k: usize,
    lane: usize,
    rng: &mut Rng,
) {
    let deviation = deviation::<S::Element>(gain, k);
    for x in parameters.numbers_mut() {
        x.set_lane(lane, deviation * rng.normal::<S::Element>());
    }
}

/// That of the initial parameters.
pub(super) fn deviation<R: Real>(gain: f64, k: usize) -> R {
    R::from_f64(gain) / Scalar::sqrt(R::from_count(k as u64))
}
