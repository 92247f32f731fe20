//! Attention: one layer's update of the prompt, as the paper writes it, on all columns of Z. It is the reference that the
//! streaming form (see [`crate::transformer`]) is tested against, and for softmax attention the only form.

pub use crate::mask::{Mask, MeanCentred, Td0, TdLambda};
pub use crate::model::{AverageReward, Linear};

use crate::error::Result;
use crate::layer::{Layer, LayerParameters, TwoHeadLayer};
use crate::linalg::{add_scaled, dot, mul, mul_vector, transpose_mul_vector, zeros};
use crate::mask::only_zeros;
use crate::model::{AttentionKind, AttentionMechanism};
use crate::prompt::Prompt;
use crate::scalar::Scalar;
use crate::transformer::Transformer;
use nalgebra::SMatrix;

/// An attention mechanism: what a layer with its parameters does to a prompt.
///
/// [`Linear`] attention under a mask, [`SoftmaxAttention`], or the two heads of [`AverageReward`].
pub trait Attention<S: Scalar, const K: usize>: AttentionMechanism<S, K> {
    /// Updates Z <- Z + (1/n) Attn(Z; theta_l), in place, or returns [`crate::Error::Empty`] if the prompt has no context.
    fn apply<const N: usize>(
        &self,
        layer: &Self::Layer,
        prompt: &mut Prompt<S, K, N>,
    ) -> Result<()>;
}

impl<L: LayerParameters, const C: usize> Transformer<L, C> {
    /// Applies each layer to the prompt and shows Z_1 to Z_L, or returns [`crate::Error::Empty`] if the prompt has no context.
    pub fn forward<const K: usize, const N: usize>(
        &self,
        prompt: &mut Prompt<L::Scalar, K, N>,
        attention: &impl Attention<L::Scalar, K, Layer = L>,
        mut observe_layer: impl FnMut(&Prompt<L::Scalar, K, N>),
    ) -> Result<()> {
        for layer in self.pass() {
            attention.apply(layer, prompt)?;
            observe_layer(prompt);
        }
        Ok(())
    }

    /// Returns TF_L(Z_0) by [`Transformer::forward`] (eq. "tf output convention").
    pub fn value<const K: usize, const N: usize>(
        &self,
        prompt: &Prompt<L::Scalar, K, N>,
        attention: &impl Attention<L::Scalar, K, Layer = L>,
    ) -> Result<L::Scalar> {
        let mut prompt = prompt.clone();
        self.forward(&mut prompt, attention, |_| ())?;
        Ok(prompt.output())
    }
}

impl<S: Scalar, const K: usize, M: Mask<S>> Attention<S, K> for Linear<M> {
    /// Computes eq. "Z_l update": Z + (1/n) P Z M (Z^T Q Z).
    fn apply<const N: usize>(
        &self,
        layer: &Layer<S, K>,
        prompt: &mut Prompt<S, K, N>,
    ) -> Result<()> {
        let inverse_len = prompt.inverse_len()?;
        let attended = attend(&self.0, &layer.q, prompt);
        prompt.add_columns(inverse_len, &layer.p, &attended);
        Ok(())
    }
}

impl<S: Scalar, const K: usize> Attention<S, K> for AverageReward {
    /// Computes eq. "Z two-head update":
    /// Z + (1/n) W \[LinAttn(Z; P1, Q1, M1); LinAttn(Z; P2, Q2, M2)\].
    fn apply<const N: usize>(
        &self,
        layer: &TwoHeadLayer<S, K>,
        prompt: &mut Prompt<S, K, N>,
    ) -> Result<()> {
        let inverse_len = prompt.inverse_len()?;
        let head1 = attend(&MeanCentred, &layer.q1, prompt);
        let head2 = attend(&Td0, &layer.q2, prompt);
        prompt.add_columns(inverse_len, &mul(&layer.w1, &layer.p1), &head1);
        prompt.add_columns(inverse_len, &mul(&layer.w2, &layer.p2), &head2);
        Ok(())
    }
}

/// Computes Z M (Z^T Q Z), column by column: sum_r (Z M)_r (z_r^T Q z_c). The last column of the result is
/// the query's. The layers of a mechanism of your own add such columns to the prompt ([`Prompt::add_columns`]).
pub fn attend<S: Scalar, const K: usize, const N: usize>(
    mask: &impl Mask<S>,
    q: &SMatrix<S, K, K>,
    prompt: &Prompt<S, K, N>,
) -> Prompt<S, K, N> {
    let masked = masked(mask, prompt);
    let mut out = prompt.clone();
    for z_c in out.columns_mut() {
        let q_z = mul_vector(q, z_c);
        let mut sum = zeros();
        for (r, z_r) in prompt.context().iter().enumerate() {
            add_scaled(&mut sum, dot(z_r, &q_z), masked.column(r));
        }
        *z_c = sum;
    }
    out
}

/// Computes Z M: column r is the sum of Z's columns weighted by M's column r (the query's column is 0).
fn masked<S: Scalar, const K: usize, const N: usize>(
    mask: &impl Mask<S>,
    prompt: &Prompt<S, K, N>,
) -> Prompt<S, K, N> {
    let n = prompt.context_len();
    let mut out = prompt.clone();
    for (r, column) in out.columns_mut().enumerate() {
        let mut sum = zeros();
        for j in 0..=n {
            let m_jr = mask.entry(j, r, n);
            // Masks are the same in every lane, so this branch does not depend on a lane's value.
            if m_jr != S::ZERO {
                add_scaled(&mut sum, m_jr, prompt.column(j));
            }
        }
        *column = sum;
    }
    out
}

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
        only_zeros([lambda], SoftmaxAttention)
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
            // Row r of Z^T Q Z is (Q^T z_r)^T Z; its softmax as powers of 2.
            let key = transpose_mul_vector(&layer.q, z_r);
            let key = key.map(|x| S::from_f64(core::f64::consts::LOG2_E) * x);
            let (mut weights, mut query) = ([S::ZERO; N], dot(&key, &prompt.query));
            let context = &mut weights[..prompt.context_len()];
            let mut highest = query;
            for (score, z_c) in context.iter_mut().zip(prompt.context()) {
                *score = dot(&key, z_c);
                highest = highest.max(*score);
            }
            let mut total = S::ZERO;
            for score in context.iter_mut().chain([&mut query]) {
                *score = (*score - highest).exp2();
                total += *score;
            }
            let normalisation = S::ONE / total;
            let scores = context.iter().chain([&query]);
            for (score, column) in scores.zip(attended.columns_mut()) {
                add_scaled(column, *score * normalisation, z_r);
            }
        }
        prompt.add_columns(inverse_len, &layer.p, &attended);
        Ok(())
    }
}
