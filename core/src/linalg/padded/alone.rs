//! The products for one number, whose columns are padded to whole registers: they run along a column.
//!
//! Each first cuts what it is given to its size, so that a compiler that knows the size doubts no bound later.

use super::{Onto, Size, from, numbers_at, set_numbers};
use crate::scalar::Scalar;

/// Runs the body for tiles of N rows: two registers, one, then number by number where columns are not
/// padded; on a microcontroller a whole column of the paper's tokens.
macro_rules! tiles {
    ($rows:expr, $i:ident, $N:ident, $body:expr) => {{
        let (rows, end) = ($rows, 0);
        #[cfg(target_os = "none")]
        let end = steps!(end, rows, $i, $N, $body, 9);
        let end = steps!(end, rows, $i, $N, $body, 16);
        let end = steps!(end, rows, $i, $N, $body, 8);
        let end = steps!(end, rows, $i, $N, $body, 4);
        steps!(end, rows, $i, $N, $body, 1);
    }};
}

/// Runs the body for steps of N, as many as there are from `first` to `rows`, and gives where they end: by
/// arithmetic and not by what a loop has done, so that a compiler that knows both drops loops without a step at once.
macro_rules! steps {
    ($first:expr, $rows:expr, $i:ident, $N:ident, $body:expr, $n:literal) => {{
        const $N: usize = $n;
        let mut $i = $first;
        let end = $i + ($rows - $i) / $N * $N;
        while $i < end {
            $body;
            $i += $N;
        }
        end
    }};
}

#[inline(always)]
pub(super) fn scaled<S: Scalar>(out: &mut [S], s: S, x: &[S]) {
    for (out, x) in out.iter_mut().zip(x) {
        *out = s * *x;
    }
}

#[inline(always)]
pub(super) fn add<S: Scalar>(x: &mut [S], y: &[S]) {
    for (x, y) in x.iter_mut().zip(y) {
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
    let (out, onto, a) = (&mut out[..rows], onto.cut(0, rows), &a[..k * rows]);
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
    let (out, onto, a) = (&mut out[..rows], onto.cut(0, rows), &a[..k * rows]);
    let (other_out, other_onto) = (&mut other_out[..rows], other_onto.cut(0, rows));
    let (x, y) = (&x[..k], &y[..k]);
    tiles!(rows, i, N, {
        let mut sums = onto.numbers::<N>(out, i);
        let mut others = other_onto.numbers::<N>(other_out, i);
        let mut columns = &a[i..];
        for l in 0..k {
            let column = numbers_at::<N, S>(columns, 0);
            for n in 0..N {
                sums[n] += column[n] * x[l];
            }
            for n in 0..N {
                others[n] += column[n] * y[l];
            }
            columns = from(columns, rows);
        }
        set_numbers(out, i, &sums);
        set_numbers(other_out, i, &others)
    });
}

/// Runs the body for M columns side by side, threes as far as they go (on a microcontroller, whose registers
/// are few, ones), and tiles of N rows.
macro_rules! columns {
    ($k:expr, $j:ident, $M:ident, $rows:expr, $i:ident, $N:ident, $body:expr) => {
        let (k, end) = ($k, 0);
        #[cfg(not(target_os = "none"))]
        let end = steps!(end, k, $j, $M, tiles!($rows, $i, $N, $body), 3);
        steps!(end, k, $j, $M, tiles!($rows, $i, $N, $body), 1);
    };
}

#[inline(always)]
pub(super) fn mul<S: Scalar>(size: Size, m: &mut [S], onto: Onto<S>, a: &[S], b: &[S]) {
    let Size { k, rows, .. } = size;
    let (m, onto, len) = (&mut m[..k * rows], onto.cut(0, k * rows), k * rows);
    let (a, b) = (&a[..len], &b[..len]);
    columns!(k, j, M, rows, i, N, {
        let mut sums = onto.square::<N, M>(m, i, j, rows);
        let (mut columns, mut xs) = (&a[i..], [b; M]);
        for c in 0..M {
            xs[c] = &b[(j + c) * rows..][..k];
        }
        for l in 0..k {
            let column = numbers_at::<N, S>(columns, 0);
            for c in 0..M {
                let x = xs[c][l];
                for n in 0..N {
                    sums[c][n] += column[n] * x;
                }
            }
            columns = from(columns, rows);
        }
        for c in 0..M {
            set_numbers(m, (j + c) * rows + i, &sums[c]);
        }
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

/// M = onto + A B^T, only the upper triangle if `UPPER` (and what its registers reach beyond).
#[inline(always)]
fn mul_transpose_part<const UPPER: bool, S: Scalar>(
    Size { k, rows, .. }: Size,
    m: &mut [S],
    onto: Onto<S>,
    a: &[S],
    b: &[S],
) {
    let (m, onto, len) = (&mut m[..k * rows], onto.cut(0, k * rows), k * rows);
    let (a, b) = (&a[..len], &b[..len]);
    columns!(k, j, M, if UPPER { rows.min((j + M).next_multiple_of(8)) } else { rows }, i, N, {
        let mut sums = onto.square::<N, M>(m, i, j, rows);
        let (mut columns, mut xs) = (&a[i..], &b[j..]);
        for _ in 0..k {
            let (column, x) = (numbers_at::<N, S>(columns, 0), numbers_at::<M, S>(xs, 0));
            for c in 0..M {
                for n in 0..N {
                    sums[c][n] += column[n] * x[c];
                }
            }
            (columns, xs) = (from(columns, rows), from(xs, rows));
        }
        for c in 0..M {
            set_numbers(m, (j + c) * rows + i, &sums[c]);
        }
    });
}

#[inline(always)]
pub(super) fn add_outers<S: Scalar, const N: usize>(
    Size { k, rows, .. }: Size,
    m: &mut [S],
    pairs: [(&[S], &[S]); N],
) {
    let m = &mut m[..k * rows];
    for j in 0..k {
        let column = &mut m[j * rows..][..rows];
        tiles!(rows, i, T, {
            let mut sums = numbers_at::<T, S>(column, i);
            for p in 0..N {
                let (x, y_j) = (numbers_at::<T, S>(&pairs[p].0[..rows], i), pairs[p].1[..rows][j]);
                for n in 0..T {
                    sums[n] += x[n] * y_j;
                }
            }
            set_numbers(column, i, &sums)
        });
    }
}

#[inline(always)]
pub(super) fn symmetric_outers<S: Scalar, const N: usize>(
    Size { k, rows, .. }: Size,
    m: &mut [S],
    pairs: [(&[S], &[S]); N],
) {
    let m = &mut m[..k * rows];
    for j in 0..k {
        tiles!(rows, i, T, {
            let mut sums = [S::ZERO; T];
            for p in 0..N {
                let (x, y) = (&pairs[p].0[..rows], &pairs[p].1[..rows]);
                let (x_i, y_i) = (numbers_at::<T, S>(x, i), numbers_at::<T, S>(y, i));
                for n in 0..T {
                    sums[n] += x_i[n] * y[j] + y_i[n] * x[j];
                }
            }
            set_numbers(m, j * rows + i, &sums)
        });
    }
}
