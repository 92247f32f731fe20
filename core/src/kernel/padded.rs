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

use crate::scalar::{Scalar, kernel};
use core::sync::atomic::{Ordering, compiler_fence};

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

/// Runs the body for each row. For lanes, each row is a register already: the compiler must not look
/// for vectors across rows (it gathers them, 20 times slower), which a fence of no instruction prevents.
macro_rules! for_rows {
    ($S:ty, $R:expr, $i:ident, $body:block) => {
        if <$S>::LANES == 1 {
            for $i in 0..$R $body
        } else {
            let mut row = 0;
            while row + 3 <= $R {
                compiler_fence(Ordering::SeqCst);
                { let $i = row; $body }
                { let $i = row + 1; $body }
                { let $i = row + 2; $body }
                row += 3;
            }
            while row < $R {
                compiler_fence(Ordering::SeqCst);
                { let $i = row; $body }
                row += 1;
            }
        }
    };
}

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
        while $i + $n <= $R {
            const $N: usize = $n;
            $body;
            $i += $n;
        }
    };
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

kernel! {
    /// y + A x.
    #[cfg_attr(target_os = "none", inline(always))]
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
fn add_product<S: Scalar, const R: usize, const K: usize>(
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
    let mut sums = [S::ZERO; N];
    sums.copy_from_slice(&y[i..i + N]);
    for (column, x_k) in all(a, dim).iter().zip(x) {
        for n in 0..N {
            sums[n] += column[i + n] * *x_k;
        }
    }
    out[i..i + N].copy_from_slice(&sums);
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
    #[cfg_attr(target_os = "none", inline(always))]
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
    let mut sums = [S::ZERO; N];
    sums.copy_from_slice(&y[i..i + N]);
    let columns = &a[i..i + N];
    for (k, x_k) in all(x, dim).iter().enumerate() {
        for n in 0..N {
            sums[n] += columns[n][k] * *x_k;
        }
    }
    out[i..i + N].copy_from_slice(&sums);
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
        let column = match self {
            Onto::Zeros => return [S::ZERO; N],
            Onto::Itself => itself,
            Onto::Matrix(m) => &m[j],
        };
        let mut out = [S::ZERO; N];
        out.copy_from_slice(&column[i..i + N]);
        out
    }
}

kernel! {
    /// M = onto + A B. Three rows of three columns at a time stay in registers while k runs.
    #[cfg_attr(target_os = "none", inline(always))]
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
    #[cfg_attr(target_os = "none", inline(always))]
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
    #[cfg_attr(target_os = "none", inline(always))]
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
            compiler_fence(Ordering::SeqCst);
            m[i][j] = m[j][i];
        }
    }
}

kernel! {
    /// M += sum over the pairs of x y^T, one pair after the other.
    #[cfg_attr(target_os = "none", inline(always))]
    pub(crate) fn add_outers as AddOuters<'a, S: Scalar, const R: usize, const K: usize, const N: usize>(
        dim: Dim,
        m: &'a mut Columns<S, R, K>,
        pairs: [(&'a [S; R], &'a [S; R]); N],
    ) {
        for (j, column) in all_mut(m, dim).iter_mut().enumerate() {
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
}

kernel! {
    /// M = the sum over the pairs of (x y^T + y x^T): exactly symmetric, as each bracket is.
    #[cfg_attr(target_os = "none", inline(always))]
    pub(crate) fn symmetric_outers as SymmetricOuters<'a, S: Scalar, const R: usize, const K: usize, const N: usize>(
        dim: Dim,
        m: &'a mut Columns<S, R, K>,
        pairs: [(&'a [S; R], &'a [S; R]); N],
    ) {
        for (j, column) in all_mut(m, dim).iter_mut().enumerate() {
            let j = j.min(R - 1);
            // Of lanes the upper triangle, in threes; a padded scalar column is one register.
            let rows = if S::LANES == 1 { R } else { (j / 3 * 3 + 3).min(R) };
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
