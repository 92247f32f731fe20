//! What the paper claims of training runs, judged over seeds: never by a single one.

use super::statistics::{mean_and_stderr, quartiles, spread};
use crate::run::report::{Claim, Verdict};
use crate::train::log::{
    Element, IWS, MSVE, Metric, P_BOTTOM_RIGHT, Point, Q_LEFT, Q_RIGHT, SS, SeedRun, VD,
};

/// What was measured, and the verdict.
pub type Judgement = (String, Verdict);

/// A claim of the paper with the way it is judged.
pub struct JudgedClaim {
    claim: &'static str,
    paper: &'static str,
    expected: Verdict,
    judge: fn(&[SeedRun]) -> Judgement,
}

/// A claim in a few words, and the paper's words.
pub const fn claim(
    claim: &'static str,
    paper: &'static str,
    judge: fn(&[SeedRun]) -> Judgement,
) -> JudgedClaim {
    JudgedClaim { claim, paper, expected: Verdict::Holds, judge }
}

impl JudgedClaim {
    /// One that is known not to hold.
    pub const fn refuted(self) -> Self {
        JudgedClaim { expected: Verdict::DoesNotHold, ..self }
    }

    /// Judges what is claimed of a subject, if it is named.
    pub fn judge(&self, subject: &str, runs: &[SeedRun]) -> Claim {
        let (measured, verdict) = (self.judge)(runs);
        let of = if subject.is_empty() { "" } else { ": " };
        let claim = format!("{subject}{of}{}", self.claim);
        Claim { expected: self.expected, ..Claim::new(claim, self.paper, measured, verdict) }
    }
}

/// A form of a layer's P and Q, up to scale and sign: P is dominated by P[-1, -1]; Q by diagonals of
/// its upper blocks, the left one negative and the right one positive. "Dominated" means: the mean
/// absolute value of the other entries is below a tenth of P[-1, -1], and below a fifth of the mean
/// absolute value on the diagonals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Theorem 1's.
    Theorem1,
    /// The corollary's on one layer, whose Q has the left diagonal only: the right one counts among
    /// the other entries.
    OneLayer,
}

impl Form {
    /// Whether a layer for d features has the form.
    pub fn fits(self, e: &Element, d: usize) -> bool {
        let (left, right) = (e.q_trace_upper_left / d as f64, e.q_trace_upper_right / d as f64);
        let (diagonal, right_fits) = match self {
            Form::Theorem1 => ((left.abs() + right.abs()) / 2.0, right > 0.0),
            Form::OneLayer => (left.abs(), right.abs() < 0.2 * left.abs()),
        };
        e.p_avg_abs_others < 0.1 * e.p_bottom_right
            && e.q_avg_abs_others < 0.2 * diagonal
            && left < 0.0
            && right_fits
    }
}

/// The verdict for a claim about every seed: it holds for at least 90 % of them, or in part for at
/// least 10 %.
fn of_share(holding: usize, seeds: usize) -> Verdict {
    let share = holding as f64 / seeds.max(1) as f64;
    Verdict::graded(share >= 0.9, share >= 0.1)
}

/// A metric averaged over the i-th tenth of a seed's log, since one fresh context says little.
fn tenth(run: &SeedRun, i: usize, metric: &Metric<Point>) -> f64 {
    let len = run.points.len().div_ceil(10);
    mean_and_stderr(run.points.iter().skip(i * len).take(len).map(metric.of)).0
}

/// Each seed's first tenth.
fn early(runs: &[SeedRun], metric: &Metric<Point>) -> Vec<f64> {
    runs.iter().map(|run| tenth(run, 0, metric)).collect()
}

/// Each seed's last tenth.
fn settled(runs: &[SeedRun], metric: &Metric<Point>) -> Vec<f64> {
    let of_seed = |run: &SeedRun| {
        let len = run.points.len().div_ceil(10);
        mean_and_stderr(run.points.iter().rev().take(len).map(metric.of)).0
    };
    runs.iter().map(of_seed).collect()
}

/// P and Q of layer 0 converge to a form, counted over seeds.
pub fn has_form(runs: &[SeedRun], form: Form) -> Judgement {
    let fits = |run: &&SeedRun| {
        let layer = run.last().and_then(|p| p.layers.first());
        layer.is_some_and(|m| form.fits(&m.element, (run.token_size - 1) / 2))
    };
    let converged = runs.iter().filter(fits).count();
    let [p, left, right] = [P_BOTTOM_RIGHT, Q_LEFT, Q_RIGHT]
        .map(|metric| spread(&runs.iter().map(|r| r.element(0, &metric)).collect::<Vec<_>>()));
    let measured = format!(
        "{converged} of {} seeds; P[-1,-1] {p}, tr Q[:d,:d] {left}, tr Q[:d,d:2d] {right}",
        runs.len(),
    );
    (measured, of_share(converged, runs.len()))
}

/// tr Q[:d,d:2d] / tr Q[:d,:d] of layer l of each seed.
fn right_over_left(runs: &[SeedRun], l: usize) -> impl Iterator<Item = f64> {
    runs.iter().map(move |r| r.element(l, &Q_RIGHT) / r.element(l, &Q_LEFT))
}

/// Theorem 1 has -C^T and C^T in Q: its two diagonals should have the same size.
pub fn is_balanced(runs: &[SeedRun]) -> Judgement {
    let ratios: Vec<f64> = right_over_left(runs, 0).map(|x| -x).collect();
    let [_, median, _] = quartiles(ratios.clone());
    let verdict = Verdict::graded((0.9..=1.1).contains(&median), (0.5..=2.0).contains(&median));
    (format!("ratio of their sizes {}", spread(&ratios)), verdict)
}

/// The deeper the layer, of three, the fainter Q's right diagonal, relative to the left one.
pub fn fades_with_depth(runs: &[SeedRun]) -> Judgement {
    let strengths = [0, 1, 2].map(|l| right_over_left(runs, l).map(f64::abs).collect::<Vec<_>>());
    let texts = strengths.each_ref().map(|s| spread(s));
    let [first, second, third] = strengths.map(|s| quartiles(s)[1]);
    let verdict = Verdict::graded(first > second && second > third, first > third);
    (format!("relative to the left one: {}", texts.join(", ")), verdict)
}

/// A cosine ends near 1: above 0.9 when settled, counted over seeds.
pub fn ends_near_one(runs: &[SeedRun], metric: &Metric<Point>) -> Judgement {
    let ends = settled(runs, metric);
    let near = ends.iter().filter(|x| **x > 0.9).count();
    let measured = format!("{}; above 0.9 in {near} of {} seeds", spread(&ends), runs.len());
    (measured, of_share(near, runs.len()))
}

/// The value difference falls: in the last tenth of the log below a fifth of what it was in the first,
/// counted over seeds.
pub fn vd_falls(runs: &[SeedRun]) -> Judgement {
    let (starts, ends) = (early(runs, &VD), settled(runs, &VD));
    let fallen = ends.iter().zip(&starts).filter(|(end, start)| **end < 0.2 * **start).count();
    let measured = format!(
        "from {} to {}; to below a fifth in {fallen} of {} seeds",
        spread(&starts),
        spread(&ends),
        runs.len()
    );
    (measured, of_share(fallen, runs.len()))
}

/// The value difference does not grow: its median at the end is at most what it was at the start.
pub fn vd_stays_small(runs: &[SeedRun]) -> Judgement {
    let (starts, ends) = (early(runs, &VD), settled(runs, &VD));
    let measured = format!("first tenth {}, last tenth {}", spread(&starts), spread(&ends));
    (measured, Verdict::of(quartiles(ends)[1] <= quartiles(starts)[1]))
}

/// A metric from one tenth of the log to the last one.
struct Change {
    measured: String,
    /// By how much it rises.
    rise: f64,
    /// Three joint standard errors over the seeds.
    limit: f64,
}

impl Change {
    fn new(from: &str, start: (f64, f64), runs: &[SeedRun], metric: &Metric<Point>) -> Self {
        let (start, start_error) = start;
        let (end, end_error) = mean_and_stderr(settled(runs, metric).into_iter());
        let joint = (start_error * start_error + end_error * end_error).sqrt();
        let measured =
            format!("{from} {start:.3} ± {start_error:.3}, last tenth {end:.3} ± {end_error:.3}");
        Change { measured, rise: end - start, limit: 3.0 * joint }
    }

    fn from_first_tenth(runs: &[SeedRun], metric: &Metric<Point>) -> Self {
        let start = mean_and_stderr(early(runs, metric).into_iter());
        Change::new("first tenth", start, runs, metric)
    }
}

/// A metric increases from the first to the last tenth of the log, by more than three joint standard
/// errors over the seeds.
pub fn rises(runs: &[SeedRun], metric: &Metric<Point>) -> Judgement {
    let change = Change::from_first_tenth(runs, metric);
    (change.measured, Verdict::of(change.rise > change.limit))
}

/// A metric, once up from its initial value, drops as much: from its highest tenth of the log.
pub fn drops(runs: &[SeedRun], metric: &Metric<Point>) -> Judgement {
    let of_tenth = |i: usize| {
        mean_and_stderr(
            runs.iter().map(|run| tenth(run, i, metric)).filter(|x: &f64| x.is_finite()),
        )
    };
    let highest = (0..10).map(of_tenth).filter(|(mean, _)| mean.is_finite());
    let peak = highest.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((0.0, 0.0));
    let change = Change::new("highest tenth", peak, runs, metric);
    (change.measured, Verdict::of(-change.rise > change.limit))
}

/// The value error falls as much, from the first tenth.
pub fn error_falls(runs: &[SeedRun]) -> Judgement {
    let starts = runs.iter().map(|r| r.points.first().map_or(f64::NAN, |p| p.msve));
    let (start, start_error) = mean_and_stderr(starts);
    let change = Change::from_first_tenth(runs, &MSVE);
    let measured = format!("at first {start:.3} ± {start_error:.3}, {}", change.measured);
    (measured, Verdict::of(-change.rise > change.limit))
}

/// The value function is not linear in the query. The paper's own mask keeps the query out of the keys, so
/// that it is, exactly; then IWS and SS are the same number.
pub fn is_not_linear(runs: &[SeedRun]) -> Judgement {
    let difference = |p: &Point| ((IWS.of)(p) - (SS.of)(p)).abs();
    let largest = runs.iter().flat_map(|r| &r.points).map(difference).fold(0.0, f64::max);
    let measured =
        format!("it is, by the mask: max |IWS - SS| = {largest:.1e} over all log points");
    (measured, Verdict::of(largest > 1e-3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_decides_the_verdict() {
        assert_eq!(of_share(27, 30), Verdict::Holds);
        assert_eq!(of_share(26, 30), Verdict::HoldsInPart);
        assert_eq!(of_share(2, 30), Verdict::DoesNotHold);
    }
}
