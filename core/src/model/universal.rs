//! A model without a feature dimension: ten numbers a layer, read from a context in units of its own.

use super::format::{self, Header};
use super::{AttentionKind, Mode};
use crate::context::{Context, Forgetting, Growing, Window};
use crate::error::Error;
use crate::layer::{EquivariantLayer, LayerParameters, UniversalLayer};
use crate::mask::{Mask, TdLambda};
use crate::normalised::{Metric, Whole, bounded};
use crate::scalar::{Real, Scalar, check_lanes};
use crate::stored::{Reader, write};
use crate::transformer::Transformer;
use crate::transition::check_gamma;
use crate::value_function::BoundedValueFunction;

/// Layers of ten numbers, a mask and a discount: one model for every number of features, every length of a
/// context and every unit ([`crate::normalised`]), in at most C layers.
///
/// ```
/// use ictd_core::UniversalModel;
///
/// let model = UniversalModel::<f32>::universal(0.9)?;
/// let mut context = model.context::<4>(); // or any other number of features
/// context.observe(&[0.5, -0.25, 1.0, 0.0], 0.75, &[1.0, 0.5, -0.5, 0.25])?;
/// let value = model.value_function(&context)?;
/// assert!(value.at(&[0.5, -0.25, 1.0, 0.0]) > 0.0);
/// # Ok::<(), ictd_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct UniversalModel<R: Real = f32, M: Mask<R> = TdLambda<R>, const C: usize = 3> {
    transformer: Transformer<UniversalLayer<R>, C>,
    mask: M,
    prior_count: R,
    gamma: R,
}

impl<R: Real, M: Mask<R>, const C: usize> UniversalModel<R, M, C> {
    /// Returns a model of its parts.
    ///
    /// # Errors
    /// [`Error::NonFinite`] or [`Error::OutOfRange`], naming `prior_count` (above 0) or `gamma` (in \[0, 1));
    /// [`Error::CapacityExceeded`] for more layers in the pass than C.
    pub fn new(
        transformer: Transformer<UniversalLayer<R>, C>,
        mask: M,
        prior_count: R,
        gamma: R,
    ) -> Result<Self, Error> {
        let above_0 = |n| n > Scalar::ZERO;
        let prior_count = check_lanes(prior_count, "prior_count", above_0, "above 0")?;
        if transformer.depth() > C {
            return Err(Error::CapacityExceeded { parameter: "layers", capacity: C });
        }
        Ok(UniversalModel { transformer, mask, prior_count, gamma: check_gamma(gamma)? })
    }

    /// Returns the same layers under another mask: contexts of one trace decay can then serve several discounts
    /// ([`UniversalModel::value_function_for`]).
    pub fn with_mask(self, mask: M) -> Self {
        UniversalModel { mask, ..self }
    }

    /// Returns an empty context of the model's mask, for D features, that remembers every transition. Any other
    /// context of this mask will do, with any window and any number of cumulants.
    pub const fn context<const D: usize>(&self) -> Context<D, M, Growing, R> {
        Context::<D, M, Growing, R>::with(self.mask, Growing)
    }

    /// Returns an empty context for D features that forgets: what was observed shrinks by this factor, in (0, 1), with
    /// each transition. A retention of 0.995 remembers about the last 200.
    ///
    /// # Errors
    /// As [`Forgetting::new`].
    pub fn forgetting<const D: usize>(
        &self,
        retention: R,
    ) -> Result<Context<D, M, Forgetting<R>, R>, Error> {
        Ok(Context::<D, M, _, R>::with(self.mask, Forgetting::new(retention)?))
    }

    /// Returns the value function that the layers compute from a context, v(s) = <w, phi(s)>, for its first
    /// cumulant. From the first transition on there is one, whatever was observed.
    ///
    /// Features are clipped to twice their root mean square. Values are held to what the largest reward max |r|
    /// could add up to, max |r| n / (n (1 - gamma) + gamma) n / (n + 1): half a reward after one transition,
    /// max |r| / (1 - gamma) after many.
    ///
    /// # Errors
    /// [`Error::Empty`] before the first transition; [`Error::Mismatch`] if model and context have two
    /// trace decays; [`Error::NonFinite`] if sums or layers left the range of the scalar.
    pub fn value_function<const D: usize, W: Window<R>, const CUMULANTS: usize>(
        &self,
        context: &Context<D, M, W, R, CUMULANTS>,
    ) -> Result<BoundedValueFunction<R, D>, Error> {
        self.value_function_of(context, 0)
    }

    /// [`UniversalModel::value_function`] of one of the context's cumulants (0 to C - 1).
    ///
    /// # Errors
    /// As [`UniversalModel::value_function`]; [`Error::OutOfRange`], naming `cumulant`.
    pub fn value_function_of<const D: usize, W: Window<R>, const CUMULANTS: usize>(
        &self,
        context: &Context<D, M, W, R, CUMULANTS>,
        cumulant: usize,
    ) -> Result<BoundedValueFunction<R, D>, Error> {
        if self.mask != *context.mask() {
            return Err(Error::Mismatch { parameter: "lambda of model and context" });
        }
        context.check_readable(cumulant)?;
        let unnormalised = context.read(self.gamma, cumulant, Whole);
        let (n, gamma) = (context.weight(), self.gamma);
        let metric = Metric::new(&unnormalised, n, self.prior_count);
        let d = metric.features_seen();
        let share = d / (n + d);
        let value_function = self.transformer.value_function(share, &unnormalised.g, &metric)?;
        let largest_reward = context.largest_reward().of(cumulant);
        Ok(bounded(value_function, unnormalised.root_mean_squares(n), n, gamma, largest_reward))
    }

    /// [`UniversalModel::value_function_of`] for another discount gamma in \[0, 1) than the model's. The trace decay stays
    /// that of the mask, so gamma should not be below it.
    ///
    /// # Errors
    /// As [`UniversalModel::value_function_of`]; [`Error::NonFinite`] or [`Error::OutOfRange`], naming `gamma`.
    pub fn value_function_for<const D: usize, W: Window<R>, const CUMULANTS: usize>(
        &self,
        context: &Context<D, M, W, R, CUMULANTS>,
        cumulant: usize,
        gamma: R,
    ) -> Result<BoundedValueFunction<R, D>, Error> {
        let model = UniversalModel { gamma: check_gamma(gamma)?, ..self.clone() };
        model.value_function_of(context, cumulant)
    }

    /// Reads a stored model.
    ///
    /// # Errors
    /// [`Error::Stored`] for anything that is not an intact universal model of this scalar type and capacity;
    /// [`Error::NonFinite`] and [`Error::OutOfRange`] for parameters that are not finite, a discount, prior or
    /// lambda that the model cannot have.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let header = Header::of_kind(bytes, true)?;
        header.expect::<R>(AttentionKind::Linear, 0, C)?;
        let mut reader = Reader { rest: bytes.get(format::HEADER..).unwrap_or(&[]) };
        let (gamma, lambda) = (reader.number(), reader.number());
        let prior_count = reader.number();
        let (mut layers, stored) = ([UniversalLayer::ZERO; C], header.stored_layers().into());
        for layer in layers.iter_mut().take(stored) {
            let matrices = layer.matrices_mut().take(2 * usize::from(header.number_sets));
            matrices.flatten().for_each(|x| *x = reader.number());
        }
        let transformer = Transformer::from_stored(layers, stored, header.depth.into())?;
        Self::new(transformer, M::of_lambda(lambda)?, prior_count, gamma)
    }

    /// Returns how many bytes the stored model takes: in `f32` 28, and 40 or 80 for each layer.
    pub fn byte_len(&self) -> usize {
        self.header().byte_len() as usize
    }

    /// Writes the stored model to the front of a buffer and returns the bytes written.
    ///
    /// ```
    /// use ictd_core::UniversalModel;
    ///
    /// let mut bytes = [0; 300];
    /// let model = UniversalModel::<f32>::universal(0.9)?;
    /// let bytes = model.write(&mut bytes)?;
    /// assert_eq!((bytes.len(), UniversalModel::<f32>::from_bytes(bytes)?), (268, model));
    /// # Ok::<(), ictd_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`StoredError::Length`](crate::StoredError::Length) if the buffer is shorter than
    /// [`UniversalModel::byte_len`].
    pub fn write<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a [u8], Error> {
        write(buffer, self.header().byte_len(), |writer| {
            writer.bytes(&self.header().to_bytes());
            for x in [self.gamma, self.mask.lambda(), self.prior_count] {
                writer.number(x);
            }
            let sets = usize::from(self.header().number_sets);
            let layers = self.transformer.layers().iter();
            for x in layers.flat_map(|layer| layer.matrices().take(2 * sets)).flatten() {
                writer.number(*x);
            }
        })
    }

    /// Returns the header of the stored model.
    pub fn header(&self) -> Header {
        let shared = self.transformer.layers().len() == 1;
        Header {
            scalar_bytes: R::BYTES as u8,
            attention: AttentionKind::Linear,
            mode: if shared { Mode::Autoregressive } else { Mode::Sequential },
            feature_dimension: 0,
            number_sets: if self
                .transformer
                .layers()
                .iter()
                .all(|l| l.early == EquivariantLayer::ZERO)
            {
                1
            } else {
                2
            },
            depth: self.transformer.depth() as u16,
        }
    }

    /// Returns the layers.
    pub fn transformer(&self) -> &Transformer<UniversalLayer<R>, C> {
        &self.transformer
    }

    /// Returns the mask.
    pub fn mask(&self) -> &M {
        &self.mask
    }

    /// n_0 of the normalised read.
    pub fn prior_count(&self) -> R {
        self.prior_count
    }

    /// Returns the discount.
    pub fn gamma(&self) -> R {
        self.gamma
    }
}

/// The numbers that ship, trained by `ictd reproduce universal`: of each layer p1 to p5 and q1 to q5, then what
/// is added while a context is short.
#[rustfmt::skip]
const SHIPPED: [[[f32; 10]; 2]; 3] = [
    [
        [-0.4594436, 0.060268722, -0.15310602, -0.01323517, 0.3313648, -0.6453612, 0.57773674, 0.25326332, 0.10200556, -0.2647953],
        [0.16068837, 0.45450905, -1.4216121, -0.81440216, -0.0012563706, 0.0848439, -0.45202455, 0.64867574, -0.56752354, -1.2953924],
    ],
    [
        [0.11509778, 0.1278369, 0.0641424, 0.17847829, 0.7100656, -0.8024589, 0.86298084, -0.33385736, -0.105575785, 0.2831693],
        [0.093511336, -0.19747257, -0.36793888, -0.07855765, -0.63113797, -0.6230546, -0.76043093, -0.16072538, 0.23200734, 1.2553815],
    ],
    [
        [0.0, 0.0, 0.0, 0.0, 0.53538674, -1.7065926, 0.541321, 0.06255157, -0.17214136, 0.20042366],
        [0.0, 0.0, 0.0, 0.0, -0.3229728, -0.8700513, 1.3132954, -0.33224684, 0.40126774, 0.8695358],
    ],
];

impl<R: Real> UniversalModel<R> {
    /// n_0 of the model that ships.
    pub const PRIOR_COUNT: f64 = 5.0;

    /// The trace decay of the model that ships, over the discount: its mask's lambda is 0.92 gamma.
    pub const TRACE: f64 = 0.92;
}

macro_rules! shipped {
    ($t:ident) => {
        impl UniversalModel<$t> {
            /// Returns the model that ships, for a discount.
            ///
            /// Usable in a constant, where a bad argument fails the build:
            ///
            /// ```
            /// use ictd_core::UniversalModel;
            ///
            /// const MODEL: UniversalModel = match UniversalModel::<f32>::universal(0.9) {
            ///     Ok(model) => model,
            ///     Err(_) => panic!("gamma is out of range"),
            /// };
            /// assert_eq!(MODEL.transformer().depth(), 3);
            /// ```
            ///
            /// # Errors
            /// [`Error::NonFinite`] or [`Error::OutOfRange`], naming `gamma` (in \[0, 1)).
            pub const fn universal(gamma: $t) -> Result<Self, Error> {
                if !gamma.is_finite() {
                    return Err(Error::NonFinite { parameter: "gamma" });
                }
                if !(gamma >= 0.0 && gamma < 1.0) {
                    return Err(Error::OutOfRange { parameter: "gamma", accepted: "[0, 1)" });
                }
                let zero = EquivariantLayer { p: [0.0; 5], q: [0.0; 5] };
                let mut layers = [UniversalLayer { base: zero, early: zero }; 3];
                let mut l = 0;
                while l < 3 {
                    let [base, early] = SHIPPED[l];
                    let mut i = 0;
                    while i < 5 {
                        layers[l].base.p[i] = base[i] as $t;
                        layers[l].base.q[i] = base[5 + i] as $t;
                        layers[l].early.p[i] = early[i] as $t;
                        layers[l].early.q[i] = early[5 + i] as $t;
                        i += 1;
                    }
                    l += 1;
                }
                Ok(UniversalModel {
                    transformer: Transformer::constant_sequential(layers),
                    mask: TdLambda::unchecked(Self::TRACE as $t * gamma),
                    prior_count: Self::PRIOR_COUNT as $t,
                    gamma,
                })
            }
        }
    };
}

shipped!(f32);
shipped!(f64);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Context;
    use crate::error::StoredError;
    use crate::model::crc32;

    #[test]
    fn every_damage_to_a_stored_model_is_found() {
        let model = UniversalModel::<f32>::universal(0.9).unwrap();
        let mut buffer = [0; 300];
        let len = model.write(&mut buffer).unwrap().len();
        let stored = &buffer[..len];
        assert_eq!(UniversalModel::from_bytes(stored), Ok(model));
        for at in 0..len {
            for bit in 0..8 {
                let mut damaged = buffer;
                damaged[at] ^= 1 << bit;
                assert!(UniversalModel::<f32>::from_bytes(&damaged[..len]).is_err(), "{at} {bit}");
            }
            assert!(UniversalModel::<f32>::from_bytes(&stored[..at]).is_err(), "{at} bytes");
        }
        // Whole and undamaged, and yet not a model of the type that reads it, or of none.
        let changed = |at: usize, to: u8| {
            let mut bytes = buffer;
            bytes[at] = to;
            let crc = crc32(&bytes[..len - 4]).to_le_bytes();
            bytes[len - 4..len].copy_from_slice(&crc);
            UniversalModel::<f32>::from_bytes(&bytes[..len])
        };
        let mismatch = |part, found, expected| {
            Err(Error::Stored(StoredError::Mismatch { part, found, expected }))
        };
        assert_eq!(changed(4, 3), mismatch("format version", 3, 2));
        assert_eq!(changed(4, 1), mismatch("format version", 1, 2));
        assert!(matches!(changed(8, 4), Err(Error::Stored(StoredError::Unknown { .. }))));
        assert!(changed(9, 1).is_err());
        assert!(matches!(changed(6, 2), Err(Error::Stored(StoredError::Unknown { .. }))));
        // gamma = 0.9 becomes about 2e38.
        assert!(matches!(changed(15, 0x7f), Err(Error::OutOfRange { parameter: "gamma", .. })));
        let none = UniversalModel::<f32, TdLambda, 2>::from_bytes(stored);
        assert!(matches!(none, Err(Error::Stored(StoredError::Layers { found: 3, capacity: 2 }))));
        assert!(UniversalModel::<f64>::from_bytes(stored).is_err());
        assert!(crate::Model::<4>::from_bytes(stored).is_err());
    }

    #[test]
    fn a_context_of_another_mask_or_without_transitions_is_refused() {
        let model = UniversalModel::<f32>::universal(0.9).unwrap();
        let empty = model.context::<2>();
        assert_eq!(model.value_function(&empty), Err(Error::Empty { parameter: "context" }));
        let other = TdLambda::new(0.5).unwrap();
        let mut other = Context::<2, TdLambda>::with(other, Growing);
        other.observe(&[1.0, 0.0], 1.0, &[0.0, 1.0]).unwrap();
        let mismatch = Error::Mismatch { parameter: "lambda of model and context" };
        assert_eq!(model.value_function(&other), Err(mismatch));
        assert!(UniversalModel::<f32>::universal(1.0).is_err());
        let layers = model.transformer().clone();
        assert!(UniversalModel::new(layers, *model.mask(), 0.0, 0.9).is_err());
    }
}
