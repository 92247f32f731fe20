//! The statistic as a matrix.

use super::Block::{self, Phi, PhiNext, Reward};
use super::{Entries, Entry, Of, Read};
use crate::scalar::Scalar;
use nalgebra::SMatrix;

/// G(gamma) on its way into a matrix: all of it, or the rows and columns of phi alone.
pub(super) struct Columns<'a, S, const K: usize> {
    pub(super) g: &'a mut SMatrix<S, K, K>,
    pub(super) of_phi_alone: bool,
}

impl<S: Scalar, const D: usize, const K: usize> Entries<S, D> for Columns<'_, S, K> {
    type Output = ();

    #[inline(always)]
    fn take(mut self, read: &Read<'_, S, impl Entry<S>>) {
        let gamma = read.gamma;
        self.block(read, Phi, Phi, [D, D], S::ONE);
        self.block(read, Phi, PhiNext, [D, D], gamma);
        self.block(read, PhiNext, PhiNext, [D, D], gamma * gamma);
        self.block(read, Phi, Reward, [D, 1], S::ONE);
        self.block(read, PhiNext, Reward, [D, 1], gamma);
        self.block(read, Reward, Reward, [1, 1], S::ONE);
        if !read.symmetric {
            self.block(read, PhiNext, Phi, [D, D], gamma);
            self.block(read, Reward, Phi, [1, D], S::ONE);
            self.block(read, Reward, PhiNext, [1, D], gamma);
        }
    }
}

impl<S: Scalar, const K: usize> Columns<'_, S, K> {
    /// Takes a block, times `scale`, and if G is symmetric its mirror image.
    #[inline(always)]
    fn block(
        &mut self,
        read: &Read<'_, S, impl Entry<S>>,
        row: Block,
        column: Block,
        [rows, columns]: [usize; 2],
        scale: S,
    ) {
        let is_wanted = row == Phi || column == Phi || !self.of_phi_alone;
        if !is_wanted {
            return;
        }
        for j in 0..columns {
            let rows = if read.symmetric && row == column { j + 1 } else { rows };
            for i in 0..rows {
                let x = scale * read.sum(Of::G((row, i), (column, j)));
                self.put((row, i), (column, j), x);
                if read.symmetric && (i != j || row != column) {
                    self.put((column, j), (row, i), x);
                }
            }
        }
    }

    #[inline(always)]
    fn put(&mut self, (row, i): (Block, usize), (column, j): (Block, usize), x: S) {
        // d, whether K is 2 d + 1 or 2 d + 2.
        let d = (K - 1) / 2;
        let start = |block| match block {
            Phi => 0,
            PhiNext => d,
            Reward => 2 * d,
        };
        self.g.data.0[start(column) + j][start(row) + i] = x;
    }
}
