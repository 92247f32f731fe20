//! Columns as arrays, row by row ([`keep_apart`]).

use super::keep_apart;
use crate::scalar::Scalar;
use nalgebra::{ArrayStorage, SVector};

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
