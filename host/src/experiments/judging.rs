//! Claims, and the ways in which they are judged: over seeds, never by a single one.
//!
//! A claim about every seed is judged by Wilson's 95 % interval of the share of seeds of which it is true; a claim
//! about a size, a change or a difference by the bootstrap interval (2000 resamples of the seeds) of its median or
//! mean, differences within a seed first. The threshold stands in what is reported, beside the number that decided.

use super::measurements::RunMeasurements;
use super::statistics::{Interval, mean_interval, median, median_interval, spread, wilson};
use crate::run::report::{Claim, Source, Verdict};

/// The measured numbers in words, and the verdict.
pub type Judgement = (String, Verdict);

/// A claim about a run, or several runs, with the way it is judged.
pub struct ClaimSpec {
    claim: &'static str,
    source: Source,
    expected: Verdict,
    judge: Judge,
    also_shown: &'static [&'static str],
}

/// How a claim is judged.
#[derive(Clone, Copy)]
enum Judge {
    /// A metric of most seeds is what it must be.
    Every(&'static str, Threshold),
    /// In a way of its own.
    Own(fn(RunMeasurements) -> Judgement),
}

/// Returns a claim in a few words, whose it is, and how it is judged.
pub const fn claim(
    claim: &'static str,
    source: Source,
    judge: fn(RunMeasurements) -> Judgement,
) -> ClaimSpec {
    ClaimSpec { claim, source, expected: Verdict::Holds, judge: Judge::Own(judge), also_shown: &[] }
}

/// Returns a claim about a metric of every seed.
pub const fn every(
    claim: &'static str,
    source: Source,
    metric: &'static str,
    needs: Threshold,
) -> ClaimSpec {
    let judge = Judge::Every(metric, needs);
    ClaimSpec { claim, source, expected: Verdict::Holds, judge, also_shown: &[] }
}

impl ClaimSpec {
    /// Returns the same claim, known not to hold; or an open question, of which that is an answer.
    pub const fn refuted(self) -> Self {
        ClaimSpec { expected: Verdict::DoesNotHold, ..self }
    }

    /// Returns the same claim as a variant: under a setting that the paper does not speak of.
    pub const fn variant(self) -> Self {
        ClaimSpec { source: self.source.variant(), ..self }
    }

    /// Returns the same claim in other words of the paper.
    pub const fn stated(self, source: Source) -> Self {
        ClaimSpec { source, ..self }
    }

    /// Returns the same claim, whose measurement also shows the medians of other metrics.
    pub const fn with_medians(self, also_shown: &'static [&'static str]) -> Self {
        ClaimSpec { also_shown, ..self }
    }

    /// Judges what is claimed of a subject, if it is named.
    pub fn judge(&self, subject: &str, of: RunMeasurements) -> Claim {
        of.take_missing();
        let (mut measured, mut verdict) = match self.judge {
            Judge::Every(metric, needs) => most(metric, &of.values(metric), needs),
            Judge::Own(judge) => judge(of),
        };
        if let Some(metric) = of.take_missing() {
            measured = format!("the run has no {metric}");
            verdict = Verdict::NotMeasured;
        } else {
            for metric in self.also_shown {
                measured.push_str(&format!("; {metric} {:.3}", of.median(metric)));
            }
        }
        let colon = if subject.is_empty() { "" } else { ": " };
        let claim = format!("{subject}{colon}{}", self.claim);
        Claim { expected: self.expected, ..Claim::new(claim, self.source, measured, verdict) }
    }
}

/// Fewer seeds than this show nothing about all.
const ENOUGH: usize = 10;
/// The share of seeds that the interval must be above: for a claim to hold, and to hold in part.
const MOST: f64 = 0.75;
const HALF: f64 = 0.5;

/// Judges a claim about every seed, from those of which it is true: it holds if Wilson's interval of their share
/// is above three quarters (and there are at least 10), in part if it is above one half.
pub fn of_seeds(holding: impl IntoIterator<Item = bool>) -> Judgement {
    let holding: Vec<bool> = holding.into_iter().collect();
    let (count, seeds) = (holding.iter().filter(|holds| **holds).count(), holding.len());
    if seeds == 0 {
        return ("no seed".into(), Verdict::NotMeasured);
    }
    let share = wilson(count, seeds);
    let verdict = Verdict::graded(share.low > MOST && seeds >= ENOUGH, share.low > HALF);
    let few = if seeds < ENOUGH { "; too few to hold for all" } else { "" };
    let measured = format!(
        "{count} of {seeds} seeds: share {share:.2}, needs > {MOST} (in part > {HALF}){few}"
    );
    (measured, verdict)
}

/// The condition that a number of a seed must meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// At least so much.
    AtLeast(f64),
    /// At most so much.
    AtMost(f64),
    /// More than that.
    Above(f64),
    /// Less than that.
    Below(f64),
}

impl Threshold {
    /// Returns true of a number that is what it must be; NaN never is.
    fn met(self, x: &f64) -> bool {
        match self {
            Threshold::AtLeast(limit) => *x >= limit,
            Threshold::AtMost(limit) => *x <= limit,
            Threshold::Above(limit) => *x > limit,
            Threshold::Below(limit) => *x < limit,
        }
    }
}

impl std::fmt::Display for Threshold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Threshold::AtLeast(limit) => write!(f, ">= {limit}"),
            Threshold::AtMost(limit) => write!(f, "<= {limit}"),
            Threshold::Above(limit) => write!(f, "> {limit}"),
            Threshold::Below(limit) => write!(f, "< {limit}"),
        }
    }
}

/// Judges whether most of some numbers, one a seed, are what they must be; NaN never is.
pub fn most(what: &str, values: &[f64], needs: Threshold) -> Judgement {
    let (seeds, verdict) = of_seeds(values.iter().map(|x| needs.met(x)));
    (format!("{what} {}, needs {needs} in {seeds}", spread(values)), verdict)
}

/// Judges whether the median over seeds is between two numbers, or in part between two others, by its interval.
pub fn median_between(what: &str, values: &[f64], all: [f64; 2], part: [f64; 2]) -> Judgement {
    let median = median_interval(values);
    let within = |[low, high]: [f64; 2]| low < median.low && median.high < high;
    let measured = format!(
        "{what}, median {median:.3}; needs {} to {} (in part {} to {}); quartiles {}",
        all[0],
        all[1],
        part[0],
        part[1],
        spread(values)
    );
    (measured, Verdict::graded(within(all), within(part)).unless_nan(median.numbers()))
}

/// Judges whether all intervals lie above 0; holds in part if `part` does.
pub fn all_positive(what: &str, differences: &[Interval], part: Option<Interval>) -> Judgement {
    let texts: Vec<_> = differences.iter().map(|d| format!("{d:.2}")).collect();
    let in_part = part.map_or(String::new(), |d| format!(" (in part: {d:.2} in all)"));
    let all = !differences.is_empty() && differences.iter().all(|d| d.low > 0.0);
    let verdict = Verdict::graded(all, part.is_some_and(|d| d.low > 0.0))
        .unless_nan(differences.iter().copied().chain(part).flat_map(Interval::numbers));
    (format!("{what} {}, needs all > 0{in_part}", texts.join(" and ")), verdict)
}

/// Returns b - a, seed by seed.
pub fn differences(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| b - a).collect()
}

/// Returns the interval of the mean change from one tenth of the log to the last, and a text about it.
pub fn change(of: RunMeasurements, metric: &str, from: f64) -> (String, Interval) {
    let metric = format!("{metric}_tenth");
    let [starts, ends] = [from, 9.0].map(|tenth| of.values_at(&metric, tenth));
    let change = mean_interval(&differences(&starts, &ends));
    let [start, end] = [starts, ends].map(|x| mean_interval(&x).estimate);
    let tenth = from + 1.0;
    (format!("tenth {tenth} {start:.3}, last tenth {end:.3}, change {change:.3}"), change)
}

/// Judges the paper's measure of Figure 2: entries beside the expected ones are small, on average.
pub(super) fn others_are_small(of: RunMeasurements, metric: &str) -> Judgement {
    let mean = mean_interval(&of.values(metric));
    let measured = format!(
        "mean over seeds {mean:.3}; the paper names no number, here needs all of it < 0.1 (in part: the mean)"
    );
    (measured, Verdict::graded(mean.high < 0.1, mean.estimate < 0.1).unless_nan(mean.numbers()))
}

/// Judges whether a metric increases from the first to the last tenth of the log.
pub(super) fn rises(of: RunMeasurements, metric: &str) -> Judgement {
    let (measured, change) = change(of, metric, 0.0);
    (format!("{measured}, needs > 0"), Verdict::of(change.low > 0.0).unless_nan(change.numbers()))
}

/// Judges whether the best linear function, by least squares, leaves more than rounding over of literal forward
/// values at random features.
pub(super) fn is_not_linear(left: &[f64]) -> Judgement {
    let largest = left.iter().copied().filter(|x| x.is_finite()).fold(0.0, f64::max);
    let median = median(left);
    let measured = format!(
        "least squares on literal forward values leaves {median:.1e} of |v|^2 in the median over {} seeds, \
         {largest:.1e} at most; needs > 1e-20",
        left.len()
    );
    (measured, Verdict::of(median > 1e-20))
}
