//! A layer's passes, each one kernel: forward, the last layer's both ways at once, backward.

use super::rows::{
    Rows, TILE, add, add_outer, add_scaled, combinations, dot, exponentials, products, scale,
    scatter, vector,
};
use super::{Columns, LayerTape};
use crate::kernel::{mul_vector, transpose_mul_vector, zeros};
use crate::scalar::{Scalar, kernel};
use crate::transformer::Layer;
use nalgebra::SMatrix;

kernel! {
    /// One layer but the last.
    pub(super) fn forward_layer as ForwardLayer<'a, S: Scalar, const K: usize, const N: usize>(
        tape: &'a mut LayerTape<S, K, N>,
        next: &'a mut Columns<S, K, N>,
        layer: &'a Layer<S, K>,
        inverse_len: S,
        n: usize,
    ) {
        let mut rows = Rows::new();
        let mut r = 0;
        while r + TILE <= n {
            forward_rows::<TILE, S, K, N>(tape, next, &mut rows, layer, inverse_len, r, n);
            r += TILE;
        }
        while r < n {
            forward_rows::<1, S, K, N>(tape, next, &mut rows, layer, inverse_len, r, n);
            r += 1;
        }
    }
}

/// Rows r to r + T - 1 of a layer.
#[inline(always)]
fn forward_rows<const T: usize, S: Scalar, const K: usize, const N: usize>(
    tape: &mut LayerTape<S, K, N>,
    next: &mut Columns<S, K, N>,
    rows: &mut Rows<S, N>,
    layer: &Layer<S, K>,
    inverse_len: S,
    r: usize,
    n: usize,
) {
    let (mut keys, mut values) = ([[S::ZERO; K]; T], [[S::ZERO; K]; T]);
    for t in 0..T {
        let z_r = vector(tape.z.context[r + t]);
        keys[t] = transpose_mul_vector(&layer.q, &z_r).data.0[0];
        values[t] = mul_vector(&layer.p, &z_r).data.0[0];
        scale(&mut values[t], inverse_len);
    }
    products(&keys, &tape.z, n, rows);
    let normalisation = exponentials::<S, T, N>(rows, n);
    let kept = tape.exponentials.as_flattened_mut()[r * n..].chunks_exact_mut(T);
    for (kept, row) in kept.zip(&rows.context[..n]) {
        kept.copy_from_slice(&row[..T]);
    }
    tape.query_exponentials[r..r + T].copy_from_slice(&rows.query[..T]);
    for t in 0..T {
        tape.values[r + t] = values[t];
        scale(&mut values[t], normalisation[t]);
    }
    // The residual: Z_{l+1} starts from Z_l.
    scatter(rows, &values, (r == 0).then_some(&tape.z), next, n);
    tape.keys[r..r + T].copy_from_slice(&keys);
    tape.normalisation[r..r + T].copy_from_slice(&normalisation);
}

/// The last layer on its way through the rows.
pub(super) struct LastLayer<S: Scalar, const K: usize> {
    /// The last row of P, times 1/n.
    p_row: [S; K],
    /// sum_r w_r.
    pub(super) sum: S,
    pub(super) p_bar: [S; K],
    pub(super) q_bar: [[S; K]; K],
}

kernel! {
    /// The last layer, forward and for seed 1 backward: z-bar if `ADJOINTS`.
    pub(super) fn last_layer as LastLayerPass<
        'a,
        S: Scalar,
        const ADJOINTS: bool,
        const K: usize,
        const N: usize,
    >(
        z: &'a Columns<S, K, N>,
        z_bar: &'a mut Columns<S, K, N>,
        layer: &'a Layer<S, K>,
        inverse_len: S,
        n: usize,
    ) -> LastLayer<S, K> {
        if ADJOINTS {
            z_bar.context[..n].fill([S::ZERO; K]);
            z_bar.query = [S::ZERO; K];
        }
        let (mut pass, mut rows) = (LastLayer::new(layer, inverse_len), Rows::new());
        let mut r = 0;
        while r + TILE <= n {
            pass.rows::<ADJOINTS, TILE, N>(z, z_bar, &mut rows, layer, r, n);
            r += TILE;
        }
        while r < n {
            pass.rows::<ADJOINTS, 1, N>(z, z_bar, &mut rows, layer, r, n);
            r += 1;
        }
        if ADJOINTS {
            z_bar.query[K - 1] -= S::ONE;
        }
        scale(&mut pass.p_bar, inverse_len);
        pass
    }
}

impl<S: Scalar, const K: usize> LastLayer<S, K> {
    #[inline(always)]
    fn new(layer: &Layer<S, K>, inverse_len: S) -> Self {
        let mut p_row = [S::ZERO; K];
        for i in 0..K {
            p_row[i] = inverse_len * layer.p.data.0[i][K - 1];
        }
        LastLayer { p_row, sum: S::ZERO, p_bar: [S::ZERO; K], q_bar: [[S::ZERO; K]; K] }
    }

    /// Rows r to r + T - 1.
    #[inline(always)]
    fn rows<const ADJOINTS: bool, const T: usize, const N: usize>(
        &mut self,
        z: &Columns<S, K, N>,
        z_bar: &mut Columns<S, K, N>,
        rows: &mut Rows<S, N>,
        layer: &Layer<S, K>,
        r: usize,
        n: usize,
    ) {
        let mut keys = [[S::ZERO; K]; T];
        for t in 0..T {
            keys[t] = transpose_mul_vector(&layer.q, &vector(z.context[r + t])).data.0[0];
        }
        products(&keys, z, n, rows);
        let normalisation = exponentials::<S, T, N>(rows, n);
        // s-bar of the context's columns is the exponential times this factor.
        let (mut a_q, mut factor) = ([S::ZERO; T], [S::ZERO; T]);
        for t in 0..T {
            a_q[t] = rows.query[t] * normalisation[t];
            let w = a_q[t] * dot(&self.p_row, &z.context[r + t]);
            self.sum += w;
            add_scaled(&mut self.p_bar, -a_q[t], &z.context[r + t]);
            factor[t] = normalisation[t] * w;
            // The query's has w less, which the exponential takes back before the factor.
            rows.query[t] -= S::ONE / normalisation[t];
        }
        let mut k_bar = combinations::<S, K, T, N>(rows, z, n);
        for t in 0..T {
            scale(&mut k_bar[t], factor[t]);
            scale(&mut keys[t], factor[t]);
        }
        if ADJOINTS {
            scatter(rows, &keys, None, z_bar, n);
        }
        for t in 0..T {
            add_outer(&mut self.q_bar, &z.context[r + t], &k_bar[t]);
            if ADJOINTS {
                let z_bar_r = &mut z_bar.context[r + t];
                add_scaled(z_bar_r, -a_q[t], &self.p_row);
                add(z_bar_r, &mul_vector(&layer.q, &vector(k_bar[t])).data.0[0]);
            }
        }
    }
}

kernel! {
    /// The adjoints (P-bar, Q-bar), and with `ADJOINTS` z-bar, from x-bar.
    pub(super) fn backward_layer as BackwardLayer<
        'a,
        S: Scalar,
        const ADJOINTS: bool,
        const K: usize,
        const N: usize,
    >(
        tape: &'a LayerTape<S, K, N>,
        x_bar: &'a Columns<S, K, N>,
        z_bar: &'a mut Columns<S, K, N>,
        layer: &'a Layer<S, K>,
        inverse_len: S,
        n: usize,
    ) -> (SMatrix<S, K, K>, SMatrix<S, K, K>) {
        let (mut p_bar, mut q_bar) = (zeros(), zeros());
        let mut rows = [Rows::new(), Rows::new()];
        let mut r = 0;
        while r + TILE <= n {
            let (sums, rows) = ((&mut p_bar, &mut q_bar), &mut rows);
            backward_rows::<ADJOINTS, TILE, S, K, N>(
                tape,
                x_bar,
                z_bar,
                rows,
                layer,
                inverse_len,
                sums,
                r,
                n,
            );
            r += TILE;
        }
        while r < n {
            let (sums, rows) = ((&mut p_bar, &mut q_bar), &mut rows);
            backward_rows::<ADJOINTS, 1, S, K, N>(
                tape,
                x_bar,
                z_bar,
                rows,
                layer,
                inverse_len,
                sums,
                r,
                n,
            );
            r += 1;
        }
        (p_bar, q_bar)
    }
}

/// Rows r to r + T - 1, adding to (P-bar, Q-bar).
#[inline(always)]
fn backward_rows<
    const ADJOINTS: bool,
    const T: usize,
    S: Scalar,
    const K: usize,
    const N: usize,
>(
    tape: &LayerTape<S, K, N>,
    x_bar: &Columns<S, K, N>,
    z_bar: &mut Columns<S, K, N>,
    [rows, rows_bar]: &mut [Rows<S, N>; 2],
    layer: &Layer<S, K>,
    inverse_len: S,
    (p_bar, q_bar): (&mut SMatrix<S, K, K>, &mut SMatrix<S, K, K>),
    r: usize,
    n: usize,
) {
    let z = &tape.z;
    let (mut keys, mut values) = ([[S::ZERO; K]; T], [[S::ZERO; K]; T]);
    let mut normalisation = [S::ZERO; T];
    for t in 0..T {
        (keys[t], values[t]) = (tape.keys[r + t], tape.values[r + t]);
        normalisation[t] = tape.normalisation[r + t];
    }
    // The weights A, and their adjoints.
    let kept = tape.exponentials.as_flattened()[r * n..].chunks_exact(T);
    for (row, kept) in rows.context[..n].iter_mut().zip(kept) {
        for t in 0..T {
            row[t] = kept[t] * normalisation[t];
        }
    }
    let mut mean = [S::ZERO; T];
    for c in 0..n {
        for t in 0..T {
            let weight_bar = dot(&values[t], &x_bar.context[c]);
            rows_bar.context[c][t] = weight_bar;
            mean[t] += rows.context[c][t] * weight_bar;
        }
    }
    for t in 0..T {
        rows.query[t] = tape.query_exponentials[r + t] * normalisation[t];
        rows_bar.query[t] = dot(&values[t], &x_bar.query);
        mean[t] += rows.query[t] * rows_bar.query[t];
    }
    let mut v_bar = combinations::<S, K, T, N>(rows, x_bar, n);
    // Of the scores, in the weights' place.
    let mut k_bar = [[S::ZERO; K]; T];
    for c in 0..n {
        for t in 0..T {
            let s_bar = rows.context[c][t] * (rows_bar.context[c][t] - mean[t]);
            rows.context[c][t] = s_bar;
            add_scaled(&mut k_bar[t], s_bar, &z.context[c]);
        }
    }
    for t in 0..T {
        rows.query[t] *= rows_bar.query[t] - mean[t];
        add_scaled(&mut k_bar[t], rows.query[t], &z.query);
    }
    if ADJOINTS {
        scatter(rows, &keys, (r == 0).then_some(x_bar), z_bar, n);
    }
    for t in 0..T {
        let z_r = &z.context[r + t];
        scale(&mut v_bar[t], inverse_len);
        add_outer(&mut p_bar.data.0, &v_bar[t], z_r);
        add_outer(&mut q_bar.data.0, z_r, &k_bar[t]);
        if ADJOINTS {
            let z_bar_r = &mut z_bar.context[r + t];
            add(z_bar_r, &transpose_mul_vector(&layer.p, &vector(v_bar[t])).data.0[0]);
            add(z_bar_r, &mul_vector(&layer.q, &vector(k_bar[t])).data.0[0]);
        }
    }
}
