use super::{Attention, AttentionKind};
use crate::error::Error;
use crate::layer::Layer;
use crate::linalg::{add_scaled, dot, scale, transpose_mul_vector, zeros};
use crate::prompt::Prompt;
use crate::scalar::Scalar;

/// Softmax attention (App. "Nonlinear Attention"): Attn(Z; P, Q) = P Z M softmax(Z^T Q Z), with
/// TD(0)'s mask and the softmax over each row of the scores, as paper and authors' code have it:
/// a context token spreads a weight of 1 over the columns that receive it (the query among them).
///
/// The query's column changes every row's normalisation, so nothing can be shared between queries,
/// and no statistic of fixed size exists: all columns are kept, O(K n), and the scores are made
/// and used one row at a time, never O(n^2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct SoftmaxAttention;

impl<S: Scalar, const K: usize> Attention<S, K> for SoftmaxAttention {
    type Layer = Layer<S, K>;
    const KIND: AttentionKind = AttentionKind::Softmax;

    fn of_trace_decay(lambda: S) -> Result<Self, Error> {
        crate::mask::only_zero(lambda, SoftmaxAttention)
    }

    /// Z + (1/n) P Z M softmax(Z^T Q Z).
    fn apply<const N: usize>(
        &self,
        layer: &Layer<S, K>,
        prompt: &mut Prompt<S, K, N>,
    ) -> Result<(), Error> {
        let inverse_len = prompt.inverse_len()?;
        let mut attended = prompt.clone();
        for column in attended.columns_mut() {
            *column = zeros();
        }
        for z_r in prompt.context() {
            // Row r of Z^T Q Z is (Q^T z_r)^T Z.
            let key = transpose_mul_vector(&layer.q, z_r);
            let row = softmax_row::<S, K, N>(&key, prompt);
            for (c, column) in attended.columns_mut().enumerate() {
                add_scaled(column, row.weight(c), z_r);
            }
        }
        prompt.add_columns(inverse_len, &layer.p, &attended);
        Ok(())
    }
}

/// One row of softmax(Z^T Q Z): a weight for each context column and one for the query's.
pub(crate) struct SoftmaxRow<S: Scalar, const N: usize> {
    pub(crate) context: [S; N],
    pub(crate) query: S,
    n: usize,
}

impl<S: Scalar, const N: usize> SoftmaxRow<S, N> {
    pub(crate) fn weight(&self, c: usize) -> S {
        if c < self.n { self.context[c] } else { self.query }
    }
}

/// softmax of the scores <key, z_c> over the columns c of Z, shifted by their maximum, as powers of 2.
pub(crate) fn softmax_row<S: Scalar, const K: usize, const N: usize>(
    key: &nalgebra::SVector<S, K>,
    prompt: &Prompt<S, K, N>,
) -> SoftmaxRow<S, N> {
    let n = prompt.context_len();
    let key = &scale(S::from_f64(core::f64::consts::LOG2_E), key);
    let query = dot(key, prompt.query());
    let mut row = SoftmaxRow { context: [S::ZERO; N], query, n };
    let mut highest = query;
    for (score, z_c) in row.context.iter_mut().zip(prompt.context()) {
        *score = dot(key, z_c);
        highest = highest.max(*score);
    }
    let mut total = S::ZERO;
    for score in &mut row.context[..n] {
        *score = (*score - highest).exp2();
        total += *score;
    }
    row.query = (row.query - highest).exp2();
    total += row.query;
    let normalisation = S::ONE / total;
    for score in &mut row.context[..n] {
        *score *= normalisation;
    }
    row.query *= normalisation;
    row
}
