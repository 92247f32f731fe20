//! A trained or constructed transformer as bytes: what the host writes and firmware links.
//!
//! # Format, version 1
//!
//! Every number is little-endian, whatever the platform; nothing is aligned or padded.
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 4 | `ICTD` |
//! | 4 | 1 | format version: 1 |
//! | 5 | 1 | scalar type by its size b: 4 is `f32`, 8 is `f64` |
//! | 6 | 1 | attention: 1 linear, 2 softmax, 3 the two linear heads of the average-reward setting |
//! | 7 | 1 | mode: 1 autoregressive (one layer, used L times), 2 sequential (L layers) |
//! | 8 | 2 | d, the feature dimension |
//! | 10 | 2 | L, the number of layers |
//! | 12 | b | gamma, the discount; two heads: 1 |
//! | 12 + b | b | lambda, the trace decay of the mask: 0 is TD(0)'s mask; two heads: 0 |
//! | 12 + 2 b | 2 K K b per stored layer | P_l, then Q_l, row by row, K = 2 d + 1 |
//! | (two heads) | 6 K K b per stored layer | P, Q and W's columns of head 1, then of head 2, K = 2 d + 2 |
//! | last 4 | 4 | CRC-32 (IEEE 802.3) of all bytes before it |
//!
//! Numbers are IEEE 754 bits: what is read is bit for bit what was written.
//!
//! # Reading
//!
//! [`Model::from_bytes`], for two heads [`TwoHeadModel::from_bytes`], needs no allocation and no
//! alignment, never panics, and refuses everything else than an intact model of the shape asked for
//! with a [`ModelError`]: any damage to at most 32 neighbouring bits, and any truncation, is sure to
//! be noticed. [`Header::of`] reads the shape of a model that is not known.
//!
//! ```
//! use ictd_core::Model;
//!
//! let mut bytes = [0; 1024];
//! let model = Model::<4>::td0(0.2, 15, 0.9)?;
//! let bytes = model.write(&mut bytes)?;
//! assert_eq!(Model::<4>::from_bytes(bytes)?, model);
//! assert!(Model::<4>::from_bytes(&bytes[1..]).is_err());
//! # Ok::<(), ictd_core::model::ModelError>(())
//! ```

mod constructed;
mod error;
mod format;
mod two_head;

pub use error::ModelError;
pub use format::{Header, crc32};
pub use two_head::TwoHeadModel;

use crate::attention::{SoftmaxAttention, TdLambda};
use crate::context::{Context, Growing, Streaming};
use crate::error::Error;
use crate::prompt::Prompt;
use crate::scalar::Real;
use crate::transformer::{Layer, Transformer};
use crate::transition::check_discount;
use crate::value_function::ValueFunction;
use format::{fill, numbers, rows};

/// The first four bytes of a stored model.
pub const MAGIC: [u8; 4] = *b"ICTD";

/// The format version that is written and read.
pub const VERSION: u8 = 1;

/// The attention mechanism of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u8)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum AttentionKind {
    /// [`crate::attention::LinearAttention`]: constant memory, a value function in one pass.
    Linear = 1,
    /// [`SoftmaxAttention`]: needs all columns of the prompt.
    Softmax = 2,
    /// The two linear heads of the average-reward setting: a [`TwoHeadModel`], no [`Model`].
    TwoHead = 3,
}

impl AttentionKind {
    fn of(code: u8) -> Result<Self, ModelError> {
        match code {
            1 => Ok(AttentionKind::Linear),
            2 => Ok(AttentionKind::Softmax),
            3 => Ok(AttentionKind::TwoHead),
            found => Err(ModelError::Attention { found }),
        }
    }
}

/// How a model's layers get their parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u8)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Mode {
    /// One layer, used L times.
    Autoregressive = 1,
    /// L layers with their own parameters.
    Sequential = 2,
}

impl Mode {
    fn of(code: u8) -> Result<Self, ModelError> {
        match code {
            1 => Ok(Mode::Autoregressive),
            2 => Ok(Mode::Sequential),
            found => Err(ModelError::Mode { found }),
        }
    }
}

/// A transformer with what is needed to run it: attention, discount, and its mask's trace decay.
///
/// K = 2 D + 1; C is the capacity for stored layers. [`crate::Model`] and
/// [`crate::SequentialModel`] take the feature dimension alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Model<R: Real, const D: usize, const K: usize, const C: usize> {
    transformer: Transformer<R, K, C>,
    attention: AttentionKind,
    mode: Mode,
    gamma: R,
    lambda: R,
}

impl<R: Real, const D: usize, const K: usize, const C: usize> Model<R, D, K, C> {
    /// A model of its parts; `lambda` is 0 unless it was made for the mask of TD(lambda).
    ///
    /// A transformer with one stored layer counts as autoregressive.
    ///
    /// # Errors
    /// [`Error::NonFinite`] or [`Error::OutOfRange`], naming `gamma`, `lambda`, `depth` beyond
    /// 65535, or `attention` with two heads.
    pub fn new(
        transformer: Transformer<R, K, C>,
        attention: AttentionKind,
        gamma: R,
        lambda: R,
    ) -> Result<Self, Error> {
        const {
            assert!(K == 2 * D + 1, "a stored model has tokens of size K = 2 * D + 1");
            assert!(D <= u16::MAX as usize && C <= u16::MAX as usize);
        }
        if attention == AttentionKind::TwoHead {
            let accepted = "linear or softmax (two heads: TwoHeadModel)";
            return Err(Error::OutOfRange { parameter: "attention", accepted });
        }
        let gamma = check_discount::<R, D, K>(gamma)?;
        let lambda = TdLambda::new(lambda)?.lambda();
        if transformer.depth() > usize::from(u16::MAX) {
            return Err(Error::OutOfRange { parameter: "depth", accepted: "1 to 65535" });
        }
        let mode =
            if transformer.layers().len() == 1 { Mode::Autoregressive } else { Mode::Sequential };
        Ok(Model { transformer, attention, mode, gamma, lambda })
    }

    /// Reads a stored model.
    ///
    /// # Errors
    /// A [`ModelError`] for anything that is not an intact model of this scalar type, feature
    /// dimension and capacity, with finite parameters, gamma in [0, 1) and lambda in [0, 1].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ModelError> {
        let header = Header::of(bytes)?;
        if header.attention == AttentionKind::TwoHead {
            return Err(ModelError::Heads { found: header.attention });
        }
        header.expect::<R>(D, C)?;
        let stored = usize::from(header.stored_layers());
        let mut numbers = numbers(bytes);
        // The length was checked: there is a number for every place.
        let mut next = || numbers.next().unwrap_or(R::ZERO);
        let (gamma, lambda) = (next(), next());
        let zero = Layer { p: crate::linalg::zeros(), q: crate::linalg::zeros() };
        let mut layers = [zero; C];
        for layer in layers.iter_mut().take(stored) {
            fill(&mut layer.p, &mut next);
            fill(&mut layer.q, &mut next);
        }
        let transformer = Transformer::from_stored(layers, stored, usize::from(header.depth))?;
        Ok(Self { mode: header.mode, ..Self::new(transformer, header.attention, gamma, lambda)? })
    }

    /// How many bytes the stored model takes.
    pub fn byte_len(&self) -> usize {
        self.header().byte_len() as usize
    }

    /// Writes the stored model to the front of a buffer and returns the bytes written.
    ///
    /// # Errors
    /// [`ModelError::Length`] if the buffer is shorter than [`Model::byte_len`].
    pub fn write<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a [u8], ModelError> {
        let layers = self.transformer.layers().iter();
        let parameters = layers.flat_map(|layer| [&layer.p, &layer.q]).flat_map(rows);
        format::write(
            buffer,
            self.header(),
            [self.gamma, self.lambda].into_iter().chain(parameters),
        )
    }

    /// What the first bytes of the stored model say.
    pub fn header(&self) -> Header {
        Header {
            scalar_bytes: R::BYTES as u8,
            attention: self.attention,
            mode: self.mode,
            feature_dimension: D as u16,
            depth: self.transformer.depth() as u16,
        }
    }

    /// The transformer.
    pub fn transformer(&self) -> &Transformer<R, K, C> {
        &self.transformer
    }

    /// The attention mechanism.
    pub fn attention(&self) -> AttentionKind {
        self.attention
    }

    /// The discount that the model was made for.
    pub fn gamma(&self) -> R {
        self.gamma
    }

    /// The trace decay of the mask that the model was made for; 0 is TD(0)'s mask.
    pub fn lambda(&self) -> R {
        self.lambda
    }

    /// An empty context with the model's discount.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the model was made for a trace decay: see
    /// [`Model::trace_context`].
    pub fn context(&self) -> Result<Streaming<R, D, K>, Error> {
        if self.lambda != R::ZERO {
            return Err(Error::OutOfRange { parameter: "lambda of the model", accepted: "0" });
        }
        Streaming::new(self.gamma)
    }

    /// An empty context with the model's discount and trace decay, whose methods are those of the trait
    /// [`Context`].
    ///
    /// # Errors
    /// None for a model that was constructed or read.
    pub fn trace_context(&self) -> Result<Growing<R, D, K, TdLambda<R>>, Error> {
        Growing::new(self.gamma, TdLambda::new(self.lambda)?)
    }

    /// The value function that linear attention computes from a context, v(s) = <w, phi(s)>. It takes stack
    /// for 2 K^2 numbers up to three layers, beyond that for 8 K^2.
    ///
    /// # Errors
    /// [`Error::Empty`] before the first transition; [`Error::NonFinite`] if the layers blow up;
    /// [`Error::OutOfRange`] for a softmax model, whose values [`Model::value`] computes.
    pub fn value_function(
        &self,
        context: &impl Context<R, D, K>,
    ) -> Result<ValueFunction<R, D>, Error> {
        match self.attention {
            AttentionKind::Linear => self.transformer.value_function(context),
            AttentionKind::Softmax | AttentionKind::TwoHead => {
                Err(Error::OutOfRange { parameter: "attention of the model", accepted: "linear" })
            }
        }
    }

    /// TF_L(Z_0), the value of the prompt's query, by the literal forward pass of the model's
    /// attention (eq. "tf output convention").
    ///
    /// # Errors
    /// [`Error::Empty`] if the prompt has no context, [`Error::NonFinite`] if the layers blow up.
    pub fn value<const N: usize>(&self, prompt: &Prompt<R, K, N>) -> Result<R, Error> {
        let value = match self.attention {
            AttentionKind::Linear => {
                let mask = TdLambda::new(self.lambda)?;
                self.transformer.value(prompt, &crate::attention::LinearAttention(mask))?
            }
            AttentionKind::Softmax => self.transformer.value(prompt, &SoftmaxAttention)?,
            AttentionKind::TwoHead => {
                let accepted = "linear or softmax";
                return Err(Error::OutOfRange { parameter: "attention of the model", accepted });
            }
        };
        if value.is_finite() { Ok(value) } else { Err(Error::NonFinite { parameter: "value" }) }
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod two_head_tests;
