use crate::layer::LayerParameters;
use crate::scalar::{Real, Scalar};
use crate::transformer::Transformer;
use core::fmt::Debug;

/// All trainable numbers of a network, slice after slice in one written order: what optimisers and
/// checkpoints see.
pub trait Parameters<S: Scalar>: Clone + Debug {
    /// Returns as many zeros.
    fn zeros_like(&self) -> Self {
        let mut zeros = self.clone();
        zeros.slices_mut().for_each(|slice| slice.fill(S::ZERO));
        zeros
    }

    /// Returns the numbers, matrix after matrix.
    fn slices(&self) -> impl Iterator<Item = &[S]>;

    /// Returns the numbers, to be changed.
    fn slices_mut(&mut self) -> impl Iterator<Item = &mut [S]>;

    /// Returns the numbers, one after the other.
    fn numbers<'a>(&'a self) -> impl Iterator<Item = &'a S>
    where
        S: 'a,
    {
        self.slices().flatten()
    }

    /// Returns the numbers, to be changed.
    fn numbers_mut<'a>(&'a mut self) -> impl Iterator<Item = &'a mut S>
    where
        S: 'a,
    {
        self.slices_mut().flatten()
    }
}

impl<S: Scalar, const N: usize> Parameters<S> for [S; N] {
    fn slices(&self) -> impl Iterator<Item = &[S]> {
        core::iter::once(self.as_slice())
    }
    fn slices_mut(&mut self) -> impl Iterator<Item = &mut [S]> {
        core::iter::once(self.as_mut_slice())
    }
}

/// P_0, Q_0, P_1, Q_1, ... of the stored layers, each matrix column by column.
impl<L: LayerParameters, const C: usize> Parameters<L::Scalar> for Transformer<L, C> {
    fn slices(&self) -> impl Iterator<Item = &[L::Scalar]> {
        self.layers().iter().flat_map(|layer| layer.matrices())
    }
    fn slices_mut(&mut self) -> impl Iterator<Item = &mut [L::Scalar]> {
        self.layers_mut().iter_mut().flat_map(|layer| layer.matrices_mut())
    }
}

/// Returns the standard deviation of initial parameters, Xavier normal with a gain, of layers for tokens of size k.
pub(super) fn deviation<R: Real>(gain: f64, k: usize) -> R {
    R::from_f64(gain) / Scalar::sqrt(R::from_count(k as u64))
}
