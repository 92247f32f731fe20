use crate::layer::LayerParameters;
use crate::scalar::{Real, Scalar};
use crate::transformer::Transformer;
use core::fmt::Debug;

/// All trainable numbers of a network, slice after slice in one written order: what optimisers and
/// checkpoints see.
pub trait Parameters<S: Scalar>: Clone + Debug {
    /// As many zeros.
    fn zeros_like(&self) -> Self;

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
    fn zeros_like(&self) -> Self {
        [S::ZERO; N]
    }
    fn slices(&self) -> impl Iterator<Item = &[S]> {
        core::iter::once(self.as_slice())
    }
    fn slices_mut(&mut self) -> impl Iterator<Item = &mut [S]> {
        core::iter::once(self.as_mut_slice())
    }
}

/// P_0, Q_0, P_1, Q_1, ... of the stored layers, each matrix column by column.
impl<L: LayerParameters, const C: usize> Parameters<L::Scalar> for Transformer<L, C> {
    fn zeros_like(&self) -> Self {
        let mut zeros = self.clone();
        zeros.layers_mut().fill(L::ZERO);
        zeros
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::Layer;
    use crate::rng::Rng;
    use crate::training::{LinearNetwork, LinearShape, Network};
    use nalgebra::SMatrix;
    use std::vec;
    use std::vec::Vec;

    #[test]
    fn initial_parameters_have_xaviers_deviation() {
        let shape = LinearShape::new(8, 3, 3).unwrap();
        let mut network =
            LinearNetwork::<f32, Vec<f32>>::zeros(shape, |len| vec![0.0; len]).unwrap();
        network.initialise_lane(0, &mut Rng::new(4));
        let numbers: Vec<f64> = network.parameters().numbers().map(|x| 3.0 * *x as f64).collect();
        assert_eq!(numbers.len(), 3 * 2 * 17 * 17);
        let mean_square = numbers.iter().map(|x| x * x).sum::<f64>() / numbers.len() as f64;
        // The standard deviation of this estimate is sqrt(2 / 1734), 3.4 %.
        assert!((mean_square * 17.0 / 0.01 - 1.0).abs() < 0.12, "{mean_square}");
    }

    #[test]
    fn the_written_order_is_p_then_q_by_columns() {
        let p = SMatrix::<f32, 3, 3>::from_fn(|i, j| (10 * i + j) as f32);
        let layer = Layer { p, q: -p };
        let transformer = Transformer::<_, 2>::sequential(&[layer]).unwrap();
        let numbers: Vec<f32> = transformer.numbers().copied().collect();
        assert_eq!(numbers.len(), 18);
        assert_eq!(&numbers[..4], &[0.0, 10.0, 20.0, 1.0]);
        assert_eq!(&numbers[9..13], &[-0.0, -10.0, -20.0, -1.0]);
        assert_eq!(layer.lane(0), layer);
    }
}
