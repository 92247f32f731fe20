//! Memories that keep no transitions.

use super::bytes::Field;
use super::moments::Moments;
use super::{Added, Memory, MemorySums, take_largest};
use crate::auxiliary::Weight;
use crate::error::{Error, Result};
use crate::mask::{Entrywise, Mask};
use crate::scalar::{Scalar, check_lanes};
use crate::transition::Token;

/// Writes the methods that all sums without transitions have: those of their mask's state, `len` and `max_abs_rewards`; and
/// the visit of vectors of numbers, and then of counts, each with the largest that is accepted and what is made of it.
macro_rules! sums_of_stream {
    ($($numbers:ident),*; $($count:ident: $most:expr => $from:expr),* $(,)?) => {
        fn end_episode(&mut self) {
            if M::STATE_IS_TRACE {
                self.state = Entrywise::ZERO;
            }
        }

        fn scale_trace(&mut self, factor: S) {
            self.state.numbers(&mut |x| *x *= factor);
        }

        fn recomputed(&self, _: &M) {}

        fn transitions(&self) -> u64 {
            self.len
        }

        fn max_abs_rewards(&self) -> [S; C] {
            self.max_abs_rewards
        }

        fn show(&self, visit: &mut impl FnMut(Field<S, u64>)) {
            // One closure for all: what shows numbers is compiled for each.
            let mut number = |x: S| visit(Field::Number(x));
            $(self.$numbers.show(&mut number);)*
            $(visit(Field::Count(self.$count.into()));)*
        }

        fn fields(&mut self, visit: &mut impl FnMut(Field<&mut S, (&mut u64, u64)>)) {
            let mut number = |x: &mut S| visit(Field::Number(x));
            $(self.$numbers.numbers(&mut number);)*
            $(let mut count = self.$count.into();
            visit(Field::Count((&mut count, $most)));
            self.$count = ($from)(count);)*
        }
    };
}

/// Every transition counts, equally, and the context keeps its precision over streams of any length. 2 D + C must be below
/// 256, else the build fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Growing;

/// Terms added plainly before a block goes into the compensated total.
const BLOCK: u16 = 256;

/// The sums of a growing context: within a block terms are added plainly, from block to block by TwoSum, which keeps each
/// rounding error. So the error is that of one block however many terms there are.
///
/// A full block goes into the total column by column, one with each of the next terms: a device has a deadline for every
/// term, and no term takes much longer than the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockedSums<S: Scalar, M: Mask<S>, const D: usize, const C: usize> {
    state: M::State<Token<S, D, C>>,
    max_abs_rewards: [S; C],
    total: Moments<S, M::Auxiliary<D, C>, D, C>,
    /// Rounding left this of the total; it is added with the next block.
    error: Moments<S, M::Auxiliary<D, C>, D, C>,
    /// The open block and the full one. The full block keeps its first `columns_left` columns; the others are 0.
    /// If `swapped` is true, the full block comes first. The context's sum is the sum of both blocks and the total.
    blocks: [Moments<S, M::Auxiliary<D, C>, D, C>; 2],
    swapped: bool,
    in_block: u16,
    columns_left: u16,
    len: u64,
}

impl<S: Scalar, M: Mask<S>, const D: usize, const C: usize> BlockedSums<S, M, D, C> {
    #[cold]
    #[inline(never)]
    fn close_column(&mut self, j: usize) {
        let [first, second] = &mut self.blocks;
        let full = if self.swapped { first } else { second };
        self.total.close_column(&mut self.error, full, j);
    }
}

impl<S: Scalar> Memory<S> for Growing {
    type Sums<M: Mask<S>, const D: usize, const C: usize> = BlockedSums<S, M, D, C>;
    const CODE: u8 = 1;

    fn from_retention(_: S) -> Result<Self> {
        Ok(Growing)
    }
}

impl<S: Scalar, M: Mask<S>, const D: usize, const C: usize> MemorySums<S, M, D, C>
    for BlockedSums<S, M, D, C>
{
    type Recomputed = ();
    const EMPTY: Self = {
        assert!(2 * D + C < BLOCK as usize, "too many features and cumulants: 2 D + C < 256");
        BlockedSums {
            state: Entrywise::ZERO,
            max_abs_rewards: [S::ZERO; C],
            total: Moments::ZERO,
            error: Moments::ZERO,
            blocks: [Moments::ZERO; 2],
            swapped: false,
            in_block: 0,
            columns_left: 0,
            len: 0,
        }
    };

    #[inline(always)]
    fn add(&mut self, mask: &M, _: S, token: &Token<S, D, C>, added: Added<S, C>) {
        if self.columns_left > 0 {
            self.columns_left -= 1;
            self.close_column(usize::from(self.columns_left));
        }
        let (left, right) = mask.rank_one_update(&mut self.state, token, S::ONE);
        let [first, second] = &mut self.blocks;
        let open = if self.swapped { second } else { first };
        let Added { rewards, root, is_terminal } = added;
        let weight = Weight { root, at_end: is_terminal.then_some(root) };
        open.add_outer([&left, &right, token], weight, M::IS_GRAM);
        take_largest(&mut self.max_abs_rewards, &rewards);
        self.len = self.len.saturating_add(1);
        self.in_block += 1;
        if self.in_block >= BLOCK {
            // The other block is 0 again.
            self.swapped = !self.swapped;
            self.in_block = 0;
            self.columns_left = Moments::<S, M::Auxiliary<D, C>, D, C>::COLUMNS as u16;
        }
    }

    #[inline(always)]
    fn sum(&self, _: &(), number: impl Fn(&Moments<S, M::Auxiliary<D, C>, D, C>) -> S) -> S {
        let [first, second] = &self.blocks;
        number(&self.total) + (number(first) + number(second))
    }

    sums_of_stream! {
        state, max_abs_rewards, total, error, blocks;
        len: u64::MAX => |n| n,
        swapped: 1 => |n| n == 1,
        in_block: u64::from(BLOCK) - 1 => |n| n as u16,
        columns_left: Moments::<S, M::Auxiliary<D, C>, D, C>::COLUMNS as u64 => |n| n as u16,
    }
}

/// The past is forgotten exponentially: transition j of n counts with weight retention^(n - j), and n becomes the sum of
/// the weights. Retention 1 - 1/h remembers about the last h transitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forgetting<S: Scalar = f32> {
    retention: S,
}

impl<S: Scalar> Forgetting<S> {
    /// Returns the memory of a retention in (0, 1), or [`Error::NonFinite`] or [`Error::OutOfRange`], naming `retention`.
    pub fn new(retention: S) -> Result<Self, Error> {
        let fits = |r| r > Scalar::ZERO && r < Scalar::ONE;
        Ok(Forgetting { retention: check_lanes(retention, "retention", fits, "(0, 1)")? })
    }
}

impl<S: Scalar> Memory<S> for Forgetting<S> {
    type Sums<M: Mask<S>, const D: usize, const C: usize> = DecayingSums<S, M, D, C>;
    const CODE: u8 = 2;

    fn retention(&self) -> S {
        self.retention
    }

    fn from_retention(retention: S) -> Result<Self> {
        Self::new(retention)
    }
}

/// The sums of a forgetting context: G <- retention G + left right^T.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecayingSums<S: Scalar, M: Mask<S>, const D: usize, const C: usize> {
    state: M::State<Token<S, D, C>>,
    max_abs_rewards: [S; C],
    moments: Moments<S, M::Auxiliary<D, C>, D, C>,
    /// The sum of the weights.
    weight: S,
    len: u64,
}

impl<S: Scalar, M: Mask<S>, const D: usize, const C: usize> MemorySums<S, M, D, C>
    for DecayingSums<S, M, D, C>
{
    type Recomputed = ();
    const EMPTY: Self = DecayingSums {
        state: Entrywise::ZERO,
        max_abs_rewards: [S::ZERO; C],
        moments: Moments::ZERO,
        weight: S::ZERO,
        len: 0,
    };

    #[inline(always)]
    fn add(&mut self, mask: &M, retention: S, token: &Token<S, D, C>, added: Added<S, C>) {
        let (left, right) = mask.rank_one_update(&mut self.state, token, retention);
        let Added { rewards, root, is_terminal } = added;
        let at_end = Some(if is_terminal { root } else { S::ZERO });
        let weight = Weight { root, at_end };
        self.moments.update([&left, &right, token], weight, M::IS_GRAM, |g, left, right| {
            *g = retention * *g + left * right;
        });
        take_largest(&mut self.max_abs_rewards, &rewards);
        self.weight = retention * self.weight + S::ONE;
        self.len = self.len.saturating_add(1);
    }

    fn effective_len(&self) -> S {
        self.weight
    }

    #[inline(always)]
    fn sum(&self, _: &(), number: impl Fn(&Moments<S, M::Auxiliary<D, C>, D, C>) -> S) -> S {
        number(&self.moments)
    }

    sums_of_stream!(state, max_abs_rewards, moments, weight; len: u64::MAX => |n| n);
}
