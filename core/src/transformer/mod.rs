//! The transformer: L layers of attention, and what a linear one reads out of a context.
//!
//! With G_l = Z_l M Z_l^T, a layer of linear attention is a linear map of every column,
//!
//! ```text
//! B_l = I + (1/n) P_l G_l Q_l      Z_{l+1} = B_l Z_l      G_{l+1} = B_l G_l B_l^T
//! ```
//!
//! so the (K, K) matrix G_0 is all that it needs of its context, whatever its length, and the value is linear in the query:
//! v(s) = <w, phi(s)>, with w = -(first d entries of) (B_{L-1} ... B_0)^T e_K. (The literal equations are the `research`
//! feature's.)

mod readout;

use crate::error::{Error, Result, ensure, out_of_range};
use crate::layer::{Layer, LayerForm, LayerParameters, TwoHeadLayer};
use crate::linalg::{
    identity, mul, mul_transpose, mul_vector, to_f64, transpose_mul_vector, zeros,
};
use crate::preconditioned::weights_of;
use crate::scalar::{Real, Scalar};
use crate::statistic::Statistic;
use crate::value_function::ValueFunction;
use nalgebra::{SMatrix, SVector};
pub(crate) use readout::has_grown;
use readout::{iterate, iterate_any_c};

/// A transformer of stored layers, at most C: one that every layer of the pass shares (autoregressive), or one for each
/// (sequential).
#[derive(Clone, Debug, PartialEq)]
pub struct Transformer<L, const C: usize> {
    /// A plain array, so that a transformer can be a constant; layers beyond `stored` are 0.
    layers: [L; C],
    stored: usize,
    depth: usize,
    /// Dense unless all layers share their parameters.
    pub(crate) form: LayerForm,
}

impl<L> Transformer<L, 1> {
    /// Does what [`Transformer::autoregressive`] does, in a constant; the caller has checked.
    pub(crate) const fn constant(layer: L, depth: usize, form: LayerForm) -> Self {
        Transformer { layers: [layer], stored: 1, depth, form }
    }
}

impl<L: LayerParameters, const C: usize> Transformer<L, C> {
    /// Returns a transformer of `depth` layers that share their parameters, with the errors of
    /// [`Transformer::sequential`], and [`Error::OutOfRange`], naming `layers`, for a depth of 0.
    pub fn autoregressive(layer: L, depth: usize) -> Result<Self> {
        let mut transformer = Self::sequential(&[layer])?;
        ensure(depth != 0, out_of_range("layers", "1 or more"))?;
        transformer.depth = depth;
        Ok(transformer)
    }

    /// Returns a transformer of layers with their own parameters, in order.
    /// Returns [`Error::NonFinite`] for a bad parameter, [`Error::Empty`] without layers, [`Error::CapacityExceeded`] beyond C.
    pub fn sequential(layers: &[L]) -> Result<Self> {
        ensure(!layers.is_empty(), Error::Empty { parameter: "layers" })?;
        ensure(layers.len() <= C, Error::capacity("layers", C))?;
        let mut stored = [L::ZERO; C];
        for (to, from) in stored.iter_mut().zip(layers) {
            *to = *from;
        }
        Self::from_stored(stored, layers.len(), layers.len())
    }

    /// Returns the first `stored` layers of an array: one, passed `depth` times, or `depth`, each passed once.
    pub(crate) fn from_stored(layers: [L; C], stored: usize, depth: usize) -> Result<Self> {
        for layer in layers.iter().take(stored) {
            layer.check()?;
        }
        let form = if stored == 1 { layers[0].form() } else { LayerForm::Dense };
        Ok(Transformer { layers, stored, depth, form })
    }

    /// Returns L.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Returns the stored layers: one if autoregressive, L if sequential.
    pub fn layers(&self) -> &[L] {
        self.layers.get(..self.stored).unwrap_or(&self.layers)
    }

    /// Returns the stored layers, to be changed by training.
    #[cfg(feature = "research")]
    pub(crate) fn layers_mut(&mut self) -> &mut [L] {
        self.form = LayerForm::Dense;
        let stored = self.stored.min(C);
        &mut self.layers[..stored]
    }

    pub(crate) fn pass(&self) -> impl DoubleEndedIterator<Item = &L> + ExactSizeIterator {
        // Sequential layers each come once, the one autoregressive layer L times.
        (0..self.depth).map(|l| self.layers().get(l).unwrap_or(&self.layers[0]))
    }
}

impl<S: Scalar, const K: usize, const C: usize> Transformer<Layer<S, K>, C> {
    /// Passes G_l before each layer, and the map B_l that the layer applies to every column, to a closure.
    pub fn column_maps(
        &self,
        statistic: &Statistic<S, K>,
        mut observe_layer: impl FnMut(&SMatrix<S, K, K>, &SMatrix<S, K, K>),
    ) {
        let mut statistic = *statistic;
        for layer in self.pass() {
            let mut b = zeros();
            layer.column_map_to(&statistic.g, statistic.inverse_len, &mut b);
            observe_layer(&statistic.g, &b);
            statistic.g = mul_transpose(&mul(&b, &statistic.g), &b);
        }
    }

    /// Shows the outputs y_l = -z_q^(l)\[K\] of layers 1 to L for one query column, streaming form.
    pub fn values_by_layer(
        &self,
        statistic: &Statistic<S, K>,
        query: &SVector<S, K>,
        mut observe_value: impl FnMut(S),
    ) {
        let mut z = *query;
        self.column_maps(statistic, |_, b| {
            z = mul_vector(b, &z);
            observe_value(-z[K - 1]);
        });
    }

    /// Returns the same layers in `f64`, or [`Error::NonFinite`] if a number is not finite.
    pub fn to_f64(&self) -> Result<Transformer<Layer<f64, K>, C>>
    where
        S: Real,
    {
        let mut layers = [Layer::ZERO; C];
        for (to, from) in layers.iter_mut().zip(&self.layers) {
            *to = Layer { p: to_f64(&from.p), q: to_f64(&from.q) };
        }
        Transformer::from_stored(layers, self.stored, self.depth)
    }

    /// Returns the value function that linear attention reads out of a statistic, v(s) = <w, phi(s)>, or
    /// [`Error::NonFinite`] if the layers blow up. Layers that share parameters of one of TD's forms ([`LayerForm`]) iterate w,
    /// others are read out.
    pub fn value_function<const D: usize>(
        &self,
        statistic: &Statistic<S, K>,
    ) -> Result<ValueFunction<S, D>> {
        self.judged_value_function::<D, false>(statistic)
    }

    /// Returns [`Self::value_function`]; if JUDGED, it refuses iterations that diverge.
    #[inline(always)]
    pub(crate) fn judged_value_function<const D: usize, const JUDGED: bool>(
        &self,
        statistic: &Statistic<S, K>,
    ) -> Result<ValueFunction<S, D>> {
        crate::transition::check_token_size::<D, K>();
        let (Statistic { g, inverse_len }, Layer { p, q }) = (statistic, &self.layers[0]);
        let step = *inverse_len * p.data.0[K - 1][K - 1];
        match self.form {
            LayerForm::Td => iterate::<S, D, K, JUDGED>([g; 2], q.data.0[0][0], step, self.depth),
            LayerForm::AnyC => iterate_any_c(g, q, step, self.depth),
            // With more layers the powers in C_l take longer than products of whole layers.
            LayerForm::PreconditionedTd if self.depth <= 48 * D => {
                let (alpha, beta) =
                    (-q.data.0[0][0] * p.data.0[K - 1][K - 1], q.data.0[0][0] * p.data.0[0][D]);
                ValueFunction::of_finite(weights_of(statistic, [alpha, beta], self.depth))
            }
            LayerForm::Dense | LayerForm::PreconditionedTd => {
                ValueFunction::from_readout(&self.readout(statistic).data.0[0])
            }
        }
    }
}

/// The two heads of the average-reward setting: a statistic for each, of contexts under
/// [`MeanCentred`](crate::mask::MeanCentred) and [`Td0`](crate::mask::Td0) and for the discount 1.
impl<S: Scalar, const K: usize, const C: usize> Transformer<TwoHeadLayer<S, K>, C> {
    /// Shows the map B_l of each layer.
    pub fn column_maps(
        &self,
        heads: &[Statistic<S, K>; 2],
        mut observe_layer: impl FnMut(&SMatrix<S, K, K>),
    ) {
        let mut heads = *heads;
        for layer in self.pass() {
            let b = layer.column_map(&heads);
            observe_layer(&b);
            for head in &mut heads {
                head.g = mul_transpose(&mul(&b, &head.g), &b);
            }
        }
    }

    /// Returns the differential value function, or [`Error::NonFinite`] if the layers blow up.
    pub fn value_function<const D: usize>(
        &self,
        heads: &[Statistic<S, K>; 2],
    ) -> Result<ValueFunction<S, D>> {
        if self.form == LayerForm::Td {
            let [Statistic { g: g1, inverse_len }, Statistic { g: g2, .. }] = heads;
            let x = self.layers[0].q1.data.0[0][0];
            return iterate::<S, D, K, false>([g1, g2], x, *inverse_len, self.depth);
        }
        let mut product = identity();
        self.column_maps(heads, |b| product = mul(b, &product));
        let mut e_k = zeros::<S, K, 1>();
        e_k[K - 1] = S::ONE;
        ValueFunction::from_readout(&transpose_mul_vector(&product, &e_k).data.0[0])
    }
}
