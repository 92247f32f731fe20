//! The few hot products, on nalgebra's `SMatrix`, every sum in ascending order of its index.
//!
//! For `f32` and `f64` each product of two matrices is bit for bit nalgebra's own `a * b`; unlike
//! nalgebra's, these also take lanes, and no code path depends on the target or on the build. Each
//! product is a [`Kernel`](crate::scalar::Kernel).

pub mod linear_system;
pub(crate) mod padded;
#[cfg(any(target_os = "none", test))]
pub(crate) mod tiled;

use crate::scalar::{Scalar, kernel};
use core::sync::atomic::{Ordering, compiler_fence};
use nalgebra::{ArrayStorage, SMatrix, SVector};

/// The matrix of zeros.
#[inline(always)]
pub const fn zeros<S: Scalar, const R: usize, const C: usize>() -> SMatrix<S, R, C> {
    SMatrix::from_array_storage(ArrayStorage([[S::ZERO; R]; C]))
}

/// The identity matrix.
#[inline(always)]
pub fn identity<S: Scalar, const K: usize>() -> SMatrix<S, K, K> {
    let mut out = zeros();
    add_identity(&mut out);
    out
}

/// M += I.
#[inline(always)]
pub fn add_identity<S: Scalar, const K: usize>(m: &mut SMatrix<S, K, K>) {
    for i in 0..K {
        m.data.0[i][i] += S::ONE;
    }
}

kernel! {
    /// A B, (R, K) times (K, C).
    pub fn mul as Product<'a, S: Scalar, const R: usize, const K: usize, const C: usize>(
        a: &'a SMatrix<S, R, K>,
        b: &'a SMatrix<S, K, C>,
    ) -> SMatrix<S, R, C> {
        let mut out = zeros::<S, R, C>();
        for j in 0..C {
            out.data.0[j] = combine(&a.data.0, &b.data.0[j]);
        }
        out
    }
}

/// A^T B, (K, R) transposed times (K, C).
#[inline]
pub fn transpose_mul<S: Scalar, const R: usize, const K: usize, const C: usize>(
    a: &SMatrix<S, K, R>,
    b: &SMatrix<S, K, C>,
) -> SMatrix<S, R, C> {
    mul(&transpose(a), b)
}

/// A B^T, (R, K) times (C, K) transposed.
#[inline]
pub fn mul_transpose<S: Scalar, const R: usize, const K: usize, const C: usize>(
    a: &SMatrix<S, R, K>,
    b: &SMatrix<S, C, K>,
) -> SMatrix<S, R, C> {
    mul(a, &transpose(b))
}

kernel! {
    /// A^T.
    #[cfg_attr(target_os = "none", inline(never))]
    pub fn transpose as Transpose<'a, S: Scalar, const R: usize, const C: usize>(
        a: &'a SMatrix<S, R, C>,
    ) -> SMatrix<S, C, R> {
        let mut out = zeros::<S, C, R>();
        for j in 0..C {
            for i in 0..R {
                out.data.0[i][j] = a.data.0[j][i];
            }
        }
        out
    }
}

kernel! {
    /// A x, (R, K) times (K).
    #[cfg_attr(target_os = "none", inline(always))]
    pub fn mul_vector as VectorProduct<'a, S: Scalar, const R: usize, const K: usize>(
        a: &'a SMatrix<S, R, K>,
        x: &'a SVector<S, K>,
    ) -> SVector<S, R> {
        SVector::from_array_storage(ArrayStorage([combine(&a.data.0, &x.data.0[0])]))
    }
}

kernel! {
    /// A^T x, (K, R) transposed times (K).
    #[cfg_attr(target_os = "none", inline(never))]
    pub fn transpose_mul_vector as TransposeVectorProduct<'a, S: Scalar, const R: usize, const K: usize>(
        a: &'a SMatrix<S, K, R>,
        x: &'a SVector<S, K>,
    ) -> SVector<S, R> {
        let mut out = zeros::<S, R, 1>();
        for j in 0..R {
            out.data.0[0][j] = dot_arrays(&a.data.0[j], &x.data.0[0]);
        }
        out
    }
}

/// <x, y>.
#[inline(always)]
pub fn dot<S: Scalar, const K: usize>(x: &SVector<S, K>, y: &SVector<S, K>) -> S {
    dot_arrays(&x.data.0[0], &y.data.0[0])
}

kernel! {
    /// M += x y^T.
    #[cfg_attr(target_os = "none", inline(always))]
    pub fn add_outer as AddOuter<'a, S: Scalar, const R: usize, const C: usize>(
        m: &'a mut SMatrix<S, R, C>,
        x: &'a SVector<S, R>,
        y: &'a SVector<S, C>,
    ) {
        for j in 0..C {
            let y_j = y.data.0[0][j];
            for i in 0..R {
                keep_apart::<S>();
                m.data.0[j][i] += x.data.0[0][i] * y_j;
            }
        }
    }
}

kernel! {
    /// A += s B.
    #[cfg_attr(target_os = "none", inline(always))]
    pub fn add_scaled as AddScaled<'a, S: Scalar, const R: usize, const C: usize>(
        a: &'a mut SMatrix<S, R, C>,
        s: S,
        b: &'a SMatrix<S, R, C>,
    ) {
        for j in 0..C {
            for i in 0..R {
                keep_apart::<S>();
                a.data.0[j][i] += s * b.data.0[j][i];
            }
        }
    }
}

kernel! {
    /// s A.
    #[cfg_attr(target_os = "none", inline(never))]
    pub fn scale as Scale<'a, S: Scalar, const R: usize, const C: usize>(
        s: S,
        a: &'a SMatrix<S, R, C>,
    ) -> SMatrix<S, R, C> {
        let mut out = *a;
        for j in 0..C {
            for i in 0..R {
                out.data.0[j][i] = s * a.data.0[j][i];
            }
        }
        out
    }
}

/// True if no entry is NaN or infinite (in any lane).
#[inline]
pub fn is_finite<S: Scalar, const R: usize, const C: usize>(m: &SMatrix<S, R, C>) -> bool {
    // A finite number times 0 is 0, NaN and infinities give NaN: one comparison for all.
    let mut zero = S::ZERO;
    for column in &m.data.0 {
        for x in column {
            zero += *x * S::ZERO;
        }
    }
    zero.is_finite()
}

/// The sum of the columns of A weighted by x, in ascending order: A x.
///
/// A chip has one copy of it, not one per call, to save flash.
#[cfg_attr(not(target_os = "none"), inline(always))]
#[cfg_attr(target_os = "none", inline(never))]
pub(crate) fn combine<S: Scalar, const R: usize, const K: usize>(
    a: &[[S; R]; K],
    x: &[S; K],
) -> [S; R] {
    let mut out = [S::ZERO; R];
    if S::LANES > 1 && K > 0 {
        combine_lanes(&mut out, a, x);
        return out;
    }
    for k in 0..K {
        let x_k = x[k];
        if k == 0 {
            // The first product is stored, not added to 0: 0 + -0.0 would lose the sign.
            for i in 0..R {
                out[i] = a[0][i] * x_k;
            }
        } else {
            for i in 0..R {
                out[i] += a[k][i] * x_k;
            }
        }
    }
    out
}

/// As [`combine`]: three rows at a time stay in registers while k runs.
#[inline(always)]
fn combine_lanes<S: Scalar, const R: usize, const K: usize>(
    out: &mut [S; R],
    a: &[[S; R]; K],
    x: &[S; K],
) {
    let mut i = 0;
    while i + 3 <= R {
        let (mut s0, mut s1, mut s2) = (a[0][i] * x[0], a[0][i + 1] * x[0], a[0][i + 2] * x[0]);
        for k in 1..K {
            s0 += a[k][i] * x[k];
            s1 += a[k][i + 1] * x[k];
            s2 += a[k][i + 2] * x[k];
        }
        (out[i], out[i + 1], out[i + 2]) = (s0, s1, s2);
        i += 3;
    }
    while i < R {
        let mut s0 = a[0][i] * x[0];
        for k in 1..K {
            s0 += a[k][i] * x[k];
        }
        out[i] = s0;
        i += 1;
    }
}

/// Between operations on neighbouring rows: for lanes, each number is a register already, and the compiler
/// must not look for vectors across rows (it gathers them, 20 times slower), which a fence of no instruction
/// prevents.
#[inline(always)]
pub(crate) fn keep_apart<S: Scalar>() {
    if S::LANES > 1 {
        compiler_fence(Ordering::SeqCst);
    }
}

#[inline(always)]
pub(crate) fn dot_arrays<S: Scalar, const K: usize>(x: &[S; K], y: &[S; K]) -> S {
    let mut sum = S::ZERO;
    for k in 0..K {
        if k == 0 {
            sum = x[0] * y[0];
        } else {
            sum += x[k] * y[k];
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn random<const R: usize, const C: usize>(rng: &mut Rng) -> SMatrix<f32, R, C> {
        SMatrix::from_fn(|_, _| rng.uniform_in(-1.0, 1.0))
    }

    #[test]
    fn products_are_nalgebras_own_bits() {
        let mut rng = Rng::new(3);
        for _ in 0..50 {
            let (a, b) = (random::<9, 9>(&mut rng), random::<9, 9>(&mut rng));
            let x = random::<9, 1>(&mut rng);
            assert_eq!(mul(&a, &b), a * b);
            assert_eq!(mul_transpose(&a, &b), a * b.transpose());
            assert_eq!(transpose_mul(&a, &b), a.transpose() * b);
            assert_eq!(mul_vector(&a, &x), a * x);
            assert_eq!(transpose_mul_vector(&a, &x), a.transpose() * x);
            let mut outer = a;
            add_outer(&mut outer, &x, &x);
            assert_eq!(outer, a + x * x.transpose());
        }
    }

    #[test]
    fn the_sign_of_a_zero_product_is_kept() {
        let a = SMatrix::<f32, 1, 1>::new(-0.0);
        let b = SMatrix::<f32, 1, 1>::new(1.0);
        assert_eq!(mul(&a, &b)[0].to_bits(), (a * b)[0].to_bits());
    }
}
