//! Columns as arrays, row by row ([`keep_apart`]); and the product of two matrices, by tiles of 3 x 3 entries, whose sums stay in registers: a tile loads 6
//! numbers for 9 multiplications, not 10. Each entry is one ascending sum: the same bits in any order of
//! the entries.

use super::{keep_apart, zeros};
use crate::scalar::{Scalar, kernel};
use nalgebra::{ArrayStorage, SMatrix, SVector};

#[inline(always)]
pub(crate) fn add<S: Scalar, const K: usize>(x: &mut [S; K], y: &[S; K]) {
    for i in 0..K {
        keep_apart::<S>();
        x[i] += y[i];
    }
}

#[inline(always)]
pub(crate) fn vector<S: Scalar, const K: usize>(x: [S; K]) -> SVector<S, K> {
    SVector::from_array_storage(ArrayStorage([x]))
}

/// Returns <x, y>, its first product not added to 0: 0 + -0.0 would lose the sign.
#[inline(always)]
pub(crate) fn dot<S: Scalar, const K: usize>(x: &[S; K], y: &[S; K]) -> S {
    let mut sum = S::ZERO;
    for i in 0..K {
        if i == 0 {
            sum = x[0] * y[0];
        } else {
            sum += x[i] * y[i];
        }
    }
    sum
}

#[inline(always)]
pub(crate) fn add_scaled<S: Scalar, const K: usize>(x: &mut [S; K], s: S, y: &[S; K]) {
    for i in 0..K {
        keep_apart::<S>();
        x[i] += s * y[i];
    }
}

#[inline(always)]
pub(crate) fn scale<S: Scalar, const K: usize>(x: &mut [S; K], s: S) {
    for i in 0..K {
        keep_apart::<S>();
        x[i] *= s;
    }
}

/// Returns A B, (R, K) times (K, C).
#[inline(always)]
pub fn mul<S: Scalar, const R: usize, const K: usize, const C: usize>(
    a: &SMatrix<S, R, K>,
    b: &SMatrix<S, K, C>,
) -> SMatrix<S, R, C> {
    let mut out = zeros();
    mul_to(a, b, &mut out);
    out
}

kernel! {
    /// Writes A B, (R, K) times (K, C), into a matrix, so that a chip copies no result.
    pub fn mul_to as Product<'a, S: Scalar, const R: usize, const K: usize, const C: usize>(
        a: &'a SMatrix<S, R, K>,
        b: &'a SMatrix<S, K, C>,
        out: &'a mut SMatrix<S, R, C>,
    ) {
        let (threes, rest) = b.data.0.as_chunks::<3>();
        let (out_threes, out_rest) = out.data.0.as_chunks_mut::<3>();
        for (to, x) in out_threes.iter_mut().zip(threes) {
            for n in 0..R / 3 {
                tile::<3, 3, S, R, K>(&a.data.0, x, n, to);
            }
            for n in R / 3 * 3..R {
                tile::<1, 3, S, R, K>(&a.data.0, x, n, to);
            }
        }
        for (to, x) in out_rest.iter_mut().zip(rest) {
            column(&a.data.0, x, to);
        }
    }
}

kernel! {
    /// Returns A x, (R, K) times (K).
    pub fn mul_vector as VectorProduct<'a, S: Scalar, const R: usize, const K: usize>(
        a: &'a SMatrix<S, R, K>,
        x: &'a SVector<S, K>,
    ) -> SVector<S, R> {
        let mut out = [S::ZERO; R];
        column(&a.data.0, &x.data.0[0], &mut out);
        vector(out)
    }
}

/// Computes out = A x: all rows at once for a scalar, three at a time for lanes.
#[inline(always)]
fn column<S: Scalar, const R: usize, const K: usize>(
    a: &[[S; R]; K],
    x: &[S; K],
    out: &mut [S; R],
) {
    let (x, out) = (core::array::from_ref(x), core::array::from_mut(out));
    if S::LANES == 1 {
        return tile::<R, 1, S, R, K>(a, x, 0, out);
    }
    for n in 0..R / 3 {
        tile::<3, 1, S, R, K>(a, x, n, out);
    }
    for n in R / 3 * 3..R {
        tile::<1, 1, S, R, K>(a, x, n, out);
    }
}

/// Computes the n-th I rows of out = A X, for J columns x.
#[inline(always)]
fn tile<const I: usize, const J: usize, S: Scalar, const R: usize, const K: usize>(
    a: &[[S; R]; K],
    x: &[[S; K]; J],
    n: usize,
    out: &mut [[S; R]; J],
) {
    let mut sums = [[S::ZERO; I]; J];
    for k in 0..K {
        // In one piece, so that a compiler doubts the bounds once and not at each row.
        let Some(rows) = a[k].as_chunks::<I>().0.get(n) else { continue };
        for j in 0..J {
            for i in 0..I {
                // The first product is stored, not added to 0: 0 + -0.0 would lose the sign.
                if k == 0 {
                    sums[j][i] = rows[i] * x[j][k];
                } else {
                    sums[j][i] += rows[i] * x[j][k];
                }
            }
        }
    }
    for j in 0..J {
        if let Some(out) = out[j].as_chunks_mut::<I>().0.get_mut(n) {
            *out = sums[j];
        }
    }
}
