//! A layer's passes, each one kernel: forward, the last layer's both ways at once, backward.

#![allow(clippy::manual_memcpy, reason = "a call of memcpy, where a loop is a few registers")]

use super::scores::{PromptColumns, TILE, TileBuffer, add_outers, binary, tile};
use crate::entrywise::{Entrywise as _, entrywise};
use crate::layer::Layer;
use crate::linalg::any_size::tiles;
use crate::linalg::arrays::{add, add_scaled, dot, scale, vector};
use crate::linalg::{mul_vector, transpose_mul_vector};
use crate::scalar::{Scalar, kernel};
use heapless::Vec;

/// The record of one layer's forward pass.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LayerTape<S: Scalar, const K: usize, const N: usize> {
    pub(super) z: PromptColumns<S, K, N>,
    /// k_r = Q^T z_r.
    pub(super) keys: [[S; K]; N],
    /// v_r = (1/n) P z_r, times the row's normalisation.
    pub(super) values: [[S; K]; N],
    /// E_rc = e^(score - shift), tile after tile of rows; in a tile column after column, n of them.
    pub(super) exponentials: Vec<[S; N], N>,
    /// e^(score - shift) of the query's column.
    pub(super) query_exponentials: [S; N],
    /// 1 / sum_c e^(score - shift).
    pub(super) normalisation: [S; N],
}

impl<S: Scalar, const K: usize, const N: usize> LayerTape<S, K, N> {
    pub(super) const ZEROS: Self = LayerTape {
        z: PromptColumns::ZERO,
        keys: [[S::ZERO; K]; N],
        values: [[S::ZERO; K]; N],
        exponentials: Vec::new(),
        query_exponentials: [S::ZERO; N],
        normalisation: [S::ZERO; N],
    };
}

kernel! {
    pub(super) fn forward_layer as ForwardLayer<'a, S: Scalar, const K: usize, const N: usize>(
        tape: &'a mut LayerTape<S, K, N>,
        next: &'a mut PromptColumns<S, K, N>,
        layer: &'a Layer<S, K>,
        inverse_len: S,
        n: usize,
    ) {
        // The residual: Z_{l+1} starts from Z_l.
        next.copy_from(&tape.z, n);
        let mut r = 0;
        tiles!(r < n, T in [TILE, 1], {
            let (mut keys, mut values) = ([[S::ZERO; K]; T], [[S::ZERO; K]; T]);
            for t in 0..T {
                let z_r = vector(tape.z.context[r + t]);
                tape.keys[r + t] = transpose_mul_vector(&layer.q, &z_r).data.0[0];
                keys[t] = binary(&tape.keys[r + t]);
                values[t] = mul_vector(&layer.p, &z_r).data.0[0];
            }
            let rows = tile::<T, S>(&mut tape.exponentials.as_flattened_mut()[r * n..], n);
            let (query, normalisation) = tape.z.exponentials(&keys, rows);
            for t in 0..T {
                scale(&mut values[t], inverse_len * normalisation[t]);
            }
            next.add_scattered(rows, &query, &values);
            for t in 0..T {
                tape.query_exponentials[r + t] = query[t];
                tape.values[r + t] = values[t];
                tape.normalisation[r + t] = normalisation[t];
            }
        });
    }
}

/// The record of the last layer, which goes both ways at once, for seed 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LastLayer<S: Scalar, const K: usize> {
    pub(super) sum: S,
    /// The adjoint of the last row of P, times n.
    pub(super) p_bar: [S; K],
    pub(super) q_bar: [[S; K]; K],
}

entrywise!([S: Scalar, const K: usize] S, LastLayer<S, K> { sum, p_bar, q_bar });

kernel! {
    /// Computes the last layer, forward and for seed 1 backward.
    pub(super) fn last_layer as LastLayerPass<'a, S: Scalar, const K: usize, const N: usize>(
        pass: &'a mut LastLayer<S, K>,
        z: &'a PromptColumns<S, K, N>,
        z_bar: &'a mut PromptColumns<S, K, N>,
        layer: &'a Layer<S, K>,
        inverse_len: S,
        n: usize,
    ) {
        *pass = LastLayer::ZERO;
        // The last row of P, times 1/n.
        let mut p_row = [S::ZERO; K];
        for i in 0..K {
            p_row[i] = inverse_len * layer.p.data.0[i][K - 1];
        }
        z_bar.context[..n].fill([S::ZERO; K]);
        z_bar.query = [S::ZERO; K];
        let mut rows: TileBuffer<S, N> = [[S::ZERO; TILE]; N];
        let mut r = 0;
        tiles!(r < n, T in [TILE, 1], {
            let (mut keys, mut binary_keys) = ([[S::ZERO; K]; T], [[S::ZERO; K]; T]);
            for t in 0..T {
                keys[t] = transpose_mul_vector(&layer.q, &vector(z.context[r + t])).data.0[0];
                binary_keys[t] = binary(&keys[t]);
            }
            let rows = tile::<T, S>(rows.as_flattened_mut(), n);
            let (mut query, normalisation) = z.exponentials(&binary_keys, rows);
            // s-bar of the context's columns is the exponential times this factor.
            let (mut a_q, mut factor) = ([S::ZERO; T], [S::ZERO; T]);
            for t in 0..T {
                a_q[t] = query[t] * normalisation[t];
                let w = a_q[t] * dot(&p_row, &z.context[r + t]);
                pass.sum += w;
                add_scaled(&mut pass.p_bar, -a_q[t], &z.context[r + t]);
                factor[t] = normalisation[t] * w;
                // The query's has w less, which the exponential takes back before the factor.
                query[t] -= S::ONE / normalisation[t];
            }
            let mut k_bar = z.combinations(rows, &query);
            for t in 0..T {
                scale(&mut k_bar[t], factor[t]);
                scale(&mut keys[t], factor[t]);
            }
            z_bar.add_scattered(rows, &query, &keys);
            let mut z_r = [[S::ZERO; K]; T];
            for t in 0..T {
                z_r[t] = z.context[r + t];
            }
            add_outers(&mut pass.q_bar, &z_r, &k_bar);
            for t in 0..T {
                let z_bar_r = &mut z_bar.context[r + t];
                add_scaled(z_bar_r, -a_q[t], &p_row);
                add(z_bar_r, &mul_vector(&layer.q, &vector(k_bar[t])).data.0[0]);
            }
        });
        z_bar.query[K - 1] -= S::ONE;
    }
}

kernel! {
    /// Adds (P-bar, Q-bar) to `sum`, and writes z-bar, from x-bar.
    pub(super) fn backward_layer as BackwardLayer<'a, S: Scalar, const K: usize, const N: usize>(
        tape: &'a LayerTape<S, K, N>,
        x_bar: &'a PromptColumns<S, K, N>,
        z_bar: &'a mut PromptColumns<S, K, N>,
        layer: &'a Layer<S, K>,
        sum: &'a mut Layer<S, K>,
        n: usize,
    ) {
        let (z, inverse_len) = (&tape.z, S::ONE / S::from_count(n as u64));
        z_bar.copy_from(x_bar, n);
        let mut scores_bar: TileBuffer<S, N> = [[S::ZERO; TILE]; N];
        let mut r = 0;
        tiles!(r < n, T in [TILE, 1], {
            let (rows, _) = tape.exponentials.as_flattened()[r * n..].as_chunks::<T>();
            let rows = &rows[..n];
            let (mut keys, mut values) = ([[S::ZERO; K]; T], [[S::ZERO; K]; T]);
            let mut query = [S::ZERO; T];
            // The weights A are the exponentials times their row's normalisation, which goes into the vectors.
            for t in 0..T {
                (keys[t], values[t]) = (tape.keys[r + t], tape.values[r + t]);
                query[t] = tape.query_exponentials[r + t];
            }
            let mut v_bar = x_bar.combinations(rows, &query);
            // sum_c A_rc A-bar_rc = <v_r, v-bar_r>
            let mut mean = [S::ZERO; T];
            for t in 0..T {
                scale(&mut v_bar[t], tape.normalisation[r + t]);
                mean[t] = dot(&values[t], &v_bar[t]);
            }
            let scores_bar = tile::<T, S>(scores_bar.as_flattened_mut(), n);
            for ((score_bar, row), x_bar) in scores_bar.iter_mut().zip(rows).zip(&x_bar.context) {
                for t in 0..T {
                    score_bar[t] = row[t] * (dot(&values[t], x_bar) - mean[t]);
                }
            }
            for t in 0..T {
                query[t] *= dot(&values[t], &x_bar.query) - mean[t];
            }
            let k_bar = z.combinations(scores_bar, &query);
            z_bar.add_scattered(scores_bar, &query, &keys);
            let mut z_r = [[S::ZERO; K]; T];
            for t in 0..T {
                z_r[t] = z.context[r + t];
                scale(&mut v_bar[t], inverse_len);
            }
            add_outers(&mut sum.p.data.0, &v_bar, &z_r);
            add_outers(&mut sum.q.data.0, &z_r, &k_bar);
            for t in 0..T {
                let z_bar_r = &mut z_bar.context[r + t];
                add(z_bar_r, &transpose_mul_vector(&layer.p, &vector(v_bar[t])).data.0[0]);
                add(z_bar_r, &mul_vector(&layer.q, &vector(k_bar[t])).data.0[0]);
            }
        });
    }
}
