//! Judges the form of a layer's parameters block by block: which construction P and Q are, up to a scale, and how
//! much of them is anything else.
//!
//! ```
//! use ictd_core::constructions::{learning_rate, residual_gradient, td0};
//! use ictd_core::metrics::{BlockForm, LayerBlocks};
//!
//! let c = learning_rate::<f64, 4>(0.5);
//! assert_eq!(LayerBlocks::of::<4, 9>(&td0(&c)).form(), Some(BlockForm::Td));
//! // Half of the residual gradient's Q is TD's, and half is not.
//! let residual = LayerBlocks::of::<4, 9>(&residual_gradient(&c));
//! assert_eq!(residual.shares(BlockForm::Td), [1.0, 0.5]);
//! assert_eq!(residual.form(), Some(BlockForm::ResidualGradient));
//! ```

use crate::layer::Layer;
use crate::scalar::Real;

/// The least share of P's energy, and of Q's, that must be a form's: 0.9. Everything else is then at most a third
/// of its size.
pub const FORM_SHARE: f64 = 0.9;

/// Numbers that stand for a (K, K) matrix: multiples of I in the four (d, d) blocks, and what is beyond them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Pattern {
    /// The means in the blocks of phi and phi', row by row: \[\[upper left, upper right\], \[lower left, lower right\]\].
    pub blocks: [[f64; 2]; 2],
    /// The entries in rows and columns beyond 2 d, of the reward and, with two heads, of the memory; 0 where
    /// there are none.
    pub corner: [[f64; 2]; 2],
}

impl Pattern {
    /// P of all constructions with one head: its bottom-right entry.
    pub const CORNER: Self = Pattern { blocks: [[0.0; 2]; 2], corner: [[1.0, 0.0], [0.0, 0.0]] };

    /// Multiples of I in the four blocks.
    pub const fn of_blocks(blocks: [[f64; 2]; 2]) -> Self {
        Pattern { blocks, corner: [[0.0; 2]; 2] }
    }

    /// Returns the sum over all entries of the products of two such matrices.
    fn dot(&self, other: &Self, d: usize) -> f64 {
        let mut sum = 0.0;
        for i in 0..2 {
            for j in 0..2 {
                sum += d as f64 * self.blocks[i][j] * other.blocks[i][j];
                sum += self.corner[i][j] * other.corner[i][j];
            }
        }
        sum
    }
}

/// P or Q, by blocks. Its energy is the sum of the squares of its entries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Blocks {
    /// d.
    pub dim: usize,
    /// The mean of each block's diagonal, and the entries beyond.
    pub means: Pattern,
    /// The energy of the whole matrix.
    pub energy: f64,
}

impl Blocks {
    /// Returns the blocks of a (k, k) matrix with 2 d <= k <= 2 d + 2, given by its entries (row, column).
    pub fn of(d: usize, k: usize, entry: impl Fn(usize, usize) -> f64) -> Self {
        debug_assert!(
            2 * d <= k && k <= 2 * d + 2,
            "a token has 2 d features, a reward and a memory"
        );
        let mut blocks = Blocks { dim: d, ..Default::default() };
        for i in 0..k {
            for j in 0..k {
                let x = entry(i, j);
                blocks.energy += x * x;
                if i < 2 * d && j < 2 * d {
                    if i % d == j % d {
                        blocks.means.blocks[i / d][j / d] += x / d as f64;
                    }
                } else if let (Some(row), Some(column)) =
                    (i.checked_sub(2 * d), j.checked_sub(2 * d))
                {
                    blocks.means.corner[row.min(1)][column.min(1)] += x;
                }
            }
        }
        blocks
    }

    /// Returns the share of the energy along a pattern: the square of the cosine of the angle between the two
    /// matrices, negative if they point opposite ways; 0 if either is 0.
    pub fn along(&self, pattern: &Pattern) -> f64 {
        let product = self.means.dot(pattern, self.dim);
        let energies = self.energy * pattern.dot(pattern, self.dim);
        if energies > 0.0 { product * product.abs() / energies } else { 0.0 }
    }

    /// Returns the share of the energy on a block's mean diagonal; 0 of zeros.
    pub fn share(&self, row: usize, column: usize) -> f64 {
        let mut pattern = Pattern::default();
        pattern.blocks[row.min(1)][column.min(1)] = 1.0;
        self.along(&pattern).abs()
    }

    /// Returns the share of the energy that is on no block's mean diagonal and in no entry beyond the blocks; 0 of
    /// zeros.
    pub fn outside(&self) -> f64 {
        if self.energy > 0.0 {
            1.0 - self.means.dot(&self.means, self.dim) / self.energy
        } else {
            0.0
        }
    }

    fn scaled(mut self, sign: f64) -> Self {
        let Pattern { blocks, corner } = &mut self.means;
        blocks
            .as_flattened_mut()
            .iter_mut()
            .chain(corner.as_flattened_mut())
            .for_each(|x| *x *= sign);
        self
    }
}

/// The construction that a layer is, up to positive scales of P and of Q, with C = alpha I. The layers of TD(0)
/// and of TD(lambda) have one form: what tells them apart is the mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum BlockForm {
    /// Theorem 1's: P has its bottom-right entry alone; Q = \[-I I; 0 0\].
    Td,
    /// The corollary's on one layer: Q = \[-I 0; 0 0\].
    OneLayerTd,
    /// The residual gradient's: Q = \[-I I; I -I\].
    ResidualGradient,
    /// Theorem 2's (eta, c, c'): Q = \[c I 0; c' I 0\], with any c and c'.
    Theorem2,
}

/// P and Q of a layer, by blocks, with the sign that makes P\[2d, 2d\] positive (both negated are the same layer).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct LayerBlocks {
    /// P.
    pub p: Blocks,
    /// Q.
    pub q: Blocks,
}

impl LayerBlocks {
    /// Returns the blocks of a layer for tokens of size K = 2 D + 1.
    pub fn of<const D: usize, const K: usize>(layer: &Layer<impl Real, K>) -> Self {
        crate::transition::check_token_size::<D, K>();
        let p = Blocks::of(D, K, |i, j| layer.p[(i, j)].to_f64());
        LayerBlocks::new(p, Blocks::of(D, K, |i, j| layer.q[(i, j)].to_f64()))
    }

    /// Returns the blocks of P and Q, which are aligned.
    pub fn new(p: Blocks, q: Blocks) -> Self {
        let sign = if p.means.corner[0][0] < 0.0 { -1.0 } else { 1.0 };
        LayerBlocks { p: p.scaled(sign), q: q.scaled(sign) }
    }

    /// Returns the shares of P's and of Q's energy that are a form's.
    pub fn shares(&self, form: BlockForm) -> [f64; 2] {
        let q = match form {
            BlockForm::Td => self.q.along(&Pattern::of_blocks([[-1.0, 1.0], [0.0, 0.0]])),
            BlockForm::OneLayerTd => self.q.along(&Pattern::of_blocks([[-1.0, 0.0], [0.0, 0.0]])),
            BlockForm::ResidualGradient => {
                self.q.along(&Pattern::of_blocks([[-1.0, 1.0], [1.0, -1.0]]))
            }
            BlockForm::Theorem2 => self.q.share(0, 0) + self.q.share(1, 0),
        };
        [self.p.along(&Pattern::CORNER), q]
    }

    /// Returns true if at least [`FORM_SHARE`] of P's energy and of Q's are the form's.
    pub fn has(&self, form: BlockForm) -> bool {
        self.shares(form).iter().all(|share| *share >= FORM_SHARE)
    }

    /// Returns the form that the layer has, if any. The first three exclude each other; Theorem 2's has the
    /// one-layer form as its case c' = 0, which is then named.
    pub fn form(&self) -> Option<BlockForm> {
        let forms = [
            BlockForm::Td,
            BlockForm::OneLayerTd,
            BlockForm::ResidualGradient,
            BlockForm::Theorem2,
        ];
        forms.into_iter().find(|form| self.has(*form))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constructions::{learning_rate, one_layer, residual_gradient, td0};
    use crate::invariant_set::theta_star;
    use crate::rng::Rng;
    use nalgebra::SMatrix;

    type Matrix = SMatrix<f64, 9, 9>;

    fn normal(rng: &mut Rng) -> Matrix {
        Matrix::from_fn(|_, _| rng.normal())
    }

    /// Returns the layer with noise whose energy is a share of that of the sum, in the mean.
    fn perturbed(layer: &Layer<f64, 9>, share: f64, rng: &mut Rng) -> Layer<f64, 9> {
        let mut noisy = |m: &Matrix| {
            let noise = normal(rng);
            m + noise * (m.norm() / noise.norm() * (share / (1.0 - share)).sqrt())
        };
        Layer { p: noisy(&layer.p), q: noisy(&layer.q) }
    }

    #[test]
    fn the_constructions_and_random_layers_are_told_apart_with_noise_and_either_sign() {
        let c = learning_rate::<f64, 4>(0.3);
        let mut rng = Rng::new(1);
        for (layer, form) in [
            (td0::<_, 4, 9>(&c), BlockForm::Td),
            (one_layer(&c), BlockForm::OneLayerTd),
            (residual_gradient(&c), BlockForm::ResidualGradient),
            (theta_star::<f64, 4, 9>(0.5, -1.0, 0.5), BlockForm::Theorem2),
            (theta_star::<f64, 4, 9>(0.5, -1.0, -1.0), BlockForm::Theorem2),
        ] {
            assert_eq!(LayerBlocks::of::<4, 9>(&layer).form(), Some(form));
            let negated = Layer { p: -layer.p, q: -layer.q };
            assert_eq!(LayerBlocks::of::<4, 9>(&negated).form(), Some(form));
            for _ in 0..50 {
                let a_little = perturbed(&layer, 0.04, &mut rng);
                assert_eq!(LayerBlocks::of::<4, 9>(&a_little).form(), Some(form));
                let more = perturbed(&layer, 0.2, &mut rng);
                assert_eq!(LayerBlocks::of::<4, 9>(&more).form(), None);
            }
            // With Q alone negated it goes the other way: c may, too.
            let other = LayerBlocks::of::<4, 9>(&Layer { q: -layer.q, ..layer });
            let may = [BlockForm::OneLayerTd, BlockForm::Theorem2].contains(&form);
            assert_eq!(other.form(), may.then_some(BlockForm::Theorem2));
        }
        for _ in 0..100 {
            let random = Layer { p: normal(&mut rng), q: normal(&mut rng) };
            let blocks = LayerBlocks::of::<4, 9>(&random);
            assert_eq!(blocks.form(), None);
            assert!(blocks.q.outside() > 0.5, "{blocks:?}");
        }
    }

    #[test]
    fn each_block_has_its_mean_its_share_and_its_sign() {
        let layer = theta_star::<f64, 4, 9>(-2.0, -1.0, 0.5);
        let blocks = LayerBlocks::of::<4, 9>(&layer);
        // Both are negated, as P[-1, -1] is negative.
        assert_eq!(blocks.q.means, Pattern::of_blocks([[1.0, 0.0], [-0.5, 0.0]]));
        assert_eq!((blocks.p.means.corner[0][0], blocks.q.energy), (2.0, 5.0));
        assert_eq!((blocks.q.share(0, 0), blocks.q.share(1, 0)), (0.8, 0.2));
        assert_eq!(blocks.q.along(&Pattern::of_blocks([[-1.0, 0.0], [0.0, 0.0]])), -0.8);
        assert_eq!((blocks.q.outside(), blocks.p.outside()), (0.0, 0.0));
        // An even spread of the same mean is not on the diagonal's mean.
        let mut uneven = layer;
        uneven.q[(0, 0)] -= 1.0;
        uneven.q[(1, 1)] += 1.0;
        assert!((LayerBlocks::of::<4, 9>(&uneven).q.outside() - 2.0 / 7.0).abs() < 1e-15);
    }
}
