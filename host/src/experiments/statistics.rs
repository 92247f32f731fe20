//! Summary statistics over seeds or tasks.

use crate::run::report::number;
use ictd_core::rng::Rng;
use serde::Serialize;

/// Returns the mean and its standard error, std(ddof = 1) / sqrt(count), summed in order; one value has no known error: NaN.
pub fn mean_and_stderr(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let (count, sum) = values.clone().fold((0.0, 0.0), |(count, sum), x| (count + 1.0, sum + x));
    let mean = sum / count;
    let squares = values.fold(0.0, |sum, x| sum + (x - mean) * (x - mean));
    (mean, (squares / (count - 1.0)).sqrt() / count.sqrt())
}

pub fn with_error((mean, stderr): (f64, f64)) -> String {
    let error = if stderr.is_nan() {
        "with an unknown error".into()
    } else {
        format!("± {}", number(stderr, 3))
    };
    format!("{} {error}", number(mean, 3))
}

/// Returns lower quartile, median and upper quartile, by linear interpolation; NaN without values.
pub fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.retain(|x| x.is_finite());
    values.sort_by(f64::total_cmp);
    [0.25, 0.5, 0.75].map(|share| {
        let Some(last) = values.len().checked_sub(1) else { return f64::NAN };
        let place = share * last as f64;
        let below = place as usize;
        let above = (below + 1).min(last);
        values[below] + (place - below as f64) * (values[above] - values[below])
    })
}

pub fn spread(values: &[f64]) -> String {
    let text = |x: f64| {
        let size = x.abs();
        let hidden = size >= 1e5 || (size > 0.0 && size < 1e-3);
        if hidden { format!("{x:.1e}") } else { format!("{x:.3}") }
    };
    let [lower, median, upper] = quartiles(values.to_vec()).map(text);
    format!("{median} ({lower} to {upper})")
}

/// A statistic of a sample, with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    pub estimate: f64,
    pub low: f64,
    pub high: f64,
}

impl Interval {
    /// Returns the estimate and the ends; NaN if the statistic of a resample was.
    pub fn numbers(self) -> [f64; 3] {
        [self.estimate, self.low, self.high]
    }
}

impl std::fmt::Display for Interval {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let decimals = f.precision().unwrap_or(3);
        let Interval { estimate, low, high } = self;
        write!(f, "{estimate:.decimals$} [{low:.decimals$}, {high:.decimals$}]")
    }
}

/// Returns the share of `count` among `of`, with Wilson's interval; NaN if `of` is 0.
pub fn wilson(count: usize, of: usize) -> Interval {
    /// The normal distribution's quantile at 0.975.
    const Z: f64 = 1.959_963_984_540_054;
    let n = of as f64;
    let share = count as f64 / n;
    let middle = (share + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z / (1.0 + Z * Z / n) * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    Interval { estimate: share, low: middle - half, high: middle + half }
}

const RESAMPLES: usize = 2000;

/// Returns a statistic of groups with its percentile bootstrap interval. The statistic receives indices into the groups; each
/// resample has the groups' sizes, is drawn with replacement, and uses fixed random numbers. NaN if the statistic of some
/// resample is.
pub fn resampled<const G: usize>(
    sizes: [usize; G],
    statistic: impl Fn([&[usize]; G]) -> f64,
) -> Interval {
    if sizes.contains(&0) {
        return Interval { estimate: f64::NAN, low: f64::NAN, high: f64::NAN };
    }
    let mut places = sizes.map(|size| (0..size).collect::<Vec<_>>());
    let estimate = statistic(places.each_ref().map(Vec::as_slice));
    let mut rng = Rng::new(0);
    let mut found: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            for (to, size) in places.iter_mut().zip(sizes) {
                to.iter_mut().for_each(|place| *place = rng.below(size as u32) as usize);
            }
            statistic(places.each_ref().map(Vec::as_slice))
        })
        .collect();
    if found.iter().any(|x| x.is_nan()) {
        return Interval { estimate, low: f64::NAN, high: f64::NAN };
    }
    found.sort_by(f64::total_cmp);
    let tail = RESAMPLES / 40;
    Interval { estimate, low: found[tail], high: found[RESAMPLES - 1 - tail] }
}

pub fn bootstrap<const G: usize>(
    groups: [&[f64]; G],
    statistic: impl Fn([&[f64]; G]) -> f64,
) -> Interval {
    resampled(groups.map(<[f64]>::len), |places| {
        let sample = |g: usize| places[g].iter().map(|at| groups[g][*at]).collect::<Vec<_>>();
        let samples: [Vec<f64>; G] = std::array::from_fn(sample);
        statistic(samples.each_ref().map(Vec::as_slice))
    })
}

/// Numbers by seed (rows) and by draw of tasks (columns).
pub type InDraws = Vec<Vec<f64>>;

/// Returns a statistic of metrics with its two-way bootstrap interval, which resamples seeds and draws together: it receives,
/// for each metric, each seed's mean over draws. A metric with one column is the same in every draw.
pub fn two_way<const M: usize>(
    metrics: [&InDraws; M],
    statistic: impl Fn([&[f64]; M]) -> f64,
) -> Interval {
    let draws = metrics.iter().flat_map(|of| of.iter().map(Vec::len)).max().unwrap_or(0);
    resampled([metrics[0].len(), draws], |[seeds, draws]| {
        let mean = |row: &Vec<f64>| {
            draws.iter().map(|draw| row[draw % row.len()]).sum::<f64>() / draws.len() as f64
        };
        let of_seeds = metrics.map(|of| seeds.iter().map(|s| mean(&of[*s])).collect::<Vec<_>>());
        statistic(of_seeds.each_ref().map(Vec::as_slice))
    })
}

pub fn mean_interval(values: &[f64]) -> Interval {
    bootstrap([values], |[sample]| mean_and_stderr(sample.iter().copied()).0)
}

/// Returns the median, with its interval: NaN if a value is not finite.
pub fn median_interval(values: &[f64]) -> Interval {
    bootstrap([values], |[sample]| finite_median(sample))
}

pub fn finite_median(values: &[f64]) -> f64 {
    if values.iter().all(|x| x.is_finite()) { median(values) } else { f64::NAN }
}

/// Returns the larger of two numbers; NaN if one is, so that no comparison hides it.
pub fn nan_or_larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || b <= a { a } else { b }
}

pub fn median(values: &[f64]) -> f64 {
    quartiles(values.to_vec())[1]
}
