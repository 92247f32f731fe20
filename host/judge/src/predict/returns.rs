//! The return of each row, which is known some time after the row.

/// A return counts as known once the weight gamma^k of its unseen rest is at most this.
pub const KNOWN: f64 = 1e-3;
/// A return is final once the weight of its unseen rest is at most this, or the stream has ended.
const FINAL: f64 = 1e-16;
/// The smallest number of rows that are settled at a time.
const BLOCK: usize = 4096;

/// Rows whose returns are not final, with their predictions.
pub struct Returns {
    gamma: f64,
    /// The number of steps after which a return is known.
    pub horizon: usize,
    /// The number of steps after which it is final.
    lookahead: usize,
    width: usize,
    rows: Vec<PendingRow>,
    /// (rows, width).
    predictions: Vec<f32>,
}

struct PendingRow {
    row: u64,
    value: f64,
    is_followed: bool,
}

pub struct Settled<'a> {
    pub row: u64,
    pub value: f64,
    /// G_t, the discounted sum of the next values, if it is known.
    pub realised_return: Option<f32>,
    pub predictions: &'a [f32],
}

/// Returns the fewest steps k with gamma^k of at most this weight.
fn steps(gamma: f64, weight: f64) -> usize {
    let (mut k, mut left) = (0, 1.0);
    while left > weight {
        (k, left) = (k + 1, left * gamma);
    }
    k
}

impl Returns {
    pub fn new(gamma: f64, width: usize) -> Self {
        Returns {
            gamma,
            horizon: steps(gamma, KNOWN),
            lookahead: steps(gamma, FINAL),
            width,
            rows: Vec::new(),
            predictions: Vec::new(),
        }
    }

    /// Returns an upper bound, in bytes, on the memory for `rows` more rows and the pending output: they may move to a
    /// place twice as large, and a number has at most 16 characters.
    pub fn most_bytes(&self, rows: usize) -> u64 {
        let of_row = 2 * size_of::<PendingRow>() + (2 * size_of::<f32>() + 16) * self.width;
        ((self.rows.len() + rows) * of_row) as u64
    }

    pub fn push(&mut self, row: u64, value: f64, follows: bool, predictions: &[f32]) {
        debug_assert_eq!(predictions.len(), self.width);
        if let Some(pending) = self.rows.last_mut() {
            pending.is_followed = follows;
        }
        self.rows.push(PendingRow { row, value, is_followed: false });
        self.predictions.extend_from_slice(predictions);
    }

    /// Passes the rows whose returns are final to `show`, if they are many; all rows at the end of the stream.
    pub fn settle(&mut self, is_end: bool, mut show: impl FnMut(Settled)) {
        let ready = self.rows.len().saturating_sub(if is_end { 0 } else { self.lookahead });
        if !is_end && ready < BLOCK.max(self.lookahead) {
            return;
        }
        // Backwards: G_t = x_{t+1} + gamma G_{t+1}, and the number of steps seen of it.
        let mut returns = vec![None; ready];
        let (mut sum, mut seen, mut next) = (0.0, 0_usize, 0.0);
        for (i, pending) in self.rows.iter().enumerate().rev() {
            // Where no row follows, the last value is repeated, so that adding a constant to all values adds its return.
            (sum, seen) = match pending.is_followed {
                true => (next + self.gamma * sum, seen + 1),
                false => (pending.value / (1.0 - self.gamma), 0),
            };
            next = pending.value;
            if i < ready && seen >= self.horizon {
                returns[i] = Some(sum as f32);
            }
        }
        let rows = self.rows.drain(..ready).zip(returns);
        for ((pending, realised_return), predictions) in
            rows.zip(self.predictions.chunks(self.width))
        {
            show(Settled { row: pending.row, value: pending.value, realised_return, predictions });
        }
        self.predictions.drain(..ready * self.width);
    }
}
