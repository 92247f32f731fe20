//! The parts of a layer's passes: tiles of rows of the scores, against all columns.
//!
//! A tile holds for each of n context columns, and for the query's, one number per row.

use crate::entrywise::entrywise;
use crate::linalg::arrays::{add_scaled, dot, scale};
use crate::scalar::{Scalar, kernel};

/// The columns of Z, or their adjoints: n context columns (N is the capacity) and the query's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PromptColumns<S: Scalar, const K: usize, const N: usize> {
    pub(super) context: [[S; K]; N],
    pub(super) query: [S; K],
}

entrywise!([S: Scalar, const K: usize, const N: usize] S, PromptColumns<S, K, N> { context, query });

impl<S: Scalar, const K: usize, const N: usize> PromptColumns<S, K, N> {
    #[inline(always)]
    pub(super) fn copy_from(&mut self, other: &Self, n: usize) {
        self.context[..n].copy_from_slice(&other.context[..n]);
        self.query = other.query;
    }

    /// Computes T rows of softmax attention: 2^(score - shift) of the scores <key_t, column c>, shifted by the row's
    /// largest; gives the query's, and each row's normalisation, 1 / the sum.
    #[inline(always)]
    pub(super) fn exponentials<const T: usize>(
        &self,
        keys: &[[S; K]; T],
        rows: &mut [[S; T]],
    ) -> ([S; T], [S; T]) {
        let mut query = [S::ZERO; T];
        for t in 0..T {
            query[t] = dot(&keys[t], &self.query);
        }
        let mut shifts = query;
        for (row, column) in rows.iter_mut().zip(&self.context) {
            for t in 0..T {
                row[t] = dot(&keys[t], column);
                shifts[t] = shifts[t].max(row[t]);
            }
        }
        let mut totals = [S::ZERO; T];
        for row in rows.iter_mut() {
            for t in 0..T {
                row[t] = (row[t] - shifts[t]).exp2();
                totals[t] += row[t];
            }
        }
        let mut normalisation = [S::ONE; T];
        for t in 0..T {
            query[t] = (query[t] - shifts[t]).exp2();
            normalisation[t] = S::ONE / (totals[t] + query[t]);
        }
        (query, normalisation)
    }

    /// Returns the sums over columns, weighted by the rows: one vector per row.
    #[inline(always)]
    pub(super) fn combinations<const T: usize>(
        &self,
        rows: &[[S; T]],
        query: &[S; T],
    ) -> [[S; K]; T] {
        let mut sums = [[S::ZERO; K]; T];
        for (row, column) in rows.iter().zip(&self.context) {
            for t in 0..T {
                add_scaled(&mut sums[t], row[t], column);
            }
        }
        for t in 0..T {
            add_scaled(&mut sums[t], query[t], &self.query);
        }
        sums
    }

    /// Adds to each column the vectors weighted by its entries of the rows.
    #[inline(always)]
    pub(super) fn add_scattered<const T: usize>(
        &mut self,
        rows: &[[S; T]],
        query: &[S; T],
        vectors: &[[S; K]; T],
    ) {
        let columns = self.context[..rows.len()].iter_mut().chain([&mut self.query]);
        for (column, weights) in columns.zip(rows.iter().chain([query])) {
            let mut sum = *column;
            for t in 0..T {
                add_scaled(&mut sum, weights[t], &vectors[t]);
            }
            *column = sum;
        }
    }
}

/// The number of rows of the scores that are worked on at a time: what they accumulate stays in registers, and
/// a column is loaded once for all of them. Sums keep their order.
pub(super) const TILE: usize = 3;

pub(super) type TileBuffer<S, const N: usize> = [[S; TILE]; N];

/// Returns the first n columns of a workspace, or of a part of a tape that starts there, for T rows.
#[inline(always)]
pub(super) fn tile<const T: usize, S: Scalar>(numbers: &mut [S], n: usize) -> &mut [[S; T]] {
    let (columns, _) = numbers.as_chunks_mut::<T>();
    let n = n.min(columns.len());
    &mut columns[..n]
}

/// Returns a key as the scores' powers of 2 want it: times log2 e.
#[inline(always)]
pub(super) fn binary<S: Scalar, const K: usize>(key: &[S; K]) -> [S; K] {
    let mut key = *key;
    scale(&mut key, S::from_f64(core::f64::consts::LOG2_E));
    key
}

kernel! {
    /// Computes M += sum_t x_t y_t^T, M by columns.
    pub(super) fn add_outers as AddOuters<'a, S: Scalar, const K: usize, const T: usize>(
        m: &'a mut [[S; K]; K],
        x: &'a [[S; K]; T],
        y: &'a [[S; K]; T],
    ) {
        for j in 0..K {
            for t in 0..T {
                add_scaled(&mut m[j], y[t][j], &x[t]);
            }
        }
    }
}
