//! Layers of ten numbers, as matrices, and their gradients.

use super::{Layer, LayerParameters};
use crate::linalg::zeros;
use crate::scalar::Scalar;
use crate::transition::check_token_size;
use nalgebra::SMatrix;

/// A layer of ten numbers, which mean the same for every feature dimension:
///
/// ```text
/// P = [ p1 I  p2 I   0 ]      Q = [ q1 I  q2 I   0 ]
///     [ p3 I  p4 I   0 ]          [ q3 I  q4 I   0 ]
///     [  0     0    p5 ]          [  0     0    q5 ]
/// ```
///
/// These are the matrices that commute with every change of the features' signs and order, and with every
/// rotation of them: where the tasks do not change under those, training never leaves them, and the network
/// does not care in which orthonormal basis its features are written. TD(0) with step size alpha is
/// p5 = 1, q1 = -alpha, q2 = alpha (Theorem 1).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct EquivariantLayer<S> {
    /// p1 to p5; p5 is the paper's eta.
    pub p: [S; 5],
    /// q1 to q5.
    pub q: [S; 5],
}

impl<S: Scalar> LayerParameters for EquivariantLayer<S> {
    type Scalar = S;
    const NAMES: &'static [&'static str] = &["P", "Q"];
    const ZERO: Self = EquivariantLayer { p: [S::ZERO; 5], q: [S::ZERO; 5] };

    fn matrices(&self) -> impl Iterator<Item = &[S]> {
        [self.p.as_slice(), &self.q].into_iter()
    }

    fn matrices_mut(&mut self) -> impl Iterator<Item = &mut [S]> {
        [self.p.as_mut_slice(), &mut self.q].into_iter()
    }
}

impl<S: Scalar> EquivariantLayer<S> {
    /// P and Q for D features, (K, K) each: the literal form.
    ///
    /// ```
    /// use ictd_core::layer::EquivariantLayer;
    ///
    /// let layer = EquivariantLayer { p: [0.0, 0.0, 0.0, 0.0, 1.0], q: [-0.5, 0.5, 0.0, 0.0, 0.0] };
    /// let td0 = ictd_core::constructions::td0(&ictd_core::constructions::learning_rate::<f64, 3>(0.5));
    /// assert_eq!(layer.dense::<3, 7>(), td0);
    /// ```
    pub fn dense<const D: usize, const K: usize>(&self) -> Layer<S, K> {
        Layer { p: dense::<S, D, K>(&self.p), q: dense::<S, D, K>(&self.q) }
    }

    /// Returns the nearest layer of ten numbers: the mean of each block's diagonal.
    pub fn project<const D: usize, const K: usize>(layer: &Layer<S, K>) -> Self {
        let mut sums = Self::contract::<D, K>(layer);
        means_of_traces(D, &mut sums.p);
        means_of_traces(D, &mut sums.q);
        sums
    }

    /// Returns the gradient with respect to the ten numbers, from that with respect to P and Q.
    pub fn contract<const D: usize, const K: usize>(gradient: &Layer<S, K>) -> Self {
        EquivariantLayer { p: traces::<S, D, K>(&gradient.p), q: traces::<S, D, K>(&gradient.q) }
    }
}

fn dense<S: Scalar, const D: usize, const K: usize>(x: &[S; 5]) -> SMatrix<S, K, K> {
    check_token_size::<D, K>();
    let mut m = zeros::<S, K, K>();
    write_dense(D, K, x, m.as_mut_slice());
    m
}

fn traces<S: Scalar, const D: usize, const K: usize>(m: &SMatrix<S, K, K>) -> [S; 5] {
    check_token_size::<D, K>();
    let mut x = [S::ZERO; 5];
    add_traces(D, K, m.as_slice(), &mut x);
    x
}

/// Writes the matrix of five numbers for d features, column by column of `rows` >= 2d + 1 numbers.
pub(crate) fn write_dense<S: Scalar>(d: usize, rows: usize, x: &[S], m: &mut [S]) {
    m.fill(S::ZERO);
    for i in 0..d {
        m[i * rows + i] = x[0];
        m[(d + i) * rows + i] = x[1];
        m[i * rows + d + i] = x[2];
        m[(d + i) * rows + d + i] = x[3];
    }
    m[2 * d * rows + 2 * d] = x[4];
}

/// From the traces of blocks to the means of their diagonals.
pub(crate) fn means_of_traces<S: Scalar>(d: usize, x: &mut [S]) {
    let inverse_d = S::ONE / S::from_count(d as u64);
    for x in &mut x[..4] {
        *x = inverse_d * *x;
    }
}

/// Adds to five numbers the trace of each block of such a matrix.
pub(crate) fn add_traces<S: Scalar>(d: usize, rows: usize, m: &[S], x: &mut [S]) {
    for i in 0..d {
        x[0] += m[i * rows + i];
        x[1] += m[(d + i) * rows + i];
        x[2] += m[i * rows + d + i];
        x[3] += m[(d + i) * rows + d + i];
    }
    x[4] += m[2 * d * rows + 2 * d];
}
