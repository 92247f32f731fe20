//! Softmax attention.
//!
//! Forward, for each context column r (the scores are made and used one row at a time):
//!
//! ```text
//! k_r = Q_l^T z_r      v_r = (1/n) P_l z_r      A_rc = softmax over c of <k_r, z_c>, the query's column too
//! z_c(next) = z_c + sum_r A_rc v_r              TF_L = -z_q[K] after the last layer
//! ```
//!
//! Reverse, from the adjoints x-bar_c of the next layer's columns:
//!
//! ```text
//! A-bar_rc = <v_r, x-bar_c>      v-bar_r = sum_c A_rc x-bar_c      s-bar_rc = A_rc (A-bar_rc - sum_c A_rc A-bar_rc)
//! k-bar_r  = sum_c s-bar_rc z_c  P-bar += (1/n) v-bar_r z_r^T      Q-bar += z_r k-bar_r^T
//! z-bar_c  = x-bar_c + sum_r s-bar_rc k_r                          z-bar_r += (1/n) P^T v-bar_r + Q k-bar_r
//! ```
//!
//! A tape keeps, per layer, the columns, k_r, v_r and each row's shift and normalisation: O(K n). The
//! weights A are recomputed from them, never stored as a whole. Of the last layer only the query's
//! column matters, whose adjoint is -1 in one entry times the seed: forward and reverse are one pass
//! there, linear in the seed, and need no recomputation:
//!
//! ```text
//! u_r = (v_r)[K]      w_r = A_rq u_r      TF_L = -(z_q[K] + sum_r w_r)
//! s-bar_rc = A_rc w_r, less w_r in the query's column
//! ```

use super::{Gradient, zero_layers};
use crate::error::Error;
use crate::kernel::{mul_vector, transpose_mul_vector, zeros};
use crate::prompt::Prompt;
use crate::scalar::{Scalar, kernel};
use crate::transformer::{Layer, Transformer};
use nalgebra::{ArrayStorage, SMatrix, SVector};

/// The columns of Z, or their adjoints: n context columns (N is the capacity) and the query's.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Columns<S: Scalar, const K: usize, const N: usize> {
    pub(crate) context: [[S; K]; N],
    pub(crate) query: [S; K],
}

impl<S: Scalar, const K: usize, const N: usize> Columns<S, K, N> {
    fn zeros() -> Self {
        Columns { context: [[S::ZERO; K]; N], query: [S::ZERO; K] }
    }

    /// Copies the query and the first n context columns.
    #[inline(always)]
    fn copy_from(&mut self, other: &Self, n: usize) {
        self.context[..n].copy_from_slice(&other.context[..n]);
        self.query = other.query;
    }

    #[inline(always)]
    fn scale(&mut self, s: S, n: usize) {
        for column in &mut self.context[..n] {
            scale(column, s);
        }
        scale(&mut self.query, s);
    }
}

/// What one layer's forward pass leaves behind.
#[derive(Clone, Debug, PartialEq)]
struct LayerTape<S: Scalar, const K: usize, const N: usize> {
    /// Z_l.
    z: Columns<S, K, N>,
    /// k_r = Q^T z_r.
    keys: [[S; K]; N],
    /// v_r = (1/n) P z_r.
    values: [[S; K]; N],
    /// The largest score of row r.
    shift: [S; N],
    /// 1 / sum_c exp(score - shift).
    normalisation: [S; N],
}

/// A forward pass that can be walked backwards, with room for n <= N context columns and L layers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tape<S: Scalar, const K: usize, const L: usize, const N: usize> {
    layers: [LayerTape<S, K, N>; L],
    n: usize,
    depth: usize,
    /// Adjoints of a layer's output and of its input, in turns.
    adjoint: [Columns<S, K, N>; 2],
    /// The last layer's parameter adjoints for seed 1: Q-bar, and the last row of P-bar.
    last_q: SMatrix<S, K, K>,
    last_p_row: [S; K],
}

impl<S: Scalar, const K: usize, const L: usize, const N: usize> Tape<S, K, L, N> {
    /// Room for a forward pass.
    pub(crate) fn new() -> Self {
        let layer = || LayerTape {
            z: Columns::zeros(),
            keys: [[S::ZERO; K]; N],
            values: [[S::ZERO; K]; N],
            shift: [S::ZERO; N],
            normalisation: [S::ZERO; N],
        };
        Tape {
            layers: core::array::from_fn(|_| layer()),
            n: 0,
            depth: 0,
            adjoint: [Columns::zeros(), Columns::zeros()],
            last_q: zeros(),
            last_p_row: [S::ZERO; K],
        }
    }

    /// Makes room for n context columns and `depth` layers, and gives Z_0 to be filled in.
    ///
    /// # Errors
    /// [`Error::Empty`] for no context or no layer, [`Error::CapacityExceeded`] beyond N or L.
    #[inline(always)]
    pub(crate) fn input(&mut self, n: usize, depth: usize) -> Result<&mut Columns<S, K, N>, Error> {
        if n == 0 {
            return Err(Error::Empty { parameter: "context" });
        }
        if n > N {
            return Err(Error::CapacityExceeded { parameter: "context", capacity: N });
        }
        if depth > L {
            return Err(Error::CapacityExceeded { parameter: "layers", capacity: L });
        }
        (self.n, self.depth) = (n, depth);
        let first = self.layers.first_mut();
        first.map(|layer| &mut layer.z).ok_or(Error::Empty { parameter: "layers" })
    }

    /// TF_L of the columns given to [`Self::input`]. `layer(l)` is layer l of the pass. With
    /// `INPUT_ADJOINTS` the backward pass can find the adjoints of Z_0 also if L = 1.
    pub(crate) fn forward<'a, const INPUT_ADJOINTS: bool>(
        &mut self,
        layer: impl Fn(usize) -> &'a Layer<S, K>,
    ) -> S {
        let n = self.n;
        let inverse_len = S::ONE / S::from_count(n as u64);
        for l in 0..self.depth - 1 {
            if let [tape, next] = &mut self.layers[l..l + 2] {
                forward_layer(tape, &mut next.z, layer(l), inverse_len, n);
            }
        }
        let l = self.depth - 1;
        if INPUT_ADJOINTS || l > 0 {
            self.last_layer::<true>(layer(l), inverse_len)
        } else {
            self.last_layer::<false>(layer(l), inverse_len)
        }
    }

    /// The last layer: its output, and in `adjoint[0]`, `last_q` and `last_p_row` the adjoints of its
    /// input and parameters for seed 1.
    fn last_layer<const ADJOINTS: bool>(&mut self, layer: &Layer<S, K>, inverse_len: S) -> S {
        let LayerTape { z, .. } = &self.layers[self.depth - 1];
        let z_bar = &mut self.adjoint[0];
        let pass = last_layer::<S, ADJOINTS, K, N>(z, z_bar, layer, inverse_len, self.n);
        self.last_p_row = pass.p_bar;
        self.last_q.data.0 = pass.q_bar;
        -(z.query[K - 1] + pass.sum)
    }

    /// Walks back from TF_L-bar = `seed`, adding the adjoints of P_l and Q_l to `p_bar(l)` and
    /// `q_bar(l)` through `gradient(l)`. Returns the adjoints of Z_0 if `INPUT_ADJOINTS`, which
    /// must then also have been asked of the forward pass; else what it returns means nothing.
    pub(crate) fn backward<'a, const INPUT_ADJOINTS: bool>(
        &mut self,
        layer: impl Fn(usize) -> &'a Layer<S, K>,
        seed: S,
        mut add: impl FnMut(usize, &SMatrix<S, K, K>, &SMatrix<S, K, K>),
    ) -> &Columns<S, K, N> {
        let n = self.n;
        let inverse_len = S::ONE / S::from_count(n as u64);
        let last = self.depth - 1;
        let mut p_bar = zeros();
        let mut q_bar = self.last_q;
        for j in 0..K {
            p_bar.data.0[j][K - 1] = seed * self.last_p_row[j];
            scale(&mut q_bar.data.0[j], seed);
        }
        add(last, &p_bar, &q_bar);
        self.adjoint[0].scale(seed, n);
        let mut current = 0;
        for l in (0..last).rev() {
            let [first, second] = &mut self.adjoint;
            let (x_bar, z_bar) = if current == 0 { (&*first, second) } else { (&*second, first) };
            let tape = &self.layers[l];
            let (p_bar, q_bar) = if INPUT_ADJOINTS || l > 0 {
                backward_layer::<S, true, K, N>(tape, x_bar, z_bar, layer(l), inverse_len, n)
            } else {
                backward_layer::<S, false, K, N>(tape, x_bar, z_bar, layer(l), inverse_len, n)
            };
            add(l, &p_bar, &q_bar);
            current = 1 - current;
        }
        &self.adjoint[current]
    }
}

/// How many rows of the scores are worked on at a time: what they accumulate stays in registers, and
/// a column is loaded once for all of them. Sums keep their order.
const TILE: usize = 3;

/// Up to [`TILE`] rows of scores, or of what becomes of them: for each context column, and for the
/// query's, a number per row. One workspace serves all tiles of a layer.
struct Rows<S: Scalar, const N: usize> {
    context: [[S; TILE]; N],
    query: [S; TILE],
}

impl<S: Scalar, const N: usize> Rows<S, N> {
    #[inline(always)]
    fn new() -> Self {
        Rows { context: [[S::ZERO; TILE]; N], query: [S::ZERO; TILE] }
    }
}

/// Rows of <left_t, column c>.
#[inline(always)]
fn products<S: Scalar, const K: usize, const T: usize, const N: usize>(
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

/// A_rc again, from what the tape keeps of row r.
#[inline(always)]
fn weight<S: Scalar, const K: usize>(key: &[S; K], z_c: &[S; K], shift: S, normalisation: S) -> S {
    (dot(key, z_c) - shift).exp() * normalisation
}

/// The sums over columns, weighted by the rows: one vector per row.
#[inline(always)]
fn combinations<S: Scalar, const K: usize, const T: usize, const N: usize>(
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

/// Adds to each column the vectors weighted by its entries of the rows.
#[inline(always)]
fn scatter<S: Scalar, const K: usize, const T: usize, const N: usize>(
    rows: &Rows<S, N>,
    vectors: &[[S; K]; T],
    columns: &mut Columns<S, K, N>,
    n: usize,
) {
    for c in 0..n {
        let mut column = columns.context[c];
        for t in 0..T {
            add_scaled(&mut column, rows.context[c][t], &vectors[t]);
        }
        columns.context[c] = column;
    }
    for t in 0..T {
        add_scaled(&mut columns.query, rows.query[t], &vectors[t]);
    }
}

/// exp(score - shift) of T rows of scores, in place, shifted by their largest; gives each row's shift
/// and normalisation, 1 / the sum.
#[inline(always)]
fn exponentials<S: Scalar, const T: usize, const N: usize>(
    rows: &mut Rows<S, N>,
    n: usize,
) -> ([S; T], [S; T]) {
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
    (shifts, normalisation)
}

kernel! {
    /// One layer but the last.
    fn forward_layer as ForwardLayer<'a, S: Scalar, const K: usize, const N: usize>(
        tape: &'a mut LayerTape<S, K, N>,
        next: &'a mut Columns<S, K, N>,
        layer: &'a Layer<S, K>,
        inverse_len: S,
        n: usize,
    ) {
        next.copy_from(&tape.z, n);
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
    let (shift, normalisation) = exponentials::<S, T, N>(rows, n);
    for t in 0..T {
        tape.values[r + t] = values[t];
        scale(&mut values[t], normalisation[t]);
    }
    scatter(rows, &values, next, n);
    tape.keys[r..r + T].copy_from_slice(&keys);
    tape.shift[r..r + T].copy_from_slice(&shift);
    tape.normalisation[r..r + T].copy_from_slice(&normalisation);
}

/// The last layer on its way through the rows.
struct LastLayer<S: Scalar, const K: usize> {
    /// The last row of P, times 1/n.
    p_row: [S; K],
    /// sum_r w_r.
    sum: S,
    p_bar: [S; K],
    q_bar: [[S; K]; K],
}

kernel! {
    /// The last layer, forward and for seed 1 backward: z-bar if `ADJOINTS`.
    fn last_layer as LastLayerPass<
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
        let (_, normalisation) = exponentials::<S, T, N>(rows, n);
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
            scatter(rows, &keys, z_bar, n);
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
    fn backward_layer as BackwardLayer<
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
        if ADJOINTS {
            z_bar.copy_from(x_bar, n);
        }
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
    let (mut shift, mut normalisation) = ([S::ZERO; T], [S::ZERO; T]);
    for t in 0..T {
        (keys[t], values[t]) = (tape.keys[r + t], tape.values[r + t]);
        (shift[t], normalisation[t]) = (tape.shift[r + t], tape.normalisation[r + t]);
    }
    // The weights A again, and their adjoints.
    for c in 0..n {
        for t in 0..T {
            rows.context[c][t] = weight(&keys[t], &z.context[c], shift[t], normalisation[t]);
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
        rows.query[t] = weight(&keys[t], &z.query, shift[t], normalisation[t]);
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
        scatter(rows, &keys, z_bar, n);
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

#[inline(always)]
fn add<S: Scalar, const K: usize>(x: &mut [S; K], y: &[S; K]) {
    for i in 0..K {
        x[i] += y[i];
    }
}

#[inline(always)]
fn vector<S: Scalar, const K: usize>(x: [S; K]) -> SVector<S, K> {
    SVector::from_array_storage(ArrayStorage([x]))
}

#[inline(always)]
fn dot<S: Scalar, const K: usize>(x: &[S; K], y: &[S; K]) -> S {
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
fn add_scaled<S: Scalar, const K: usize>(x: &mut [S; K], s: S, y: &[S; K]) {
    for i in 0..K {
        x[i] += s * y[i];
    }
}

#[inline(always)]
fn scale<S: Scalar, const K: usize>(x: &mut [S; K], s: S) {
    for i in 0..K {
        x[i] *= s;
    }
}

kernel! {
    /// M += x y^T, M by columns.
    fn add_outer as AddOuter<'a, S: Scalar, const K: usize>(
        m: &'a mut [[S; K]; K],
        x: &'a [S; K],
        y: &'a [S; K],
    ) {
        for j in 0..K {
            add_scaled(&mut m[j], y[j], x);
        }
    }
}

/// TF_L(Z_0) of softmax attention and its derivatives with respect to the parameters, the query and
/// the context.
///
/// C is the capacity for stored layers, L for layers in the pass, N for context columns.
///
/// # Errors
/// [`Error::Empty`] without context, [`Error::CapacityExceeded`] if the transformer is deeper than L.
pub fn value_and_gradient<
    S: Scalar,
    const K: usize,
    const C: usize,
    const L: usize,
    const N: usize,
>(
    transformer: &Transformer<S, K, C>,
    prompt: &Prompt<S, K, N>,
) -> Result<Gradient<S, K, C, N>, Error> {
    let mut tape = Tape::<S, K, L, N>::new();
    let n = prompt.context_len();
    let z = tape.input(n, transformer.depth())?;
    for (column, token) in z.context.iter_mut().zip(prompt.context()) {
        *column = token.data.0[0];
    }
    z.query = prompt.query().data.0[0];
    let stored = transformer.layers();
    let layer = |l: usize| &stored[l % stored.len()];
    let value = tape.forward::<true>(layer);
    let mut layers = zero_layers(stored);
    let z_bar = tape.backward::<true>(layer, S::ONE, |l, p_bar, q_bar| {
        if let Some(sum) = layers.get_mut(l % stored.len()) {
            crate::kernel::add_scaled(&mut sum.p, S::ONE, p_bar);
            crate::kernel::add_scaled(&mut sum.q, S::ONE, q_bar);
        }
    });
    let mut prompt_bar = prompt.clone();
    for (column, adjoint) in prompt_bar.columns_mut().zip(&z_bar.context[..n]) {
        column.data.0[0] = *adjoint;
    }
    prompt_bar.set_query(vector(z_bar.query));
    Ok(Gradient { value, layers, prompt: prompt_bar })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attention::SoftmaxAttention;
    use crate::rng::Rng;
    use crate::scalar::Lanes8;
    use heapless::Vec;

    const H: f64 = 1e-6;

    fn random_layer(rng: &mut Rng) -> Layer<f64, 5> {
        let mut draw = || SMatrix::from_fn(|_, _| rng.uniform_in(-0.9, 0.9));
        Layer { p: draw(), q: draw() }
    }

    fn random_prompt(rng: &mut Rng) -> Prompt<f64, 5, 8> {
        let mut draw = || SVector::from_fn(|_, _| rng.uniform_in(-1.0, 1.0));
        let columns: [SVector<f64, 5>; 6] = core::array::from_fn(|_| draw());
        Prompt::from_columns(&columns, draw()).unwrap()
    }

    fn transformer(layers: &[Layer<f64, 5>], depth: usize) -> Transformer<f64, 5, 3> {
        if layers.len() == 1 {
            Transformer::autoregressive(layers[0], depth).unwrap()
        } else {
            Transformer::sequential(layers).unwrap()
        }
    }

    fn literal(layers: &[Layer<f64, 5>], depth: usize, prompt: &Prompt<f64, 5, 8>) -> f64 {
        transformer(layers, depth).value(prompt, &SoftmaxAttention).unwrap()
    }

    fn check(got: f64, plus: f64, minus: f64, what: &str) {
        let want = (plus - minus) / (2.0 * H);
        assert!((got - want).abs() < 1e-8 * (1.0 + want.abs()), "{what}: {got} and {want}");
    }

    fn agrees_with_finite_differences(layers: &[Layer<f64, 5>], depth: usize, seed: u64) {
        let prompt = random_prompt(&mut Rng::new(seed));
        let gradient =
            value_and_gradient::<_, 5, 3, 3, 8>(&transformer(layers, depth), &prompt).unwrap();
        assert!((gradient.value - literal(layers, depth, &prompt)).abs() < 1e-14);
        for l in 0..layers.len() {
            for i in 0..25 {
                for (got, pick) in [
                    (gradient.layers[l].p[i], (|l| &mut l.p) as fn(&mut Layer<_, 5>) -> &mut _),
                    (gradient.layers[l].q[i], |l| &mut l.q),
                ] {
                    let at = |h: f64| {
                        let mut moved: Vec<Layer<f64, 5>, 3> = Vec::from_slice(layers).unwrap();
                        let m: &mut SMatrix<f64, 5, 5> = pick(&mut moved[l]);
                        m[i] += h;
                        literal(&moved, depth, &prompt)
                    };
                    check(got, at(H), at(-H), "parameter");
                }
            }
        }
        for c in 0..7 {
            for i in 0..5 {
                let at = |h: f64| {
                    let mut moved = prompt.clone();
                    moved.columns_mut().nth(c).unwrap()[i] += h;
                    literal(layers, depth, &moved)
                };
                check(gradient.prompt.column(c)[i], at(H), at(-H), "prompt");
            }
        }
    }

    #[test]
    fn autoregressive_gradient_agrees_with_finite_differences_at_every_depth() {
        let layer = random_layer(&mut Rng::new(1));
        for depth in 1..=3 {
            agrees_with_finite_differences(&[layer], depth, depth as u64);
        }
    }

    #[test]
    fn sequential_gradient_agrees_with_finite_differences() {
        let mut rng = Rng::new(2);
        let layers = [random_layer(&mut rng), random_layer(&mut rng), random_layer(&mut rng)];
        agrees_with_finite_differences(&layers, 3, 4);
        agrees_with_finite_differences(&layers[..2], 2, 5);
    }

    #[test]
    fn value_is_not_linear_in_the_query() {
        let mut rng = Rng::new(3);
        let layer = random_layer(&mut rng);
        let mut prompt = random_prompt(&mut rng);
        let gradient = |prompt: &_| {
            let gradient = value_and_gradient::<_, 5, 3, 3, 8>(&transformer(&[layer], 3), prompt);
            gradient.unwrap().query_features::<2>()
        };
        let here = gradient(&prompt);
        prompt.set_query(-prompt.query());
        assert!((gradient(&prompt) - here).norm() > 1e-3);
    }

    #[test]
    fn every_lane_is_the_f32_gradient() {
        let mut rng = Rng::new(4);
        let layer = random_layer(&mut rng);
        let prompt = random_prompt(&mut rng);
        let narrow = |x: f64, lane: usize| x as f32 * (1.0 - lane as f32 / 16.0);
        let wide = |x: f64| {
            let mut lanes = Lanes8::ZERO;
            (0..8).for_each(|lane| lanes.set_lane(lane, narrow(x, lane)));
            lanes
        };
        fn run<S: Scalar>(
            layer: &Layer<f64, 5>,
            prompt: &Prompt<f64, 5, 8>,
            to: impl Fn(f64) -> S + Copy,
        ) -> Gradient<S, 5, 1, 8> {
            let layer = Layer {
                p: SMatrix::from_fn(|i, j| to(layer.p[(i, j)])),
                q: SMatrix::from_fn(|i, j| to(layer.q[(i, j)])),
            };
            let column = |z: &SVector<f64, 5>| SVector::from_fn(|i, _| to(z[i]));
            let columns: Vec<_, 8> = prompt.context().iter().map(column).collect();
            let prompt = Prompt::from_columns(&columns, column(prompt.query())).unwrap();
            let transformer = Transformer::<S, 5, 1>::autoregressive(layer, 3).unwrap();
            value_and_gradient::<S, 5, 1, 3, 8>(&transformer, &prompt).unwrap()
        }
        let all = run(&layer, &prompt, wide);
        for lane in 0..8 {
            let alone = run(&layer, &prompt, |x| narrow(x, lane));
            assert_eq!(all.value.lane(lane).to_bits(), alone.value.to_bits());
            for i in 0..25 {
                assert_eq!(all.layers[0].p[i].lane(lane).to_bits(), alone.layers[0].p[i].to_bits());
                assert_eq!(all.layers[0].q[i].lane(lane).to_bits(), alone.layers[0].q[i].to_bits());
            }
            for i in 0..5 {
                let (got, want) = (all.prompt.query()[i].lane(lane), alone.prompt.query()[i]);
                assert_eq!(got.to_bits(), want.to_bits());
            }
        }
    }

    #[test]
    fn what_does_not_fit_the_tape_is_refused() {
        let mut rng = Rng::new(5);
        let deep = Transformer::<f64, 5, 1>::autoregressive(random_layer(&mut rng), 4).unwrap();
        let prompt = random_prompt(&mut rng);
        let got = value_and_gradient::<_, 5, 1, 3, 8>(&deep, &prompt);
        assert_eq!(got, Err(Error::CapacityExceeded { parameter: "layers", capacity: 3 }));
        let empty = Prompt::from_columns(&[], *prompt.query()).unwrap();
        let got = value_and_gradient::<_, 5, 1, 4, 8>(&deep, &empty);
        assert_eq!(got, Err(Error::Empty { parameter: "context" }));
    }
}
