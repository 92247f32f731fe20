//! A sum of outer products whose rounding error does not grow with the number of terms.

use crate::kernel::zeros;
use crate::scalar::Scalar;
use nalgebra::{SMatrix, SVector};

/// Terms added plainly before a block goes into the compensated total.
const BLOCK: u16 = 256;

/// Adds in blocks: within a block plainly (one multiplication and one addition per entry), from
/// block to block by TwoSum (Knuth), which keeps each rounding error. In `f32` the result stays
/// within the error of one block's sum however many terms there are, where a plain sum stops
/// growing at 2^24 terms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BlockedSum<S: Scalar, const K: usize> {
    total: SMatrix<S, K, K>,
    error: SMatrix<S, K, K>,
    block: SMatrix<S, K, K>,
    in_block: u16,
}

impl<S: Scalar, const K: usize> BlockedSum<S, K> {
    pub(super) fn new() -> Self {
        BlockedSum { total: zeros(), error: zeros(), block: zeros(), in_block: 0 }
    }

    /// += left right^T; only the upper triangle if `symmetric`.
    #[inline(always)]
    pub(super) fn add_outer(
        &mut self,
        left: &SVector<S, K>,
        right: &SVector<S, K>,
        symmetric: bool,
    ) {
        for j in 0..K {
            let right_j = right[j];
            let rows = if symmetric { j + 1 } else { K };
            for i in 0..rows {
                self.block.data.0[j][i] += left[i] * right_j;
            }
        }
        self.in_block += 1;
        if self.in_block == BLOCK {
            self.finish_block();
        }
    }

    #[cold]
    fn finish_block(&mut self) {
        for j in 0..K {
            for i in 0..K {
                let (a, b) = (self.total.data.0[j][i], self.block.data.0[j][i]);
                let sum = a + b;
                let b_part = sum - a;
                let a_part = sum - b_part;
                self.error.data.0[j][i] += (a - a_part) + (b - b_part);
                self.total.data.0[j][i] = sum;
            }
        }
        self.block = zeros();
        self.in_block = 0;
    }

    /// The sum; the lower triangle copied from the upper one if `symmetric`.
    #[inline(always)]
    pub(super) fn value(&self, symmetric: bool) -> SMatrix<S, K, K> {
        let mut out = zeros::<S, K, K>();
        for j in 0..K {
            let rows = if symmetric { j + 1 } else { K };
            for i in 0..rows {
                let rest = self.error.data.0[j][i] + self.block.data.0[j][i];
                let sum = self.total.data.0[j][i] + rest;
                out.data.0[j][i] = sum;
                if symmetric {
                    out.data.0[i][j] = sum;
                }
            }
        }
        out
    }
}
