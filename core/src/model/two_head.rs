//! The stored model of the average-reward setting.

use super::format::{self, Header, fill, numbers, rows};
use super::{AttentionKind, Mode, ModelError};
use crate::context::{Context, Growing, GrowingAverageReward, TwoHeadContext};
use crate::error::Error;
use crate::mask::{MeanCentred, Td0};
use crate::prompt::Prompt;
use crate::scalar::Real;
use crate::two_head::{TwoHeadLayer, TwoHeadTransformer};
use crate::value_function::ValueFunction;

/// A two-head transformer as bytes: differential values under the average reward, no discount.
///
/// K = 2 D + 2; C is the capacity for stored layers. [`crate::TwoHeadModel`] takes the feature
/// dimension alone. The byte format is that of [`crate::model`].
///
/// ```
/// use ictd_core::TwoHeadModel;
///
/// let model = TwoHeadModel::<4>::average_reward(0.2, 15)?;
/// let mut context = model.context()?;
/// let (phi, phi_next) = ([0.5, -0.25, 1.0, 0.0], [1.0, 0.5, -0.5, 0.25]);
/// context.observe(&phi, 0.75, &phi_next)?;
/// context.observe(&phi_next, -0.25, &phi)?;
/// let value = model.value_function(&context)?;
/// assert!(value.at(&phi) > value.at(&phi_next));
/// # Ok::<(), ictd_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TwoHeadModel<R: Real, const D: usize, const K: usize, const C: usize> {
    transformer: TwoHeadTransformer<R, K, C>,
}

impl<R: Real, const D: usize, const K: usize, const C: usize> TwoHeadModel<R, D, K, C> {
    /// A model of its transformer; one with a single stored layer counts as autoregressive.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], naming `depth` beyond 65535.
    pub fn new(transformer: TwoHeadTransformer<R, K, C>) -> Result<Self, Error> {
        const {
            assert!(K == 2 * D + 2, "a two-head model has tokens of size K = 2 * D + 2");
            assert!(D <= u16::MAX as usize && C <= u16::MAX as usize);
        }
        if transformer.depth() > usize::from(u16::MAX) {
            return Err(Error::OutOfRange { parameter: "depth", accepted: "1 to 65535" });
        }
        Ok(TwoHeadModel { transformer })
    }

    /// [`TwoHeadModel::new`] for a constant; the caller has checked the depth.
    pub(super) const fn constant(transformer: TwoHeadTransformer<R, K, C>) -> Self {
        TwoHeadModel { transformer }
    }

    /// Reads a stored model.
    ///
    /// # Errors
    /// A [`ModelError`] for anything that is not an intact two-head model of this scalar type,
    /// feature dimension and capacity, with finite parameters, gamma 1 and lambda 0.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ModelError> {
        let header = Header::of(bytes)?;
        if header.attention != AttentionKind::TwoHead {
            return Err(ModelError::Heads { found: header.attention });
        }
        header.expect::<R>(D, C)?;
        let mut numbers = numbers(bytes);
        // The length was checked: there is a number for every place.
        let mut next = || numbers.next().unwrap_or(R::ZERO);
        for (parameter, number, accepted) in
            [("gamma", R::ONE, "1 with two heads"), ("lambda", R::ZERO, "0 with two heads")]
        {
            if next() != number {
                return Err(Error::OutOfRange { parameter, accepted }.into());
            }
        }
        let mut layers = [TwoHeadLayer::ZERO; C];
        let stored = usize::from(header.stored_layers());
        for layer in layers.iter_mut().take(stored) {
            for m in layer.matrices_mut() {
                fill(m, &mut next);
            }
        }
        let depth = usize::from(header.depth);
        let transformer = TwoHeadTransformer::from_stored(layers, stored, depth)?;
        // A sequential model of one layer comes back as the autoregressive one that it equals.
        Ok(Self::new(transformer)?)
    }

    /// How many bytes the stored model takes.
    pub fn byte_len(&self) -> usize {
        self.header().byte_len() as usize
    }

    /// Writes the stored model to the front of a buffer and returns the bytes written.
    ///
    /// # Errors
    /// [`ModelError::Length`] if the buffer is shorter than [`TwoHeadModel::byte_len`].
    pub fn write<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a [u8], ModelError> {
        let layers = self.transformer.layers().iter();
        let parameters = layers.flat_map(TwoHeadLayer::matrices).flat_map(rows);
        format::write(buffer, self.header(), [R::ONE, R::ZERO].into_iter().chain(parameters))
    }

    /// What the first bytes of the stored model say.
    pub fn header(&self) -> Header {
        let shared = self.transformer.layers().len() == 1;
        Header {
            scalar_bytes: R::BYTES as u8,
            attention: AttentionKind::TwoHead,
            mode: if shared { Mode::Autoregressive } else { Mode::Sequential },
            feature_dimension: D as u16,
            depth: self.transformer.depth() as u16,
        }
    }

    /// The transformer.
    pub fn transformer(&self) -> &TwoHeadTransformer<R, K, C> {
        &self.transformer
    }

    /// An empty context for both heads.
    ///
    /// # Errors
    /// None: the average-reward setting has no parameter that could be refused.
    pub fn context(&self) -> Result<GrowingAverageReward<R, D, K>, Error> {
        Ok(TwoHeadContext {
            head1: Growing::new(R::ONE, MeanCentred)?,
            head2: Growing::new(R::ONE, Td0)?,
        })
    }

    /// The differential value function computed from a context, v(s) = <w, phi(s)>.
    ///
    /// # Errors
    /// [`Error::Empty`] before the first transition; [`Error::NonFinite`] if the layers blow up.
    pub fn value_function<A, B>(
        &self,
        context: &TwoHeadContext<A, B>,
    ) -> Result<ValueFunction<R, D>, Error>
    where
        A: Context<R, D, K>,
        B: Context<R, D, K>,
    {
        self.transformer.value_function(context)
    }

    /// TF_L(Z_0), the value of the prompt's query, by the literal forward pass.
    ///
    /// # Errors
    /// [`Error::Empty`] if the prompt has no context.
    pub fn value<const N: usize>(&self, prompt: &Prompt<R, K, N>) -> Result<R, Error> {
        self.transformer.value(prompt)
    }
}
