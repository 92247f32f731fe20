//! The products for lanes: columns are as long as they count, and each number is a register.
//!
//! A product works on few rows and columns at a time, so that what it sums up stays in registers.

use super::{Onto, Size, from, numbers_at, set_numbers};
use crate::linalg::keep_apart;
use crate::scalar::Scalar;

/// Runs the body for tiles of N rows, as tall as fit. (For 4, 7 or 8 rows the compiler looks for vectors
/// across rows.)
macro_rules! tiles {
    ($rows:expr, $i:ident, $N:ident, $body:expr) => {
        let mut $i = 0;
        tiles!(@ $rows, $i, $N, $body, 9);
        tiles!(@ $rows, $i, $N, $body, 5);
        tiles!(@ $rows, $i, $N, $body, 3);
        tiles!(@ $rows, $i, $N, $body, 1);
    };
    (@ $rows:expr, $i:ident, $N:ident, $body:expr, $n:literal) => {
        {
            const $N: usize = $n;
            while $i + $N <= $rows {
                $body;
                $i += $N;
            }
        }
    };
}

/// Runs the body for tiles of N rows and M columns, threes as far as they go; with `$upper`, only for
/// those that reach the upper triangle.
macro_rules! squares {
    ($rows:expr, $k:expr, $upper:expr, $i:ident, $N:ident, $j:ident, $M:ident, $body:expr) => {
        let mut $i = 0;
        squares!(@rows $rows, $k, $upper, $i, $N, $j, $M, $body, 3);
        squares!(@rows $rows, $k, $upper, $i, $N, $j, $M, $body, 1);
    };
    (@rows $rows:expr, $k:expr, $upper:expr, $i:ident, $N:ident, $j:ident, $M:ident, $body:expr, $n:literal) => {
        {
            const $N: usize = $n;
            while $i + $N <= $rows {
                // A multiple of 3, as tiles are.
                let mut $j = if $upper { $i / 3 * 3 } else { 0 };
                tiles!(@ $k, $j, $M, $body, 3);
                tiles!(@ $k, $j, $M, $body, 1);
                $i += $N;
            }
        }
    };
}

#[inline(always)]
pub(super) fn scaled<S: Scalar>(out: &mut [S], s: S, x: &[S]) {
    for (out, x) in out.iter_mut().zip(x) {
        keep_apart::<S>();
        *out = s * *x;
    }
}

#[inline(always)]
pub(super) fn add<S: Scalar>(x: &mut [S], y: &[S]) {
    for (x, y) in x.iter_mut().zip(y) {
        keep_apart::<S>();
        *x += *y;
    }
}

#[inline(always)]
pub(super) fn mul_vector<S: Scalar>(
    Size { k, rows, .. }: Size,
    out: &mut [S],
    onto: Onto<S>,
    a: &[S],
    x: &[S],
) {
    tiles!(rows, i, N, {
        let mut sums = onto.numbers::<N>(out, i);
        let mut columns = &a[i..];
        for x_k in &x[..k] {
            let column = numbers_at::<N, S>(columns, 0);
            for n in 0..N {
                sums[n] += column[n] * *x_k;
            }
            columns = from(columns, rows);
        }
        set_numbers(out, i, &sums)
    });
}

#[inline(always)]
pub(super) fn mul_vectors<S: Scalar>(
    Size { k, rows, .. }: Size,
    [out, other_out]: [&mut [S]; 2],
    [onto, other_onto]: [Onto<S>; 2],
    a: &[S],
    [x, y]: [&[S]; 2],
) {
    let (x, y) = (&x[..k], &y[..k]);
    tiles!(rows, i, N, {
        let (mut sums, mut others) =
            (onto.numbers::<N>(out, i), other_onto.numbers::<N>(other_out, i));
        let mut columns = &a[i..];
        for l in 0..k {
            let column = numbers_at::<N, S>(columns, 0);
            for n in 0..N {
                sums[n] += column[n] * x[l];
                others[n] += column[n] * y[l];
            }
            columns = from(columns, rows);
        }
        set_numbers(out, i, &sums);
        set_numbers(other_out, i, &others)
    });
}

#[inline(always)]
pub(super) fn transpose_mul_vectors<S: Scalar>(
    Size { k, rows, .. }: Size,
    [out, other_out]: [&mut [S]; 2],
    [onto, other_onto]: [Onto<S>; 2],
    a: &[S],
    [x, y]: [&[S]; 2],
) {
    let (x, y) = (&x[..k], &y[..k]);
    tiles!(rows, i, N, {
        let (mut sums, mut others) =
            (onto.numbers::<N>(out, i), other_onto.numbers::<N>(other_out, i));
        let mut columns = [x; N];
        for n in 0..N {
            columns[n] = &a[(i + n) * rows..][..k];
        }
        for l in 0..k {
            for n in 0..N {
                sums[n] += columns[n][l] * x[l];
                others[n] += columns[n][l] * y[l];
            }
        }
        set_numbers(out, i, &sums);
        set_numbers(other_out, i, &others)
    });
}

#[inline(always)]
pub(super) fn transpose_mul_vector<S: Scalar>(
    Size { k, rows, .. }: Size,
    out: &mut [S],
    onto: Onto<S>,
    a: &[S],
    x: &[S],
) {
    let x = &x[..k];
    tiles!(rows, i, N, {
        let mut sums = onto.numbers::<N>(out, i);
        let mut columns = [x; N];
        for n in 0..N {
            columns[n] = &a[(i + n) * rows..][..k];
        }
        for (k, x_k) in x.iter().enumerate() {
            for n in 0..N {
                sums[n] += columns[n][k] * *x_k;
            }
        }
        set_numbers(out, i, &sums)
    });
}

#[inline(always)]
pub(super) fn mul<S: Scalar>(
    Size { k, rows, .. }: Size,
    m: &mut [S],
    onto: Onto<S>,
    a: &[S],
    b: &[S],
) {
    squares!(rows, k, false, i, N, j, M, {
        let mut sums = onto.square::<N, M>(m, i, j, rows);
        let mut columns = [b; M];
        for c in 0..M {
            columns[c] = &b[(j + c) * rows..][..k];
        }
        let mut lines = &a[i..];
        for l in 0..k {
            let a_l = numbers_at::<N, S>(lines, 0);
            for c in 0..M {
                let x = columns[c][l];
                for n in 0..N {
                    sums[c][n] += a_l[n] * x;
                }
            }
            lines = from(lines, rows);
        }
        set_square(m, i, j, rows, &sums)
    });
}

#[inline(always)]
pub(super) fn mul_transpose<S: Scalar>(size: Size, m: &mut [S], onto: Onto<S>, a: &[S], b: &[S]) {
    mul_transpose_part::<false, S>(size, m, onto, a, b);
}

#[inline(always)]
pub(super) fn mul_transpose_upper<S: Scalar>(
    size: Size,
    m: &mut [S],
    onto: Onto<S>,
    a: &[S],
    b: &[S],
) {
    mul_transpose_part::<true, S>(size, m, onto, a, b);
}

/// M = onto + A B^T, only the upper triangle if `UPPER` (and what its tiles reach beyond).
#[inline(always)]
fn mul_transpose_part<const UPPER: bool, S: Scalar>(
    Size { k, rows, .. }: Size,
    m: &mut [S],
    onto: Onto<S>,
    a: &[S],
    b: &[S],
) {
    squares!(rows, k, UPPER, i, N, j, M, {
        let mut sums = onto.square::<N, M>(m, i, j, rows);
        let (mut lines, mut columns) = (&a[i..], &b[j..]);
        for _ in 0..k {
            let (a_l, b_l) = (numbers_at::<N, S>(lines, 0), numbers_at::<M, S>(columns, 0));
            for c in 0..M {
                for n in 0..N {
                    sums[c][n] += a_l[n] * b_l[c];
                }
            }
            (lines, columns) = (from(lines, rows), from(columns, rows));
        }
        set_square(m, i, j, rows, &sums)
    });
}

#[inline(always)]
pub(super) fn transpose_mul<S: Scalar>(
    Size { k, rows, .. }: Size,
    m: &mut [S],
    onto: Onto<S>,
    a: &[S],
    b: &[S],
) {
    squares!(rows, k, false, i, N, j, M, {
        let mut sums = onto.square::<N, M>(m, i, j, rows);
        let (mut lines, mut columns) = ([a; N], [b; M]);
        for n in 0..N {
            lines[n] = &a[(i + n) * rows..][..k];
        }
        for c in 0..M {
            columns[c] = &b[(j + c) * rows..][..k];
        }
        for l in 0..k {
            for c in 0..M {
                for n in 0..N {
                    sums[c][n] += lines[n][l] * columns[c][l];
                }
            }
        }
        set_square(m, i, j, rows, &sums)
    });
}

/// Writes rows i to i + N - 1 of columns j to j + M - 1.
#[inline(always)]
fn set_square<const N: usize, const M: usize, S: Scalar>(
    m: &mut [S],
    i: usize,
    j: usize,
    rows: usize,
    sums: &[[S; N]; M],
) {
    for c in 0..M {
        set_numbers(m, (j + c) * rows + i, &sums[c]);
    }
}

#[inline(always)]
pub(super) fn add_outers<S: Scalar, const N: usize>(
    Size { k, rows, .. }: Size,
    m: &mut [S],
    pairs: [(&[S], &[S]); N],
) {
    let (mut xs, mut ys, mut y_j) = ([&[][..]; N], [&[][..]; N], [S::ZERO; N]);
    for p in 0..N {
        (xs[p], ys[p]) = (&pairs[p].0[..rows], &pairs[p].1[..rows]);
    }
    for j in 0..k {
        for p in 0..N {
            y_j[p] = ys[p][j];
        }
        let column = &mut m[j * rows..][..rows];
        for i in 0..rows {
            keep_apart::<S>();
            let mut sum = column[i];
            for p in 0..N {
                sum += xs[p][i] * y_j[p];
            }
            column[i] = sum;
        }
    }
}

#[inline(always)]
pub(super) fn symmetric_outers<S: Scalar, const N: usize>(
    Size { k, rows, .. }: Size,
    m: &mut [S],
    pairs: [(&[S], &[S]); N],
) {
    let (mut xs, mut ys) = ([&[][..]; N], [&[][..]; N]);
    let (mut x_j, mut y_j) = ([S::ZERO; N], [S::ZERO; N]);
    for p in 0..N {
        (xs[p], ys[p]) = (&pairs[p].0[..rows], &pairs[p].1[..rows]);
    }
    for j in 0..k {
        for p in 0..N {
            (x_j[p], y_j[p]) = (xs[p][j], ys[p][j]);
        }
        // The upper triangle.
        let column = &mut m[j * rows..][..rows];
        for i in 0..=j.min(rows - 1) {
            keep_apart::<S>();
            let mut sum = S::ZERO;
            for p in 0..N {
                sum += xs[p][i] * y_j[p] + ys[p][i] * x_j[p];
            }
            column[i] = sum;
        }
    }
}
