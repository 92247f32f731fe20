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
use crate::scalar::Scalar;
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
    #[cfg_attr(not(target_os = "none"), inline(always))]
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
    #[inline(always)]
    fn last_layer<const ADJOINTS: bool>(&mut self, layer: &Layer<S, K>, inverse_len: S) -> S {
        let n = self.n;
        let LayerTape { z, .. } = &self.layers[self.depth - 1];
        let z_bar = &mut self.adjoint[0];
        if ADJOINTS {
            z_bar.context[..n].fill([S::ZERO; K]);
            z_bar.query = [S::ZERO; K];
        }
        let mut p_row = [S::ZERO; K];
        for i in 0..K {
            p_row[i] = inverse_len * layer.p.data.0[i][K - 1];
        }
        let (mut q_bar, mut p_bar) = ([[S::ZERO; K]; K], [S::ZERO; K]);
        let mut sum = S::ZERO;
        let mut row = [S::ZERO; N];
        for r in 0..n {
            let z_r = z.context[r];
            let key = transpose_mul_vector(&layer.q, &vector(z_r)).data.0[0];
            let (query_score, shift) = scores(&key, z, n, &mut row);
            let (query_weight, total) = exponentials(&mut row, query_score, shift, n);
            let normalisation = S::ONE / total;
            let a_q = query_weight * normalisation;
            let w = a_q * dot(&p_row, &z_r);
            sum += w;
            add_scaled(&mut p_bar, -a_q, &z_r);
            let factor = normalisation * w;
            let mut k_bar = [S::ZERO; K];
            for c in 0..n {
                let s_bar = row[c] * factor;
                add_scaled(&mut k_bar, s_bar, &z.context[c]);
                if ADJOINTS {
                    add_scaled(&mut z_bar.context[c], s_bar, &key);
                }
            }
            let s_bar = a_q * w - w;
            add_scaled(&mut k_bar, s_bar, &z.query);
            add_outer(&mut q_bar, &z_r, &k_bar);
            if ADJOINTS {
                add_scaled(&mut z_bar.query, s_bar, &key);
                add_scaled(&mut z_bar.context[r], -a_q, &p_row);
                let q_k = mul_vector(&layer.q, &vector(k_bar)).data.0[0];
                add_scaled(&mut z_bar.context[r], S::ONE, &q_k);
            }
        }
        if ADJOINTS {
            z_bar.query[K - 1] -= S::ONE;
        }
        scale(&mut p_bar, inverse_len);
        self.last_p_row = p_bar;
        self.last_q.data.0 = q_bar;
        -(z.query[K - 1] + sum)
    }

    /// Walks back from TF_L-bar = `seed`, adding the adjoints of P_l and Q_l to `p_bar(l)` and
    /// `q_bar(l)` through `gradient(l)`. Returns the adjoints of Z_0 if `INPUT_ADJOINTS`, which
    /// must then also have been asked of the forward pass; else what it returns means nothing.
    #[cfg_attr(not(target_os = "none"), inline(always))]
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
                backward_layer::<true, _, K, N>(tape, x_bar, z_bar, layer(l), inverse_len, n)
            } else {
                backward_layer::<false, _, K, N>(tape, x_bar, z_bar, layer(l), inverse_len, n)
            };
            add(l, &p_bar, &q_bar);
            current = 1 - current;
        }
        &self.adjoint[current]
    }
}

/// One layer but the last.
#[inline(always)]
fn forward_layer<S: Scalar, const K: usize, const N: usize>(
    tape: &mut LayerTape<S, K, N>,
    next: &mut Columns<S, K, N>,
    layer: &Layer<S, K>,
    inverse_len: S,
    n: usize,
) {
    let z = &tape.z;
    next.copy_from(z, n);
    let mut row = [S::ZERO; N];
    for r in 0..n {
        let z_r = vector(z.context[r]);
        let key = transpose_mul_vector(&layer.q, &z_r).data.0[0];
        let mut value = mul_vector(&layer.p, &z_r).data.0[0];
        scale(&mut value, inverse_len);
        let (query_score, shift) = scores(&key, z, n, &mut row);
        let (query_weight, total) = exponentials(&mut row, query_score, shift, n);
        let normalisation = S::ONE / total;
        for c in 0..n {
            add_scaled(&mut next.context[c], row[c] * normalisation, &value);
        }
        add_scaled(&mut next.query, query_weight * normalisation, &value);
        tape.keys[r] = key;
        tape.values[r] = value;
        tape.shift[r] = shift;
        tape.normalisation[r] = normalisation;
    }
}

/// The adjoints (P-bar, Q-bar), and with `ADJOINTS` z-bar, from x-bar.
#[inline(always)]
fn backward_layer<const ADJOINTS: bool, S: Scalar, const K: usize, const N: usize>(
    tape: &LayerTape<S, K, N>,
    x_bar: &Columns<S, K, N>,
    z_bar: &mut Columns<S, K, N>,
    layer: &Layer<S, K>,
    inverse_len: S,
    n: usize,
) -> (SMatrix<S, K, K>, SMatrix<S, K, K>) {
    let z = &tape.z;
    if ADJOINTS {
        z_bar.copy_from(x_bar, n);
    }
    let (mut p_bar, mut q_bar) = (zeros::<S, K, K>(), zeros::<S, K, K>());
    let (mut weights, mut weights_bar) = ([S::ZERO; N], [S::ZERO; N]);
    for r in 0..n {
        let (key, value) = (tape.keys[r], tape.values[r]);
        let (shift, normalisation) = (tape.shift[r], tape.normalisation[r]);
        for c in 0..n {
            weights[c] = weight(&key, &z.context[c], shift, normalisation);
        }
        let query_weight = weight(&key, &z.query, shift, normalisation);
        let mut v_bar = [S::ZERO; K];
        let mut mean = S::ZERO;
        for c in 0..n {
            weights_bar[c] = dot(&value, &x_bar.context[c]);
            mean += weights[c] * weights_bar[c];
            add_scaled(&mut v_bar, weights[c], &x_bar.context[c]);
        }
        let query_weight_bar = dot(&value, &x_bar.query);
        mean += query_weight * query_weight_bar;
        add_scaled(&mut v_bar, query_weight, &x_bar.query);
        let mut k_bar = [S::ZERO; K];
        for c in 0..n {
            let s_bar = weights[c] * (weights_bar[c] - mean);
            add_scaled(&mut k_bar, s_bar, &z.context[c]);
            if ADJOINTS {
                add_scaled(&mut z_bar.context[c], s_bar, &key);
            }
        }
        let s_bar = query_weight * (query_weight_bar - mean);
        add_scaled(&mut k_bar, s_bar, &z.query);
        scale(&mut v_bar, inverse_len);
        let z_r = &z.context[r];
        add_outer(&mut p_bar.data.0, &v_bar, z_r);
        add_outer(&mut q_bar.data.0, z_r, &k_bar);
        if ADJOINTS {
            add_scaled(&mut z_bar.query, s_bar, &key);
            let p_v = transpose_mul_vector(&layer.p, &vector(v_bar)).data.0[0];
            let q_k = mul_vector(&layer.q, &vector(k_bar)).data.0[0];
            add_scaled(&mut z_bar.context[r], S::ONE, &p_v);
            add_scaled(&mut z_bar.context[r], S::ONE, &q_k);
        }
    }
    (p_bar, q_bar)
}

/// A_rc again, from what the tape keeps of row r.
#[inline(always)]
fn weight<S: Scalar, const K: usize>(key: &[S; K], z_c: &[S; K], shift: S, normalisation: S) -> S {
    (dot(key, z_c) - shift).exp() * normalisation
}

/// The scores of one row: the context's in `row`; the query's, and the largest of all, returned.
#[inline(always)]
fn scores<S: Scalar, const K: usize, const N: usize>(
    key: &[S; K],
    z: &Columns<S, K, N>,
    n: usize,
    row: &mut [S; N],
) -> (S, S) {
    let query = dot(key, &z.query);
    let mut highest = query;
    for c in 0..n {
        row[c] = dot(key, &z.context[c]);
        highest = highest.max(row[c]);
    }
    (query, highest)
}

/// Replaces a row's scores by exp(score - shift); returns the query's, and the sum of all.
#[inline(always)]
fn exponentials<S: Scalar, const N: usize>(
    row: &mut [S; N],
    query_score: S,
    shift: S,
    n: usize,
) -> (S, S) {
    let mut total = S::ZERO;
    for c in 0..n {
        row[c] = (row[c] - shift).exp();
        total += row[c];
    }
    let query = (query_score - shift).exp();
    (query, total + query)
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

/// M += x y^T, M by columns.
#[inline(always)]
fn add_outer<S: Scalar, const K: usize>(m: &mut [[S; K]; K], x: &[S; K], y: &[S; K]) {
    for j in 0..K {
        add_scaled(&mut m[j], y[j], x);
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
