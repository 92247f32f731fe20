//! The trainable numbers of a softmax transformer, which may have room for more features.

use crate::layer::{Layer, LayerParameters as _};
use crate::scalar::Scalar;
use crate::training::Parameters;
use crate::transformer::Transformer;

/// P_0, Q_0, P_1, Q_1, ... of the stored layers, each matrix column by column, for d features. Matrices for K / 2 features may
/// have room for more: the rows and columns of the others are zeros, and no gradient reaches them.
#[derive(Clone, Debug, PartialEq)]
pub struct SoftmaxParameters<S: Scalar, const K: usize, const C: usize> {
    pub(super) transformer: Transformer<Layer<S, K>, C>,
    pub(super) dim: usize,
}

impl<S: Scalar, const K: usize, const C: usize> Parameters<S> for SoftmaxParameters<S, K, C> {
    fn slices(&self) -> impl Iterator<Item = &[S]> {
        let (dim, layers) = (self.dim, self.transformer.layers().iter());
        layers.flat_map(|layer| layer.matrices()).flat_map(move |matrix| {
            let columns = matrix.chunks(K).enumerate().filter(move |(j, _)| j % (K / 2) < dim);
            columns.flat_map(move |(_, column)| {
                let (phi, rest) = column.split_at(K / 2);
                let (next, reward) = rest.split_at(K / 2);
                [&phi[..dim], &next[..dim], reward]
            })
        })
    }

    fn slices_mut(&mut self) -> impl Iterator<Item = &mut [S]> {
        let (dim, layers) = (self.dim, self.transformer.layers_mut().iter_mut());
        layers.flat_map(|layer| layer.matrices_mut()).flat_map(move |matrix| {
            let columns = matrix.chunks_mut(K).enumerate().filter(move |(j, _)| j % (K / 2) < dim);
            columns.flat_map(move |(_, column)| {
                let (phi, rest) = column.split_at_mut(K / 2);
                let (next, reward) = rest.split_at_mut(K / 2);
                [&mut phi[..dim], &mut next[..dim], reward]
            })
        })
    }
}
