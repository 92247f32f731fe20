//! The products of the training batch: (K, K) matrices and K vectors whose columns are padded to R
//! rows, every sum in ascending order of its index.
//!
//! With lanes R = K, and a column is K registers. With `f32` R is a multiple of the register width,
//! so that a product runs along a padded column ([`rows`]). Rows beyond K are never read back, so R
//! changes no bit of the others.
//!
//! How a product is computed, [`lanes`] and [`alone`] say. The products of matrices are
//! [kernels](crate::scalar::Kernel), compiled once each; inside them nothing is a call of a closure
//! over rows: what is not inlined would lose the kernel's instructions.

#![allow(clippy::manual_memcpy, reason = "a call of memcpy, where a loop is a few registers")]

mod alone;
mod lanes;

use super::keep_apart;
use crate::scalar::{Scalar, kernel};

/// K columns of R rows.
pub(crate) type Columns<S, const R: usize, const K: usize> = [[S; R]; K];

/// R for columns of `k` numbers: whole registers for one number, `k` for lanes, each of which is a
/// register, and on a microcontroller, which has no registers to fill.
pub(crate) const fn rows<S: Scalar>(k: usize) -> usize {
    if S::LANES > 1 || cfg!(target_os = "none") || k > 24 {
        k
    } else if k > 16 {
        24
    } else {
        16
    }
}

#[inline(always)]
pub(crate) fn zeros<S: Scalar, const R: usize, const K: usize>() -> Columns<S, R, K> {
    [[S::ZERO; R]; K]
}

/// Rows i to i + N - 1 of a column.
#[inline(always)]
fn rows_at<const N: usize, S: Scalar, const R: usize>(column: &[S; R], i: usize) -> [S; N] {
    let mut rows = [S::ZERO; N];
    for n in 0..N {
        rows[n] = column[i + n];
    }
    rows
}

/// What a product of matrices is added to.
#[derive(Clone, Copy)]
pub(crate) enum Onto<'a, S: Scalar, const R: usize, const K: usize> {
    Zeros,
    /// What the result holds already.
    Itself,
    Matrix(&'a Columns<S, R, K>),
}

impl<S: Scalar, const R: usize, const K: usize> Onto<'_, S, R, K> {
    /// Rows i to i + N - 1 of column j, which the result holds as `itself`.
    #[inline(always)]
    fn rows<const N: usize>(&self, itself: &[S; R], j: usize, i: usize) -> [S; N] {
        match self {
            Onto::Zeros => [S::ZERO; N],
            Onto::Itself => rows_at(itself, i),
            Onto::Matrix(m) => rows_at(&m[j], i),
        }
    }
}

/// What the file of the number's kind says.
macro_rules! by_kind {
    ($S:ident, $product:ident($($arg:expr),*)) => {
        if $S::LANES > 1 { lanes::$product($($arg),*) } else { alone::$product($($arg),*) }
    };
}

/// s x.
#[inline(always)]
pub(crate) fn scaled<S: Scalar, const R: usize>(s: S, x: &[S; R]) -> [S; R] {
    by_kind!(S, scaled(s, x))
}

/// x += y.
#[inline(always)]
pub(crate) fn add<S: Scalar, const R: usize>(x: &mut [S; R], y: &[S; R]) {
    by_kind!(S, add(x, y))
}

/// <x, y> over the first K entries.
#[inline(always)]
pub(crate) fn dot<const K: usize, S: Scalar, const R: usize>(x: &[S; R], y: &[S; R]) -> S {
    let mut sum = S::ZERO;
    for (x_k, y_k) in x.iter().zip(y).take(K) {
        sum += *x_k * *y_k;
    }
    sum
}

kernel! {
    /// y + A x.
    pub(crate) fn add_mul_vector as AddProduct<'a, S: Scalar, const R: usize, const K: usize>(
        y: &'a [S; R],
        a: &'a Columns<S, R, K>,
        x: &'a [S; R],
    ) -> [S; R] {
        by_kind!(S, add_mul_vector(y, a, x))
    }
}

/// A x.
#[inline(always)]
pub(crate) fn mul_vector<S: Scalar, const R: usize, const K: usize>(
    a: &Columns<S, R, K>,
    x: &[S; R],
) -> [S; R] {
    add_mul_vector(&[S::ZERO; R], a, x)
}

kernel! {
    /// M = onto + A B.
    pub(crate) fn mul_onto as MulOnto<'a, S: Scalar, const R: usize, const K: usize>(
        m: &'a mut Columns<S, R, K>,
        onto: Onto<'a, S, R, K>,
        a: &'a Columns<S, R, K>,
        b: &'a Columns<S, R, K>,
    ) {
        by_kind!(S, mul_onto(m, onto, a, b))
    }
}

kernel! {
    /// M = onto + A B^T.
    pub(crate) fn mul_transpose_onto as MulTransposeOnto<'a, S: Scalar, const R: usize, const K: usize>(
        m: &'a mut Columns<S, R, K>,
        onto: Onto<'a, S, R, K>,
        a: &'a Columns<S, R, K>,
        b: &'a Columns<S, R, K>,
    ) {
        by_kind!(S, mul_transpose_onto(m, onto, a, b))
    }
}

kernel! {
    /// M = onto + A B^T where that is symmetric: exactly so.
    pub(crate) fn mul_transpose_onto_symmetric as MulTransposeOntoSymmetric<'a, S: Scalar, const R: usize, const K: usize>(
        m: &'a mut Columns<S, R, K>,
        onto: Onto<'a, S, R, K>,
        a: &'a Columns<S, R, K>,
        b: &'a Columns<S, R, K>,
    ) {
        by_kind!(S, mul_transpose_onto_symmetric(m, onto, a, b));
        mirror(m);
    }
}

kernel! {
    /// M += sum over the pairs of x y^T, one pair after the other.
    pub(crate) fn add_outers as AddOuters<'a, S: Scalar, const R: usize, const K: usize, const N: usize>(
        m: &'a mut Columns<S, R, K>,
        pairs: [(&'a [S; R], &'a [S; R]); N],
    ) {
        by_kind!(S, add_outers(m, pairs))
    }
}

kernel! {
    /// M = the sum over the pairs of (x y^T + y x^T): exactly symmetric, as each bracket is.
    pub(crate) fn symmetric_outers as SymmetricOuters<'a, S: Scalar, const R: usize, const K: usize, const N: usize>(
        m: &'a mut Columns<S, R, K>,
        pairs: [(&'a [S; R], &'a [S; R]); N],
    ) {
        by_kind!(S, symmetric_outers(m, pairs))
    }
}

/// Copies the upper triangle of a symmetric matrix to its lower one.
#[inline(always)]
pub(crate) fn mirror<S: Scalar, const R: usize, const K: usize>(m: &mut Columns<S, R, K>) {
    for j in 1..K {
        for i in 0..j {
            keep_apart::<S>();
            m[i][j] = m[j][i];
        }
    }
}

/// A matrix that is multiplied from both sides: a padded scalar column needs the transpose at hand,
/// lanes read the matrix itself by rows.
#[derive(Clone, Copy)]
pub(crate) struct TwoSided<S, const R: usize, const K: usize> {
    pub(crate) m: Columns<S, R, K>,
    transpose: Columns<S, R, K>,
}

impl<S: Scalar, const R: usize, const K: usize> TwoSided<S, R, K> {
    #[inline(always)]
    pub(crate) fn zeros() -> Self {
        TwoSided { m: zeros(), transpose: zeros() }
    }

    #[inline(always)]
    pub(crate) fn of(m: Columns<S, R, K>) -> Self {
        let mut out = TwoSided { m, transpose: zeros() };
        out.update();
        out
    }

    /// To be called after every change of the matrix.
    #[inline(always)]
    pub(crate) fn update(&mut self) {
        if S::LANES == 1 {
            for j in 0..K {
                for i in 0..K {
                    self.transpose[i][j] = self.m[j][i];
                }
            }
        }
    }

    /// y + A^T x.
    #[inline(always)]
    pub(crate) fn add_transpose_mul_vector(&self, y: &[S; R], x: &[S; R]) -> [S; R] {
        if S::LANES == 1 {
            add_mul_vector(y, &self.transpose, x)
        } else {
            add_transpose_mul_vector(y, &self.m, x)
        }
    }

    /// A^T x.
    #[inline(always)]
    pub(crate) fn transpose_mul_vector(&self, x: &[S; R]) -> [S; R] {
        self.add_transpose_mul_vector(&[S::ZERO; R], x)
    }

    /// A^T B.
    #[inline(always)]
    pub(crate) fn transpose_mul(&self, out: &mut Columns<S, R, K>, b: &Columns<S, R, K>) {
        for (out, column) in out.iter_mut().zip(b) {
            *out = self.transpose_mul_vector(column);
        }
    }
}

kernel! {
    /// y + A^T x, for lanes.
    fn add_transpose_mul_vector as AddTransposeProduct<'a, S: Scalar, const R: usize, const K: usize>(
        y: &'a [S; R],
        a: &'a Columns<S, R, K>,
        x: &'a [S; R],
    ) -> [S; R] {
        lanes::add_transpose_mul_vector(y, a, x)
    }
}
