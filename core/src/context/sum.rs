//! A sum of outer products whose rounding error does not grow with the number of terms.

use crate::linalg::{keep_apart, zeros};
use crate::scalar::Scalar;
use nalgebra::{SMatrix, SVector};

/// Terms added plainly before a block goes into the compensated total.
const BLOCK: u16 = 256;

/// Adds in blocks: within a block plainly (one multiplication and one addition per entry), from
/// block to block by TwoSum (Knuth), which keeps each rounding error. In `f32` the result stays
/// within the error of one block's sum however many terms there are, where a plain sum stops
/// growing at 2^24 terms.
///
/// A full block goes into the total column by column, one with each of the next K terms: a device
/// has a deadline for every term, and no term takes much longer than the others.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct BlockedSum<S: Scalar, const K: usize> {
    total: SMatrix<S, K, K>,
    error: SMatrix<S, K, K>,
    /// The open block, and what is left of the full one: its first `columns_left` columns, the
    /// others are 0. `swapped` says that the full one comes first.
    blocks: [SMatrix<S, K, K>; 2],
    swapped: bool,
    in_block: u16,
    columns_left: u16,
}

impl<S: Scalar, const K: usize> BlockedSum<S, K> {
    pub(super) fn new() -> Self {
        const {
            assert!(K < BLOCK as usize, "a full block is gone before the next one is full");
        }
        BlockedSum {
            total: zeros(),
            error: zeros(),
            blocks: [zeros(); 2],
            swapped: false,
            in_block: 0,
            columns_left: 0,
        }
    }

    /// += left right^T; only the upper triangle if `symmetric`.
    #[inline(always)]
    pub(super) fn add_outer(
        &mut self,
        left: &SVector<S, K>,
        right: &SVector<S, K>,
        symmetric: bool,
    ) {
        if self.columns_left > 0 {
            self.columns_left -= 1;
            self.close_column(usize::from(self.columns_left));
        }
        let [first, second] = &mut self.blocks;
        let open = if self.swapped { second } else { first };
        for j in 0..K {
            let right_j = right[j];
            let rows = if symmetric { j + 1 } else { K };
            for i in 0..rows {
                keep_apart::<S>();
                open.data.0[j][i] += left[i] * right_j;
            }
        }
        self.in_block += 1;
        if self.in_block >= BLOCK {
            // The other block is 0 again.
            self.swapped = !self.swapped;
            self.in_block = 0;
            self.columns_left = K as u16;
        }
    }

    /// Moves column j of the full block into the total.
    #[cold]
    fn close_column(&mut self, j: usize) {
        let [first, second] = &mut self.blocks;
        let full = if self.swapped { first } else { second };
        let columns = self.total.data.0.get_mut(j).zip(self.error.data.0.get_mut(j));
        let Some(((total, error), full)) = columns.zip(full.data.0.get_mut(j)) else { return };
        (*total, *error) = closed(total, error, full);
        *full = [S::ZERO; K];
    }

    fn open_and_full(&self) -> (&SMatrix<S, K, K>, &SMatrix<S, K, K>) {
        let [first, second] = &self.blocks;
        if self.swapped { (second, first) } else { (first, second) }
    }

    /// The sum, into a matrix that is there: a chip copies nothing. The lower triangle is that of the
    /// upper one if `symmetric`. False if it overflowed.
    #[must_use]
    #[inline(always)]
    pub(super) fn value_to(&self, symmetric: bool, out: &mut SMatrix<S, K, K>) -> bool {
        let is_finite = self.value_without_full_to(symmetric, out);
        if self.columns_left == 0 { is_finite } else { self.full_columns_to(symmetric, out) }
    }

    /// The columns that the full block still has, as they will be.
    #[cold]
    #[inline(never)]
    fn full_columns_to(&self, symmetric: bool, out: &mut SMatrix<S, K, K>) -> bool {
        let (open, full) = self.open_and_full();
        // Zipped, not indexed: no compiler doubts the bounds.
        let sums = self.total.data.0.iter().zip(&self.error.data.0);
        let blocks = open.data.0.iter().zip(&full.data.0);
        let columns = out.data.0.iter_mut().zip(sums.zip(blocks));
        for (out, ((total, error), (open, full))) in columns.take(self.columns_left.into()) {
            let (total, error) = closed(total, error, full);
            for i in 0..K {
                out[i] = total[i] + (error[i] + open[i]);
            }
        }
        if symmetric {
            for j in 0..K {
                for i in 0..j {
                    out.data.0[i][j] = out.data.0[j][i];
                }
            }
        }
        out.data.0.as_flattened().iter().all(|x| x.is_finite())
    }

    #[cfg_attr(target_os = "none", inline(never))]
    #[cfg_attr(not(target_os = "none"), inline(always))]
    fn value_without_full_to(&self, symmetric: bool, out: &mut SMatrix<S, K, K>) -> bool {
        let (open, _) = self.open_and_full();
        let mut zero = S::ZERO;
        for j in 0..K {
            for i in 0..K {
                if symmetric && i > j {
                    break;
                }
                let rest = self.error.data.0[j][i] + open.data.0[j][i];
                let sum = self.total.data.0[j][i] + rest;
                zero += sum * S::ZERO;
                out.data.0[j][i] = sum;
                if symmetric {
                    out.data.0[i][j] = sum;
                }
            }
        }
        zero.is_finite()
    }
}

/// A column of the total and of its error when a column of a block has gone into them.
#[cfg_attr(target_os = "none", inline(never))]
fn closed<S: Scalar, const K: usize>(
    total: &[S; K],
    error: &[S; K],
    full: &[S; K],
) -> ([S; K], [S; K]) {
    let mut closed = (*total, *error);
    for i in 0..K {
        (closed.0[i], closed.1[i]) = two_sum(total[i], error[i], full[i]);
    }
    closed
}

/// a + b, and the error so far with the rounding error of this sum.
#[inline(always)]
fn two_sum<S: Scalar>(a: S, error: S, b: S) -> (S, S) {
    let sum = a + b;
    let b_part = sum - a;
    let a_part = sum - b_part;
    (sum, error + ((a - a_part) + (b - b_part)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::add_outer;
    use crate::rng::Rng;

    #[test]
    fn closing_a_block_by_columns_is_closing_it_at_once_at_every_length() {
        const K: usize = 5;
        let mut rng = Rng::new(1);
        for symmetric in [true, false] {
            let mut sum = BlockedSum::<f32, K>::new();
            let (mut total, mut error, mut open) = (zeros(), zeros(), zeros::<f32, K, K>());
            for n in 1..=3 * u32::from(BLOCK) + 2 {
                let left = SVector::from_fn(|_, _| rng.uniform_in(-1.0, 2.0));
                let right =
                    if symmetric { left } else { SVector::from_fn(|_, _| rng.normal::<f32>()) };
                sum.add_outer(&left, &right, symmetric);
                add_outer(&mut open, &left, &right);
                if n % u32::from(BLOCK) == 0 {
                    for at in 0..K * K {
                        (total[at], error[at]) = two_sum(total[at], error[at], open[at]);
                    }
                    open = zeros();
                }
                let mut value = zeros::<f32, K, K>();
                assert!(sum.value_to(symmetric, &mut value));
                assert_eq!(value, total + (error + open), "{n} terms, symmetric: {symmetric}");
            }
            assert!(error.iter().any(|x| *x != 0.0));
        }
    }

    #[test]
    fn an_overflow_is_said() {
        let mut sum = BlockedSum::<f32, 2>::new();
        let huge = SVector::from([f32::MAX, 1.0]);
        sum.add_outer(&huge, &huge, true);
        assert!(!sum.value_to(true, &mut zeros()));
        assert!(!sum.value_to(false, &mut zeros()));
    }
}
