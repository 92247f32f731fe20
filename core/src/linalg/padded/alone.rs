//! The products for one number, whose columns are padded to whole registers: they run along a column.

use super::{Columns, Onto};
use crate::scalar::Scalar;

#[inline(always)]
pub(super) fn scaled<S: Scalar, const R: usize>(s: S, x: &[S; R]) -> [S; R] {
    let mut out = *x;
    for i in 0..R {
        out[i] = s * x[i];
    }
    out
}

#[inline(always)]
pub(super) fn add<S: Scalar, const R: usize>(x: &mut [S; R], y: &[S; R]) {
    for i in 0..R {
        x[i] += y[i];
    }
}

#[inline(always)]
pub(super) fn add_mul_vector<S: Scalar, const R: usize, const K: usize>(
    y: &[S; R],
    a: &Columns<S, R, K>,
    x: &[S; R],
) -> [S; R] {
    let mut sum = *y;
    for (column, x_k) in a.iter().zip(x) {
        for i in 0..R {
            sum[i] += column[i] * *x_k;
        }
    }
    sum
}

#[inline(always)]
pub(super) fn mul_onto<S: Scalar, const R: usize, const K: usize>(
    m: &mut Columns<S, R, K>,
    onto: Onto<S, R, K>,
    a: &Columns<S, R, K>,
    b: &Columns<S, R, K>,
) {
    for (j, (out, b)) in m.iter_mut().zip(b).enumerate() {
        let y = onto.rows(out, j, 0);
        *out = add_mul_vector(&y, a, b);
    }
}

#[inline(always)]
pub(super) fn mul_transpose_onto<S: Scalar, const R: usize, const K: usize>(
    m: &mut Columns<S, R, K>,
    onto: Onto<S, R, K>,
    a: &Columns<S, R, K>,
    b: &Columns<S, R, K>,
) {
    for (j, out) in m.iter_mut().enumerate() {
        let mut sum = onto.rows(out, j, 0);
        for (a_k, b_k) in a.iter().zip(b) {
            for i in 0..R {
                sum[i] += a_k[i] * b_k[j];
            }
        }
        *out = sum;
    }
}

/// A whole column costs what its upper part does.
#[inline(always)]
pub(super) fn mul_transpose_onto_symmetric<S: Scalar, const R: usize, const K: usize>(
    m: &mut Columns<S, R, K>,
    onto: Onto<S, R, K>,
    a: &Columns<S, R, K>,
    b: &Columns<S, R, K>,
) {
    mul_transpose_onto(m, onto, a, b);
}

#[inline(always)]
pub(super) fn add_outers<S: Scalar, const R: usize, const K: usize, const N: usize>(
    m: &mut Columns<S, R, K>,
    pairs: [(&[S; R], &[S; R]); N],
) {
    for (j, column) in m.iter_mut().enumerate() {
        // Written at the end: for all that the compiler knows, x lies in the column.
        let mut sum = *column;
        for (x, y) in pairs {
            for i in 0..R {
                sum[i] += x[i] * y[j];
            }
        }
        *column = sum;
    }
}

#[inline(always)]
pub(super) fn symmetric_outers<S: Scalar, const R: usize, const K: usize, const N: usize>(
    m: &mut Columns<S, R, K>,
    pairs: [(&[S; R], &[S; R]); N],
) {
    for (j, column) in m.iter_mut().enumerate() {
        let mut sum = [S::ZERO; R];
        for (x, y) in pairs {
            for i in 0..R {
                sum[i] += x[i] * y[j] + y[i] * x[j];
            }
        }
        *column = sum;
    }
}
