//! What a layer's passes are made of: tiles of rows of the scores, against all columns.

use super::Columns;
use crate::scalar::{Scalar, kernel};
use nalgebra::{ArrayStorage, SVector};

/// How many rows of the scores are worked on at a time: what they accumulate stays in registers, and
/// a column is loaded once for all of them. Sums keep their order.
pub(super) const TILE: usize = 3;

/// Up to [`TILE`] rows of scores, or of what becomes of them: for each context column, and for the
/// query's, a number per row. One workspace serves all tiles of a layer.
pub(super) struct Rows<S: Scalar, const N: usize> {
    pub(super) context: [[S; TILE]; N],
    pub(super) query: [S; TILE],
}

impl<S: Scalar, const N: usize> Rows<S, N> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Rows { context: [[S::ZERO; TILE]; N], query: [S::ZERO; TILE] }
    }
}

/// Rows of <left_t, column c>.
#[inline(always)]
pub(super) fn products<S: Scalar, const K: usize, const T: usize, const N: usize>(
    left: &[[S; K]; T],
    columns: &Columns<S, K, N>,
    n: usize,
    rows: &mut Rows<S, N>,
) {
    for c in 0..n {
        for t in 0..T {
            rows.context[c][t] = dot(&left[t], &columns.context[c]);
        }
    }
    for t in 0..T {
        rows.query[t] = dot(&left[t], &columns.query);
    }
}

/// The sums over columns, weighted by the rows: one vector per row.
#[inline(always)]
pub(super) fn combinations<S: Scalar, const K: usize, const T: usize, const N: usize>(
    rows: &Rows<S, N>,
    columns: &Columns<S, K, N>,
    n: usize,
) -> [[S; K]; T] {
    let mut sums = [[S::ZERO; K]; T];
    for c in 0..n {
        for t in 0..T {
            add_scaled(&mut sums[t], rows.context[c][t], &columns.context[c]);
        }
    }
    for t in 0..T {
        add_scaled(&mut sums[t], rows.query[t], &columns.query);
    }
    sums
}

/// Adds to each column the vectors weighted by its entries of the rows; to a copy of `first`, if given.
#[inline(always)]
pub(super) fn scatter<S: Scalar, const K: usize, const T: usize, const N: usize>(
    rows: &Rows<S, N>,
    vectors: &[[S; K]; T],
    first: Option<&Columns<S, K, N>>,
    columns: &mut Columns<S, K, N>,
    n: usize,
) {
    for c in 0..n {
        let mut column = match first {
            Some(first) => first.context[c],
            None => columns.context[c],
        };
        for t in 0..T {
            add_scaled(&mut column, rows.context[c][t], &vectors[t]);
        }
        columns.context[c] = column;
    }
    if let Some(first) = first {
        columns.query = first.query;
    }
    for t in 0..T {
        add_scaled(&mut columns.query, rows.query[t], &vectors[t]);
    }
}

/// exp(score - shift) of T rows of scores, in place, shifted by their largest; gives each row's
/// normalisation, 1 / the sum.
#[inline(always)]
pub(super) fn exponentials<S: Scalar, const T: usize, const N: usize>(
    rows: &mut Rows<S, N>,
    n: usize,
) -> [S; T] {
    let (mut shifts, mut totals) = ([S::ZERO; T], [S::ZERO; T]);
    shifts.copy_from_slice(&rows.query[..T]);
    for c in 0..n {
        for t in 0..T {
            shifts[t] = shifts[t].max(rows.context[c][t]);
        }
    }
    for c in 0..n {
        for t in 0..T {
            let exponential = (rows.context[c][t] - shifts[t]).exp();
            rows.context[c][t] = exponential;
            totals[t] += exponential;
        }
    }
    let mut normalisation = [S::ONE; T];
    for t in 0..T {
        rows.query[t] = (rows.query[t] - shifts[t]).exp();
        normalisation[t] = S::ONE / (totals[t] + rows.query[t]);
    }
    normalisation
}

#[inline(always)]
pub(super) fn add<S: Scalar, const K: usize>(x: &mut [S; K], y: &[S; K]) {
    for i in 0..K {
        x[i] += y[i];
    }
}

#[inline(always)]
pub(super) fn vector<S: Scalar, const K: usize>(x: [S; K]) -> SVector<S, K> {
    SVector::from_array_storage(ArrayStorage([x]))
}

#[inline(always)]
pub(super) fn dot<S: Scalar, const K: usize>(x: &[S; K], y: &[S; K]) -> S {
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
pub(super) fn add_scaled<S: Scalar, const K: usize>(x: &mut [S; K], s: S, y: &[S; K]) {
    for i in 0..K {
        x[i] += s * y[i];
    }
}

#[inline(always)]
pub(super) fn scale<S: Scalar, const K: usize>(x: &mut [S; K], s: S) {
    for i in 0..K {
        x[i] *= s;
    }
}

kernel! {
    /// M += x y^T, M by columns.
    pub(super) fn add_outer as AddOuter<'a, S: Scalar, const K: usize>(
        m: &'a mut [[S; K]; K],
        x: &'a [S; K],
        y: &'a [S; K],
    ) {
        for j in 0..K {
            add_scaled(&mut m[j], y[j], x);
        }
    }
}
