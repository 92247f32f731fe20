use super::Task;
use crate::error::{Error, Result, ensure, out_of_range};
use crate::linalg::{check_finite, dot, linear_system, weighted_squared_difference, zeros};
use crate::rng::Rng;
use crate::scalar::Real;
use crate::transition::check_gamma;
use nalgebra::{SMatrix, SVector};

/// A finite Markov reward process (p_0, p, r) with a feature map phi.
///
/// M is the capacity for states; entries beyond [`Mrp::states`] are 0 and never visited.
///
/// ```
/// use ictd_core::nalgebra::{SMatrix, SVector};
/// use ictd_core::{rng::Rng, tasks::{Mrp, Task}};
///
/// // Two states that follow each other, rewards 1 and 0.
/// let (p_0, reward) = (SVector::from([1.0, 0.0]), SVector::from([1.0, 0.0]));
/// let p = SMatrix::<f64, 2, 2>::new(0.0, 1.0, 1.0, 0.0);
/// let phi = SMatrix::<f64, 1, 2>::new(0.5, -0.5);
/// let mrp = Mrp::<f64, 1, 2>::new(2, &p_0, &p, &reward, &phi)?;
///
/// assert_eq!(mrp.stationary_distribution()?, SVector::from([0.5, 0.5]));
/// let v = mrp.true_value(0.5)?;
/// assert!((v[0] - 4.0 / 3.0).abs() < 1e-12 && (v[1] - 2.0 / 3.0).abs() < 1e-12);
/// let transitions = mrp.trajectory::<4>(3, &mut Rng::new(1))?;
/// assert_eq!(transitions[1].phi, transitions[0].phi_next);
/// # Ok::<(), ictd_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Mrp<R: Real, const D: usize, const M: usize> {
    pub(super) states: usize,
    pub(super) initial: SVector<R, M>,
    /// Row s of p, so that a step reads one contiguous array.
    pub(super) transition: [SVector<R, M>; M],
    /// Row s of the cumulative sums of p, 2 from the last positive probability on: what a step compares
    /// with its uniform number.
    cumulative: [SVector<R, M>; M],
    pub(super) reward: SVector<R, M>,
    pub(super) features: [SVector<R, D>; M],
    terminal: [bool; M],
}

impl<R: Real, const D: usize, const M: usize> Mrp<R, D, M> {
    /// Makes it of its parts: p_0 and r, (M); p, (M, M) with p\[(s, s')\]; phi, (D, M) with one column per
    /// state. Only the first `states` states count.
    /// Returns [`Error::CapacityExceeded`] beyond M states, [`Error::Empty`] for none, [`Error::NonFinite`] for NaN or an
    /// infinity, [`Error::OutOfRange`] if p_0 or a row of p is not a probability distribution (within 1e-4).
    pub fn new(
        states: usize,
        initial: &SVector<R, M>,
        transition: &SMatrix<R, M, M>,
        reward: &SVector<R, M>,
        features: &SMatrix<R, D, M>,
    ) -> Result<Self> {
        ensure(states != 0, Error::Empty { parameter: "states" })?;
        ensure(states <= M, Error::capacity("states", M))?;
        let mut mrp = Self::from_parts(states, [zeros(); M], *initial, transition, *reward);
        for s in 0..states {
            for i in 0..D {
                mrp.features[s][i] = features[(i, s)];
            }
            check_finite(&mrp.features[s], "phi")?;
            check_distribution(&mrp.transition[s], "p")?;
        }
        check_finite(&mrp.reward, "r")?;
        check_distribution(&mrp.initial, "p_0")?;
        Ok(mrp)
    }

    pub(super) fn from_parts(
        states: usize,
        features: [SVector<R, D>; M],
        mut initial: SVector<R, M>,
        p: &SMatrix<R, M, M>,
        mut reward: SVector<R, M>,
    ) -> Self {
        let mut transition = [zeros::<R, M, 1>(); M];
        for (s, row) in transition.iter_mut().enumerate().take(states) {
            for (to, column) in row.iter_mut().zip(&p.data.0).take(states) {
                *to = column.get(s).copied().unwrap_or(R::ZERO);
            }
        }
        let unused = initial.iter_mut().zip(reward.iter_mut()).skip(states);
        unused.for_each(|(initial, reward)| (*initial, *reward) = (R::ZERO, R::ZERO));
        let mut cumulative = [zeros::<R, M, 1>(); M];
        for (cumulative, p) in cumulative.iter_mut().zip(&transition).take(states) {
            *cumulative = cumulative_sums(p, states);
        }
        Mrp { states, initial, transition, cumulative, reward, features, terminal: [false; M] }
    }

    /// Returns the same process with episodes: where `terminal` is true, one ends and the next begins by p_0. There
    /// p is p_0, and r, phi and the true value are 0, so that TD learns nothing across the end.
    /// Returns [`Error::OutOfRange`] if p_0 of such a state is positive.
    pub fn with_terminal(mut self, terminal: &[bool; M]) -> Result<Self> {
        let restart = cumulative_sums(&self.initial, self.states);
        for s in (0..self.states).filter(|s| terminal[*s]) {
            ensure(
                !(self.initial[s] > R::ZERO),
                out_of_range("p_0", "0 for states that end an episode"),
            )?;
            (self.transition[s], self.cumulative[s]) = (self.initial, restart);
            (self.reward[s], self.features[s], self.terminal[s]) = (R::ZERO, zeros(), true);
        }
        Ok(self)
    }

    /// Returns true for a state that ends an episode.
    pub fn is_terminal(&self, s: usize) -> bool {
        self.terminal.get(s).is_some_and(|terminal| *terminal)
    }

    /// Returns the same process with r = (I - gamma p) Phi w, so that the true value function is
    /// v(s) = <w, phi(s)> (Algorithm 3).
    pub fn with_representable_value(mut self, w: &SVector<R, D>, gamma: R) -> Self {
        let value = self.values_of(w);
        let states = self.transition.iter().zip(&value).take(self.states);
        for (reward, (p, value_here)) in self.reward.iter_mut().zip(states) {
            let mut next_value = R::ZERO;
            for (p, value) in p.iter().zip(&value).take(self.states) {
                next_value += *p * *value;
            }
            *reward = *value_here - gamma * next_value;
        }
        self
    }

    /// Returns this process with p_0 and p of another one, or [`Error::OutOfRange`] unless both have the same number of states.
    pub fn with_dynamics_of(self, other: &Self) -> Result<Self> {
        let of = other.clone().with_features_of(&self)?;
        Ok(Mrp { reward: self.reward, ..of })
    }

    /// Returns this process with the feature map phi of another process with the same number of states.
    /// Returns the errors of [`Mrp::with_dynamics_of`].
    pub fn with_features_of(self, other: &Self) -> Result<Self> {
        ensure(self.states == other.states, out_of_range("states", "processes of as many states"))?;
        Ok(Mrp { features: other.features, ..self })
    }

    /// Returns the number of states m.
    pub fn states(&self) -> usize {
        self.states
    }

    /// Returns p_0, (M); 0 for s >= m.
    pub fn initial(&self) -> &SVector<R, M> {
        &self.initial
    }

    /// Returns p(. | s), (M); all 0 for s >= m.
    pub fn transition_from(&self, s: usize) -> SVector<R, M> {
        self.transition.get(s).copied().unwrap_or_else(zeros)
    }

    /// Returns r, (M); 0 for s >= m.
    pub fn reward(&self) -> &SVector<R, M> {
        &self.reward
    }

    /// Returns phi(s), (D), for each state; all 0 for s >= m.
    pub fn feature_map(&self) -> &[SVector<R, D>; M] {
        &self.features
    }

    /// Returns <w, phi(s)> for each state, (M).
    pub fn values_of(&self, w: &SVector<R, D>) -> SVector<R, M> {
        let mut values = zeros::<R, M, 1>();
        for (value, phi) in values.iter_mut().zip(&self.features).take(self.states) {
            *value = dot(w, phi);
        }
        values
    }

    /// Returns the true value function v = (I - gamma p)^-1 r.
    /// Returns [`Error::OutOfRange`] for gamma outside [0, 1), [`Error::Singular`] if rounding leaves no solution.
    pub fn true_value(&self, gamma: R) -> Result<SVector<R, M>> {
        check_gamma(gamma)?;
        let mut a = zeros::<R, M, M>();
        for (s, row) in self.transition.iter().enumerate().take(self.states) {
            let follows = if self.is_terminal(s) { R::ZERO } else { gamma };
            for (next, (column, p)) in a.data.0.iter_mut().zip(row).enumerate().take(self.states) {
                let here = if s == next { R::ONE } else { R::ZERO };
                if let Some(a) = column.get_mut(s) {
                    *a = here - follows * *p;
                }
            }
        }
        linear_system::solve(a, self.reward, self.states, "the Bellman equation")
    }

    /// Returns the stationary distribution d_p = d_p p, from the linear system; for a process with episodes, the stationary
    /// distribution over states before the end of an episode.
    /// Returns [`Error::Singular`] if it is not unique.
    pub fn stationary_distribution(&self) -> Result<SVector<R, M>> {
        let m = self.states;
        let mut a = zeros::<R, M, M>();
        let mut b = zeros::<R, M, 1>();
        for (s, (column, row)) in a.data.0.iter_mut().zip(&self.transition).enumerate().take(m) {
            for (next, (a, p)) in column.iter_mut().zip(row).enumerate().take(m) {
                let here = if s == next { R::ONE } else { R::ZERO };
                // One balance equation follows from the others: the sum to 1 takes its place.
                *a = if next + 1 == m { R::ONE } else { *p - here };
            }
        }
        if let Some(last) = b.iter_mut().take(m).last() {
            *last = R::ONE;
        }
        let mut d = linear_system::solve(a, b, m, "the stationary distribution")?;
        if self.terminal.contains(&true) {
            let mut total = R::ZERO;
            for (d, terminal) in d.iter_mut().zip(self.terminal).take(m) {
                *d = if terminal { R::ZERO } else { *d };
                total += *d;
            }
            d = d.map(|x| x / total);
        }
        Ok(d)
    }

    fn own(&self, state: usize) -> usize {
        debug_assert!(state < self.states, "state {state} of {}", self.states);
        state.min(self.states.saturating_sub(1)).min(M.saturating_sub(1))
    }

    /// Returns the mean squared value error sum_s d(s) (v_hat(s) - v(s))^2.
    pub fn msve(&self, d: &SVector<R, M>, v_hat: &SVector<R, M>, v: &SVector<R, M>) -> R {
        weighted_squared_difference(d, v_hat, v)
    }
}

impl<R: Real, const D: usize, const M: usize> Task<R, D> for Mrp<R, D, M> {
    type State = usize;

    fn true_values(&self, gamma: R, states: &[usize], values: &mut [R]) -> Result<()> {
        let v = self.true_value(gamma)?;
        for (value, s) in values.iter_mut().zip(states) {
            *value = v.get(*s).copied().unwrap_or(R::ZERO);
        }
        Ok(())
    }

    fn initial_state(&self, rng: &mut Rng) -> usize {
        rng.categorical(self.initial.iter().take(self.states).copied())
    }

    fn step(&self, state: usize, rng: &mut Rng) -> (R, usize) {
        let s = self.own(state);
        // As `Rng::categorical`: the first state whose cumulative sum exceeds a uniform number. Counting
        // the others takes no branch that a processor could mispredict, and vectors of eight.
        let u = rng.uniform::<R>();
        let cumulative = self.cumulative.get(s).map_or(&[] as &[R], |sums| sums.as_slice());
        let (eights, rest) = cumulative.as_chunks::<8>();
        let mut next = 0;
        for sums in eights.iter().take(self.states.div_ceil(8)) {
            for sum in sums {
                next += (u >= *sum) as u32;
            }
        }
        for sum in rest {
            next += (u >= *sum) as u32;
        }
        (self.reward.get(s).copied().unwrap_or(R::ZERO), next as usize)
    }

    fn features(&self, state: usize) -> SVector<R, D> {
        self.features.get(self.own(state)).copied().unwrap_or_else(zeros)
    }
}

/// Returns the cumulative sums of a distribution, 2 from its last positive probability on.
fn cumulative_sums<R: Real, const M: usize>(p: &SVector<R, M>, states: usize) -> SVector<R, M> {
    let (mut sums, mut total, mut last_positive) = (zeros::<R, M, 1>(), R::ZERO, 0);
    for (i, (sum, p)) in sums.iter_mut().zip(p).enumerate().take(states) {
        total += *p;
        *sum = total;
        if *p > R::ZERO {
            last_positive = i;
        }
    }
    for sum in sums.iter_mut().skip(last_positive) {
        *sum = R::from_f64(2.0);
    }
    sums
}

fn check_distribution<R: Real, const M: usize>(
    p: &SVector<R, M>,
    parameter: &'static str,
) -> Result<()> {
    check_finite(p, parameter)?;
    let total = p.iter().fold(R::ZERO, |total, x| total + *x);
    if p.iter().any(|x| *x < R::ZERO) || (total - R::ONE).abs() > R::from_f64(1e-4) {
        let expected = "probabilities that sum to 1";
        return Err(Error::OutOfRange { parameter, expected });
    }
    Ok(())
}
