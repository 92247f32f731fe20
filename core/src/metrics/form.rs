//! Judges the form of a layer's parameters: block by block, which construction P and Q are, up to a scale; and element by
//! element, whether they have Theorem 1's form.

use crate::layer::Layer;
use crate::scalar::Real;

/// The largest distance ([`LayerBlocks::distances`]) from a form that P or Q has. The forms differ by 1 in a block.
pub const FORM_DISTANCE: f64 = 0.5;

/// A (K, K) matrix whose four (d, d) blocks are multiples of I, with any entries in the corner beyond them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pattern {
    /// The means in the blocks of phi and phi', row by row: \[\[upper left, upper right\], \[lower left, lower right\]\].
    pub blocks: [[f64; 2]; 2],
    /// The entries in rows and columns beyond 2 d, of the reward and, with two heads, of the memory; 0 if
    /// they do not exist.
    pub corner: [[f64; 2]; 2],
}

impl Pattern {
    /// Q of Theorem 1: \[-I I; 0 0\]. TD(0) and TD(lambda) have one form: what tells them apart is the mask.
    pub const TD: Self = Pattern::from_blocks([[-1.0, 1.0], [0.0, 0.0]]);

    /// Q of the corollary on one layer: \[-I 0; 0 0\].
    pub const ONE_LAYER_TD: Self = Pattern::from_blocks([[-1.0, 0.0], [0.0, 0.0]]);

    /// Q of the residual gradient: \[-I I; I -I\].
    pub const RESIDUAL_GRADIENT: Self = Pattern::from_blocks([[-1.0, 1.0], [1.0, -1.0]]);

    /// Multiples of I in the four blocks.
    pub const fn from_blocks(blocks: [[f64; 2]; 2]) -> Self {
        Pattern { blocks, corner: [[0.0; 2]; 2] }
    }

    fn from_entries(d: usize, k: usize, entry: impl Fn(usize, usize) -> f64) -> Self {
        let mut means = Pattern::default();
        for i in 0..k {
            for j in 0..k {
                let x = entry(i, j);
                if i < 2 * d && j < 2 * d {
                    if i % d == j % d {
                        means.blocks[i / d][j / d] += x / d as f64;
                    }
                } else if let (Some(row), Some(column)) =
                    (i.checked_sub(2 * d), j.checked_sub(2 * d))
                {
                    means.corner[row.min(1)][column.min(1)] += x;
                }
            }
        }
        means
    }
}

/// P and Q of a layer, by blocks, with the sign that makes P\[2d, 2d\] positive (both negated are the same layer).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LayerBlocks {
    /// The blocks of P.
    pub p: Pattern,
    /// The blocks of Q.
    pub q: Pattern,
}

impl LayerBlocks {
    /// Returns the blocks of two (k, k) matrices with 2 d + 1 <= k <= 2 d + 2, given by their entries (row, column).
    pub fn from_entries(d: usize, k: usize, entries: [impl Fn(usize, usize) -> f64; 2]) -> Self {
        let sign = if entries[0](2 * d, 2 * d) < 0.0 { -1.0 } else { 1.0 };
        let [p, q] = entries.map(|of| Pattern::from_entries(d, k, |i, j| sign * of(i, j)));
        LayerBlocks { p, q }
    }

    /// Returns how far the blocks are from a construction's, which does not depend on d: the largest block of P over
    /// P\[2d, 2d\], and the largest difference between Q's blocks, over the absolute value of the upper left one, and a
    /// pattern's whose upper left one is -1. Not finite if P's entry, or Q's block, is 0.
    pub fn distances(&self, q: &Pattern) -> [f64; 2] {
        [
            (&self.p, self.p.corner[0][0], &Pattern::default()),
            (&self.q, self.q.blocks[0][0].abs(), q),
        ]
        .map(|(of, unit, form)| {
            let pairs = of.blocks.iter().flatten().zip(form.blocks.iter().flatten());
            let differences = pairs.map(|(x, form)| (x - unit * form).abs());
            // NaN propagates.
            let largest = differences
                .fold(0.0, |most: f64, x| if most.is_nan() || most >= x { most } else { x });
            largest / unit
        })
    }
}

/// The element-wise metrics of one layer on tokens of size K = 2 d + 1, unscaled, of parameters that are both negated if
/// P\[-1, -1\] is negative: as P and Q only act as a product, training converges to either (P, Q) or (-P, -Q).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ElementwiseMetrics {
    /// The sign, 1 or -1, that multiplied P and Q.
    pub sign: f64,
    /// P\[-1, -1\]: the one entry that Theorem 1 has in P.
    pub p_bottom_right: f64,
    /// The mean absolute value of P's other entries.
    pub p_avg_abs_others: f64,
    /// The trace of Q's upper-left (d, d) block, -alpha d under Theorem 1 with C = alpha I.
    pub q_trace_upper_left: f64,
    /// The trace of Q's upper-right (d, d) block (without the last column); alpha d after TD.
    pub q_trace_upper_right: f64,
    /// The mean absolute value of Q's other K^2 - 2 d entries. (The authors' code subtracts the signed traces from the
    /// sum of all absolute values, so that its number is not 0 on Theorem 1's Q.)
    pub q_avg_abs_others: f64,
}

impl ElementwiseMetrics {
    /// Returns the metrics of a layer.
    pub fn from_layer<R: Real, const K: usize>(layer: &Layer<R, K>) -> Self {
        Self::from_columns(K, layer.p.data.0.as_flattened(), layer.q.data.0.as_flattened())
    }

    /// Returns the metrics of P and Q given column by column, (k, k) numbers each; missing ones are 0. They are summed in
    /// the type of these numbers.
    pub fn from_columns<R: Real>(k: usize, p: &[R], q: &[R]) -> Self {
        let d = k.saturating_sub(1) / 2;
        let entry = |m: &[R], i: usize, j: usize| m.get(j * k + i).copied().unwrap_or(R::ZERO);
        let last = k.saturating_sub(1);
        let sign = if entry(p, last, last) < R::ZERO { -R::ONE } else { R::ONE };
        let count = |n: usize| R::from_count(n as u64);
        let (mut p_others, mut q_others) = (R::ZERO, R::ZERO);
        let (mut upper_left, mut upper_right) = (R::ZERO, R::ZERO);
        for i in 0..k {
            for j in 0..k {
                let (p, q) = (sign * entry(p, i, j), sign * entry(q, i, j));
                if (i, j) != (last, last) {
                    p_others += p.abs();
                }
                if i < d && j == i {
                    upper_left += q;
                } else if i < d && j == d + i {
                    upper_right += q;
                } else {
                    q_others += q.abs();
                }
            }
        }
        ElementwiseMetrics {
            sign: sign.to_f64(),
            p_bottom_right: (sign * entry(p, last, last)).to_f64(),
            p_avg_abs_others: (p_others / count((k * k).saturating_sub(1).max(1))).to_f64(),
            q_trace_upper_left: upper_left.to_f64(),
            q_trace_upper_right: upper_right.to_f64(),
            q_avg_abs_others: (q_others / count((k * k).saturating_sub(2 * d).max(1))).to_f64(),
        }
    }
}
