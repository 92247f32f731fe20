use super::bytes::Field;
use super::moments::Moments;
use super::{Added, Memory, MemorySums, take_largest};
use crate::auxiliary::{AuxiliarySums, Weight};
use crate::entrywise::{Entrywise, entrywise};
use crate::error::Result;
use crate::mask::Mask;
use crate::scalar::Scalar;
use crate::transition::Token;
use heapless::Deque;

/// The last N transitions alone: exactly a prompt of those, as in Algorithm 1. It keeps N tokens and two statistics.
///
/// Adding the new and subtracting the dropped token alone would drift. So there is a second sum, made by addition only;
/// every N transitions it holds exactly the kept tokens, replaces the first, and starts again at 0. When a dropped token was
/// large compared with the remaining ones (a spike), the sum is recomputed from the tokens, O(N K^2). The error is that
/// of at most N slides, whatever the stream holds. Under [`MeanCentred`](crate::mask::MeanCentred) reading costs
/// O(N K^2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Sliding<const N: usize>;

/// Recompute the sums when a dropped token's square was this many times that of the rest: it cost them 6 of 24 bits in
/// `f32`.
const SPIKE: f64 = 4096.0;

impl<S: Scalar, const N: usize> Memory<S> for Sliding<N> {
    type Sums<M: Mask<S>, const D: usize, const C: usize> = SlidingSums<S, M, D, C, N>;
    const CODE: u8 = 3;
    const CAPACITY: u32 = N as u32;

    fn from_retention(_: S) -> Result<Self> {
        Ok(Sliding)
    }
}

/// The sums of a sliding context.
#[derive(Clone, Debug, PartialEq)]
pub struct SlidingSums<S: Scalar, M: Mask<S>, const D: usize, const C: usize, const N: usize> {
    kept: Deque<KeptToken<S, D, C>, N>,
    current: SlidingSum<S, M, D, C>,
    /// The transitions since the last replacement.
    fresh: SlidingSum<S, M, D, C>,
    fresh_len: usize,
}

/// A token that is kept, whether it was the last of its episode, and whether the episode then ended in a terminal state, which
/// is noted if the sums distinguish that.
#[derive(Clone, Copy, Debug, PartialEq)]
struct KeptToken<S, const D: usize, const C: usize> {
    token: Token<S, D, C>,
    ends: bool,
    is_terminal: bool,
}

/// Returns the weight of a transition without an importance weight.
fn unweighted<S: Scalar>(is_terminal: bool) -> Weight<S> {
    Weight { root: S::ONE, at_end: is_terminal.then_some(S::ONE) }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct SlidingSum<S: Scalar, M: Mask<S>, const D: usize, const C: usize> {
    moments: Moments<S, M::Auxiliary<D, C>, D, C>,
    state: M::State<Token<S, D, C>>,
    /// The sum of the tokens' squares, and the largest of those that ever went into it.
    square: S,
    largest: S,
}

entrywise!(
    [S: Scalar, M: Mask<S>, const D: usize, const C: usize] S,
    SlidingSum<S, M, D, C> { moments, state, square, largest }
);

impl<S: Scalar, M: Mask<S>, const D: usize, const C: usize> SlidingSum<S, M, D, C> {
    #[inline(always)]
    fn add(&mut self, mask: &M, token: &Token<S, D, C>, is_terminal: bool) {
        let (left, right) = mask.rank_one_update(&mut self.state, token, S::ONE);
        self.moments.add_outer([&left, &right, token], unweighted(is_terminal), M::IS_GRAM);
        let square = token.square();
        self.square += square;
        self.largest = self.largest.max(square);
    }

    fn end_episode(&mut self) {
        if M::STATE_IS_TRACE {
            self.state = Entrywise::ZERO;
        }
    }
}

impl<S: Scalar, M: Mask<S>, const D: usize, const C: usize, const N: usize>
    SlidingSums<S, M, D, C, N>
{
    fn drop_oldest(&mut self, mask: &M) {
        let newest_first = self.kept.iter().rev().map(|kept| (&kept.token, kept.ends));
        let factors = mask.rank_one_downdate(&mut self.current.state, newest_first);
        let Some((oldest, (left, right))) = self.kept.pop_front().zip(factors) else {
            return;
        };
        let subtract = |g: &mut S, left, right| *g -= left * right;
        let weight = unweighted(oldest.is_terminal);
        self.current.moments.update([&left, &right, &oldest.token], weight, M::IS_GRAM, subtract);
        self.current.square -= oldest.token.square();
        let excess = self.current.largest - S::from_f64(SPIKE) * self.current.square;
        let spiked = |lane: &usize| excess.lane(*lane) > Scalar::ZERO;
        if (0..S::LANES).any(|lane| spiked(&lane)) {
            let anew = self.sum_anew(mask);
            SlidingSum::zip(&mut self.current, &anew, |x, anew| {
                for lane in (0..S::LANES).filter(spiked) {
                    x.set_lane(lane, anew.lane(lane));
                }
            });
        }
    }

    #[cold]
    #[inline(never)]
    fn sum_anew(&self, mask: &M) -> SlidingSum<S, M, D, C> {
        let mut sum = SlidingSum::ZERO;
        for kept in &self.kept {
            sum.add(mask, &kept.token, kept.is_terminal);
            if kept.ends {
                sum.end_episode();
            }
        }
        sum
    }
}

impl<S: Scalar, M: Mask<S>, const D: usize, const C: usize, const N: usize> MemorySums<S, M, D, C>
    for SlidingSums<S, M, D, C, N>
{
    type Recomputed = Option<Moments<S, M::Auxiliary<D, C>, D, C>>;
    const EMPTY: Self = {
        assert!(N > 0, "a sliding window needs room for one transition: N >= 1");
        SlidingSums {
            kept: Deque::new(),
            current: SlidingSum::ZERO,
            fresh: SlidingSum::ZERO,
            fresh_len: 0,
        }
    };

    fn add(&mut self, mask: &M, _: S, token: &Token<S, D, C>, added: Added<S, C>) {
        if self.kept.is_full() {
            self.drop_oldest(mask);
        }
        let is_terminal = added.is_terminal && M::Auxiliary::<D, C>::DISTINGUISHES_ENDS;
        let pushed = self.kept.push_back(KeptToken { token: *token, ends: false, is_terminal });
        debug_assert!(pushed.is_ok(), "the oldest made room");
        if M::HAS_DOWNDATE {
            self.current.add(mask, token, is_terminal);
            self.fresh.add(mask, token, is_terminal);
            self.fresh_len += 1;
            if self.fresh_len == N {
                self.current = self.fresh;
                self.fresh = SlidingSum::ZERO;
                self.fresh_len = 0;
            }
        }
    }

    fn end_episode(&mut self) {
        self.current.end_episode();
        self.fresh.end_episode();
        if let Some(newest) = self.kept.back_mut() {
            newest.ends = true;
        }
    }

    fn transitions(&self) -> u64 {
        self.kept.len() as u64
    }

    fn max_abs_rewards(&self) -> [S; C] {
        let mut largest = [S::ZERO; C];
        self.kept.iter().for_each(|kept| take_largest(&mut largest, &kept.token.rewards));
        largest
    }

    fn recomputed(&self, mask: &M) -> Self::Recomputed {
        (!M::HAS_DOWNDATE).then(|| self.sum_anew(mask).moments)
    }

    #[inline(always)]
    fn sum(
        &self,
        recomputed: &Self::Recomputed,
        number: impl Fn(&Moments<S, M::Auxiliary<D, C>, D, C>) -> S,
    ) -> S {
        number(recomputed.as_ref().unwrap_or(&self.current.moments))
    }

    fn show(&self, visit: &mut impl FnMut(Field<S, u64>)) {
        visit(Field::Count(self.kept.len() as u64));
        visit(Field::Count(self.fresh_len as u64));
        for kept in &self.kept {
            kept.token.show(&mut |x| visit(Field::Number(x)));
            visit(Field::Count(u64::from(kept.ends) + u64::from(kept.is_terminal)));
        }
        let mut number = |x: S| visit(Field::Number(x));
        self.current.show(&mut number);
        self.fresh.show(&mut number);
    }

    fn fields(&mut self, visit: &mut impl FnMut(Field<&mut S, (&mut u64, u64)>)) {
        let (mut len, mut fresh_len) = (self.kept.len() as u64, self.fresh_len as u64);
        visit(Field::Count((&mut len, N as u64)));
        visit(Field::Count((&mut fresh_len, N as u64 - 1)));
        self.fresh_len = fresh_len as usize;
        // A context that is being read gets room for its tokens.
        while (self.kept.len() as u64) < len {
            let kept = KeptToken { token: Token::ZERO, ends: false, is_terminal: false };
            if self.kept.push_back(kept).is_err() {
                break;
            }
        }
        for kept in &mut self.kept {
            kept.token.numbers(&mut |x| visit(Field::Number(x)));
            let mut ends = u64::from(kept.ends) + u64::from(kept.is_terminal);
            let most = if M::Auxiliary::<D, C>::DISTINGUISHES_ENDS { 2 } else { 1 };
            visit(Field::Count((&mut ends, most)));
            (kept.ends, kept.is_terminal) = (ends > 0, ends == 2);
        }
        let mut number = |x: &mut S| visit(Field::Number(x));
        self.current.numbers(&mut number);
        self.fresh.numbers(&mut number);
    }
}
