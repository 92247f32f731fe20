//! Element-wise convergence metrics: whether P and Q have Theorem 1's form.

use crate::layer::Layer;
use crate::scalar::Real;

/// The element-wise metrics of one layer on tokens of size K = 2 d + 1, unscaled, of parameters that are both negated if
/// P\[-1, -1\] is negative: as P and Q only act as a product, training converges to either (P, Q) or (-P, -Q).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ElementwiseMetrics<R: Real> {
    /// The sign, 1 or -1, that multiplied P and Q.
    pub sign: R,
    /// P\[-1, -1\]: the one entry that Theorem 1 has in P.
    pub p_bottom_right: R,
    /// The mean absolute value of P's other entries.
    pub p_avg_abs_others: R,
    /// The trace of Q's upper-left (d, d) block, -alpha d under Theorem 1 with C = alpha I.
    pub q_trace_upper_left: R,
    /// The trace of Q's upper-right (d, d) block (without the last column); alpha d after TD.
    pub q_trace_upper_right: R,
    /// The mean absolute value of Q's other K^2 - 2 d entries. (The authors' code subtracts the signed traces from the
    /// sum of all absolute values, so that its number is not 0 on Theorem 1's Q.)
    pub q_avg_abs_others: R,
}

impl<R: Real> ElementwiseMetrics<R> {
    /// Returns the metrics of a layer.
    pub fn from_layer<const K: usize>(layer: &Layer<R, K>) -> Self {
        Self::from_columns(K, layer.p.data.0.as_flattened(), layer.q.data.0.as_flattened())
    }

    /// Returns the metrics of P and Q given column by column, (k, k) numbers each; missing ones are 0.
    pub fn from_columns(k: usize, p: &[R], q: &[R]) -> Self {
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
            sign,
            p_bottom_right: sign * entry(p, last, last),
            p_avg_abs_others: p_others / count((k * k).saturating_sub(1).max(1)),
            q_trace_upper_left: upper_left,
            q_trace_upper_right: upper_right,
            q_avg_abs_others: q_others / count((k * k).saturating_sub(2 * d).max(1)),
        }
    }

    /// Returns the metrics in `f64`.
    pub fn to_f64(self) -> ElementwiseMetrics<f64> {
        ElementwiseMetrics {
            sign: self.sign.to_f64(),
            p_bottom_right: self.p_bottom_right.to_f64(),
            p_avg_abs_others: self.p_avg_abs_others.to_f64(),
            q_trace_upper_left: self.q_trace_upper_left.to_f64(),
            q_trace_upper_right: self.q_trace_upper_right.to_f64(),
            q_avg_abs_others: self.q_avg_abs_others.to_f64(),
        }
    }
}
