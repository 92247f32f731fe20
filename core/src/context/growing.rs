use super::moments::Moments;
use super::stored::Visit;
use super::{Entries, Sums, Window};
use crate::error::Error;
use crate::mask::{Mask, State, Vector};
use crate::scalar::Scalar;
use crate::transition::Token;

/// Every transition counts, equally.
///
/// The context keeps its precision over streams of any length: G is summed in blocks with
/// compensation, so that its rounding error does not grow with the number of transitions. 2 D + C
/// must be below 256, else the build fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Growing;

/// Terms added plainly before a block goes into the compensated total.
const BLOCK: u16 = 256;

/// The sums of a growing context.
///
/// Within a block terms are added plainly (one multiplication and one addition per entry), from
/// block to block by TwoSum, which keeps each rounding error. In `f32` the result stays within the
/// error of one block's sum however many terms there are, where a plain sum stops growing at 2^24
/// terms.
///
/// A full block goes into the total column by column, one with each of the next terms: a device
/// has a deadline for every term, and no term takes much longer than the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockedSums<T, const D: usize, const C: usize, S> {
    state: T,
    total: Moments<S, D, C>,
    error: Moments<S, D, C>,
    /// The open block, and what is left of the full one: its first `columns_left` columns, the
    /// others are 0. `swapped` says that the full one comes first.
    blocks: [Moments<S, D, C>; 2],
    swapped: bool,
    in_block: u16,
    columns_left: u16,
    len: u64,
}

impl<T, const D: usize, const C: usize, S: Scalar> BlockedSums<T, D, C, S> {
    fn open_and_full(&self) -> (&Moments<S, D, C>, &Moments<S, D, C>) {
        let [first, second] = &self.blocks;
        if self.swapped { (second, first) } else { (first, second) }
    }

    /// Moves column j of the full block into the total.
    #[cold]
    #[inline(never)]
    fn close_column(&mut self, j: usize) {
        let [first, second] = &mut self.blocks;
        let full = if self.swapped { first } else { second };
        self.total.close_column(&mut self.error, full, j);
    }

    /// The total and its error as they will be when the full block has gone into them.
    #[cold]
    #[inline(never)]
    fn closed(&self) -> (Moments<S, D, C>, Moments<S, D, C>) {
        let (mut total, mut error, mut full) = (self.total, self.error, *self.open_and_full().1);
        for j in 0..usize::from(self.columns_left) {
            total.close_column(&mut error, &mut full, j);
        }
        (total, error)
    }
}

impl<S: Scalar> Window<S> for Growing {
    type Sums<M: Mask<S>, const D: usize, const C: usize> =
        BlockedSums<M::State<Token<S, D, C>>, D, C, S>;
    const CODE: u8 = 1;

    fn of_retention(_: S) -> Result<Self, Error> {
        Ok(Growing)
    }
}

impl<S: Scalar, M: Mask<S>, const D: usize, const C: usize> Sums<S, M, D, C>
    for BlockedSums<M::State<Token<S, D, C>>, D, C, S>
{
    const EMPTY: Self = {
        assert!(2 * D + C < BLOCK as usize, "too many features and cumulants: 2 D + C < 256");
        BlockedSums {
            state: Vector::ZERO,
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
    fn add(&mut self, mask: &M, _retention: S, token: &Token<S, D, C>) {
        if self.columns_left > 0 {
            self.columns_left -= 1;
            self.close_column(usize::from(self.columns_left));
        }
        let factors = mask.factors(&mut self.state, token, S::ONE);
        let [first, second] = &mut self.blocks;
        let open = if self.swapped { second } else { first };
        open.add_outer(&factors, M::SYMMETRIC);
        self.len = self.len.saturating_add(1);
        self.in_block += 1;
        if self.in_block >= BLOCK {
            // The other block is 0 again.
            self.swapped = !self.swapped;
            self.in_block = 0;
            self.columns_left = Moments::<S, D, C>::COLUMNS as u16;
        }
    }

    fn end_episode(&mut self) {
        self.state.end_episode();
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn weight(&self) -> S {
        S::from_count(self.len)
    }

    #[inline(always)]
    fn read(&self, _mask: &M, gamma: S, cumulant: usize, out: &mut impl Entries<S>) -> bool {
        let open = self.open_and_full().0;
        let sum = |[total, error, open]: [S; 3]| total + (error + open);
        if self.columns_left == 0 {
            let parts = [&self.total, &self.error, open];
            return Moments::read(parts, sum, M::SYMMETRIC, gamma, cumulant, out);
        }
        let (total, error) = self.closed();
        Moments::read([&total, &error, open], sum, M::SYMMETRIC, gamma, cumulant, out)
    }

    fn fields(&mut self, visit: &mut impl Visit<S>) {
        self.state.numbers(&mut |x| visit.number(x));
        let [first, second] = &mut self.blocks;
        for moments in [&mut self.total, &mut self.error, first, second] {
            moments.numbers(&mut |x| visit.number(x));
        }
        visit.count(&mut self.len, u64::MAX);
        let mut counts = [self.swapped.into(), self.in_block.into(), self.columns_left.into()];
        let most = [1, u64::from(BLOCK) - 1, Moments::<S, D, C>::COLUMNS as u64];
        for (count, most) in counts.iter_mut().zip(most) {
            visit.count(count, most);
        }
        let [swapped, in_block, columns_left] = counts;
        self.swapped = swapped == 1;
        (self.in_block, self.columns_left) = (in_block as u16, columns_left as u16);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;
    use crate::linalg::zeros;
    use crate::mask::{Td0, TdLambda};
    use crate::rng::Rng;
    use crate::statistic::Statistic;

    #[test]
    fn closing_a_block_by_columns_is_closing_it_at_once_at_every_length() {
        fn check<M: Mask<f32>>(mask: M) {
            let mut rng = Rng::new(1);
            let mut context = Context::<2, M, Growing>::with(mask, Growing);
            let mut state = Vector::ZERO;
            let (mut total, mut error) = (Moments::<f32, 2, 1>::ZERO, Moments::ZERO);
            let mut open = Moments::ZERO;
            for n in 1..=3 * u32::from(BLOCK) + 2 {
                let mut number = || rng.uniform_in(-1.0, 2.0);
                let (phi, phi_next) = ([number(), number()], [number(), number()]);
                let token = Token { phi, phi_next, rewards: [number()] };
                context.observe(&phi, token.rewards[0], &phi_next).unwrap();
                open.add_outer(&mask.factors(&mut state, &token, 1.0), M::SYMMETRIC);
                if n % u32::from(BLOCK) == 0 {
                    for j in 0..Moments::<f32, 2, 1>::COLUMNS {
                        total.close_column(&mut error, &mut open, j);
                    }
                    assert_eq!(open, Moments::ZERO);
                }
                let mut want = zeros::<f32, 5, 5>();
                let sum = |[t, e, o]: [f32; 3]| t + (e + o);
                assert!(Moments::read(
                    [&total, &error, &open],
                    sum,
                    M::SYMMETRIC,
                    0.5,
                    0,
                    &mut want
                ));
                let got: Statistic<f32, 5> = context.statistic(0.5, 0).unwrap();
                assert_eq!(got.g, want, "{n} terms, {mask:?}");
            }
            let mut errors = 0;
            error.numbers(&mut |x| errors += usize::from(*x != 0.0));
            assert!(errors > 0);
        }
        check(Td0);
        check(TdLambda::new(0.5).unwrap());
    }
}
