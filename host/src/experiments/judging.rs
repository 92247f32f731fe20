//! Claims and their tests: over seeds and draws of tasks, never by a single one.
//!
//! A claim about every seed is tested by the 95 % interval of the share of seeds for which it is true: Wilson's and, if seeds
//! are evaluated in several draws of tasks, that of the two-way bootstrap as well, whichever reaches farther. A claim about a
//! size, a change or a difference is tested by the bootstrap interval (2000 resamples of seeds, and of draws) of its median or
//! mean, differences within a seed first. If the interval contains the threshold, the claim is undecided. Reports state the
//! threshold next to the measured number.

use super::measurements::RunMeasurements;
use super::statistics::{Interval, mean_interval, median, resampled, spread, two_way, wilson};
use crate::run::report::{Claim, Source, Verdict};

pub type Judgement = (String, Verdict);

pub struct ClaimSpec {
    claim: &'static str,
    source: Source,
    expected: Verdict,
    judge: fn(RunMeasurements) -> Judgement,
    also_shown: &'static [&'static str],
}

pub const fn claim(
    claim: &'static str,
    source: Source,
    judge: fn(RunMeasurements) -> Judgement,
) -> ClaimSpec {
    ClaimSpec { claim, source, expected: Verdict::Holds, judge, also_shown: &[] }
}

impl ClaimSpec {
    /// Returns the claim, known not to hold; for an open question this is one of the answers.
    pub const fn refuted(self) -> Self {
        ClaimSpec { expected: Verdict::DoesNotHold, ..self }
    }

    pub const fn variant(self) -> Self {
        ClaimSpec { source: self.source.variant(), ..self }
    }

    pub const fn stated(self, source: Source) -> Self {
        ClaimSpec { source, ..self }
    }

    pub const fn with_medians(self, also_shown: &'static [&'static str]) -> Self {
        ClaimSpec { also_shown, ..self }
    }

    pub fn judge(&self, subject: &str, of: RunMeasurements) -> Claim {
        of.take_missing();
        let (mut measured, mut verdict) = (self.judge)(of);
        if let Some(metric) = of.take_missing() {
            measured = format!("the run has no {metric}");
            verdict = Verdict::NotMeasured;
        } else {
            for metric in self.also_shown {
                measured.push_str(&format!("; {metric} {:.3}", of.median(metric)));
            }
            if of.samples("finite").iter().any(|seed| seed.value == 0.0) {
                measured.push_str(&format!("; {}", seeds_named(of, "finite", 0.0)));
            }
        }
        let colon = if subject.is_empty() { "" } else { ": " };
        let claim = format!("{subject}{colon}{}", self.claim);
        Claim { expected: self.expected, ..Claim::new(claim, self.source, measured, verdict) }
    }
}

/// Returns the verdict of several bases of seeds together: what differs between them cannot be told, unless it holds, or holds
/// in part, in each.
pub fn together(verdicts: &[Verdict]) -> Verdict {
    let all = |is: &[Verdict]| verdicts.iter().all(|verdict| is.contains(verdict));
    match verdicts.first() {
        Some(first) if all(&[*first]) => *first,
        Some(_) if all(&[Verdict::Holds, Verdict::HoldsInPart]) => Verdict::HoldsInPart,
        Some(_) => Verdict::Undecided,
        None => Verdict::NotMeasured,
    }
}

/// Returns a text that names the seeds with a number: those that are stuck (1), or that have diverged (`finite` 0).
pub(super) fn seeds_named(of: RunMeasurements, metric: &str, value: f64) -> String {
    let those = of.samples(metric).iter().filter(|sample| sample.value == value);
    let names: Vec<_> = those.filter_map(|sample| Some(sample.seed?.to_string())).collect();
    let what = if metric == "finite" { "diverged" } else { metric };
    let which = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
    format!("{} seeds {what}{which}", names.len())
}

/// With fewer seeds no claim about every seed holds.
const ENOUGH: usize = 10;
/// The interval of the share of seeds must be above this for a claim to hold, and to hold in part.
const MOST: f64 = 0.75;
const HALF: f64 = 0.5;

/// Tests a claim about every seed, given for which it is true, by Wilson's interval of their share.
pub fn of_seeds(holding: impl IntoIterator<Item = bool>) -> Judgement {
    let holding: Vec<bool> = holding.into_iter().collect();
    let (count, seeds) = (holding.iter().filter(|holds| **holds).count(), holding.len());
    of_share(count, seeds, wilson(count, seeds))
}

/// Tests a claim about every seed by the interval of the share of seeds for which it is true.
fn of_share(count: usize, seeds: usize, share: Interval) -> Judgement {
    if seeds == 0 {
        return ("no seed".into(), Verdict::NotMeasured);
    }
    let verdict =
        Verdict::told(share.low > MOST && seeds >= ENOUGH, share.low > HALF, share.high < MOST);
    let few = if seeds < ENOUGH { "; too few to hold for all" } else { "" };
    let measured = format!(
        "{count} of {seeds} seeds: share {share:.2}, needs > {MOST} (in part > {HALF}){few}"
    );
    (measured, verdict)
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    AtLeast(f64),
    AtMost(f64),
    Above(f64),
    Below(f64),
}

impl Threshold {
    /// Returns the comparison with the limit, which NaN never meets, its sign, and the limit.
    fn parts(self) -> (fn(&f64, &f64) -> bool, &'static str, f64) {
        match self {
            Threshold::AtLeast(limit) => (f64::ge, ">=", limit),
            Threshold::AtMost(limit) => (f64::le, "<=", limit),
            Threshold::Above(limit) => (f64::gt, ">", limit),
            Threshold::Below(limit) => (f64::lt, "<", limit),
        }
    }

    fn met(self, x: &f64) -> bool {
        let (compare, _, limit) = self.parts();
        compare(x, &limit)
    }
}

impl std::fmt::Display for Threshold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (_, sign, limit) = self.parts();
        write!(f, "{sign} {limit}")
    }
}

/// Tests whether most seeds meet the threshold of each metric, of which there is at least one; NaN never does.
pub fn most<const N: usize>(of: RunMeasurements, needs: [(&str, Threshold); N]) -> Judgement {
    let values = needs.map(|(metric, _)| of.in_draws(metric));
    let met = |samples: [&[f64]; N]| {
        let meets = |seed: &usize| (0..N).all(|i| needs[i].1.met(&samples[i][*seed]));
        let seeds = samples[0].len();
        (0..seeds).filter(meets).count() as f64 / seeds as f64
    };
    let in_draws = two_way(values.each_ref(), met);
    let seeds = values[0].len();
    let means: Vec<_> =
        values[0].iter().map(|row| row.iter().sum::<f64>() / row.len() as f64).collect();
    let count = (in_draws.estimate * seeds as f64).round() as usize;
    let Interval { estimate, low, high } = wilson(count, seeds);
    let share = Interval { estimate, low: low.min(in_draws.low), high: high.max(in_draws.high) };
    let (counted, verdict) = of_share(count, seeds, share);
    let also = needs[1..].iter().map(|(metric, needs)| format!(" and {metric} {needs}"));
    let (metric, first) = needs[0];
    let needs = format!("needs {first}{}", also.collect::<String>());
    (format!("{metric} {}, {needs} in {counted}", spread(&means)), verdict)
}

pub fn below(x: Interval, limit: f64, part: f64) -> Verdict {
    Verdict::told(x.high < limit, x.high < part, x.low >= limit).unless_nan(x.numbers())
}

pub fn between(what: &str, x: Interval, all: [f64; 2], part: [f64; 2]) -> Judgement {
    let within = |[low, high]: [f64; 2]| low < x.low && x.high < high;
    let outside = x.high < part[0] || x.low > part[1];
    let measured = format!(
        "{what} {x:.3}; needs {} to {} (in part {} to {})",
        all[0], all[1], part[0], part[1]
    );
    (measured, Verdict::told(within(all), within(part), outside).unless_nan(x.numbers()))
}

/// Tests whether all intervals lie above 0; holds in part if `part` does.
pub fn all_positive(what: &str, differences: &[Interval], part: Option<Interval>) -> Judgement {
    let texts: Vec<_> = differences.iter().map(|d| format!("{d:.2}")).collect();
    let in_part = part.map_or(String::new(), |d| format!(" (in part: {d:.2} in all)"));
    let all = !differences.is_empty() && differences.iter().all(|d| d.low > 0.0);
    let none = differences.iter().any(|d| d.high < 0.0);
    let verdict = Verdict::told(all, part.is_some_and(|d| d.low > 0.0), none)
        .unless_nan(differences.iter().copied().chain(part).flat_map(Interval::numbers));
    (format!("{what} {}, needs all > 0{in_part}", texts.join(" and ")), verdict)
}

/// Returns b - a, seed by seed.
pub fn differences(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| b - a).collect()
}

/// Returns the interval of the mean change from the first tenth of the log to the last, and a text about it.
pub fn change(of: RunMeasurements, metric: &str) -> (String, Interval) {
    let metric = format!("{metric}_tenth");
    let [starts, ends] = [0.0, 9.0].map(|tenth| of.values_at(&metric, tenth));
    let change = mean_interval(&differences(&starts, &ends));
    let [start, end] = [starts, ends].map(|x| mean_interval(&x).estimate);
    (format!("tenth 1 {start:.3}, last tenth {end:.3}, change {change:.3}"), change)
}

fn of_all_seeds(of: RunMeasurements, metric: &str) -> Interval {
    let number = |end: &str| of.values(&format!("{metric}{end}")).first().copied();
    let [estimate, low, high] = ["", " low", " high"].map(|end| number(end).unwrap_or(f64::NAN));
    Interval { estimate, low, high }
}

/// The largest absolute value that is "close to zero" or "near zero" here; the paper names none.
const NEAR_ZERO: f64 = 0.1;

/// Tests whether the entries of P or Q other than the expected ones are small on average, in each layer, by a measure of
/// [`others_of_mean`](super::learning::others_of_mean).
pub(super) fn others_are_small(of: RunMeasurements, measure: &str, layers: usize) -> Judgement {
    let found = (0..layers).map(|l| of_all_seeds(of, &format!("{measure}_{l}")));
    let found: Vec<_> = found.collect();
    let text: Vec<_> = found.iter().map(Interval::to_string).collect();
    let measured = format!(
        "beside the largest entry {}; the paper names no number, here needs < {NEAR_ZERO}",
        text.join(", ")
    );
    let numbers: Vec<_> = found.iter().flat_map(|x| x.numbers()).collect();
    let verdict = Verdict::told(
        found.iter().all(|x| x.high < NEAR_ZERO),
        false,
        found.iter().any(|x| x.low >= NEAR_ZERO),
    );
    (measured, verdict.unless_nan(numbers))
}

/// Tests whether numbers of all seeds together, of different runs or matrices, fall from each to the next; the halves of their
/// intervals are added as independent errors.
pub(super) fn falls(runs: &[RunMeasurements], metrics: &[&str]) -> Judgement {
    let found: Vec<_> = runs.iter().zip(metrics).map(|(of, m)| of_all_seeds(*of, m)).collect();
    let fall = |pair: &[Interval]| {
        let [a, b] = [pair[0], pair[1]];
        let estimate = a.estimate - b.estimate;
        let low = estimate - libm::hypot(a.estimate - a.low, b.high - b.estimate);
        let high = estimate + libm::hypot(a.high - a.estimate, b.estimate - b.low);
        Interval { estimate, low, high }
    };
    let falls: Vec<_> = found.windows(2).map(fall).collect();
    let sizes: Vec<_> = found.iter().map(|x| format!("{:.3}", x.estimate)).collect();
    let what = format!("seeds averaged, then scaled: {}; falls by", sizes.join(", "));
    all_positive(&what, &falls, None)
}

pub(super) fn diagonals(of: RunMeasurements, all: [f64; 2], part: [f64; 2]) -> Judgement {
    between("right / left, seeds averaged,", diagonals_ratio(of, 0), all, part)
}

/// Returns -(right / left) of the traces of Q's two diagonals in the mean over seeds.
pub(super) fn diagonals_ratio(of: RunMeasurements, l: usize) -> Interval {
    let [left, right] =
        ["left", "right"].map(|side| of.values(&format!("q_trace_upper_{side}_{l}")));
    resampled([left.len().min(right.len())], |[seeds]| {
        let sum = |of: &[f64]| seeds.iter().map(|s| of[*s]).filter(|x| x.is_finite()).sum::<f64>();
        -sum(&right) / sum(&left)
    })
}

pub(super) fn rises(of: RunMeasurements, metric: &str) -> Judgement {
    let (measured, change) = change(of, metric);
    let verdict = Verdict::told(change.low > 0.0, false, change.high < 0.0);
    (format!("{measured}, needs > 0"), verdict.unless_nan(change.numbers()))
}

/// Tests whether the best linear function, by least squares, leaves more than a hundredth of literal forward values at random
/// features unexplained.
pub(super) fn is_not_linear(left: &[f64]) -> Judgement {
    let largest = left.iter().copied().filter(|x| x.is_finite()).fold(0.0, f64::max);
    let median = median(left);
    let measured = format!(
        "least squares on literal forward values leaves {median:.1e} of |v|^2 in the median over {} seeds, \
         {largest:.1e} at most; needs > 0.01",
        left.len()
    );
    (measured, Verdict::of(median > 0.01))
}
