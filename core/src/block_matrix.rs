//! (K, K) matrices in blocks: what a transformer needs that knows no K.

use crate::linalg::{add_identity, mul_to, mul_vector, transpose_mul_vector, zeros};
use crate::scalar::Scalar;
#[cfg(feature = "research")]
use crate::transition::Token;
use crate::vector::Vector;
use nalgebra::{ArrayStorage, SMatrix, SVector};

/// A (K, K) matrix, in whatever layout, with columns of one.
pub trait SquareMatrix<S: Scalar>: Copy {
    /// A K vector.
    type Column: Vector<S>;

    /// The matrix of zeros.
    const ZERO: Self;

    /// Returns A x.
    fn mul_vector(&self, x: &Self::Column) -> Self::Column;

    /// A^T x.
    fn transpose_mul_vector(&self, x: &Self::Column) -> Self::Column;

    /// Returns the first D entries of A^T x; the others may be 0.
    fn features_of_transpose_mul_vector(&self, x: &Self::Column) -> Self::Column;

    /// e_K, the unit vector of the reward's row.
    fn e_k() -> Self::Column;

    /// A += I.
    fn add_identity(&mut self);

    /// out = A B.
    fn mul_to(&self, b: &Self, out: &mut Self);

    /// Computes the phi columns of out = A B; the others may stay as they are.
    fn mul_features_to(&self, b: &Self, out: &mut Self) {
        self.mul_to(b, out);
    }

    /// out = A B^T.
    fn mul_transpose_to(&self, b: &Self, out: &mut Self);
}

impl<S: Scalar, const K: usize> SquareMatrix<S> for SMatrix<S, K, K> {
    type Column = SVector<S, K>;
    const ZERO: Self = zeros();

    #[inline(always)]
    fn mul_vector(&self, x: &Self::Column) -> Self::Column {
        mul_vector(self, x)
    }

    #[inline(always)]
    fn transpose_mul_vector(&self, x: &Self::Column) -> Self::Column {
        transpose_mul_vector(self, x)
    }

    #[inline(always)]
    fn features_of_transpose_mul_vector(&self, x: &Self::Column) -> Self::Column {
        let mut out = zeros::<S, K, 1>();
        for j in 0..(K - 1) / 2 {
            out[j] = crate::linalg::dot_arrays(&self.data.0[j], &x.data.0[0]);
        }
        out
    }

    fn e_k() -> Self::Column {
        let mut e_k = zeros::<S, K, 1>();
        e_k[K - 1] = S::ONE;
        e_k
    }

    fn add_identity(&mut self) {
        add_identity(self);
    }

    #[inline(always)]
    fn mul_to(&self, b: &Self, out: &mut Self) {
        mul_to(self, b, out);
    }

    fn mul_features_to(&self, b: &Self, out: &mut Self) {
        for j in 0..(K - 1) / 2 {
            // Not unrolled, for a chip's flash.
            core::hint::black_box(&());
            let column = SVector::from_array_storage(ArrayStorage([b.data.0[j]]));
            out.data.0[j] = mul_vector(self, &column).data.0[0];
        }
    }

    fn mul_transpose_to(&self, b: &Self, out: &mut Self) {
        let mut transposed = zeros();
        for (i, column) in transposed.data.0.iter_mut().enumerate() {
            row_to(b, i, column);
        }
        mul_to(self, &transposed, out);
    }
}

/// Row i of A. On a chip a call: unrolled copies of it would take half a KiB.
#[cfg_attr(target_os = "none", inline(never))]
fn row_to<S: Scalar, const K: usize>(a: &SMatrix<S, K, K>, i: usize, row: &mut [S; K]) {
    for (to, column) in row.iter_mut().zip(&a.data.0) {
        *to = column.get(i).copied().unwrap_or(S::ZERO);
    }
}

/// A (K, K) matrix, K = 2 D + 1, column by column, each in the blocks of a token.
#[cfg(feature = "research")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockMatrix<S, const D: usize> {
    /// The columns of phi.
    pub phi: [Token<S, D, 1>; D],
    /// The columns of phi'.
    pub phi_next: [Token<S, D, 1>; D],
    /// The reward's column.
    pub reward: Token<S, D, 1>,
}

#[cfg(feature = "research")]
impl<S: Scalar, const D: usize> BlockMatrix<S, D> {
    /// The matrix of zeros.
    pub const ZERO: Self =
        BlockMatrix { phi: [Token::ZERO; D], phi_next: [Token::ZERO; D], reward: Token::ZERO };

    /// Returns its K columns.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &Token<S, D, 1>> {
        self.phi.iter().chain(&self.phi_next).chain(core::iter::once(&self.reward))
    }

    /// Returns its K columns, to be changed.
    pub(crate) fn columns_mut(&mut self) -> impl Iterator<Item = &mut Token<S, D, 1>> {
        self.phi.iter_mut().chain(&mut self.phi_next).chain(core::iter::once(&mut self.reward))
    }
}
