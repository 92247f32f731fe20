//! Baselines: forecasts from a series' own past, each with one standard setting.

use compute::level::with_best_instructions;
use ictd_core::scalar::Kernel;
use std::collections::VecDeque;

/// The weights of the newest value and of the newest step in Holt's level and trend.
const HOLT: [f64; 2] = [0.3, 0.1];
/// The retention of recursive least squares per value.
const RETENTION: f64 = 0.998;
/// The ridge of least squares, in squares of the unit.
const RIDGE: f64 = 0.01;
/// Forgetting pauses while the trace of the inverse is at least 1 over this ridge.
const LEAST_RIDGE: f64 = 1e-5;

/// The stability of an autoregression is tested after each of so many values; its weights change little between them.
const TESTED: usize = 8;

pub(super) enum SeriesForecaster {
    /// Persistence: forecasts the latest value.
    Latest(f64),
    /// Forecasts the exponential average, in which the newest value has weight 1 - gamma.
    Average(Option<f64>),
    /// Extrapolates Holt's linear trend: level and trend.
    Holt(Option<[f64; 2]>),
    /// 8 lags and a constant.
    Autoregression(Box<Autoregression<9>>),
    /// 32 lags and a constant.
    LongAutoregression(Box<Autoregression<33>>),
    Seasonal {
        period: usize,
        values: VecDeque<f64>,
    },
}

impl SeriesForecaster {
    /// Observes the next value; a missing one changes nothing, but counts towards a period.
    pub(super) fn observe(&mut self, value: Option<f64>, gamma: f64) {
        match (self, value) {
            (SeriesForecaster::Seasonal { period, values }, _) => {
                let is_full = values.len() == *period;
                let before = if is_full { values.pop_front() } else { values.back().copied() };
                values.extend(value.or(before));
            }
            (_, None) => {}
            (SeriesForecaster::Latest(latest), Some(x)) => *latest = x,
            (SeriesForecaster::Average(average), Some(x)) => {
                let before = average.unwrap_or(x);
                *average = Some(before + (1.0 - gamma) * (x - before));
            }
            (SeriesForecaster::Holt(state), Some(x)) => {
                let [level, trend] = state.unwrap_or([x, 0.0]);
                let expected = level + trend;
                let now = expected + HOLT[0] * (x - expected);
                *state = Some([now, trend + HOLT[1] * (now - level - trend)]);
            }
            (SeriesForecaster::Autoregression(model), Some(x)) => model.observe(x),
            (SeriesForecaster::LongAutoregression(model), Some(x)) => model.observe(x),
        }
    }

    /// Returns the discounted sum of the forecasts, sum_k gamma^k x_{t+1+k}.
    pub(super) fn discounted_sum(&mut self, gamma: f64) -> f64 {
        let horizon = 1.0 - gamma;
        match self {
            SeriesForecaster::Latest(x) => *x / horizon,
            SeriesForecaster::Average(average) => average.unwrap_or(0.0) / horizon,
            SeriesForecaster::Holt(state) => {
                let [level, trend] = state.unwrap_or_default();
                level / horizon + trend / (horizon * horizon)
            }
            SeriesForecaster::Autoregression(model) => model.mean(gamma) / horizon,
            SeriesForecaster::LongAutoregression(model) => model.mean(gamma) / horizon,
            SeriesForecaster::Seasonal { period, values } if values.len() == *period => {
                let (mut sum, mut weight) = (0.0, 1.0);
                for x in values {
                    sum += weight * *x;
                    weight *= gamma;
                }
                sum / (1.0 - weight)
            }
            SeriesForecaster::Seasonal { values, .. } => values.back().unwrap_or(&0.0) / horizon,
        }
    }
}

/// x_{t+1} = c + sum_i phi_i x_{t+1-i}, by recursive least squares with forgetting; it starts as persistence. It has N - 1 lags,
/// and the constant as the last regressor.
pub(super) struct Autoregression<const N: usize> {
    latest: f64,
    /// The latest values, the newest first, normalised once the unit is known; and 1.
    regressors: [f64; N],
    seen: usize,
    /// The mean and standard deviation of the first values, which normalise all values; 0 before they are known.
    centre: f64,
    unit: f64,
    range: [f64; 2],
    /// phi and c.
    weights: [f64; N],
    /// The inverse of the regressors' second-moment matrix; it is symmetric.
    inverse: [[f64; N]; N],
    /// Whether the discounted forecasts decay, as far as was tested.
    is_stable: bool,
}

/// Learns that the regressors were followed by a value, with the vector instructions that are there.
struct Learn<'a, const N: usize>(&'a mut Autoregression<N>, f64);

impl<const N: usize> Kernel for Learn<'_, N> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.0.learn(self.1);
    }
}

impl<const N: usize> Autoregression<N> {
    const LAGS: usize = N - 1;

    pub(super) fn new() -> Self {
        let [mut weights, mut regressors] = [[0.0; N]; 2];
        (weights[0], regressors[Self::LAGS]) = (1.0, 1.0);
        Autoregression {
            latest: 0.0,
            regressors,
            seen: 0,
            centre: 0.0,
            unit: 0.0,
            range: [f64::INFINITY, f64::NEG_INFINITY],
            weights,
            inverse: Self::first_inverse(),
            is_stable: true,
        }
    }

    fn first_inverse() -> [[f64; N]; N] {
        let mut inverse = [[0.0; N]; N];
        (0..N).for_each(|i| inverse[i][i] = 1.0 / RIDGE);
        inverse
    }

    fn observe(&mut self, x: f64) {
        if self.unit == 0.0 && self.seen >= Self::LAGS {
            let first = &mut self.regressors[..Self::LAGS];
            let mean = |x: &mut dyn Iterator<Item = f64>| x.sum::<f64>() / Self::LAGS as f64;
            let centre = mean(&mut first.iter().copied());
            let unit = mean(&mut first.iter().map(|x| (x - centre) * (x - centre))).sqrt();
            if unit > 0.0 {
                first.iter_mut().for_each(|x| *x = (*x - centre) / unit);
            }
            (self.centre, self.unit) = (centre, unit);
        }
        let mut regressor = x;
        if self.unit > 0.0 {
            regressor = (x - self.centre) / self.unit;
            with_best_instructions(Learn(self, regressor));
        }
        self.regressors.copy_within(..Self::LAGS - 1, 1);
        self.regressors[0] = regressor;
        self.latest = x;
        self.seen += 1;
        self.range = [self.range[0].min(x), self.range[1].max(x)];
    }

    #[inline(always)]
    fn learn(&mut self, x: f64) {
        let phi = self.regressors;
        let known: f64 = (0..N).map(|i| self.inverse[i][i]).sum();
        // Without data in some direction, forgetting would let the inverse grow without bound.
        let retention = if known < 1.0 / LEAST_RIDGE { RETENTION } else { 1.0 };
        // Row by row, as the sums of a column do not wait for each other.
        let mut gain = [0.0; N];
        for (row, x) in self.inverse.iter().zip(phi) {
            gain.iter_mut().zip(row).for_each(|(g, p)| *g += p * x);
        }
        let size = retention + dot(&gain, &phi);
        // Rounding may have made the inverse useless.
        if size.is_nan() || size < retention {
            self.inverse = Self::first_inverse();
            return;
        }
        let step = (x - dot(&self.weights, &phi)) / size;
        self.weights.iter_mut().zip(gain).for_each(|(w, g)| *w += g * step);
        // A product of equal factors keeps the inverse symmetric.
        let (growth, scale) = (1.0 / retention, (1.0 / (size * retention)).sqrt());
        let gain = gain.map(|g| g * scale);
        for (row, share) in self.inverse.iter_mut().zip(gain) {
            row.iter_mut().zip(gain).for_each(|(p, g)| *p = *p * growth - share * g);
        }
    }

    /// Returns (1 - gamma) times the discounted sum S of the iterated forecasts, within the range of the values seen.
    ///
    /// S (1 - sum_i phi_i gamma^i) = c / (1 - gamma) + sum_i phi_i K_i, where K_i = x_{t+1-i} + gamma K_{i-1} sums known
    /// values. If the iteration grows faster than the discount falls, returns the latest value.
    fn mean(&mut self, gamma: f64) -> f64 {
        let phi = &self.regressors;
        let (mut known, mut power, mut left) = (0.0, 1.0, 1.0);
        let mut sum = self.weights[Self::LAGS] / (1.0 - gamma);
        let mut discounted = [0.0; N];
        for i in 0..Self::LAGS {
            known = phi[i] + gamma * known;
            power *= gamma;
            sum += self.weights[i] * known;
            discounted[i] = self.weights[i] * power;
            left -= discounted[i];
        }
        if self.seen.is_multiple_of(TESTED) {
            self.is_stable = is_stable(discounted);
        }
        if self.unit == 0.0 || !self.is_stable {
            return self.latest;
        }
        let [low, high] = self.range;
        (self.centre + self.unit * (1.0 - gamma) * sum / left).max(low).min(high)
    }
}

/// Returns true if x_t = sum_i a_i x_{t-i} decays: its reflection coefficients, by Levinson's recursion backwards, are all
/// below 1 in absolute value.
fn is_stable<const N: usize>(mut a: [f64; N]) -> bool {
    for last in (0..N - 1).rev() {
        let k = a[last];
        if k.is_nan() || k.abs() >= 1.0 {
            return false;
        }
        let (mut before, scale) = (a, 1.0 / (1.0 - k * k));
        before[..last].reverse();
        a[..last].iter_mut().zip(before).for_each(|(a, b)| *a = (*a + k * b) * scale);
    }
    true
}

#[inline(always)]
fn dot<const N: usize>(x: &[f64; N], y: &[f64; N]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}
