//! Judges value functions by the discounted returns in the data.
//!
//! A return is known to the end of a terminated episode, and for a truncated one where the rewards after the cut have a weight of
//! at most 0.2; they are then taken to be the mean reward. Each half of the data is judged by what a function that has read
//! the other half predicts there; no return reaches from one half into the other.

use compute::transitions::{EpisodeEnd, Transitions};
use serde::Serialize;
use std::ops::Range;

/// The largest weight gamma^k of the rewards that are not known.
const LEFT: f64 = 0.2;

/// The number of groups of consecutive rows, at least, whose errors give the interval.
const GROUPS: usize = 20;

/// The half width of a 90 % interval in standard errors, for about [`GROUPS`] groups.
const NINETY: f64 = 1.73;

/// A mean with its 90 % interval over episodes, or over parts of long ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

/// The returns of the transitions of a half.
#[derive(Clone, Debug)]
pub struct Half {
    pub transitions: Transitions,
    /// The return after each transition, (n); `None` where it is not known.
    pub returns: Vec<Option<f64>>,
    /// The ranges of transitions that follow each other.
    pub episodes: Vec<Range<usize>>,
}

/// Returns true if the next transition leaves the state that transition i enters.
fn goes_on(t: &Transitions, i: usize) -> bool {
    let state = |row: usize| &t.phi[row * t.d..][..t.d];
    t.marks[i] == EpisodeEnd::Continues
        && t.from.get(i + 1).is_some_and(|row| *state(*row) == t.phi_next[i * t.d..][..t.d])
}

fn episodes(t: &Transitions) -> Vec<Range<usize>> {
    let ends: Vec<_> = (0..t.len()).filter(|i| !goes_on(t, *i)).map(|i| i + 1).collect();
    let starts = [0].into_iter().chain(ends.iter().copied());
    starts.zip(&ends).map(|(start, end)| start..*end).collect()
}

fn part(t: &Transitions, of: Range<usize>) -> Transitions {
    Transitions {
        d: t.d,
        phi: t.phi.clone(),
        from: t.from[of.clone()].to_vec(),
        reward: t.reward[of.clone()].to_vec(),
        phi_next: t.phi_next[of.start * t.d..of.end * t.d].to_vec(),
        marks: t.marks[of.clone()].to_vec(),
        rho: t.rho.as_ref().map(|rho| rho[of].to_vec()),
    }
}

impl Half {
    fn new(transitions: Transitions, gamma: f64) -> Self {
        let (n, episodes) = (transitions.len(), episodes(&transitions));
        let rewards = (0..n).map(|i| transitions.weight(i) * transitions.reward[i]);
        let for_ever = rewards.sum::<f64>() / n.max(1) as f64 / (1.0 - gamma);
        let (mut returns, mut sum, mut left) = (vec![None; n], 0.0, 0.0);
        for i in (0..n).rev() {
            if !goes_on(&transitions, i) {
                let is_cut = transitions.marks[i] != EpisodeEnd::Terminal;
                (sum, left) = if is_cut { (for_ever, 1.0) } else { (0.0, 0.0) };
            }
            sum = transitions.weight(i) * (transitions.reward[i] + gamma * sum);
            left *= gamma;
            returns[i] = (left <= LEFT).then_some(sum);
        }
        Half { transitions, returns, episodes }
    }

    /// Returns the two halves of the data, which meet at the end of an episode if there are several.
    pub fn both(t: &Transitions, gamma: f64) -> [Self; 2] {
        let n = t.len();
        let ends = episodes(t).into_iter().map(|episode| episode.end).filter(|end| *end < n);
        let middle = ends.min_by_key(|end| end.abs_diff(n / 2)).filter(|end| {
            // A long episode is cut.
            (n / 4..=n - n / 4).contains(end)
        });
        let middle = middle.unwrap_or(n / 2);
        [0..middle, middle..n].map(|of| Half::new(part(t, of), gamma))
    }

    /// Returns the states that transitions with a known return leave, row by row.
    pub fn states(&self) -> Vec<f64> {
        let t = &self.transitions;
        let known = self.returns.iter().zip(&t.from).filter(|(known, _)| known.is_some());
        known.flat_map(|(_, row)| &t.phi[row * t.d..][..t.d]).copied().collect()
    }

    fn known(&self) -> impl Iterator<Item = (usize, f64)> {
        self.returns.iter().enumerate().filter_map(|(i, known)| Some((i, (*known)?)))
    }
}

/// Returns the number of known returns, and that of the episodes with any.
pub fn known(halves: &[Half; 2]) -> [usize; 2] {
    let rows = halves.iter().map(|half| half.known().count()).sum();
    let has_one =
        |half: &Half, of: &Range<usize>| half.returns[of.clone()].iter().any(Option::is_some);
    let of_half = |half: &Half| half.episodes.iter().filter(|of| has_one(half, of)).count();
    [rows, halves.iter().map(of_half).sum()]
}

/// Returns the mean over the known returns of a number that depends on the predicted value and the return. `values` has the
/// values of [`Half::states`] of each half. Returns `None` with fewer than two groups.
fn mean_over(halves: &[Half; 2], numbers: &[Vec<f64>; 2]) -> Option<Interval> {
    let total: usize = numbers.iter().map(Vec::len).sum();
    let most = total.div_ceil(GROUPS).max(1);
    // The sum and the size of each group.
    let mut groups: Vec<(f64, f64)> = Vec::new();
    for (half, numbers) in halves.iter().zip(numbers) {
        let mut numbers = numbers.iter();
        for episode in &half.episodes {
            let known = half.returns[episode.clone()].iter().flatten().count();
            let of_episode: Vec<f64> = numbers.by_ref().take(known).copied().collect();
            groups.extend(of_episode.chunks(most).map(|g| (g.iter().sum(), g.len() as f64)));
        }
    }
    let (count, total) = (groups.len() as f64, total as f64);
    if count < 2.0 {
        return None;
    }
    let mean = groups.iter().map(|(sum, _)| sum).sum::<f64>() / total;
    let squares = groups.iter().map(|(sum, n)| (sum - n * mean) * (sum - n * mean));
    let stderr = (squares.sum::<f64>() * count / (count - 1.0)).sqrt() / total;
    Some(Interval { mean, low: mean - NINETY * stderr, high: mean + NINETY * stderr })
}

/// Returns the root mean squared difference between predicted values, those of [`Half::states`] of each half, and returns;
/// `None` if too few returns are known.
pub fn error(halves: &[Half; 2], values: &[Vec<f64>; 2]) -> Option<Interval> {
    let squares = [0, 1].map(|k| {
        let both = halves[k].known().zip(&values[k]);
        both.map(|((_, known), v)| (v - known) * (v - known)).collect()
    });
    let Interval { mean, low, high } = mean_over(halves, &squares)?;
    Some(Interval { mean: mean.sqrt(), low: low.max(0.0).sqrt(), high: high.sqrt() })
}

/// Returns how much larger the mean squared error of the second values is than that of the first ones; positive if the first
/// ones are better.
pub fn advantage(
    halves: &[Half; 2],
    first: &[Vec<f64>; 2],
    second: &[Vec<f64>; 2],
) -> Option<Interval> {
    let differences = [0, 1].map(|k| {
        let both = halves[k].known().zip(first[k].iter().zip(&second[k]));
        both.map(|((_, known), (a, b))| (b - a) * (b + a - 2.0 * known)).collect()
    });
    mean_over(halves, &differences)
}
