//! The model as it is linked: a discount and a trace decay.

use super::solve::{ContextSummary, Solution, solution};
use crate::bytes::{Reader, write};
use crate::context::{Context, Forgetting, Growing, Memory, TdSums};
use crate::error::{Error, StoredError};
use crate::mask::{Entrywise as _, Mask, Td0Trace};
use crate::model::{AttentionKind, HEADER, Header, LayerSharing};
use crate::scalar::Real;
use crate::transition::check_gamma;
use crate::value_function::{ClippedValueFunction, Gvf};

/// One model for every number of features, every length of a context and every scale ([`crate::universal`], which says why
/// features must be distances from a level).
///
/// ```
/// use ictd_core::UniversalModel;
///
/// let model = UniversalModel::<f32>::new(0.9)?;
/// let mut context = model.context::<4>(); // or any other number of features
/// context.observe(&[0.5, -0.25, 1.0, 0.0], 0.75, &[1.0, 0.5, -0.5, 0.25])?;
/// let value = model.value_function(&context)?;
/// assert!(value.at(&[0.5, -0.25, 1.0, 0.0]) > 0.0);
/// # Ok::<(), ictd_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UniversalModel<R: Real = f32> {
    gamma: R,
    mask: Td0Trace<R>,
}

/// The value function that the model estimates from a context, and how far it trusts its features.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate<R: Real, const D: usize> {
    /// v(s) = level + <w, phi(s)>, clipped.
    pub value_function: ClippedValueFunction<R, D>,
    /// How linear in the features the values look, from 0 to 1: the weight of the solution for lambda = 0, which is the
    /// best one if they are linear. At 1, more data improve the predictions, as far as noise allows; near 0, better
    /// features would. It is 1 until the context shows the opposite, and where features are far from 0 compared with their changes:
    /// the values are then wrong.
    pub linearity: R,
}

impl<R: Real> UniversalModel<R> {
    /// The lambda of the trace.
    pub const LAMBDA: f64 = 0.92;

    /// Returns the model of a discount and a trace.
    /// Returns [`Error::NonFinite`] or [`Error::OutOfRange`], naming `gamma` (in \[0, 1)).
    pub fn with_mask(gamma: R, mask: Td0Trace<R>) -> Result<Self, Error> {
        Ok(UniversalModel { gamma: check_gamma(gamma)?, mask })
    }

    /// Returns an empty context for D features that remembers every transition. The model reads any other context of
    /// its mask, too, with any memory and any number of cumulants.
    pub const fn context<const D: usize>(&self) -> Context<D, Td0Trace<R>, Growing, R> {
        Context::<D, Td0Trace<R>, Growing, R>::with_memory(self.mask, Growing)
    }

    /// Returns an empty context for D features that forgets: with each transition the weight of the past is multiplied by
    /// the retention, in (0, 1). A retention of 0.995 remembers about the last 200 transitions.
    /// Returns [`Error::NonFinite`] or [`Error::OutOfRange`], naming `retention`.
    pub fn forgetting<const D: usize>(
        &self,
        retention: R,
    ) -> Result<Context<D, Td0Trace<R>, Forgetting<R>, R>, Error> {
        let memory = Forgetting::new(retention)?;
        Ok(Context::<D, Td0Trace<R>, _, R>::with_memory(self.mask, memory))
    }

    /// Returns the value function, v(s) = level + <w, phi(s)>, of the first cumulant of a context that
    /// [`UniversalModel::context`] or [`UniversalModel::forgetting`] made. It exists from the first transition on, whatever was observed.
    ///
    /// Each feature of a query is clipped at the root of the sum of its squares in the context, which is at least the largest
    /// value that was seen of it; at e times that root where the context forgets, so at least at what it saw in the last
    /// 2 / (1 - retention) transitions. Their distances from the mean are clipped at what rewards of the largest
    /// size seen, max |r|, could add up to:
    /// max |r| n / (n (1 - gamma) + gamma) n / (n + 1) for n transitions observed, which is half a reward after one and
    /// max |r| / (1 - gamma) after many.
    /// Returns [`Error::Empty`] before the first transition; [`Error::Mismatch`] if model and context have different trace
    /// decays; [`Error::NonFinite`] if sums or weights left the range of the scalar; [`Error::Singular`] if a system is
    /// singular in spite of its ridge.
    pub fn value_function<const D: usize, Mem: Memory<R>, const CUMULANTS: usize>(
        &self,
        context: &Context<D, Td0Trace<R>, Mem, R, CUMULANTS>,
    ) -> Result<ClippedValueFunction<R, D>, Error> {
        Ok(self.estimate(context, self.gvf(0))?.value_function)
    }

    /// Returns the value function of one cumulant of a context for a discount in \[0, 1), which need not be the model's, and
    /// how linear in the features the values look. A trace that decays more slowly than gamma, whose lambda would be above 1,
    /// is left out.
    /// Returns the errors of [`UniversalModel::value_function`], and [`Error::NonFinite`] or [`Error::OutOfRange`], naming
    /// `gamma` or `cumulant`.
    pub fn estimate<const D: usize, Mem: Memory<R>, const CUMULANTS: usize>(
        &self,
        context: &Context<D, Td0Trace<R>, Mem, R, CUMULANTS>,
        gvf: Gvf<R>,
    ) -> Result<Estimate<R, D>, Error> {
        let Gvf { cumulant, gamma } = gvf;
        let (mut sums, summary) = (TdSums::ZERO, self.context_summary(context, gamma));
        self.fill(&mut sums, context, gvf)?;
        let Solution { weights, level, mut roots, linearity } = solution(&mut sums, summary)?;
        let mut len = summary.effective_len;
        if context.memory().retention() < R::ONE {
            len = R::from_count(context.len());
            // What was last seen two effective lengths ago has 1 / e of its root left.
            roots.iter_mut().for_each(|root| *root *= R::from_f64(core::f64::consts::E));
        }
        let max_abs_reward = context.max_abs_reward(cumulant);
        let most = max_abs_reward + level.abs() * (R::ONE - gamma);
        let value_function = ClippedValueFunction::new(weights, level, roots, len, gamma, most);
        Ok(Estimate { value_function, linearity })
    }

    /// Returns the sums of a context that the model solves, for one cumulant and a discount.
    /// Returns [`Error::Empty`] before the first transition; [`Error::Mismatch`] if model and context have different trace
    /// decays; [`Error::NonFinite`] or [`Error::OutOfRange`], naming `gamma` or `cumulant`.
    pub fn sums<const D: usize, Mem: Memory<R>, const CUMULANTS: usize>(
        &self,
        context: &Context<D, Td0Trace<R>, Mem, R, CUMULANTS>,
        gvf: Gvf<R>,
    ) -> Result<TdSums<R, D>, Error> {
        let mut sums = TdSums::ZERO;
        self.fill(&mut sums, context, gvf)?;
        Ok(sums)
    }

    /// Computes [`UniversalModel::sums`] in place; a chip would copy them.
    fn fill<const D: usize, Mem: Memory<R>, const CUMULANTS: usize>(
        &self,
        sums: &mut TdSums<R, D>,
        context: &Context<D, Td0Trace<R>, Mem, R, CUMULANTS>,
        Gvf { cumulant, gamma }: Gvf<R>,
    ) -> Result<(), Error> {
        if self.mask != *context.mask() {
            return Err(Error::Mismatch { parameter: "trace decays of model and context" });
        }
        let read = context.discounted(check_gamma(gamma)?, cumulant)?;
        sums.fill_from(&read);
        Ok(())
    }

    /// Returns what the model needs to know of a context in addition to its sums.
    fn context_summary<const D: usize, Mem: Memory<R>, const CUMULANTS: usize>(
        &self,
        context: &Context<D, Td0Trace<R>, Mem, R, CUMULANTS>,
        gamma: R,
    ) -> ContextSummary<R> {
        let (effective_len, one) = (context.effective_len(), R::ONE);
        let retention = context.memory().retention();
        // sum retention^2j / sum retention^j, j = 0 to n - 1.
        let design_effect = (one + one - effective_len * (one - retention)) / (one + retention);
        let design_effect = if retention < one { design_effect } else { one };
        let admissible = self.mask.trace_decay <= gamma;
        ContextSummary { effective_len, design_effect, gamma, admissible }
    }

    /// Reads a stored model.
    /// Returns [`Error::Stored`] for anything that is not an intact universal model of this scalar type; [`Error::NonFinite`]
    /// and [`Error::OutOfRange`] for parameters that are not finite, a discount or a lambda that the model cannot have.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let header = Header::parse_kind(bytes, true)?;
        header.expect::<R>(AttentionKind::Linear, 0, 0, 1)?;
        if header.numbers > 0 {
            let found = header.numbers.into();
            return Err(
                StoredError::Mismatch { part: "learned parameters", found, expected: 0 }.into()
            );
        }
        let mut reader = Reader { rest: bytes.get(HEADER..).unwrap_or(&[]) };
        let gamma = reader.number();
        let mask = Td0Trace::from_trace_decays([reader.number(), reader.number()])?;
        Self::with_mask(gamma, mask)
    }

    /// Returns how many bytes the stored model takes.
    pub fn byte_len(&self) -> usize {
        self.header().byte_len() as usize
    }

    /// Writes the stored model to the front of a buffer, of [`UniversalModel::byte_len`] bytes or more, and returns the bytes
    /// written.
    pub fn write<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a [u8], Error> {
        write(buffer, self.header().byte_len(), |writer| {
            writer.bytes(&self.header().to_bytes());
            let [trace_decay, none] = self.mask.trace_decays();
            [self.gamma, trace_decay, none].into_iter().for_each(|x| writer.number(x));
        })
    }

    /// Returns the header of the stored model.
    pub fn header(&self) -> Header {
        Header {
            scalar_bytes: R::BYTES as u8,
            attention: AttentionKind::Linear,
            mask: 0,
            mode: LayerSharing::Autoregressive,
            feature_dimension: 0,
            numbers: 0,
            depth: 0,
        }
    }

    /// Returns the mask.
    pub fn mask(&self) -> &Td0Trace<R> {
        &self.mask
    }

    /// Returns the question for one of a context's cumulants (0 to C - 1) and the model's own discount.
    pub fn gvf(&self, cumulant: usize) -> Gvf<R> {
        Gvf { cumulant, gamma: self.gamma }
    }

    /// Returns the discount.
    pub fn gamma(&self) -> R {
        self.gamma
    }
}

impl UniversalModel<f32> {
    /// Returns the model for a discount.
    ///
    /// Usable in a constant, where a bad argument fails the build:
    ///
    /// ```
    /// use ictd_core::UniversalModel;
    ///
    /// const MODEL: UniversalModel = match UniversalModel::<f32>::new(0.9) {
    ///     Ok(model) => model,
    ///     Err(_) => panic!("gamma is out of range"),
    /// };
    /// assert_eq!(MODEL.gamma(), 0.9);
    /// ```
    ///
    /// # Errors
    /// [`Error::NonFinite`] or [`Error::OutOfRange`], naming `gamma` (in \[0, 1)).
    pub const fn new(gamma: f32) -> Result<Self, Error> {
        if !gamma.is_finite() {
            return Err(Error::NonFinite { parameter: "gamma" });
        }
        if !(gamma >= 0.0 && gamma < 1.0) {
            return Err(Error::OutOfRange { parameter: "gamma", expected: "[0, 1)" });
        }
        let mask = Td0Trace { trace_decay: Self::LAMBDA as f32 * gamma };
        Ok(UniversalModel { gamma, mask })
    }
}

impl UniversalModel<f64> {
    /// Returns the model for a discount, in `f64`, with the errors of the one in `f32`.
    pub fn new(gamma: f64) -> Result<Self, Error> {
        Self::with_mask(gamma, Td0Trace::new(Self::LAMBDA * gamma)?)
    }
}
