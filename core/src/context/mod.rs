//! The streaming context: one transition at a time in O(K^2), in memory that does not depend on how many there were.
//!
//! | memory | remembers | statistic |
//! |---|---|---|
//! | [`Growing`] | every transition, equally | blocked, compensated sum: its error does not grow with n |
//! | [`Forgetting`] | the past, shrunk by a factor per transition | G <- retention G + left right^T |
//! | [`Sliding`] | the last N transitions | adds the new, subtracts the dropped, and starts over from sums made by addition alone every N transitions |
//!
//! Each works with each [mask](crate::mask).
//!
//! ```
//! use ictd_core::Context;
//! use ictd_core::context::{Forgetting, Growing, Sliding};
//! use ictd_core::mask::{Td0, TdLambda};
//! use std::sync::Mutex; // in firmware critical_section's or cortex_m's, with a RefCell
//!
//! // TD(0), every transition. An empty context is all zeros: such a static takes RAM and no flash.
//! static CONTEXT: Mutex<Context<4>> = Mutex::new(Context::<4>::new());
//! // TD(lambda), the last hundred or so transitions.
//! let mut context = Context::<4, TdLambda, Forgetting>::with_memory(TdLambda::new(0.9)?, Forgetting::new(0.99)?);
//! // TD(0), the last 64 transitions, three cumulants, in f64.
//! let latest = Context::<4, Td0, Sliding<64>, f64, 3>::with_memory(Td0, Sliding);
//!
//! context.observe(&[0.5, 0.0, 1.0, 0.0], 0.25, &[0.0; 4])?;
//! context.end_episode();
//! assert_eq!((CONTEXT.lock().unwrap().len(), context.len(), latest.len()), (0, 1, 0));
//! # Ok::<(), ictd_core::Error>(())
//! ```
//!
//! # Memory
//!
//! With m = (2 d)^2 + C (4 d + 1) numbers in a statistic of C cumulants (under TD(lambda)'s mask d^2 + C more,
//! and its trace of 4 d + 2 C), a context in `f32` takes the following number of bytes on a 32-bit device, rounded up to a multiple of 8:
//!
//! | memory | bytes | d = 4, C = 1 | d = 8 | d = 16 |
//! |---|---|---|---|---|
//! | [`Growing`] | 16 m + 4 C + 24 | 1,328 | 4,656 | 17,456 |
//! | [`Forgetting`] | 4 m + 4 C + 20 | 352 | 1,184 | 4,384 |
//! | [`Sliding`] over N | 8 m + N (8 d + 4 C + 4) + 36 | N = 64: 3,244 | 6,956 | 17,452 |
//!
//! # Any discount, several cumulants
//!
//! A context keeps unscaled tokens u = (phi; phi'; r). With S = diag(I, gamma I, 1) the tokens of a discount are Z = S Z_u,
//! and because a mask acts on columns G(gamma) = S G_u S: one context answers every discount, and the model brings its
//! own. The trace decay belongs to the context; a model of another one refuses it. C rewards can be observed with each
//! transition, as general value functions do: they share the statistic's block of features.
//!
//! # Long streams, spikes
//!
//! In `f32` a plain sum stops growing at 2^24 equal terms; no context does. A growing one is off by at most 128 units of
//! roundoff, relative to the largest entry; a forgetting context remembers the last 1 / (1 - retention) roundings, a
//! sliding one those since its last sum by addition alone. What is too large to be summed ([`Transition::check`]) is
//! refused and leaves no trace; sums that leave the range of the scalar all the same are refused when read.

mod bytes;
mod moments;
mod sliding;
mod streams;
mod td_sums;

pub use sliding::Sliding;
pub use streams::{Forgetting, Growing};
#[cfg_attr(not(feature = "research"), doc(hidden))]
pub use td_sums::{LevelSums, TdSums, TdSystem};
pub(crate) use td_sums::{LstdSystem, least_product, least_root};

use crate::chip::once_on_chip;
use crate::error::{Error, Result, ensure, out_of_range};
use crate::linalg::{is_finite, zeros};
use crate::mask::{Entrywise, Mask, Td0};
use crate::scalar::{Scalar, check_lanes};
use crate::statistic::Statistic;
use crate::transition::{FeatureVector, Token, Transition};
use bytes::Field;
use core::fmt::Debug;
use moments::{DiscountedView, Moments};

/// The part of a stream that a context remembers: [`Growing`], [`Forgetting`] or [`Sliding`].
pub trait Memory<S: Scalar>: Copy + Debug + PartialEq {
    /// The sums that a context keeps under a mask, for D features and C cumulants.
    type Sums<M: Mask<S>, const D: usize, const C: usize>: MemorySums<S, M, D, C>;

    /// The code of this memory in stored contexts.
    const CODE: u8;

    /// How many transitions it holds; 0 if it does not keep them.
    const CAPACITY: u32 = 0;

    /// Returns the factor that each transition applies to the past.
    fn retention(&self) -> S {
        S::ONE
    }

    /// Returns the memory with this retention, as a stored context has it, with the errors of [`Forgetting::new`].
    fn from_retention(retention: S) -> Result<Self>;
}

/// The sums that a memory keeps, together with the state of the mask.
#[cfg_attr(not(feature = "research"), doc(hidden))]
pub trait MemorySums<S: Scalar, M: Mask<S>, const D: usize, const C: usize>:
    Clone + Debug + PartialEq
{
    /// The moments that are read, if the sums do not keep them; `()` if they do.
    type Recomputed;

    /// Before the first transition.
    const EMPTY: Self;

    /// Adds a token, and notes rewards of this size.
    fn add(&mut self, mask: &M, retention: S, token: &Token<S, D, C>, added: Added<S, C>);

    /// Multiplies the trace by a factor, if transitions may have weights.
    fn scale_trace(&mut self, _factor: S) {}

    /// Starts the trace again, as an episode has ended.
    fn end_episode(&mut self);

    /// Returns the number of transitions in the sums.
    fn transitions(&self) -> u64;

    /// Returns the sum of the transitions' weights.
    fn effective_len(&self) -> S {
        S::from_count(self.transitions())
    }

    /// Returns the largest size of each cumulant among them.
    fn max_abs_rewards(&self) -> [S; C];

    /// Returns the moments that are read, if the sums do not keep them.
    fn recomputed(&self, mask: &M) -> Self::Recomputed;

    /// Returns a number of G_u: the sum of that number of all moments that make it up, or that of the recomputed ones.
    fn sum(
        &self,
        recomputed: &Self::Recomputed,
        number: impl Fn(&Moments<S, M::Auxiliary<D, C>, D, C>) -> S,
    ) -> S;

    /// Shows every field in one order, to be stored.
    fn show(&self, visit: &mut impl FnMut(Field<S, u64>));

    /// Shows every field in the same order, to be read.
    fn fields(&mut self, visit: &mut impl FnMut(Field<&mut S, (&mut u64, u64)>));
}

/// A transition's part of the sums that its token does not have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Added<S, const C: usize> {
    /// The rewards as they were observed, (C).
    pub rewards: [S; C],
    /// The root of the importance weight, by which the token has been multiplied.
    pub root: S,
    /// True if the next state is terminal.
    pub is_terminal: bool,
}

#[inline(always)]
fn take_largest<S: Scalar, const C: usize>(largest: &mut [S; C], rewards: &[S; C]) {
    for m in 0..C {
        largest[m] = largest[m].max(rewards[m].abs());
    }
}

/// The C rewards of a transition: an array, or one number.
pub trait Rewards<S, const C: usize> {
    /// Returns the C numbers.
    fn to_array(&self) -> [S; C];
}

impl<S: Scalar> Rewards<S, 1> for S {
    #[inline(always)]
    fn to_array(&self) -> [S; 1] {
        [*self]
    }
}

impl<S: Scalar, const C: usize> Rewards<S, C> for [S; C] {
    #[inline(always)]
    fn to_array(&self) -> [S; C] {
        *self
    }
}

/// A context that transitions stream into: for D features under mask M, remembering what `Mem` does, in scalars S,
/// with C cumulants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Context<
    const D: usize,
    M: Mask<S> = Td0,
    Mem: Memory<S> = Growing,
    S: Scalar = f32,
    const C: usize = 1,
> {
    mask: M,
    memory: Mem,
    /// The largest size of a number that is observed; 0 is no limit, so that an empty context is
    /// all zeros.
    limit: S,
    sums: Mem::Sums<M, D, C>,
}

impl<const D: usize, S: Scalar, const C: usize> Context<D, Td0, Growing, S, C> {
    /// Returns an empty context of TD(0)'s mask that remembers every transition.
    pub const fn new() -> Self {
        Self::with_memory(Td0, Growing)
    }
}

impl<const D: usize, S: Scalar, const C: usize> Default for Context<D, Td0, Growing, S, C> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const D: usize, M: Mask<S>, Mem: Memory<S>, S: Scalar> Context<D, M, Mem, S> {
    /// Does what [`Context::observe`] does, with the same errors.
    #[inline(always)]
    pub fn observe_transition(&mut self, transition: &Transition<S, D>) -> Result<()> {
        self.observe(&transition.phi, transition.reward, &transition.phi_next)
    }
}

impl<const D: usize, M: Mask<S>, Mem: Memory<S>, S: Scalar, const C: usize>
    Context<D, M, Mem, S, C>
{
    /// Returns an empty context of a mask and a memory.
    pub const fn with_memory(mask: M, memory: Mem) -> Self {
        const {
            assert!(D > 0 && C > 0, "a context has at least one feature and one cumulant");
        }
        Context { mask, memory, limit: S::ZERO, sums: Mem::Sums::<M, D, C>::EMPTY }
    }

    /// Returns the same context, which from now on refuses transitions with a number larger than `limit`, which is above 0:
    /// a spike of a sensor would outweigh all else that was observed.
    ///
    /// ```
    /// let mut context = ictd_core::Context::<1>::new().with_limit(10.0)?;
    /// assert!(context.observe(&[65535.0], 0.0, &[1.0]).is_err());
    /// # Ok::<(), ictd_core::Error>(())
    /// ```
    pub fn with_limit(mut self, limit: S) -> Result<Self> {
        self.limit = check_lanes(limit, "limit", |x| x > Scalar::ZERO, "above 0")?;
        Ok(self)
    }

    once_on_chip! {
        /// Adds the transition from a state with features `phi`, (D), to one with features `phi_next`. `rewards` is a
        /// number, or an array with one for each cumulant.
        /// Returns the errors of [`Transition::check`], and [`Error::OutOfRange`] beyond the limit; the context then does
        /// not change.
        pub fn observe(
            &mut self,
            phi: &impl FeatureVector<S, D>,
            rewards: impl Rewards<S, C>,
            phi_next: &impl FeatureVector<S, D>,
        ) -> Result<()> {
            let rewards = rewards.to_array();
            self.add(Token { phi: *phi.as_array(), phi_next: *phi_next.as_array(), rewards }, false)
        }
    }

    /// Adds the token of a transition without an importance weight.
    #[inline(always)]
    fn add(&mut self, token: Token<S, D, C>, is_terminal: bool) -> Result<()> {
        if !token.is_accepted(self.limit) {
            return token.refuse(self.limit);
        }
        let added = Added { rewards: token.rewards, root: S::ONE, is_terminal };
        self.sums.add(&self.mask, self.memory.retention(), &token, added);
        Ok(())
    }

    /// Does what [`Context::observe`] does for a transition of another policy b than the evaluated one, pi, with the importance
    /// sampling ratio `rho` = pi(A|S) / b(A|S), at least 0. The sums become those of off-policy TD(lambda) with per-decision
    /// importance sampling (Sutton and Barto, *Reinforcement Learning*, 2nd edition, eq. 12.25; Precup, Sutton and Singh, 2000):
    ///
    /// ```text
    /// A += e_t (phi_t - gamma phi_{t+1})^T,   b += e_t R_{t+1},   e_t = rho_t (gamma lambda e_{t-1} + phi_t)
    /// ```
    ///
    /// States still count as often as b visits them, and a trace's variance grows with the products of the ratios. It compiles
    /// for contexts that grow or forget, under the masks [`Td0`], [`TdLambda`](crate::mask::TdLambda) and
    /// [`Td0Trace`](crate::mask::Td0Trace).
    ///
    /// ```
    /// // b tosses a coin for a reward of 1 or 0; pi takes the first with probability 0.9.
    /// let model = ictd_core::td::Lstd::new(ictd_core::td::LstdSettings::new(0.5).lambda(0.0).ridge(1e-6))?;
    /// let mut context = model.context::<1>();
    /// for (reward, rho) in [(1.0, 0.9 / 0.5), (0.0, 0.1 / 0.5)].repeat(100) {
    ///     context.observe_weighted(&[1.0], reward, &[1.0], rho)?;
    /// }
    /// let value = model.value_function(&context)?.at(&[1.0f32]);
    /// assert!((value - 0.9 / (1.0 - 0.5)).abs() < 1e-3);
    /// # Ok::<(), ictd_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Context::observe`]; [`Error::NonFinite`] or [`Error::OutOfRange`], naming `rho`.
    pub fn observe_weighted(
        &mut self,
        phi: &impl FeatureVector<S, D>,
        rewards: impl Rewards<S, C>,
        phi_next: &impl FeatureVector<S, D>,
        rho: S,
    ) -> Result<()> {
        let (phi, phi_next) = (*phi.as_array(), *phi_next.as_array());
        self.add_weighted(Token { phi, phi_next, rewards: rewards.to_array() }, rho, false)
    }

    /// Does what [`Context::observe_terminal`] does for a transition with an importance sampling ratio, with the errors of
    /// [`Context::observe_weighted`].
    pub fn observe_weighted_terminal(
        &mut self,
        phi: &impl FeatureVector<S, D>,
        rewards: impl Rewards<S, C>,
        rho: S,
    ) -> Result<()> {
        let (phi, phi_next) = (*phi.as_array(), [S::ZERO; D]);
        self.add_weighted(Token { phi, phi_next, rewards: rewards.to_array() }, rho, true)?;
        self.end_episode();
        Ok(())
    }

    fn add_weighted(&mut self, mut token: Token<S, D, C>, rho: S, is_terminal: bool) -> Result<()> {
        const {
            assert!(M::STATE_IS_TRACE && Mem::CAPACITY == 0, "such a context takes no weights");
        }
        let root = check_lanes(rho, "rho", |x| x >= Scalar::ZERO, "at least 0")?.sqrt();
        let rewards = token.rewards;
        if !token.is_accepted(self.limit) {
            return token.refuse(self.limit);
        }
        // With u~ = sqrt(rho) u and e~ = e / sqrt(rho), u~ e~^T is u e^T; and e~ = gamma lambda e~' + u~, where e~' is
        // sqrt(rho_t rho_{t-1}) times the e~ before.
        let is_weighted = root != S::ONE;
        if is_weighted {
            token.numbers(&mut |x| *x *= root);
            ensure(token.is_accepted(S::ZERO), out_of_range("rho", "a smaller ratio"))?;
            self.sums.scale_trace(root);
        }
        let added = Added { rewards, root, is_terminal };
        self.sums.add(&self.mask, self.memory.retention(), &token, added);
        if is_weighted {
            self.sums.scale_trace(root);
        }
        Ok(())
    }

    /// Observes the last transition of an episode, with the errors of [`Context::observe`]: there is no next state, its
    /// value counts as 0, and the next transition begins another episode.
    ///
    /// ```
    /// use ictd_core::model::ConstructionSettings;
    /// use ictd_core::{Context, Model};
    ///
    /// // One step to the end, again and again: the value is the reward, whatever gamma is.
    /// let mut context = Context::<1>::new();
    /// for _ in 0..10 {
    ///     context.observe_terminal(&[1.0], 0.5)?;
    /// }
    /// let value = Model::<1>::td0(ConstructionSettings::new(0.9).step_size(0.5).depth(15))?.value_function(&context)?;
    /// assert!((value.at(&[1.0]) - 0.5).abs() < 1e-4);
    /// # Ok::<(), ictd_core::Error>(())
    /// ```
    pub fn observe_terminal(
        &mut self,
        phi: &impl FeatureVector<S, D>,
        rewards: impl Rewards<S, C>,
    ) -> Result<()> {
        let (phi, phi_next) = (*phi.as_array(), [S::ZERO; D]);
        self.add(Token { phi, phi_next, rewards: rewards.to_array() }, true)?;
        self.end_episode();
        Ok(())
    }

    /// Ends an episode that did not terminate: a trace starts again at 0, and the statistic stays.
    pub fn end_episode(&mut self) {
        self.sums.end_episode();
    }

    /// Returns the number of transitions in the context: all that were observed, or the last ones that a sliding context holds.
    pub fn len(&self) -> u64 {
        self.sums.transitions()
    }

    /// Returns true before the first transition.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns n of eq. "Z_l update", the sum of the transitions' weights: the length, unless the context forgets.
    pub fn effective_len(&self) -> S {
        self.sums.effective_len()
    }

    /// Forgets everything but the limit.
    pub fn clear(&mut self) {
        self.sums = Mem::Sums::<M, D, C>::EMPTY;
    }

    /// Returns the mask.
    pub fn mask(&self) -> &M {
        &self.mask
    }

    /// Returns the memory: what part of the stream the context remembers.
    pub fn memory(&self) -> &Mem {
        &self.memory
    }

    /// Returns G_0 and 1/n of a cumulant (0 to C - 1) for a discount.
    /// Returns [`Error::Empty`] before the first transition; [`Error::NonFinite`] if the sums overflowed;
    /// [`Error::OutOfRange`], naming `cumulant`.
    pub fn statistic<const K: usize>(&self, gamma: S, cumulant: usize) -> Result<Statistic<S, K>> {
        let mut statistic = Statistic { g: zeros(), inverse_len: S::ZERO };
        self.statistic_to(gamma, cumulant, false, &mut statistic)?;
        ensure(is_finite(&statistic.g), Error::NonFinite { parameter: "context" })?;
        Ok(statistic)
    }

    /// Writes [`Context::statistic`], or of its G the rows and columns of phi alone, into one whose matrix is 0, so
    /// that a chip copies no result.
    #[inline(always)]
    pub(crate) fn statistic_to<const K: usize>(
        &self,
        gamma: S,
        cumulant: usize,
        of_phi_alone: bool,
        out: &mut Statistic<S, K>,
    ) -> Result<()> {
        crate::transition::check_token_size::<D, K>();
        out.inverse_len = S::ONE / self.effective_len();
        self.discounted(gamma, cumulant)?.write_columns(&mut out.g, of_phi_alone);
        Ok(())
    }

    /// Reads a cumulant's G(gamma), which may have overflowed; values computed from it are then not finite.
    #[inline(always)]
    pub(crate) fn discounted(
        &self,
        gamma: S,
        cumulant: usize,
    ) -> Result<DiscountedView<'_, S, M, Mem, D, C>> {
        ensure(!self.is_empty(), Error::Empty { parameter: "context" })?;
        ensure(cumulant < C, out_of_range("cumulant", "0 to the number of cumulants - 1"))?;
        let recomputed = self.sums.recomputed(&self.mask);
        Ok(DiscountedView { sums: &self.sums, recomputed, gamma, cumulant })
    }

    /// Returns a cumulant's largest |reward|, max |r|. While rewards stay within it, no |value| exceeds
    /// max |r| / (1 - gamma).
    pub fn max_abs_reward(&self, cumulant: usize) -> S {
        self.sums.max_abs_rewards().get(cumulant).copied().unwrap_or(S::ZERO)
    }
}
