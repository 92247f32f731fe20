use crate::layer::Layer;
use crate::rng::Rng;
use crate::scalar::Scalar;
use core::fmt::Debug;
use nalgebra::{ArrayStorage, SMatrix};

/// All trainable numbers of a network, slice after slice in one written order: what optimisers and
/// checkpoints see.
pub trait Parameters<S: Scalar>: Clone + Debug {
    /// As many zeros.
    fn zeros_like(&self) -> Self;

    /// The numbers, matrix after matrix.
    fn slices(&self) -> impl Iterator<Item = &[S]>;

    /// The numbers, to be changed.
    fn slices_mut(&mut self) -> impl Iterator<Item = &mut [S]>;

    /// The numbers, one after the other.
    fn numbers<'a>(&'a self) -> impl Iterator<Item = &'a S>
    where
        S: 'a,
    {
        self.slices().flatten()
    }

    /// The numbers, to be changed.
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

/// A square matrix by columns, as nalgebra stores it.
type Columns<S, const K: usize> = [[S; K]; K];

/// P_l and Q_l of the stored layers of a transformer, or their gradients or moments: in the order
/// P_0, Q_0, P_1, Q_1, ..., each matrix column by column.
///
/// C is the capacity for stored layers: 1 if autoregressive, at least L if sequential.
#[derive(Clone, Debug, PartialEq)]
pub struct AttentionParameters<S: Scalar, const K: usize, const C: usize> {
    layers: [[Columns<S, K>; 2]; C],
    stored: usize,
}

impl<S: Scalar, const K: usize, const C: usize> AttentionParameters<S, K, C> {
    /// Zeros for `stored` layers (at most C).
    pub fn zeros(stored: usize) -> Self {
        const {
            assert!(K > 0 && C > 0, "attention parameters have at least one layer and one entry");
        }
        AttentionParameters { layers: [[[[S::ZERO; K]; K]; 2]; C], stored: stored.min(C) }
    }

    /// From layers (the first C of them).
    pub fn from_layers(layers: &[Layer<S, K>]) -> Self {
        let mut out = Self::zeros(layers.len());
        for (to, layer) in out.layers.iter_mut().zip(layers) {
            *to = [layer.p.data.0, layer.q.data.0];
        }
        out
    }

    /// How many layers are stored.
    #[inline(always)]
    pub fn stored(&self) -> usize {
        self.stored
    }

    /// (P_l, Q_l) for l = 0 to stored - 1 (taken modulo that number).
    #[inline(always)]
    pub fn layer(&self, l: usize) -> Layer<S, K> {
        let [p, q] = self.layers[l % self.stored.max(1)];
        Layer {
            p: SMatrix::from_array_storage(ArrayStorage(p)),
            q: SMatrix::from_array_storage(ArrayStorage(q)),
        }
    }

    /// The layers; those beyond the stored ones are 0.
    #[inline(always)]
    pub fn layers(&self) -> [Layer<S, K>; C] {
        self.layers.map(|[p, q]| Layer {
            p: SMatrix::from_array_storage(ArrayStorage(p)),
            q: SMatrix::from_array_storage(ArrayStorage(q)),
        })
    }

    /// += the layers' numbers.
    #[inline(always)]
    pub fn add_layers(&mut self, layers: &[Layer<S, K>]) {
        for (to, layer) in self.layers[..self.stored].iter_mut().zip(layers) {
            for (m, from) in to.iter_mut().zip([&layer.p, &layer.q]) {
                for (x, y) in m.as_flattened_mut().iter_mut().zip(from.data.0.as_flattened()) {
                    *x += *y;
                }
            }
        }
    }

    /// The layers of one lane; those beyond the stored ones are 0.
    pub fn lane_layers(&self, lane: usize) -> [Layer<S::Element, K>; C] {
        let of_lane = |m: &Columns<S, K>| {
            SMatrix::from_array_storage(ArrayStorage(m.map(|column| column.map(|x| x.lane(lane)))))
        };
        self.layers.map(|[p, q]| Layer { p: of_lane(&p), q: of_lane(&q) })
    }

    /// Xavier normal initialisation of one lane: N(0, (gain sqrt(2 / (K + K)))^2), drawn in the
    /// order in which the numbers are stored.
    pub fn initialise_lane(&mut self, lane: usize, gain: f64, rng: &mut Rng) {
        let k = <S::Element as Scalar>::from_count(K as u64);
        let deviation = <S::Element as Scalar>::from_f64(gain) / Scalar::sqrt(k);
        for x in self.numbers_mut() {
            x.set_lane(lane, deviation * rng.normal::<S::Element>());
        }
    }
}

impl<S: Scalar, const K: usize, const C: usize> Parameters<S> for AttentionParameters<S, K, C> {
    fn zeros_like(&self) -> Self {
        Self::zeros(self.stored)
    }
    fn slices(&self) -> impl Iterator<Item = &[S]> {
        self.layers[..self.stored].as_flattened().iter().map(|m| m.as_flattened())
    }
    fn slices_mut(&mut self) -> impl Iterator<Item = &mut [S]> {
        self.layers[..self.stored].as_flattened_mut().iter_mut().map(|m| m.as_flattened_mut())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initial_parameters_have_xaviers_deviation() {
        let mut parameters = AttentionParameters::<f32, 17, 3>::zeros(3);
        parameters.initialise_lane(0, 0.1, &mut Rng::new(4));
        let numbers: std::vec::Vec<f32> = parameters.numbers().copied().collect();
        assert_eq!(numbers.len(), 3 * 2 * 17 * 17);
        let mean_square =
            numbers.iter().map(|x| (*x as f64) * (*x as f64)).sum::<f64>() / numbers.len() as f64;
        // The standard deviation of this estimate is sqrt(2 / 1734), 3.4 %.
        assert!((mean_square * 17.0 / 0.01 - 1.0).abs() < 0.12, "{mean_square}");
    }

    #[test]
    fn the_flat_order_is_p_then_q_by_columns() {
        let p = SMatrix::<f32, 3, 3>::from_fn(|i, j| (10 * i + j) as f32);
        let q = -p;
        let parameters = AttentionParameters::<f32, 3, 2>::from_layers(&[Layer { p, q }]);
        let numbers: std::vec::Vec<f32> = parameters.numbers().copied().collect();
        assert_eq!(&numbers[..4], &[0.0, 10.0, 20.0, 1.0]);
        assert_eq!(&numbers[9..13], &[-0.0, -10.0, -20.0, -1.0]);
        assert_eq!(parameters.layers()[0], Layer { p, q });
        assert_eq!(parameters.lane_layers(0)[0], Layer { p, q });
    }
}
