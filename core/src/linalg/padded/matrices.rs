//! Products of two matrices, and sums of outer products.

use super::vectors::add_product;
use super::{Columns, Dim, all, all_mut, rows_at};
use crate::linalg::keep_apart;
use crate::scalar::{Scalar, kernel};

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

kernel! {
    /// M = onto + A B. Three rows of three columns at a time stay in registers while k runs.
    #[cfg_attr(target_os = "none", inline(never))]
    pub(crate) fn mul_onto as MulOnto<'a, S: Scalar, const R: usize, const K: usize>(
        dim: Dim,
        m: &'a mut Columns<S, R, K>,
        onto: Onto<'a, S, R, K>,
        a: &'a Columns<S, R, K>,
        b: &'a Columns<S, R, K>,
    ) {
        let (m, b) = (all_mut(m, dim), all(b, dim));
        let (threes, rest) = m.as_chunks_mut::<3>();
        let (b_threes, b_rest) = b.as_chunks::<3>();
        let mut j = 0;
        for (m, b) in threes.iter_mut().zip(b_threes) {
            if S::LANES == 1 {
                for (m, b) in m.iter_mut().zip(b) {
                    let y = onto.rows(m, j, 0);
                    add_product(dim, m, &y, a, b);
                    j += 1;
                }
            } else {
                add_product_3(dim, m, &onto, j, a, b);
                j += 3;
            }
        }
        for (m, b) in rest.iter_mut().zip(b_rest) {
            let y = onto.rows(m, j, 0);
            add_product(dim, m, &y, a, b);
            j += 1;
        }
    }
}

kernel! {
    /// M = onto + A B^T, only rows 0 to j of column j if `upper` (of lanes in threes, of a padded scalar
    /// column all of them).
    #[cfg_attr(target_os = "none", inline(never))]
    pub(crate) fn mul_transpose_onto as MulTransposeOnto<'a, S: Scalar, const R: usize, const K: usize>(
        dim: Dim,
        m: &'a mut Columns<S, R, K>,
        onto: Onto<'a, S, R, K>,
        a: &'a Columns<S, R, K>,
        b: &'a Columns<S, R, K>,
        upper: bool,
    ) {
        for (j, out) in all_mut(m, dim).iter_mut().enumerate() {
            let j = j.min(R - 1);
            if S::LANES == 1 {
                let mut sum = onto.rows(out, j, 0);
                for (a_k, b_k) in all(a, dim).iter().zip(b) {
                    for i in 0..R {
                        sum[i] += a_k[i] * b_k[j];
                    }
                }
                *out = sum;
                continue;
            }
            let rows = if upper { j + 1 } else { R };
            let mut i = 0;
            while i < rows && i + 3 <= R {
                let [mut s0, mut s1, mut s2] = onto.rows(out, j, i);
                for (a_k, b_k) in all(a, dim).iter().zip(b) {
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
                for (a_k, b_k) in all(a, dim).iter().zip(b) {
                    s0 += a_k[i] * b_k[j];
                }
                out[i] = s0;
                i += 1;
            }
        }
    }
}

/// Columns j to j + 2 of M = onto + A B, for lanes.
#[inline(always)]
fn add_product_3<S: Scalar, const R: usize, const K: usize>(
    dim: Dim,
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
        for (((a_k, x0), x1), x2) in all(a, dim).iter().zip(b0).zip(b1).zip(b2) {
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
        for (((a_k, x0), x1), x2) in all(a, dim).iter().zip(b0).zip(b1).zip(b2) {
            s0 += a_k[i] * *x0;
            s1 += a_k[i] * *x1;
            s2 += a_k[i] * *x2;
        }
        (m0[i], m1[i], m2[i]) = (s0, s1, s2);
        i += 1;
    }
}

kernel! {
    /// Copies the upper triangle of a symmetric matrix to its lower one.
    #[cfg_attr(target_os = "none", inline(never))]
    pub(crate) fn mirror as Mirror<'a, S: Scalar, const R: usize, const K: usize>(
        m: &'a mut Columns<S, R, K>,
    ) {
        mirror_inline(m);
    }
}

#[inline(always)]
fn mirror_inline<S: Scalar, const R: usize, const K: usize>(m: &mut Columns<S, R, K>) {
    for j in 1..K {
        for i in 0..j {
            keep_apart::<S>();
            m[i][j] = m[j][i];
        }
    }
}

kernel! {
    /// M += sum over the pairs of x y^T, one pair after the other.
    #[cfg_attr(target_os = "none", inline(never))]
    pub(crate) fn add_outers as AddOuters<'a, S: Scalar, const R: usize, const K: usize, const N: usize>(
        dim: Dim,
        m: &'a mut Columns<S, R, K>,
        pairs: [(&'a [S; R], &'a [S; R]); N],
    ) {
        for (j, column) in all_mut(m, dim).iter_mut().enumerate() {
            let j = j.min(R - 1);
            if S::LANES == 1 {
                // Written at the end: for all that the compiler knows, x lies in the column.
                let mut sum = *column;
                for (x, y) in pairs {
                    for i in 0..R {
                        sum[i] += x[i] * y[j];
                    }
                }
                *column = sum;
                continue;
            }
            for_rows!(S, R, i, {
                let mut sum = column[i];
                for (x, y) in pairs {
                    sum += x[i] * y[j];
                }
                column[i] = sum;
            });
        }
    }
}

kernel! {
    /// M = the sum over the pairs of (x y^T + y x^T): exactly symmetric, as each bracket is.
    #[cfg_attr(target_os = "none", inline(never))]
    pub(crate) fn symmetric_outers as SymmetricOuters<'a, S: Scalar, const R: usize, const K: usize, const N: usize>(
        dim: Dim,
        m: &'a mut Columns<S, R, K>,
        pairs: [(&'a [S; R], &'a [S; R]); N],
    ) {
        for (j, column) in all_mut(m, dim).iter_mut().enumerate() {
            let j = j.min(R - 1);
            if S::LANES == 1 {
                let mut sum = [S::ZERO; R];
                for (x, y) in pairs {
                    for i in 0..R {
                        sum[i] += x[i] * y[j] + y[i] * x[j];
                    }
                }
                *column = sum;
                continue;
            }
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
        if S::LANES > 1 {
            mirror_inline(m);
        }
    }
}
