//! The scores of a stream: errors of its predictions divided by the variance of the returns.

use super::returns::{KNOWN, Settled};
use super::{ALARM, UNJUDGED};
use ictd_core::rng::Rng;
use ictd_core::scalar::Real;

/// A variance below this share of the squared mean is rounding in single precision.
const ROUNDING: f64 = 1e-13;
/// Errors are summed in up to twice this number of blocks, which are then joined in pairs.
const BLOCKS: usize = 32;
const RESAMPLES: usize = 400;

#[derive(Clone, Debug, Default)]
struct Block {
    rows: u64,
    /// sum G_t.
    sum: f64,
    /// sum (prediction - G_t)^2 of each candidate, and at the end sum G_t^2.
    squares: Vec<f64>,
}

impl Block {
    fn joined(pair: &[Self]) -> Self {
        let squares = pair[0].squares.iter().zip(&pair[1].squares);
        Block {
            rows: pair[0].rows + pair[1].rows,
            sum: pair[0].sum + pair[1].sum,
            squares: squares.map(|(a, b)| a + b).collect(),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct ForecastScore {
    pub rows: u64,
    pub gaps: u64,
    /// Rows of which it is settled whether their return is known.
    settled: u64,
    pub judged: u64,
    /// Scored rows with a finite band of the predictor, and those whose return lies in it.
    pub banded: u64,
    pub in_band: u64,
    /// Rows that surprised the predictor by more than [`ALARM`].
    pub alarms: u64,
    pub range: Option<(f64, f64)>,
    /// The longest stretch of rows without a gap, and the current one.
    pub longest: u64,
    stretch: u64,
    mean: f64,
    /// sum (G_t - mean)^2.
    squares: f64,
    /// sum (prediction - G_t)^2 of each candidate.
    squared_errors: Vec<f64>,
    block: u64,
    blocks: Vec<Block>,
}

impl ForecastScore {
    /// Returns empty scores of `candidates` candidates, with blocks of one horizon.
    pub(super) fn new(candidates: usize, gamma: f64) -> Self {
        let block = (1.0 / (1.0 - gamma)).ceil() as u64;
        ForecastScore { squared_errors: vec![0.0; candidates], block, ..ForecastScore::default() }
    }

    pub(super) fn see(&mut self, value: f64, follows: bool) {
        self.rows += 1;
        self.stretch = if follows { self.stretch + 1 } else { 1 };
        self.longest = self.longest.max(self.stretch);
        let (low, high) = self.range.unwrap_or((value, value));
        self.range = Some((low.min(value), high.max(value)));
    }

    pub(super) fn take(&mut self, settled: &Settled) {
        let Some((_, &[low, high, surprise])) = settled.predictions.split_last_chunk() else {
            return;
        };
        self.alarms += u64::from(surprise > ALARM);
        self.settled += 1;
        let judged = settled.realised_return.filter(|_| self.settled > UNJUDGED);
        let Some(realised) = judged else { return };
        let has_ends = low.is_finite() && high.is_finite();
        self.banded += u64::from(has_ends);
        let [realised, low, high] = [realised, low, high].map(f64::from);
        self.judged += 1;
        let deviation = realised - self.mean;
        self.mean += deviation / self.judged as f64;
        self.squares += deviation * (realised - self.mean);
        // No return is known better than this.
        let known = KNOWN * self.standard_deviation();
        let is_inside = low - known <= realised && realised <= high + known;
        self.in_band += u64::from(has_ends && is_inside);
        if self.blocks.last().is_none_or(|block| block.rows == self.block) {
            if self.blocks.len() == 2 * BLOCKS {
                self.block *= 2;
                self.blocks = self.blocks.chunks_exact(2).map(Block::joined).collect();
            }
            let squares = vec![0.0; self.squared_errors.len() + 1];
            self.blocks.push(Block { squares, ..Block::default() });
        }
        let Some(block) = self.blocks.last_mut() else { return };
        block.rows += 1;
        block.sum += realised;
        let sums = self.squared_errors.iter_mut().zip(&mut block.squares);
        for ((sum, of_block), prediction) in sums.zip(settled.predictions) {
            let error = f64::from(*prediction) - realised;
            *sum += error * error;
            *of_block += error * error;
        }
        if let Some(squares) = block.squares.last_mut() {
            *squares += realised * realised;
        }
    }

    /// Returns mean (prediction - G_t)^2 / variance of G_t for each candidate; `None` if it is not finite, as for constant
    /// returns.
    pub fn normalised_errors(&self) -> Vec<Option<f64>> {
        let deviation = self.standard_deviation();
        let squares = deviation * deviation * self.judged as f64;
        let share = |sum: &f64| Some(sum / squares).filter(|x| x.is_finite());
        self.squared_errors.iter().map(share).collect()
    }

    /// Returns the standard deviation of the returns; 0 if they never changed.
    pub fn standard_deviation(&self) -> f64 {
        let variance = self.squares / self.judged as f64;
        // The last returns of a constant signal are known only to that relative precision.
        let is_constant = self.range.is_some_and(|(low, high)| low == high);
        let least = if is_constant { KNOWN * KNOWN } else { ROUNDING };
        if variance > least * self.mean * self.mean { variance.sqrt() } else { 0.0 }
    }

    /// Returns the squared error in a block of a candidate or, for `None`, of predicting the mean of all returns.
    fn error_in(&self, block: &Block, candidate: Option<usize>) -> f64 {
        match candidate {
            Some(at) => block.squares[at],
            None => {
                let squares = block.squares.last().copied().unwrap_or(0.0);
                squares - self.mean * (2.0 * block.sum - self.mean * block.rows as f64)
            }
        }
    }
}

/// Returns the 90 % interval of ln(error of a / error of b), with the mean of the returns for `None`, averaged over streams, by
/// a bootstrap of blocks of at least one horizon; each resample takes the same parts of all streams.
pub fn log_ratio_interval(scores: &[&ForecastScore], a: usize, b: Option<usize>) -> [f64; 2] {
    let mut rng = Rng::new(0);
    let mut ratios = Vec::with_capacity(RESAMPLES);
    let most = scores.iter().map(|score| score.blocks.len()).max().unwrap_or(0);
    for _ in 0..RESAMPLES {
        let draws: Vec<f64> = (0..most).map(|_| rng.uniform::<f64>()).collect();
        let log_ratio = |score: &&ForecastScore| {
            let count = score.blocks.len();
            let [mut of_a, mut of_b] = [0.0; 2];
            for draw in &draws[..count] {
                let block = &score.blocks[(draw * count as f64) as usize];
                of_a += score.error_in(block, Some(a));
                of_b += score.error_in(block, b);
            }
            <f64 as Real>::ln(of_a / of_b)
        };
        let mean = scores.iter().map(log_ratio).sum::<f64>() / scores.len() as f64;
        ratios.push(mean);
    }
    ratios.sort_by(f64::total_cmp);
    [0.05, 0.95].map(|share| ratios[(share * (RESAMPLES - 1) as f64) as usize])
}
