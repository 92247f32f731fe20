//! The few hot products, on nalgebra's `SMatrix`, every sum in ascending order of its index.
//!
//! For `f32` and `f64` each product of two matrices is bit for bit nalgebra's own `a * b`; these also take lanes, and no
//! code path depends on the target or on the build.

#[cfg(feature = "research")]
pub(crate) mod any_size;
#[cfg_attr(not(feature = "research"), allow(dead_code))]
pub(crate) mod arrays;
pub mod linear_system;

pub(crate) use arrays::dot as dot_arrays;
pub use arrays::{mul, mul_to, mul_vector};

use crate::chip::{not_unrolled, rolled};
use crate::error::{Error, Result, ensure};
use crate::scalar::{Real, Scalar, kernel};
use core::sync::atomic::{Ordering, compiler_fence};
use nalgebra::{ArrayStorage, SMatrix, SVector};

/// Returns the matrix of zeros.
pub const fn zeros<S: Scalar, const R: usize, const C: usize>() -> SMatrix<S, R, C> {
    SMatrix::from_array_storage(ArrayStorage([[S::ZERO; R]; C]))
}

/// Returns the identity matrix.
pub fn identity<S: Scalar, const K: usize>() -> SMatrix<S, K, K> {
    let mut out = zeros();
    add_identity(&mut out);
    out
}

/// Adds I to M.
pub fn add_identity<S: Scalar, const K: usize>(m: &mut SMatrix<S, K, K>) {
    for (i, column) in m.data.0.iter_mut().enumerate() {
        column[i] += S::ONE;
    }
}

/// Returns A B^T, (R, K) times (C, K) transposed.
pub fn mul_transpose<S: Scalar, const R: usize, const K: usize, const C: usize>(
    a: &SMatrix<S, R, K>,
    b: &SMatrix<S, C, K>,
) -> SMatrix<S, R, C> {
    mul(a, &transpose(b))
}

kernel! {
    /// Returns A^T.
    pub fn transpose as Transpose<'a, S: Scalar, const R: usize, const C: usize>(
        a: &'a SMatrix<S, R, C>,
    ) -> SMatrix<S, C, R> {
        let mut out = zeros::<S, C, R>();
        for (j, column) in a.data.0.iter().enumerate() {
            for (row, x) in out.data.0.iter_mut().zip(column).take(rolled(R).len()) {
                not_unrolled();
                if let Some(to) = row.get_mut(j) {
                    *to = *x;
                }
            }
        }
        out
    }
}

kernel! {
    /// Returns A^T x, (K, R) transposed times (K).
    pub fn transpose_mul_vector as TransposeVectorProduct<'a, S: Scalar, const R: usize, const K: usize>(
        a: &'a SMatrix<S, K, R>,
        x: &'a SVector<S, K>,
    ) -> SVector<S, R> {
        let mut out = zeros::<S, R, 1>();
        for (out, column) in out.data.0[0].iter_mut().zip(&a.data.0) {
            *out = dot_arrays(column, &x.data.0[0]);
        }
        out
    }
}

/// Returns <x, y>.
#[cfg(feature = "research")]
pub fn dot<S: Scalar, const K: usize>(x: &SVector<S, K>, y: &SVector<S, K>) -> S {
    dot_arrays(&x.data.0[0], &y.data.0[0])
}

kernel! {
    /// Adds x y^T to M.
    pub inline fn add_outer as AddOuter<'a, S: Scalar, const R: usize, const C: usize>(
        m: &'a mut SMatrix<S, R, C>,
        x: &'a SVector<S, R>,
        y: &'a SVector<S, C>,
    ) {
        for (column, y_j) in m.data.0.iter_mut().zip(&y.data.0[0]) {
            arrays::add_scaled(column, *y_j, &x.data.0[0]);
        }
    }
}

kernel! {
    /// Adds s B to A.
    pub inline fn add_scaled as AddScaled<'a, S: Scalar, const R: usize, const C: usize>(
        a: &'a mut SMatrix<S, R, C>,
        s: S,
        b: &'a SMatrix<S, R, C>,
    ) {
        for j in 0..C {
            arrays::add_scaled(&mut a.data.0[j], s, &b.data.0[j]);
        }
    }
}

/// Returns sum_i d_i (x_i - y_i)^2: with the weights of a distribution d, the mean squared difference.
#[cfg(feature = "research")]
pub fn weighted_squared_difference<S: Scalar, const N: usize>(
    d: &SVector<S, N>,
    x: &SVector<S, N>,
    y: &SVector<S, N>,
) -> S {
    let mut sum = S::ZERO;
    for i in 0..N {
        let difference = x[i] - y[i];
        sum += d[i] * (difference * difference);
    }
    sum
}

/// Returns the same numbers in `f64`.
pub fn to_f64<R: Real, const A: usize, const B: usize>(m: &SMatrix<R, A, B>) -> SMatrix<f64, A, B> {
    m.data.0.map(|column| column.map(R::to_f64)).into()
}

/// Returns true if no entry is NaN or infinite (in any lane).
pub fn is_finite<S: Scalar, const R: usize, const C: usize>(m: &SMatrix<S, R, C>) -> bool {
    // A finite number times 0 is 0, NaN and infinities give NaN: one comparison for all.
    let mut zero = S::ZERO;
    for x in m.data.0.as_flattened() {
        zero += *x * S::ZERO;
    }
    zero.is_finite()
}

/// Refuses NaN and infinities as [`Error::NonFinite`]. (Not with [`is_finite`], whose speed costs a chip flash.)
pub fn check_finite<S: Scalar, const R: usize, const C: usize>(
    m: &SMatrix<S, R, C>,
    parameter: &'static str,
) -> Result<()> {
    ensure(m.data.0.as_flattened().iter().all(|x| x.is_finite()), Error::NonFinite { parameter })
}

/// Keeps operations on neighbouring rows apart, by a fence without an instruction: of lanes each number is a register
/// already, and vectors across rows are gathered, 20 times slower.
#[inline(always)]
pub(crate) fn keep_apart<S: Scalar>() {
    if S::LANES > 1 {
        compiler_fence(Ordering::SeqCst);
    }
}
