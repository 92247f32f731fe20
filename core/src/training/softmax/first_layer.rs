//! The first layer of a batch's windows, whose scores are shared.
//!
//! Windows that slide by one have n - 1 tokens in common, and what the first layer makes of a pair of
//! tokens is the same in all: their score, its exponential. So the rows of the scores are made once
//! per token, not once per window: row r against the tokens r - n + 1 to r + n - 1 and against the
//! queries of the windows that it is in. Each window adds its own normalisation u_r of each row,
//! and the products with them,
//!
//! ```text
//! z_c(next) = z_c + sum_r E_rc u_r v_r
//! v-bar_r  += u_r sum_c E_rc x-bar_c      s-bar_rc = E_rc u_r (<v_r, x-bar_c> - mean_r)
//! ```
//!
//! (E are the exponentials; the mean is that of <v_r, x-bar_c> under the weights.) The sum of s-bar_rc
//! over the windows, its factor E_rc, and the products that give P-bar and Q-bar come once per token
//! again, when the last window that contains it has passed.
//!
//! A row has one shift for all windows, its largest score in any of them: a window whose own largest
//! is 2^125 times less has lost its weights to the exponential's lower end.

use super::scores::{PromptColumns, TILE, add_outers, binary};
use crate::entrywise::{Entrywise as _, entrywise};
use crate::layer::Layer;
use crate::linalg::any_size::tiles;
use crate::linalg::arrays::{add, add_scaled, dot, scale, vector};
use crate::linalg::{mul_vector, transpose_mul_vector};
use crate::scalar::{Scalar, kernel};
use crate::training::Windows;
use heapless::Vec;

/// One token's row of the scores, and its adjoints.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ScoreRow<S: Scalar, const K: usize, const N: usize> {
    z: [S; K],
    /// v_r = (1/n) P z_r.
    value: [S; K],
    /// E_rc for the tokens r - n + 1 to r + n - 1.
    exponentials: [[S; 2]; N],
    /// E of window r - j's query, at j.
    query_exponentials: [S; N],
    /// u_r of window r - j, at j.
    normalisation: [S; N],
    /// sum over windows of s-bar_rc / E_rc.
    scores_bar: [[S; 2]; N],
    v_bar: [S; K],
    /// The queries' part of it.
    k_bar: [S; K],
}

entrywise!(
    [S: Scalar, const K: usize, const N: usize] S,
    ScoreRow<S, K, N> {
        z, value, exponentials, query_exponentials, normalisation, scores_bar, v_bar, k_bar
    }
);

/// The first layer, walked through in reverse time: it holds the rows of one window's tokens.
pub(super) struct FirstLayer<S: Scalar, const K: usize, const N: usize> {
    /// The row of token r at r modulo n.
    rows: Vec<ScoreRow<S, K, N>, N>,
    /// The first window that was computed, the last in time.
    last: usize,
}

impl<S: Scalar, const K: usize, const N: usize> FirstLayer<S, K, N> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        FirstLayer { rows: Vec::new(), last: 0 }
    }

    /// Makes the row of token r.
    #[inline(always)]
    fn enter(&mut self, windows: &Windows<S>, layer: &Layer<S, K>, r: usize) {
        let n = windows.context_len();
        let row = &mut self.rows[r % n];
        row.z = windows.column(r).data.0[0];
        let z = vector(row.z);
        let key = binary(&transpose_mul_vector(&layer.q, &z).data.0[0]);
        row.value = mul_vector(&layer.p, &z).data.0[0];
        scale(&mut row.value, S::ONE / S::from_count(n as u64));
        (row.v_bar, row.k_bar) = ([S::ZERO; K], [S::ZERO; K]);

        // Window r - j, its tokens and its query, for j from `first` to `last`.
        let span = [r.saturating_sub(self.last), r.min(n - 1)];
        row.exponentiate_scores(windows, &key, r, span);
        row.scores_bar.as_flattened_mut()[..2 * n - 1].fill(S::ZERO);
        row.normalise(n, span);
    }

    /// Adds what the row of token r has gathered.
    #[inline(always)]
    fn leave(&mut self, windows: &Windows<S>, r: usize, sum: &mut Layer<S, K>) {
        let n = windows.context_len();
        let (first, last) = (r.saturating_sub(self.last), r.min(n - 1));
        let row = &mut self.rows[r % n];
        let scores = row.exponentials.as_flattened().iter().zip(row.scores_bar.as_flattened());
        for (at, (e, bar)) in scores.enumerate().take(2 * n - 1 - first).skip(n - 1 - last) {
            add_scaled(&mut row.k_bar, *e * *bar, &windows.column(r + at + 1 - n).data.0[0]);
        }
        scale(&mut row.v_bar, S::ONE / S::from_count(n as u64));
        add_outers(&mut sum.p.data.0, &[row.v_bar], &[row.z]);
        add_outers(&mut sum.q.data.0, &[row.z], &[row.k_bar]);
    }
}

impl<S: Scalar, const K: usize, const N: usize> ScoreRow<S, K, N> {
    /// Writes the exponentials of token r's scores <key, token> and <key, query> in windows r - `last` to r - `first`, less
    /// the largest score.
    #[inline(always)]
    fn exponentiate_scores(
        &mut self,
        windows: &Windows<S>,
        key: &[S; K],
        r: usize,
        [first, last]: [usize; 2],
    ) {
        let n = windows.context_len();
        let scores = self.exponentials.as_flattened_mut();
        // Token c is at c - r + n - 1.
        let (low, high) = (n - 1 - last, 2 * n - 1 - first);
        let mut shift = dot(key, &self.z);
        for (at, score) in scores.iter_mut().enumerate().take(high).skip(low) {
            *score = dot(key, &windows.column(r + at + 1 - n).data.0[0]);
            shift = shift.max(*score);
        }
        for j in first..=last {
            let score = dot_query(key, windows, r - j);
            self.query_exponentials[j] = score;
            shift = shift.max(score);
        }
        for score in &mut scores[low..high] {
            *score = (*score - shift).exp2();
        }
        for score in &mut self.query_exponentials[first..=last] {
            *score = (*score - shift).exp2();
        }
    }

    /// Writes one over each window's sum of exponentials: of the tokens after r, in reverse windows; then of r and those
    /// before it.
    #[inline(always)]
    fn normalise(&mut self, n: usize, [first, last]: [usize; 2]) {
        let scores = self.exponentials.as_flattened();
        let mut total = S::ZERO;
        for j in (first..n).rev() {
            if j + 1 < n {
                total += scores[2 * n - 2 - j];
            }
            self.normalisation[j] = total + self.query_exponentials[j];
        }
        let mut total = S::ZERO;
        for j in 0..=last {
            total += scores[n - 1 - j];
            if j >= first {
                self.normalisation[j] = S::ONE / (self.normalisation[j] + total);
            }
        }
    }
}

kernel! {
    /// Writes the second layer's input for window t: any at first (of at most N context columns), then the one before.
    pub(super) fn forward as Forward<'a, S: Scalar, const K: usize, const N: usize>(
        first_layer: &'a mut FirstLayer<S, K, N>,
        windows: &'a Windows<'a, S>,
        layer: &'a Layer<S, K>,
        t: usize,
        next: &'a mut PromptColumns<S, K, N>,
    ) {
        let n = windows.context_len();
        let is_first = first_layer.rows.is_empty();
        if is_first {
            let _ = first_layer.rows.resize(n, ScoreRow::ZERO);
            first_layer.last = t;
        }
        for r in t..if is_first { t + n } else { t + 1 } {
            first_layer.enter(windows, layer, r);
        }
        next.query = windows.at(t).query_column().data.0[0];
        let mut r = t;
        tiles!(r < t + n, T in [TILE, 1], {
            let mut values = [[S::ZERO; K]; T];
            let mut exponentials = [[].as_slice(); T];
            for i in 0..T {
                let (row, j) = (&first_layer.rows[(r + i) % n], r + i - t);
                values[i] = row.value;
                scale(&mut values[i], row.normalisation[j]);
                add_scaled(&mut next.query, row.query_exponentials[j], &values[i]);
                exponentials[i] = &row.exponentials.as_flattened()[n - 1 - j..][..n];
            }
            for (c, column) in next.context[..n].iter_mut().enumerate() {
                // The residual: the layer's output starts from its input.
                let mut sum = if r == t { first_layer.rows[(t + c) % n].z } else { *column };
                for i in 0..T {
                    add_scaled(&mut sum, exponentials[i][c], &values[i]);
                }
                *column = sum;
            }
        });
    }
}

kernel! {
    /// Takes the adjoints x-bar of the second layer's input for window t; `sum` += the parameters'
    /// adjoints from the tokens that no earlier window contains.
    pub(super) fn backward as Backward<'a, S: Scalar, const K: usize, const N: usize>(
        first_layer: &'a mut FirstLayer<S, K, N>,
        windows: &'a Windows<'a, S>,
        t: usize,
        x_bar: &'a PromptColumns<S, K, N>,
        sum: &'a mut Layer<S, K>,
    ) {
        let n = windows.context_len();
        let query = windows.at(t).query_column::<K>().data.0[0];
        let mut r = t;
        tiles!(r < t + n, T in [TILE, 1], {
            let mut slots = [0; T];
            for i in 0..T {
                slots[i] = (r + i) % n;
            }
            let Ok(rows) = first_layer.rows.get_disjoint_mut(slots) else { return };
            let mut v_bars = [[S::ZERO; K]; T];
            let mut exponentials = [[].as_slice(); T];
            for (i, row) in rows.iter().enumerate() {
                exponentials[i] = &row.exponentials.as_flattened()[n - 1 - (r + i - t)..][..n];
            }
            for (c, x_bar) in x_bar.context[..n].iter().enumerate() {
                for i in 0..T {
                    add_scaled(&mut v_bars[i], exponentials[i][c], x_bar);
                }
            }
            let (mut values, mut means) = ([[S::ZERO; K]; T], [S::ZERO; T]);
            let mut scores_bar = [const { [].as_mut_slice() }; T];
            for (i, row) in rows.into_iter().enumerate() {
                let (j, v_bar) = (r + i - t, &mut v_bars[i]);
                let (u, e_q) = (row.normalisation[j], row.query_exponentials[j]);
                add_scaled(v_bar, e_q, &x_bar.query);
                scale(v_bar, u);
                add(&mut row.v_bar, v_bar);
                values[i] = row.value;
                scale(&mut values[i], u);
                // u_r sum_c A_rc <v_r, x-bar_c>
                means[i] = dot(&values[i], v_bar);
                let of_query = e_q * (dot(&values[i], &x_bar.query) - means[i]);
                add_scaled(&mut row.k_bar, of_query, &query);
                scores_bar[i] = &mut row.scores_bar.as_flattened_mut()[n - 1 - j..][..n];
            }
            for (c, x_bar) in x_bar.context[..n].iter().enumerate() {
                for i in 0..T {
                    scores_bar[i][c] += dot(&values[i], x_bar) - means[i];
                }
            }
        });
        let first = if t == 0 { 0 } else { t + n - 1 };
        for r in first..t + n {
            first_layer.leave(windows, r, sum);
        }
    }
}

#[inline(always)]
fn dot_query<S: Scalar, const K: usize>(key: &[S; K], windows: &Windows<S>, t: usize) -> S {
    let query = windows.at(t).query();
    let mut sum = key[0] * query[0];
    for (key, query) in key[1..K / 2].iter().zip(&query[1..]) {
        sum += *key * *query;
    }
    sum
}
