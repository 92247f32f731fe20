//! The statistic as a matrix.

use super::Block::{self, Phi, PhiNext, Reward};
use super::{Entry, Of, Read};
use crate::scalar::Scalar;
use nalgebra::SMatrix;

impl<S: Scalar, P: Entry<S>> Read<S, P> {
    /// Writes G(gamma) into a matrix: all of it, or the rows and columns of phi alone.
    #[inline(always)]
    pub(super) fn to_columns<const D: usize, const K: usize>(
        &self,
        g: &mut SMatrix<S, K, K>,
        of_phi_alone: bool,
    ) {
        let (gamma, one) = (self.gamma, S::ONE);
        let mut block = |row, column, shape, scale| {
            if row == Phi || column == Phi || !of_phi_alone {
                self.block(g, (row, column), shape, scale);
            }
        };
        block(Phi, Phi, [D, D], one);
        block(Phi, PhiNext, [D, D], gamma);
        block(PhiNext, PhiNext, [D, D], gamma * gamma);
        block(Phi, Reward, [D, 1], one);
        block(PhiNext, Reward, [D, 1], gamma);
        block(Reward, Reward, [1, 1], one);
        if !self.symmetric {
            block(PhiNext, Phi, [D, D], gamma);
            block(Reward, Phi, [1, D], one);
            block(Reward, PhiNext, [1, D], gamma);
        }
    }

    /// Writes a block, times `scale`, and if G is symmetric its mirror image.
    #[inline(always)]
    fn block<const K: usize>(
        &self,
        g: &mut SMatrix<S, K, K>,
        (row, column): (Block, Block),
        [rows, columns]: [usize; 2],
        scale: S,
    ) {
        // d, whether K is 2 d + 1 or 2 d + 2.
        let d = (K - 1) / 2;
        let start = |block| match block {
            Phi => 0,
            PhiNext => d,
            Reward => 2 * d,
        };
        let (top, left) = (start(row), start(column));
        for j in 0..columns {
            let rows = if self.symmetric && row == column { j + 1 } else { rows };
            for i in 0..rows {
                let x = scale * self.sum(Of::G((row, i), (column, j)));
                g.data.0[left + j][top + i] = x;
                if self.symmetric && (i != j || row != column) {
                    g.data.0[top + i][left + j] = x;
                }
            }
        }
    }
}
