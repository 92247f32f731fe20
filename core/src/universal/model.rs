//! The model as it is linked: a discount, two trace decays, and the learned numbers.

use super::{COUNT, Extent, Numbers, Solved};
use crate::context::{Context, Forgetting, Growing, TdSums, Window};
use crate::error::{Error, StoredError};
use crate::mask::{Mask, Traces};
use crate::model::{AttentionKind, HEADER, Header, Mode};
use crate::scalar::Real;
use crate::stored::{Reader, write};
use crate::transition::check_gamma;
use crate::value_function::{BoundedValueFunction, ValueFunction, root_mean_squares};

/// One model for every number of features, every length of a context and every unit ([`crate::universal`]).
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UniversalModel<R: Real = f32> {
    gamma: R,
    mask: Traces<R>,
    numbers: Numbers<R>,
}

/// The read of a context: a value function, and how well its features carry the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading<R: Real, const D: usize> {
    /// v(s) = <w, phi(s)>, within its bounds.
    pub value_function: BoundedValueFunction<R, D>,
    /// How far values look linear in the features, from 0 to 1: the weight of the solution for lambda = 0, which is the
    /// best one if they are. Near 1, more data make predictions better, as far as noise allows; near 0, better features
    /// would.
    pub linearity: R,
}

impl<R: Real> UniversalModel<R> {
    /// The lambda of the first trace; that of the second is 1.
    pub const LAMBDA: f64 = 0.92;

    /// Returns a model of its parts.
    ///
    /// # Errors
    /// [`Error::NonFinite`] or [`Error::OutOfRange`], naming `gamma` (in \[0, 1)) or `numbers` (finite).
    pub fn new(gamma: R, mask: Traces<R>, numbers: Numbers<R>) -> Result<Self, Error> {
        if !numbers.iter().all(|x| x.is_finite()) {
            return Err(Error::NonFinite { parameter: "numbers" });
        }
        Ok(UniversalModel { gamma: check_gamma(gamma)?, mask, numbers })
    }

    /// Returns the same model for another discount, with its traces.
    ///
    /// # Errors
    /// [`Error::NonFinite`] or [`Error::OutOfRange`], naming `gamma` (in \[0, 1)).
    pub fn with_gamma(self, gamma: R) -> Result<Self, Error> {
        let gamma = check_gamma(gamma)?;
        let mask = Traces::new(R::from_f64(Self::LAMBDA) * gamma, gamma)?;
        Ok(UniversalModel { gamma, mask, ..self })
    }

    /// Returns the same model with other traces: contexts of these can then serve several discounts
    /// ([`UniversalModel::value_function_for`]).
    pub fn with_traces(self, mask: Traces<R>) -> Self {
        UniversalModel { mask, ..self }
    }

    /// Returns an empty context for D features that remembers every transition. Any other context of this mask will do,
    /// with any window and any number of cumulants.
    pub const fn context<const D: usize>(&self) -> Context<D, Traces<R>, Growing, R> {
        Context::<D, Traces<R>, Growing, R>::with(self.mask, Growing)
    }

    /// Returns an empty context for D features that forgets: what was observed shrinks by this factor, in (0, 1), with
    /// each transition. A retention of 0.995 remembers about the last 200.
    ///
    /// # Errors
    /// As [`Forgetting::new`].
    pub fn forgetting<const D: usize>(
        &self,
        retention: R,
    ) -> Result<Context<D, Traces<R>, Forgetting<R>, R>, Error> {
        Ok(Context::<D, Traces<R>, _, R>::with(self.mask, Forgetting::new(retention)?))
    }

    /// Returns the value function of a context's first cumulant, v(s) = <w, phi(s)>. From the first transition on there
    /// is one, whatever was observed.
    ///
    /// Features are clipped to twice their root mean square, or a quarter of the root of their sum of squares if that is
    /// more. Values are held to what the largest reward max |r|
    /// could add up to, max |r| n / (n (1 - gamma) + gamma) n / (n + 1): half a reward after one transition,
    /// max |r| / (1 - gamma) after many.
    ///
    /// # Errors
    /// [`Error::Empty`] before the first transition; [`Error::Mismatch`] if model and context have other trace decays;
    /// [`Error::NonFinite`] if sums or weights left the range of the scalar; [`Error::Singular`] if the systems are singular
    /// in spite of their ridge.
    pub fn value_function<const D: usize, W: Window<R>, const CUMULANTS: usize>(
        &self,
        context: &Context<D, Traces<R>, W, R, CUMULANTS>,
    ) -> Result<BoundedValueFunction<R, D>, Error> {
        self.value_function_of(context, 0)
    }

    /// [`UniversalModel::value_function`] of one of the context's cumulants (0 to C - 1).
    ///
    /// # Errors
    /// As [`UniversalModel::value_function`]; [`Error::OutOfRange`], naming `cumulant`.
    pub fn value_function_of<const D: usize, W: Window<R>, const CUMULANTS: usize>(
        &self,
        context: &Context<D, Traces<R>, W, R, CUMULANTS>,
        cumulant: usize,
    ) -> Result<BoundedValueFunction<R, D>, Error> {
        Ok(self.read(context, cumulant)?.value_function)
    }

    /// [`UniversalModel::value_function_of`] for another discount gamma in \[0, 1) than the model's. A trace that decays more
    /// slowly than gamma, whose lambda would be above 1, is left out.
    ///
    /// # Errors
    /// As [`UniversalModel::value_function_of`]; [`Error::NonFinite`] or [`Error::OutOfRange`], naming `gamma`.
    pub fn value_function_for<const D: usize, W: Window<R>, const CUMULANTS: usize>(
        &self,
        context: &Context<D, Traces<R>, W, R, CUMULANTS>,
        cumulant: usize,
        gamma: R,
    ) -> Result<BoundedValueFunction<R, D>, Error> {
        let model = UniversalModel { gamma: check_gamma(gamma)?, ..*self };
        model.value_function_of(context, cumulant)
    }

    /// [`UniversalModel::value_function_of`], and how well the features carry the values.
    ///
    /// ```
    /// use ictd_core::UniversalModel;
    ///
    /// // A state that leads to itself, and one feature: its value is linear in that.
    /// let model = UniversalModel::<f32>::universal(0.9)?;
    /// let mut context = model.context::<1>();
    /// for _ in 0..100 {
    ///     context.observe(&[1.0], 1.0, &[1.0])?;
    /// }
    /// assert!(model.read(&context, 0)?.linearity > 0.5);
    /// # Ok::<(), ictd_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`UniversalModel::value_function_of`].
    pub fn read<const D: usize, W: Window<R>, const CUMULANTS: usize>(
        &self,
        context: &Context<D, Traces<R>, W, R, CUMULANTS>,
        cumulant: usize,
    ) -> Result<Reading<R, D>, Error> {
        if self.mask != *context.mask() {
            return Err(Error::Mismatch { parameter: "traces of model and context" });
        }
        let mut sums = TdSums::ZERO;
        sums.take(&context.read(self.gamma, cumulant)?);
        let extent = self.extent(context);
        let Solved { weights, roots, linearity } = self.numbers.solve(&mut sums, extent)?;
        let of = [extent.weight, extent.gamma, context.largest_reward(cumulant)];
        let value_function = ValueFunction { weights };
        let roots = root_mean_squares(roots, extent.weight);
        let value_function = BoundedValueFunction::of_context(value_function, roots, of);
        Ok(Reading { value_function, linearity })
    }

    /// Returns the sums of a context that the model reads.
    ///
    /// # Errors
    /// [`Error::Empty`] before the first transition; [`Error::OutOfRange`], naming `cumulant`.
    #[inline(always)]
    pub fn sums<const D: usize, W: Window<R>, const CUMULANTS: usize>(
        &self,
        context: &Context<D, Traces<R>, W, R, CUMULANTS>,
        cumulant: usize,
    ) -> Result<TdSums<R, D>, Error> {
        let mut sums = TdSums::ZERO;
        sums.take(&context.read(self.gamma, cumulant)?);
        Ok(sums)
    }

    /// Returns what the model needs to know of a context beside its sums.
    pub fn extent<const D: usize, W: Window<R>, const CUMULANTS: usize>(
        &self,
        context: &Context<D, Traces<R>, W, R, CUMULANTS>,
    ) -> Extent<R> {
        let (weight, gamma, one) = (context.weight(), self.gamma, R::ONE);
        let kept = context.window().retention();
        // sum kept^2j / sum kept^j of the first n.
        let squared_weight = (one + one - weight * (one - kept)) / (one + kept);
        let squared_weight = if kept < one { squared_weight } else { one };
        let traces = self.mask.decays().map(|decay| decay <= gamma);
        Extent { weight, squared_weight, gamma, traces }
    }

    /// Reads a stored model.
    ///
    /// # Errors
    /// [`Error::Stored`] for anything that is not an intact universal model of this scalar type;
    /// [`Error::NonFinite`] and [`Error::OutOfRange`] for numbers that are not finite, a discount or a
    /// lambda that the model cannot have.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let header = Header::of_kind(bytes, true)?;
        header.expect::<R>(AttentionKind::Linear, 0, 1)?;
        if usize::from(header.numbers) != COUNT {
            let (found, expected) = (header.numbers.into(), COUNT as u32);
            return Err(StoredError::Mismatch { part: "learned numbers", found, expected }.into());
        }
        let mut reader = Reader { rest: bytes.get(HEADER..).unwrap_or(&[]) };
        let gamma = reader.number();
        let mask = Traces::of_decays([reader.number(), reader.number()])?;
        Self::new(gamma, mask, Numbers::SHAPE.map(|_| reader.number()))
    }

    /// Returns how many bytes the stored model takes.
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
    /// assert_eq!(UniversalModel::<f32>::from_bytes(bytes)?, model);
    /// # Ok::<(), ictd_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`StoredError::Length`](crate::StoredError::Length) if the buffer is shorter than
    /// [`UniversalModel::byte_len`].
    pub fn write<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a [u8], Error> {
        write(buffer, self.header().byte_len(), |writer| {
            writer.bytes(&self.header().to_bytes());
            let [low, high] = self.mask.decays();
            for x in [self.gamma, low, high].iter().chain(self.numbers.iter()) {
                writer.number(*x);
            }
        })
    }

    /// Returns the header of the stored model.
    pub fn header(&self) -> Header {
        Header {
            scalar_bytes: R::BYTES as u8,
            attention: AttentionKind::Linear,
            mode: Mode::Autoregressive,
            feature_dimension: 0,
            numbers: COUNT as u16,
            depth: 0,
        }
    }

    /// Returns the learned numbers.
    pub fn numbers(&self) -> &Numbers<R> {
        &self.numbers
    }

    /// Returns the mask.
    pub fn mask(&self) -> &Traces<R> {
        &self.mask
    }

    /// Returns the discount.
    pub fn gamma(&self) -> R {
        self.gamma
    }
}

/// The numbers that ship, found by `ictd reproduce universal`.
pub const SHIPPED: Numbers<f32> = Numbers {
    ridge: [
        [0.9451613, -0.49283504, 1.1951612, 0.1951652],
        [4.9951963, -0.004811697, 1.7047471, 0.3047908],
        [4.8103175, -1.307728, -1.3631859, 0.4627972],
    ],
    instrument: [0.45484027, -0.7481616],
    full: [[0.6048464, 3.5951574], [-4.8477483, 4.1022367]],
    gate: [
        [
            -1.0368292,
            -4.0148196,
            -0.28182098,
            -1.6882019,
            -5.3801966,
            1.0271479,
            -0.031166948,
            1.382168,
            0.111169636,
        ],
        [
            14.969163,
            -0.5548309,
            -7.309832,
            -0.43181056,
            -7.720839,
            2.4101806,
            2.5481641,
            -0.93983895,
            -2.7368352,
        ],
    ],
};

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
            /// assert_eq!(MODEL.gamma(), 0.9);
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
                let [ridge, full, gate] = [
                    SHIPPED.ridge.as_flattened(),
                    SHIPPED.full.as_flattened(),
                    SHIPPED.gate.as_flattened(),
                ];
                const fn row<const N: usize>(from: &[f32], row: usize) -> [$t; N] {
                    let mut out = [0.0; N];
                    let mut i = 0;
                    while i < N {
                        out[i] = from[row * N + i] as $t;
                        i += 1;
                    }
                    out
                }
                Ok(UniversalModel {
                    gamma,
                    mask: Traces { low: Self::LAMBDA as $t * gamma, high: gamma },
                    numbers: Numbers {
                        ridge: [row(ridge, 0), row(ridge, 1), row(ridge, 2)],
                        instrument: row(&SHIPPED.instrument, 0),
                        full: [row(full, 0), row(full, 1)],
                        gate: [row(gate, 0), row(gate, 1)],
                    },
                })
            }
        }
    };
}

shipped!(f32);
shipped!(f64);
