//! The products of the training batch: (K, K) matrices and K vectors whose columns are padded to R
//! rows, every sum in ascending order of its index.
//!
//! With lanes R = K, and a column is K registers. With `f32` R is a multiple of the register width,
//! so that a product runs along a padded column. Rows beyond K are never read back, so R changes no
//! bit of the others.
//!
//! Every function takes `dim` = K as a run-time number (see [`Dim`]). The products are
//! [kernels](crate::scalar::Kernel), compiled once each; inside them nothing is a closure or an
//! iterator's adapter over rows: what is not inlined would lose the kernel's instructions.

#![allow(clippy::manual_memcpy, reason = "a call of memcpy, where a loop is a few registers")]

/// Runs the body for each row, rows of lanes kept apart.
macro_rules! for_rows {
    ($S:ty, $R:expr, $i:ident, $body:block) => {
        if <$S>::LANES == 1 {
            for $i in 0..$R $body
        } else {
            let mut row = 0;
            while row + 3 <= $R {
                $crate::linalg::keep_apart::<$S>();
                { let $i = row; $body }
                { let $i = row + 1; $body }
                { let $i = row + 2; $body }
                row += 3;
            }
            while row < $R {
                $crate::linalg::keep_apart::<$S>();
                { let $i = row; $body }
                row += 1;
            }
        }
    };
}

mod matrices;
mod vectors;

pub(crate) use matrices::{
    Onto, add_outers, mirror, mul_onto, mul_transpose_onto, symmetric_outers,
};
pub(crate) use vectors::{TwoSided, add_mul_vector, mul_vector};

use crate::scalar::Scalar;

/// K columns of R rows.
pub(crate) type Columns<S, const R: usize, const K: usize> = [[S; R]; K];

/// K, hidden from the optimiser for lanes: unrolled loops over all K^2 registers of a product would
/// not fit the instruction cache. A padded scalar column is one or two registers, there unrolling pays.
#[derive(Clone, Copy)]
pub(crate) struct Dim(usize);

impl Dim {
    #[inline(always)]
    pub(crate) fn new<S: Scalar, const K: usize>() -> Self {
        Dim(if S::LANES > 1 { core::hint::black_box(K) } else { K })
    }
}

/// The first `dim` elements, all of them.
#[inline(always)]
fn all<T, const K: usize>(items: &[T; K], dim: Dim) -> &[T] {
    items.get(..dim.0).unwrap_or(items)
}

#[inline(always)]
fn all_mut<T, const K: usize>(items: &mut [T; K], dim: Dim) -> &mut [T] {
    let len = dim.0.min(K);
    &mut items[..len]
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

/// Writes rows i to i + N - 1 of a column.
#[inline(always)]
fn set_rows<const N: usize, S: Scalar, const R: usize>(
    column: &mut [S; R],
    i: usize,
    rows: &[S; N],
) {
    for n in 0..N {
        column[i + n] = rows[n];
    }
}

#[inline(always)]
pub(crate) fn zeros<S: Scalar, const R: usize, const K: usize>() -> Columns<S, R, K> {
    [[S::ZERO; R]; K]
}

/// s x.
#[inline(always)]
pub(crate) fn scaled<S: Scalar, const R: usize>(s: S, x: &[S; R]) -> [S; R] {
    let mut out = [S::ZERO; R];
    for_rows!(S, R, i, {
        out[i] = s * x[i];
    });
    out
}

/// x += y.
#[inline(always)]
pub(crate) fn add<S: Scalar, const R: usize>(x: &mut [S; R], y: &[S; R]) {
    for_rows!(S, R, i, {
        x[i] += y[i];
    });
}

/// <x, y> over the first K entries.
#[inline(always)]
pub(crate) fn dot<S: Scalar, const R: usize>(dim: Dim, x: &[S; R], y: &[S; R]) -> S {
    let mut sum = S::ZERO;
    for (x_k, y_k) in all(x, dim).iter().zip(y) {
        sum += *x_k * *y_k;
    }
    sum
}
