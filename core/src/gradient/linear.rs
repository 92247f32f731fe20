//! Linear attention, streaming form.
//!
//! Forward, with G_0 the context's statistic and z_0 the query token:
//!
//! ```text
//! B_l = I + (1/n) P_l G_l Q_l      G_{l+1} = B_l G_l B_l^T      z_{l+1} = B_l z_l      TF_L = -z_L[K]
//! ```
//!
//! Reverse, from z-bar_L = -e_K and G-bar_L = 0:
//!
//! ```text
//! B-bar_l = z-bar z_l^T + G-bar B_l G_l^T + G-bar^T B_l G_l
//! P-bar_l = (1/n) B-bar_l Q_l^T G_l^T            Q-bar_l = (1/n) G_l^T P_l^T B-bar_l
//! G-bar  <- B_l^T G-bar B_l + (1/n) P_l^T B-bar_l Q_l^T      z-bar <- B_l^T z-bar
//! ```
//!
//! This is the simple form, any mask, any query column, one prompt at a time: the reference that the
//! batch form of [`crate::training`] is tested against.

use super::Gradient;
use crate::error::Error;
use crate::layer::{Layer, ParameterSet};
use crate::linalg::any_size::{
    Onto, add, add_outers, mul, mul_transpose, mul_vector, scaled, transpose_mul,
    transpose_mul_vector,
};
use crate::linalg::{add_scaled, transpose};
use crate::mask::Td0;
use crate::prompt::Prompt;
use crate::scalar::Scalar;
use crate::statistic::Statistic;
use crate::transformer::Transformer;

/// A forward pass that can be walked backwards, of any size, in memory that it is given.
pub(crate) struct Tape<'a, S> {
    /// K.
    pub(crate) k: usize,
    /// The layers in the pass.
    pub(crate) depth: usize,
    /// 1/n.
    pub(crate) inverse_len: S,
    /// P and Q of each stored layer, (K, K) each, column by column.
    pub(crate) layers: &'a [S],
    /// G and B of each layer in the pass; G of the first is the context's statistic.
    pub(crate) steps: &'a mut [S],
    /// z of each layer in the pass; the first is the query's column.
    pub(crate) columns: &'a mut [S],
    /// Four matrices to work with; after the way back the first is G-bar_0.
    pub(crate) matrices: [&'a mut [S]; 4],
    /// Two vectors to work with; after the way back the first is z-bar_0.
    pub(crate) vectors: [&'a mut [S]; 2],
}

impl<S: Scalar> Tape<'_, S> {
    /// Returns TF_L.
    pub(crate) fn forward(&mut self) -> S {
        let Tape { k, depth, inverse_len, layers, steps, columns, .. } = self;
        let (k, matrix) = (*k, *k * *k);
        let [x, y, ..] = self.matrices.each_mut().map(|m| &mut **m);
        for l in 0..*depth {
            let (step, next) = steps[2 * l * matrix..].split_at_mut(2 * matrix);
            let (g, b) = step.split_at_mut(matrix);
            column_map(k, *inverse_len, layer(k, layers, l), g, b, [x, y]);
            let (z, z_next) = columns[l * k..].split_at_mut(k);
            if l + 1 == *depth {
                mul_vector(k, self.vectors[0], Onto::Zeros, b, z);
                return -self.vectors[0][k - 1];
            }
            mul_vector(k, &mut z_next[..k], Onto::Zeros, b, z);
            mul(k, x, Onto::Zeros, b, g);
            mul_transpose(k, &mut next[..matrix], Onto::Zeros, x, b);
        }
        S::ZERO
    }

    /// Walks back from TF_L-bar = `seed`, adding to the gradient of the stored layers' numbers.
    pub(crate) fn backward(&mut self, seed: S, numbers: ParameterSet, gradient: &mut [S]) {
        let Tape { k, depth, inverse_len, layers, steps, columns, .. } = self;
        let (k, matrix, trained) = (*k, *k * *k, numbers.len(*k));
        let [g_bar, b_bar, x, y] = self.matrices.each_mut().map(|m| &mut **m);
        let [z_bar, v] = self.vectors.each_mut().map(|v| &mut **v);
        g_bar.fill(S::ZERO);
        z_bar.fill(S::ZERO);
        z_bar[k - 1] = -seed;
        for l in (0..*depth).rev() {
            let [p, q] = layer(k, layers, l);
            let (g, b) = steps[2 * l * matrix..][..2 * matrix].split_at(matrix);
            let z = &columns[l * k..][..k];
            b_bar.fill(S::ZERO);
            add_outers(k, b_bar, [(&*z_bar, z)]);
            // G-bar B G^T and G-bar^T B G.
            mul(k, x, Onto::Zeros, g_bar, b);
            mul_transpose(k, y, Onto::Zeros, x, g);
            add(b_bar, y);
            transpose_mul(k, x, Onto::Zeros, g_bar, b);
            mul(k, y, Onto::Zeros, x, g);
            add(b_bar, y);
            // (1/n) B-bar Q^T and (1/n) P^T B-bar.
            mul_transpose(k, y, Onto::Zeros, b_bar, q);
            scaled(x, *inverse_len, y);
            transpose_mul(k, y, Onto::Zeros, p, b_bar);
            scaled(b_bar, *inverse_len, y);
            let (b_q, p_b) = (&*x, &*b_bar);
            let at = 2 * l * trained % gradient.len();
            let (p_sum, q_sum) = gradient[at..][..2 * trained].split_at_mut(trained);
            mul_transpose(k, y, Onto::Zeros, b_q, g);
            numbers.add_adjoint(k, y, p_sum);
            transpose_mul(k, y, Onto::Zeros, g, p_b);
            numbers.add_adjoint(k, y, q_sum);
            // G-bar <- B^T G-bar B + (1/n) P^T B-bar Q^T, z-bar <- B^T z-bar.
            transpose_mul(k, y, Onto::Zeros, b, g_bar);
            mul(k, g_bar, Onto::Zeros, y, b);
            mul_transpose(k, y, Onto::Zeros, p_b, q);
            add(g_bar, y);
            transpose_mul_vector(k, v, Onto::Zeros, b, z_bar);
            z_bar.copy_from_slice(v);
        }
    }
}

/// Returns P and Q of layer l in the pass, of the stored ones in turn.
#[inline(always)]
pub(crate) fn layer<S>(k: usize, layers: &[S], l: usize) -> [&[S]; 2] {
    let at = 2 * l * k * k % layers.len();
    [0, 1].map(|m| &layers[at + m * k * k..][..k * k])
}

/// B = I + (1/n) P G Q.
pub(crate) fn column_map<S: Scalar>(
    k: usize,
    inverse_len: S,
    [p, q]: [&[S]; 2],
    g: &[S],
    b: &mut [S],
    [x, y]: [&mut [S]; 2],
) {
    scaled(x, inverse_len, p);
    mul(k, y, Onto::Zeros, x, g);
    mul(k, b, Onto::Zeros, y, q);
    for i in 0..k {
        b[i * k + i] += S::ONE;
    }
}

/// Returns TF_L(Z_0) under TD(0)'s mask and its derivatives with respect to the parameters, the query and the
/// context (whose column j enters by G_0 = sum_j z_j z_j^T, so z-bar_j = (G-bar_0 + G-bar_0^T) z_j).
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
    transformer: &Transformer<Layer<S, K>, C>,
    prompt: &Prompt<S, K, N>,
) -> Result<Gradient<S, K, C, N>, Error> {
    let depth = transformer.depth();
    if depth > L {
        return Err(Error::CapacityExceeded { parameter: "layers", capacity: L });
    }
    let statistic = Statistic::of_prompt(prompt, &Td0)?;
    let stored = transformer.layers().len();
    let mut layers = [[[[S::ZERO; K]; K]; 2]; C];
    let mut sums = layers;
    let (mut steps, mut columns) = ([[[[S::ZERO; K]; K]; 2]; L], [[S::ZERO; K]; L]);
    let (mut matrices, mut vectors) = ([[[S::ZERO; K]; K]; 4], [[S::ZERO; K]; 2]);
    for (to, layer) in layers.iter_mut().zip(transformer.layers()) {
        *to = [layer.p.data.0, layer.q.data.0];
    }
    (steps[0][0], columns[0]) = (statistic.g.data.0, prompt.query().data.0[0]);
    let mut tape = Tape {
        k: K,
        depth,
        inverse_len: statistic.inverse_len,
        layers: layers[..stored].as_flattened().as_flattened().as_flattened(),
        steps: steps.as_flattened_mut().as_flattened_mut().as_flattened_mut(),
        columns: columns.as_flattened_mut(),
        matrices: matrices.each_mut().map(|m| m.as_flattened_mut()),
        vectors: vectors.each_mut().map(|v| &mut v[..]),
    };
    let value = tape.forward();
    let gradient = sums[..stored].as_flattened_mut().as_flattened_mut().as_flattened_mut();
    tape.backward(S::ONE, ParameterSet::Full, gradient);
    let g_bar = matrices[0].into();
    let mut symmetric = transpose(&g_bar);
    add_scaled(&mut symmetric, S::ONE, &g_bar);
    let mut prompt_bar = prompt.clone();
    for z in prompt_bar.columns_mut() {
        *z = crate::linalg::mul_vector(&symmetric, z);
    }
    prompt_bar.set_query(vectors[0].into());
    let layers = sums.into_iter().take(stored);
    let layers = layers.map(|[p, q]| Layer { p: p.into(), q: q.into() }).collect();
    Ok(Gradient { value, layers, prompt: prompt_bar })
}
