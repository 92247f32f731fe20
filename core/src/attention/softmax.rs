use super::Attention;
use crate::error::Result;
use crate::layer::Layer;
use crate::linalg::{add_scaled, dot, scale, transpose_mul_vector, zeros};
use crate::model::{AttentionKind, AttentionMechanism};
use crate::prompt::Prompt;
use crate::scalar::Scalar;
use nalgebra::SVector;

/// Softmax attention (App. "Nonlinear Attention"): Attn(Z; P, Q) = P Z M softmax(Z^T Q Z), with
/// TD(0)'s mask and the softmax over each row of the scores, as paper and authors' code have it:
/// a context token spreads a weight of 1 over the columns that receive it (the query among them).
///
/// The query's column changes every row's normalisation, so no statistic of fixed size exists: all columns are kept, and
/// the scores are made and used one row at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SoftmaxAttention;

impl<S: Scalar, const K: usize> AttentionMechanism<S, K> for SoftmaxAttention {
    type Layer = Layer<S, K>;
    const KIND: AttentionKind = AttentionKind::Softmax;
    const MASK: u8 = 0;

    fn from_trace_decay(lambda: S) -> Result<Self> {
        crate::mask::only_zeros([lambda], SoftmaxAttention)
    }
}

impl<S: Scalar, const K: usize> Attention<S, K> for SoftmaxAttention {
    fn apply<const N: usize>(
        &self,
        layer: &Layer<S, K>,
        prompt: &mut Prompt<S, K, N>,
    ) -> Result<()> {
        let inverse_len = prompt.inverse_len()?;
        let mut attended = prompt.clone();
        attended.columns_mut().for_each(|column| *column = zeros());
        for z_r in prompt.context() {
            // Row r of Z^T Q Z is (Q^T z_r)^T Z.
            let (context, query) = softmax_row(&transpose_mul_vector(&layer.q, z_r), prompt);
            let weights = context[..prompt.context_len()].iter().chain([&query]);
            for (weight, column) in weights.zip(attended.columns_mut()) {
                add_scaled(column, *weight, z_r);
            }
        }
        prompt.add_columns(inverse_len, &layer.p, &attended);
        Ok(())
    }
}

/// Returns the softmax of the scores <key, z_c>, as powers of 2: a weight for each context column and the query's.
fn softmax_row<S: Scalar, const K: usize, const N: usize>(
    key: &SVector<S, K>,
    prompt: &Prompt<S, K, N>,
) -> ([S; N], S) {
    let key = &scale(S::from_f64(core::f64::consts::LOG2_E), key);
    let (mut weights, mut query) = ([S::ZERO; N], dot(key, prompt.query()));
    let context = &mut weights[..prompt.context_len()];
    let mut highest = query;
    for (score, z_c) in context.iter_mut().zip(prompt.context()) {
        *score = dot(key, z_c);
        highest = highest.max(*score);
    }
    let mut total = S::ZERO;
    for score in context.iter_mut().chain([&mut query]) {
        *score = (*score - highest).exp2();
        total += *score;
    }
    let normalisation = S::ONE / total;
    context.iter_mut().chain([&mut query]).for_each(|score| *score *= normalisation);
    (weights, query)
}
