//! Products with vectors.

use super::{Columns, Dim, all, rows_at, set_rows, zeros};
use crate::scalar::{Scalar, kernel};

/// Runs the body for tiles of N rows, as tall as fit: what a product sums up stays in registers. (For
/// 4, 7 or 8 rows of lanes the compiler looks for vectors across rows.)
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

kernel! {
    /// y + A x.
    #[cfg_attr(target_os = "none", inline(never))]
    pub(crate) fn add_mul_vector as AddProduct<'a, S: Scalar, const R: usize, const K: usize>(
        dim: Dim,
        y: &'a [S; R],
        a: &'a Columns<S, R, K>,
        x: &'a [S; R],
    ) -> [S; R] {
        let mut out = [S::ZERO; R];
        add_product(dim, &mut out, y, a, x);
        out
    }
}

/// out = y + A x.
#[inline(always)]
pub(super) fn add_product<S: Scalar, const R: usize, const K: usize>(
    dim: Dim,
    out: &mut [S; R],
    y: &[S; R],
    a: &Columns<S, R, K>,
    x: &[S; R],
) {
    if S::LANES == 1 {
        let mut sum = *y;
        for (column, x_k) in all(a, dim).iter().zip(x) {
            for i in 0..R {
                sum[i] += column[i] * *x_k;
            }
        }
        *out = sum;
        return;
    }
    tiles!(R, i, N, rows_of_product::<N, S, R, K>(dim, out, y, a, x, i));
}

/// Rows i to i + N - 1 of out = y + A x.
#[inline(always)]
fn rows_of_product<const N: usize, S: Scalar, const R: usize, const K: usize>(
    dim: Dim,
    out: &mut [S; R],
    y: &[S; R],
    a: &Columns<S, R, K>,
    x: &[S; R],
    i: usize,
) {
    let mut sums = rows_at::<N, S, R>(y, i);
    for (column, x_k) in all(a, dim).iter().zip(x) {
        for n in 0..N {
            sums[n] += column[i + n] * *x_k;
        }
    }
    set_rows(out, i, &sums);
}

/// A x.
#[inline(always)]
pub(crate) fn mul_vector<S: Scalar, const R: usize, const K: usize>(
    dim: Dim,
    a: &Columns<S, R, K>,
    x: &[S; R],
) -> [S; R] {
    add_mul_vector(dim, &[S::ZERO; R], a, x)
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
        TwoSided { m, transpose: zeros() }
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
    pub(crate) fn add_transpose_mul_vector(&self, dim: Dim, y: &[S; R], x: &[S; R]) -> [S; R] {
        if S::LANES == 1 {
            add_mul_vector(dim, y, &self.transpose, x)
        } else {
            add_transpose_mul_vector(dim, y, &self.m, x)
        }
    }

    /// A^T x.
    #[inline(always)]
    pub(crate) fn transpose_mul_vector(&self, dim: Dim, x: &[S; R]) -> [S; R] {
        self.add_transpose_mul_vector(dim, &[S::ZERO; R], x)
    }
}

kernel! {
    /// y + A^T x, for lanes.
    #[cfg_attr(target_os = "none", inline(never))]
    fn add_transpose_mul_vector as AddTransposeProduct<'a, S: Scalar, const R: usize, const K: usize>(
        dim: Dim,
        y: &'a [S; R],
        a: &'a Columns<S, R, K>,
        x: &'a [S; R],
    ) -> [S; R] {
        let mut out = [S::ZERO; R];
        let rows = R.min(K);
        tiles!(rows, i, N, rows_of_transpose_product::<N, S, R, K>(dim, &mut out, y, a, x, i));
        out
    }
}

/// Rows i to i + N - 1 of out = y + A^T x.
#[inline(always)]
fn rows_of_transpose_product<const N: usize, S: Scalar, const R: usize, const K: usize>(
    dim: Dim,
    out: &mut [S; R],
    y: &[S; R],
    a: &Columns<S, R, K>,
    x: &[S; R],
    i: usize,
) {
    let mut sums = rows_at::<N, S, R>(y, i);
    let columns = &a[i..i + N];
    for (k, x_k) in all(x, dim).iter().enumerate() {
        for n in 0..N {
            sums[n] += columns[n][k] * *x_k;
        }
    }
    set_rows(out, i, &sums);
}
