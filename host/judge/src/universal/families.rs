//! The families of tasks that the universal model is trained and tested on.

use compute::capacity::STATES;
use compute::words;
use ictd_core::Error;
use ictd_core::rng::Rng;
use ictd_core::scalar::{Real, Scalar};
use ictd_core::tasks::{FiniteTaskDistribution, FiniteTaskKind, Mrp, TaskDistribution as _};
use nalgebra::{SMatrix, SVector};

/// A family of tasks with d features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Boyan's chains with random rewards.
    Boyan,
    /// Boyan's chains whose values the features represent.
    BoyanRepresentable,
    /// Random MDPs with random rewards.
    Mdp,
    /// Random MDPs whose values the features represent.
    MdpRepresentable,
    /// Walks on a line or a circle, one feature per state.
    Walk,
    /// Cycles that may pause or skip a state, one feature per state.
    Cycle,
    /// Walks among states, some of them rare, one feature per state.
    Rare,
    /// Boyan's chains with random rewards and features that are 0 or 1.
    Binary,
    /// Walks on a line or a circle of 2 d states, one feature per pair of neighbours.
    Aggregated,
    /// Random MDPs with random rewards, to which noise of 0.3 to 3 of their deviations is added.
    Noise,
    /// Random MDPs with random rewards that are seen under another policy, with importance ratios of up to 10.
    Ratios,
    /// Random MDPs with random rewards, to which 1 to 10 of their deviations are added or from which they are subtracted.
    Level,
}

words!(Family {
    Boyan = "Boyan's chains",
    BoyanRepresentable = "representable chains",
    Mdp = "random MDPs",
    MdpRepresentable = "representable MDPs",
    Walk = "random walks",
    Cycle = "cycles",
    Rare = "rare states",
    Binary = "binary features",
    Aggregated = "aggregated walks",
    Noise = "noise",
    Ratios = "large ratios",
    Level = "a level of rewards",
});

impl Family {
    /// Returns true if each state has a feature of its own, or shares it with a neighbour.
    pub fn is_tabular(self) -> bool {
        matches!(self, Family::Walk | Family::Cycle | Family::Rare | Family::Aggregated)
    }

    /// Returns true if the features represent the values.
    pub fn is_representable(self) -> bool {
        use Family::{BoyanRepresentable, Cycle, MdpRepresentable, Rare, Walk};
        matches!(self, BoyanRepresentable | MdpRepresentable | Walk | Cycle | Rare)
    }

    /// Draws a task with d features, d at most 16 for [`Family::Aggregated`].
    /// Returns the core's error for a task that cannot be drawn.
    pub(crate) fn draw<R: Real, const D: usize>(
        self,
        d: usize,
        gamma: R,
        rng: &mut Rng,
    ) -> Result<Mrp<R, D, STATES>, Error> {
        let kind = match self {
            Family::Boyan | Family::Binary => FiniteTaskKind::BoyanChain,
            Family::BoyanRepresentable => FiniteTaskKind::BoyanChainRepresentable,
            Family::Walk | Family::Cycle | Family::Rare | Family::Aggregated => {
                return self.tabular(d, rng);
            }
            _ => FiniteTaskKind::RandomMdp { actions: 3 },
        };
        let states = (2 * d).clamp(10, STATES);
        let task: Mrp<R, D, STATES> =
            FiniteTaskDistribution { kind, states, dim: d }.draw(gamma, rng)?;
        let p = SMatrix::from_fn(|s, next| task.transition_from(s)[next]);
        match self {
            Family::Mdp | Family::Noise | Family::Ratios | Family::Level => {
                let mut reward: SVector<R, STATES> =
                    SVector::from_fn(|_, _| rng.uniform_in(R::from_f64(-1.0), R::from_f64(1.0)));
                if self == Family::Level {
                    let sign = if heads(rng) { 1.0 } else { -1.0 };
                    let level = R::from_f64(sign * DEVIATION * uniform(1.0, 10.0, rng));
                    reward.iter_mut().for_each(|reward| *reward += level);
                }
                let phi = SMatrix::from_fn(|i, s| task.feature_map()[s][i]);
                Mrp::new(states, task.initial(), &p, &reward, &phi)
            }
            Family::Binary => {
                let share = uniform(0.15, 0.5, rng);
                let phi = SMatrix::from_fn(|i, s| {
                    let on = i < d && s < states && uniform(0.0, 1.0, rng) < share;
                    if on { R::ONE } else { R::ZERO }
                });
                Mrp::new(states, task.initial(), &p, task.reward(), &phi)
            }
            _ => Ok(task),
        }
    }

    /// Draws the deviation of the noise that is added to rewards.
    pub(super) fn noise(self, rng: &mut Rng) -> f64 {
        match self {
            // 2 to these powers is 0.3 and 3.
            Family::Noise => DEVIATION * Scalar::exp2(uniform(-1.737, 1.585, rng)),
            _ => 0.0,
        }
    }

    /// Draws the chain under whose policy a task is seen: its own, or a mixture with another random MDP's.
    /// Returns the core's error for a chain that cannot be drawn.
    pub(super) fn seen_as<const D: usize>(
        self,
        task: &Mrp<f64, D, STATES>,
        d: usize,
        rng: &mut Rng,
    ) -> Result<Mrp<f64, D, STATES>, Error> {
        if self != Family::Ratios {
            return Ok(task.clone());
        }
        let other: Mrp<f64, D, STATES> = Family::Mdp.draw(d, 0.0, rng)?;
        let share = uniform(0.1, 0.5, rng);
        let p = SMatrix::from_fn(|s, next| {
            share * task.transition_from(s)[next] + (1.0 - share) * other.transition_from(s)[next]
        });
        let phi = SMatrix::from_fn(|i, s| task.feature_map()[s][i]);
        Mrp::new(task.states(), task.initial(), &p, task.reward(), &phi)
    }

    /// Draws a task whose features distinguish states, or pairs of states.
    fn tabular<R: Real, const D: usize>(
        self,
        d: usize,
        rng: &mut Rng,
    ) -> Result<Mrp<R, D, STATES>, Error> {
        let per_feature = if self == Family::Aggregated { 2 } else { 1 };
        let states = per_feature * d;
        let mut p = SMatrix::<R, STATES, STATES>::from_element(R::ZERO);
        let mut add = |s: usize, next: usize, probability: f64| {
            p[(s, next)] += R::from_f64(probability);
        };
        match self {
            Family::Cycle => {
                let moves = if heads(rng) { 1.0 } else { uniform(0.5, 1.0, rng) };
                let skip = if heads(rng) { 0 } else { 2 };
                for s in 0..states {
                    add(s, (s + 1) % states, moves);
                    add(s, (s + skip) % states, 1.0 - moves);
                }
            }
            Family::Rare => {
                // The fourth power makes some states a hundred times rarer than others.
                let weights: Vec<f64> =
                    (0..states).map(|_| power_4(uniform(0.1, 1.0, rng))).collect();
                for s in 0..states {
                    let row: Vec<f64> =
                        weights.iter().map(|w| w * power_4(uniform(0.0, 1.0, rng))).collect();
                    let total: f64 = row.iter().sum();
                    for (next, weight) in row.into_iter().enumerate() {
                        add(s, next, weight / total);
                    }
                }
            }
            _ => {
                let right = if heads(rng) { 0.5 } else { uniform(0.3, 0.7, rng) };
                let circle = heads(rng);
                for s in 0..states {
                    let wraps = |next: usize, end: usize| if circle { next } else { end };
                    let left = if s == 0 { wraps(states - 1, 0) } else { s - 1 };
                    let next = if s + 1 == states { wraps(0, s) } else { s + 1 };
                    add(s, next, right);
                    add(s, left, 1.0 - right);
                }
            }
        }
        let sparse = heads(rng);
        let rewarded = rng.below(states as u32) as usize;
        let reward = SVector::from_fn(|s, _| {
            let of_one = if s == rewarded { 1.0 } else { 0.0 };
            let of_all = uniform(-1.0, 1.0, rng);
            R::from_f64(if sparse { of_one } else { of_all })
        });
        let share = R::ONE / R::from_count(states as u64);
        let initial = SVector::from_fn(|s, _| if s < states { share } else { R::ZERO });
        let is_on = |i: usize, s: usize| s < states && i == s / per_feature;
        let phi = SMatrix::from_fn(|i, s| if is_on(i, s) { R::ONE } else { R::ZERO });
        Mrp::new(states, &initial, &p, &reward, &phi)
    }
}

/// The standard deviation of a random reward, uniform in [-1, 1].
const DEVIATION: f64 = 0.57735;

fn uniform(least: f64, most: f64, rng: &mut Rng) -> f64 {
    rng.uniform_in(least, most)
}

fn heads(rng: &mut Rng) -> bool {
    rng.next_u64() >> 63 == 1
}

fn power_4(x: f64) -> f64 {
    x * x * (x * x)
}
