//! The products for lanes: R = K, and each number is a register.
//!
//! A product works on few rows at a time, so that what it sums up stays in registers, and it does not
//! know K ([`hidden`]).

use super::{Columns, Onto, mirror, rows_at};
use crate::linalg::keep_apart;
use crate::scalar::Scalar;

/// K, hidden from the optimiser: unrolled loops over all K^2 registers of a product would not fit the
/// instruction cache.
#[inline(always)]
fn hidden(k: usize) -> usize {
    core::hint::black_box(k)
}

/// The first `len` elements, all of them.
#[inline(always)]
fn all<T, const K: usize>(items: &[T; K], len: usize) -> &[T] {
    items.get(..len).unwrap_or(items)
}

#[inline(always)]
fn all_mut<T, const K: usize>(items: &mut [T; K], len: usize) -> &mut [T] {
    &mut items[..len.min(K)]
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

/// Runs the body for each row, rows kept apart.
macro_rules! for_rows {
    ($S:ty, $rows:expr, $i:ident, $body:block) => {
        let mut row = 0;
        while row + 3 <= $rows {
            keep_apart::<$S>();
            {
                let $i = row;
                $body
            }
            {
                let $i = row + 1;
                $body
            }
            {
                let $i = row + 2;
                $body
            }
            row += 3;
        }
        while row < $rows {
            keep_apart::<$S>();
            {
                let $i = row;
                $body
            }
            row += 1;
        }
    };
}

/// Runs the body for tiles of N rows, as tall as fit. (For 4, 7 or 8 rows the compiler looks for vectors
/// across rows.)
macro_rules! tiles {
    ($R:expr, $i:ident, $N:ident, $body:expr) => {
        let mut $i = 0;
        tiles!(@ $R, $i, $N, $body, 9);
        tiles!(@ $R, $i, $N, $body, 5);
        tiles!(@ $R, $i, $N, $body, 3);
        tiles!(@ $R, $i, $N, $body, 1);
    };
    (@ $R:expr, $i:ident, $N:ident, $body:expr, $n:literal) => {
        {
            const $N: usize = $n;
            while $i + $N <= $R {
                $body;
                $i += $N;
            }
        }
    };
}

#[inline(always)]
pub(super) fn scaled<S: Scalar, const R: usize>(s: S, x: &[S; R]) -> [S; R] {
    let mut out = [S::ZERO; R];
    for_rows!(S, R, i, {
        out[i] = s * x[i];
    });
    out
}

#[inline(always)]
pub(super) fn add<S: Scalar, const R: usize>(x: &mut [S; R], y: &[S; R]) {
    for_rows!(S, R, i, {
        x[i] += y[i];
    });
}

#[inline(always)]
pub(super) fn add_mul_vector<S: Scalar, const R: usize, const K: usize>(
    y: &[S; R],
    a: &Columns<S, R, K>,
    x: &[S; R],
) -> [S; R] {
    let mut out = [S::ZERO; R];
    add_product(hidden(K), &mut out, y, a, x);
    out
}

/// out = y + A x.
#[inline(always)]
fn add_product<S: Scalar, const R: usize, const K: usize>(
    k: usize,
    out: &mut [S; R],
    y: &[S; R],
    a: &Columns<S, R, K>,
    x: &[S; R],
) {
    tiles!(R, i, N, {
        let mut sums = rows_at::<N, S, R>(y, i);
        for (column, x_k) in all(a, k).iter().zip(x) {
            for n in 0..N {
                sums[n] += column[i + n] * *x_k;
            }
        }
        set_rows(out, i, &sums)
    });
}

#[inline(always)]
pub(super) fn add_transpose_mul_vector<S: Scalar, const R: usize, const K: usize>(
    y: &[S; R],
    a: &Columns<S, R, K>,
    x: &[S; R],
) -> [S; R] {
    let k = hidden(K);
    let mut out = [S::ZERO; R];
    let rows = R.min(K);
    tiles!(rows, i, N, {
        let mut sums = rows_at::<N, S, R>(y, i);
        let columns = &a[i..i + N];
        for (k, x_k) in all(x, k).iter().enumerate() {
            for n in 0..N {
                sums[n] += columns[n][k] * *x_k;
            }
        }
        set_rows(&mut out, i, &sums)
    });
    out
}

#[inline(always)]
pub(super) fn mul_onto<S: Scalar, const R: usize, const K: usize>(
    m: &mut Columns<S, R, K>,
    onto: Onto<S, R, K>,
    a: &Columns<S, R, K>,
    b: &Columns<S, R, K>,
) {
    let k = hidden(K);
    let (threes, rest) = all_mut(m, k).as_chunks_mut::<3>();
    let (b_threes, b_rest) = all(b, k).as_chunks::<3>();
    let mut j = 0;
    for (m, b) in threes.iter_mut().zip(b_threes) {
        add_product_3(k, m, &onto, j, a, b);
        j += 3;
    }
    for (m, b) in rest.iter_mut().zip(b_rest) {
        let y = onto.rows(m, j, 0);
        add_product(k, m, &y, a, b);
        j += 1;
    }
}

/// Columns j to j + 2 of M = onto + A B: three rows of them at a time stay in registers.
#[inline(always)]
fn add_product_3<S: Scalar, const R: usize, const K: usize>(
    k: usize,
    [m0, m1, m2]: &mut [[S; R]; 3],
    onto: &Onto<S, R, K>,
    j: usize,
    a: &Columns<S, R, K>,
    [b0, b1, b2]: &[[S; R]; 3],
) {
    let mut i = 0;
    while i + 3 <= R {
        let [mut s00, mut s10, mut s20] = onto.rows(m0, j, i);
        let [mut s01, mut s11, mut s21] = onto.rows(m1, j + 1, i);
        let [mut s02, mut s12, mut s22] = onto.rows(m2, j + 2, i);
        for (((a_k, x0), x1), x2) in all(a, k).iter().zip(b0).zip(b1).zip(b2) {
            let (a0, a1, a2) = (a_k[i], a_k[i + 1], a_k[i + 2]);
            s00 += a0 * *x0;
            s10 += a1 * *x0;
            s20 += a2 * *x0;
            s01 += a0 * *x1;
            s11 += a1 * *x1;
            s21 += a2 * *x1;
            s02 += a0 * *x2;
            s12 += a1 * *x2;
            s22 += a2 * *x2;
        }
        (m0[i], m0[i + 1], m0[i + 2]) = (s00, s10, s20);
        (m1[i], m1[i + 1], m1[i + 2]) = (s01, s11, s21);
        (m2[i], m2[i + 1], m2[i + 2]) = (s02, s12, s22);
        i += 3;
    }
    while i < R {
        let [mut s0] = onto.rows(m0, j, i);
        let [mut s1] = onto.rows(m1, j + 1, i);
        let [mut s2] = onto.rows(m2, j + 2, i);
        for (((a_k, x0), x1), x2) in all(a, k).iter().zip(b0).zip(b1).zip(b2) {
            s0 += a_k[i] * *x0;
            s1 += a_k[i] * *x1;
            s2 += a_k[i] * *x2;
        }
        (m0[i], m1[i], m2[i]) = (s0, s1, s2);
        i += 1;
    }
}

#[inline(always)]
pub(super) fn mul_transpose_onto<S: Scalar, const R: usize, const K: usize>(
    m: &mut Columns<S, R, K>,
    onto: Onto<S, R, K>,
    a: &Columns<S, R, K>,
    b: &Columns<S, R, K>,
) {
    mul_transpose::<false, S, R, K>(m, onto, a, b);
}

#[inline(always)]
pub(super) fn mul_transpose_onto_symmetric<S: Scalar, const R: usize, const K: usize>(
    m: &mut Columns<S, R, K>,
    onto: Onto<S, R, K>,
    a: &Columns<S, R, K>,
    b: &Columns<S, R, K>,
) {
    mul_transpose::<true, S, R, K>(m, onto, a, b);
}

/// M = onto + A B^T, only rows 0 to j of column j (in threes) if `UPPER`.
#[inline(always)]
fn mul_transpose<const UPPER: bool, S: Scalar, const R: usize, const K: usize>(
    m: &mut Columns<S, R, K>,
    onto: Onto<S, R, K>,
    a: &Columns<S, R, K>,
    b: &Columns<S, R, K>,
) {
    let k = hidden(K);
    for (j, out) in all_mut(m, k).iter_mut().enumerate() {
        let j = j.min(R - 1);
        let rows = if UPPER { j + 1 } else { R };
        let mut i = 0;
        while i < rows && i + 3 <= R {
            let [mut s0, mut s1, mut s2] = onto.rows(out, j, i);
            for (a_k, b_k) in all(a, k).iter().zip(b) {
                let x_k = b_k[j];
                s0 += a_k[i] * x_k;
                s1 += a_k[i + 1] * x_k;
                s2 += a_k[i + 2] * x_k;
            }
            out[i] = s0;
            out[i + 1] = s1;
            out[i + 2] = s2;
            i += 3;
        }
        while i < rows {
            let [mut s0] = onto.rows(out, j, i);
            for (a_k, b_k) in all(a, k).iter().zip(b) {
                s0 += a_k[i] * b_k[j];
            }
            out[i] = s0;
            i += 1;
        }
    }
}

#[inline(always)]
pub(super) fn add_outers<S: Scalar, const R: usize, const K: usize, const N: usize>(
    m: &mut Columns<S, R, K>,
    pairs: [(&[S; R], &[S; R]); N],
) {
    for (j, column) in all_mut(m, hidden(K)).iter_mut().enumerate() {
        let j = j.min(R - 1);
        for_rows!(S, R, i, {
            let mut sum = column[i];
            for (x, y) in pairs {
                sum += x[i] * y[j];
            }
            column[i] = sum;
        });
    }
}

#[inline(always)]
pub(super) fn symmetric_outers<S: Scalar, const R: usize, const K: usize, const N: usize>(
    m: &mut Columns<S, R, K>,
    pairs: [(&[S; R], &[S; R]); N],
) {
    for (j, column) in all_mut(m, hidden(K)).iter_mut().enumerate() {
        let j = j.min(R - 1);
        // The upper triangle, in threes.
        let rows = (j / 3 * 3 + 3).min(R);
        for_rows!(S, rows, i, {
            let mut sum = S::ZERO;
            for (x, y) in pairs {
                sum += x[i] * y[j] + y[i] * x[j];
            }
            column[i] = sum;
        });
    }
    mirror(m);
}
