//! A trained or constructed transformer as bytes: what the host writes and firmware links.
//!
//! # Format
//!
//! Every number is little-endian, whatever the platform; nothing is aligned or padded.
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 4 | `ICTD` |
//! | 4 | 1 | format version: 1; of a [`UniversalModel`](crate::UniversalModel) 4 |
//! | 5 | 1 | scalar type by its size b: 4 is `f32`, 8 is `f64` |
//! | 6 | 1 | low 4 bits: the attention, 1 linear, 2 softmax, 3 the two linear heads of the average-reward setting; high 4 bits: the mask, 0 TD(0) or TD(lambda), 1 mean-centred, 8 to 15 of your own |
//! | 7 | 1 | mode: 1 autoregressive (one layer, used L times), 2 sequential (L layers) |
//! | 8 | 2 | d, the feature dimension; in version 4 0 |
//! | 10 | 2 | L, the number of layers; in version 4 0 |
//! | 12 | b | gamma, the discount; two heads: 1 |
//! | 12 + b | b | lambda, the trace decay of the mask: 0 is TD(0)'s mask; two heads: 0 |
//! | 12 + 2 b | 2 K K b per stored layer | P_l, then Q_l, row by row, K = 2 d + 1 |
//! | (two heads) | 6 K K b per stored layer | P, Q and W's columns of head 1, then of head 2, K = 2 d + 2 |
//! | (version 4) | b | 0, instead of P and Q |
//! | last 4 | 4 | CRC-32 (IEEE 802.3) of all bytes before it |
//!
//! Numbers are stored as IEEE 754 bits, so a model is read with the same bits that were written.
//!
//! # Estimate
//!
//! [`Model::from_bytes`] needs no allocation and no alignment, and refuses everything except an intact model of the
//! expected type: it is certain to detect any truncation, and any damage to at most 32 neighbouring bits. [`Header::parse`]
//! reads the shape of an unknown model.
//!
//! ```
//! use ictd_core::Model;
//! use ictd_core::model::ConstructionSettings;
//!
//! let mut bytes = [0; 1024];
//! let model = Model::<4>::td0(ConstructionSettings::new(0.9).step_size(0.2).depth(15))?;
//! let bytes = model.write(&mut bytes)?;
//! assert_eq!(Model::<4>::from_bytes(bytes)?, model);
//! assert!(Model::<4>::from_bytes(&bytes[1..]).is_err());
//! # Ok::<(), ictd_core::Error>(())
//! ```

mod attention;
mod constructed;
mod format;

#[cfg_attr(not(feature = "research"), doc(hidden))]
pub use crate::bytes::crc32;
pub use attention::{AttentionKind, AttentionMechanism, AverageReward, Linear};
pub use constructed::ConstructionSettings;
pub(crate) use format::HEADER;
pub use format::Header;

use crate::bytes::{Reader, write};
use crate::context::{Context, Growing, Memory};
use crate::error::{Error, Result, ensure, out_of_range};
use crate::layer::{Layer, LayerForm, LayerParameters};
use crate::linalg::zeros;
use crate::mask::{Mask, Td0};
use crate::scalar::Real;
use crate::statistic::Statistic;
use crate::transformer::Transformer;
use crate::transition::check_discount;
use crate::value_function::{Gvf, ValueFunction};

/// The first four bytes of a stored model.
pub const MAGIC: [u8; 4] = *b"ICTD";

/// The format version of a [`UniversalModel`](crate::UniversalModel); other models have version 1.
#[cfg_attr(not(feature = "research"), doc(hidden))]
pub const VERSION: u8 = 4;

/// How a model's layers get their parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u8)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum LayerSharing {
    /// One layer, used L times.
    Autoregressive = 1,
    /// L layers with their own parameters.
    Sequential = 2,
}

/// A transformer with its attention and its discount. K is 2 D + 1, in the average-reward setting 2 D + 2; C is the
/// capacity for stored layers. [`crate::Model`] takes the feature dimension alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Model<
    R: Real,
    const D: usize,
    const K: usize,
    const C: usize,
    A: AttentionMechanism<R, K> = Linear<Td0>,
> {
    transformer: Transformer<A::Layer, C>,
    attention: A,
    gamma: R,
}

impl<R: Real, const D: usize, const K: usize, const C: usize, A: AttentionMechanism<R, K>>
    Model<R, D, K, C, A>
{
    /// Returns a model of its parts. A transformer with one stored layer counts as autoregressive.
    /// Returns [`Error::NonFinite`] or [`Error::OutOfRange`], naming a `gamma` (1 for average reward) or `depth` (up to 65535)
    /// that does not fit.
    pub fn new(transformer: Transformer<A::Layer, C>, attention: A, gamma: R) -> Result<Self> {
        const {
            let rows = if matches!(A::KIND, AttentionKind::TwoHead) { 2 } else { 1 };
            assert!(
                K == 2 * D + rows,
                "a model has tokens of size K = 2 * D + 1, with two heads 2 * D + 2"
            );
            assert!(D <= u16::MAX as usize && C <= u16::MAX as usize);
            assert!(A::MASK < 16, "the code of a mask in a stored model is 0 to 15");
        }
        let gamma = check_discount::<R, D, K>(gamma)?;
        ensure(transformer.depth() <= usize::from(u16::MAX), out_of_range("depth", "1 to 65535"))?;
        Ok(Model { transformer, attention, gamma })
    }

    /// Reads a stored model.
    /// Returns [`Error::Stored`] for anything that is not an intact model of this type; [`Error::NonFinite`] and
    /// [`Error::OutOfRange`] for parameters that are not finite, and a gamma or lambda that the attention cannot have.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let header = Header::parse_kind(bytes, false)?;
        header.expect::<R>(A::KIND, A::MASK, D, C)?;
        let stored = usize::from(header.stored_layers());
        let mut reader = Reader { rest: bytes.get(HEADER..).unwrap_or(&[]) };
        let (gamma, lambda) = (reader.number(), reader.number());
        let mut layers = [A::Layer::ZERO; C];
        for layer in layers.iter_mut().take(stored) {
            for m in layer.matrices_mut() {
                format::fill::<R, K>(m, &mut reader);
            }
        }
        let transformer = Transformer::from_stored(layers, stored, usize::from(header.depth))?;
        // In two steps, else a chip's stack has it twice.
        let model = Self::new(transformer, A::from_trace_decay(lambda)?, gamma)?;
        Ok(model)
    }

    /// Returns how many bytes the stored model takes.
    pub fn byte_len(&self) -> usize {
        self.header().byte_len() as usize
    }

    /// Writes the stored model to the front of a buffer, of [`Model::byte_len`] bytes or more, and returns the bytes
    /// written.
    pub fn write<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a [u8]> {
        write(buffer, self.header().byte_len(), |writer| {
            writer.bytes(&self.header().to_bytes());
            writer.number(self.gamma);
            writer.number(self.attention.trace_decay());
            for m in self.transformer.layers().iter().flat_map(LayerParameters::matrices) {
                for x in format::rows::<R, K>(m) {
                    writer.number(x);
                }
            }
        })
    }

    /// Returns the header of the stored model.
    pub fn header(&self) -> Header {
        let is_shared = self.transformer.layers().len() == 1;
        Header {
            scalar_bytes: R::BYTES as u8,
            attention: A::KIND,
            mask: A::MASK,
            mode: if is_shared { LayerSharing::Autoregressive } else { LayerSharing::Sequential },
            feature_dimension: D as u16,
            numbers: 0,
            depth: self.transformer.depth() as u16,
        }
    }

    /// Returns the transformer.
    pub fn transformer(&self) -> &Transformer<A::Layer, C> {
        &self.transformer
    }

    /// Returns the attention mechanism.
    pub fn attention(&self) -> &A {
        &self.attention
    }

    /// Returns the discount that the model was made for; 1 in the average-reward setting.
    pub fn gamma(&self) -> R {
        self.gamma
    }
}

impl<R: Real, const D: usize, const K: usize, const C: usize, M: Mask<R>>
    Model<R, D, K, C, Linear<M>>
{
    /// Returns an empty context of the model's mask that remembers every transition; one with any memory will do.
    pub const fn context(&self) -> Context<D, M, Growing, R> {
        Context::<D, M, Growing, R>::with_memory(self.attention.0, Growing)
    }

    /// Returns the value function that the layers compute from a context, v(s) = <w, phi(s)>, for the model's
    /// discount and the context's first cumulant. On a Cortex-M4F it takes stack for at most 4 K^2
    /// numbers and 0.5 KB up to three layers, beyond that 10 K^2 and 0.6 KB.
    ///
    /// ```
    /// use ictd_core::model::ConstructionSettings;
    /// use ictd_core::{Context, Model};
    ///
    /// let model = Model::<2>::td0(ConstructionSettings::new(0.9).step_size(0.5).depth(3))?;
    /// let mut context = Context::<2>::new(); // its mask is the model's by type
    /// context.observe(&[1.0, 0.0], 1.0, &[0.0, 1.0])?;
    /// assert_eq!(model.value_function(&context)?.at(&[1.0, 0.0]), 0.875);
    /// # Ok::<(), ictd_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Empty`] before the first transition; [`Error::Mismatch`] if model and context have two
    /// trace decays; [`Error::NonFinite`] if the sums overflowed; [`Error::Diverges`] if the layers blow up.
    pub fn value_function<Mem: Memory<R>, const CUMULANTS: usize>(
        &self,
        context: &Context<D, M, Mem, R, CUMULANTS>,
    ) -> Result<ValueFunction<R, D>> {
        self.estimate(context, Gvf { cumulant: 0, gamma: self.gamma })
    }

    /// Returns the value function of one of the context's cumulants for a discount. A discount other than the model's
    /// needs layers that run TD for every discount, as constructions do and trained parameters do not.
    /// Returns the errors of [`Model::value_function`], and [`Error::OutOfRange`], naming `cumulant` or `gamma`.
    pub fn value_function_for<Mem: Memory<R>, const CUMULANTS: usize>(
        &self,
        context: &Context<D, M, Mem, R, CUMULANTS>,
        Gvf { cumulant, gamma }: Gvf<R>,
    ) -> Result<ValueFunction<R, D>> {
        let Transformer { form, .. } = self.transformer;
        let td = |layer: &Layer<R, K>| layer.form() != LayerForm::Dense;
        let all = || form != LayerForm::Dense || self.transformer.layers().iter().all(td);
        ensure(
            gamma == self.gamma || all(),
            out_of_range("gamma", "the model's own, for which its parameters were trained"),
        )?;
        self.estimate(context, Gvf { cumulant, gamma: check_discount::<R, D, K>(gamma)? })
    }

    #[inline(always)]
    fn estimate<Mem: Memory<R>, const CUMULANTS: usize>(
        &self,
        context: &Context<D, M, Mem, R, CUMULANTS>,
        Gvf { cumulant, gamma }: Gvf<R>,
    ) -> Result<ValueFunction<R, D>> {
        ensure(
            self.attention.0 == *context.mask(),
            Error::Mismatch { parameter: "the trace decay of model and context" },
        )?;
        let mut statistic = Statistic { g: zeros(), inverse_len: R::ZERO };
        let td = self.transformer.form == LayerForm::Td;
        context.statistic_to(gamma, cumulant, td, &mut statistic)?;
        // The sums are finite: what is not has blown up.
        let value = self.transformer.judged_value_function::<D, true>(&statistic);
        let value = value.map_err(|_| Error::Diverges)?;
        // The TD form reads only part of G, so divergence is judged by the updates (`judged_value_function`).
        if td || is_possible(&value, &statistic, gamma) { Ok(value) } else { Err(Error::Diverges) }
    }
}

/// Returns false if the values at the context's own states exceed all that its rewards could add up to. Their mean square
/// is at most the rewards' over (1 - gamma)^2 (Minkowski, for a stationary stream). Layers that diverge are off by powers
/// of the step size, so values a hundred times as large are no prediction.
#[inline(always)]
fn is_possible<R: Real, const D: usize, const K: usize>(
    value: &ValueFunction<R, D>,
    statistic: &Statistic<R, K>,
    gamma: R,
) -> bool {
    let w = &value.weights.data.0[0];
    let mut square = R::ZERO;
    for j in 0..D {
        let mut column = R::ZERO;
        for i in 0..D {
            column += w[i] * statistic.g.data.0[j][i];
        }
        square += w[j] * column;
    }
    let horizon = R::ONE - gamma;
    let rewards = statistic.g.data.0[K - 1][K - 1];
    square * (horizon * horizon) <= R::from_f64(1e4) * rewards || rewards <= R::ZERO
}
