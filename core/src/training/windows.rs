use crate::error::Error;
use crate::linalg::{add_outer, zeros};
use crate::prompt::Prompt;
use crate::scalar::Scalar;
use crate::statistic::Statistic;
use crate::transition::{check_gamma, check_token_size, query_token};
use heapless::Vec;
use nalgebra::SVector;

/// A trajectory phi_0, R_1, phi_1, ..., seen as W + 1 windows of n transitions that slide by one.
///
/// Window t has the context transitions (phi_t, R_{t+1}, phi_{t+1}) to
/// (phi_{t+n-1}, R_{t+n}, phi_{t+n}) and the query phi_{t+n+1}: the transition from phi_{t+n} to
/// the query is in no context. Its TD error is
/// delta_t = R_{t+n+2} + gamma v_{t+1} - v_t, for t = 0 to W - 1; window W only bootstraps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Windows<'a, S: Scalar, const D: usize> {
    features: &'a [SVector<S, D>],
    rewards: &'a [S],
    context_len: usize,
    gamma: S,
}

/// One window: a context and its query, without a copy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window<'a, S: Scalar, const D: usize> {
    /// phi_t to phi_{t+n+1}, n + 2 of them; the last is the query.
    features: &'a [SVector<S, D>],
    /// R_{t+1} to R_{t+n}, n of them.
    rewards: &'a [S],
    gamma: S,
}

impl<'a, S: Scalar, const D: usize> Windows<'a, S, D> {
    /// The windows of a trajectory: phi_0 to phi_{n+W+1} and R_1 to R_{n+W+1} for contexts of
    /// n = `context_len` transitions. W >= 1 follows from the length.
    ///
    /// # Errors
    /// [`Error::Empty`] if n is 0 or there is no complete window, [`Error::OutOfRange`] unless
    /// there is one reward for each step and gamma is in \[0, 1), [`Error::NonFinite`], naming
    /// `features`, `rewards` or `gamma`.
    pub fn new(
        features: &'a [SVector<S, D>],
        rewards: &'a [S],
        context_len: usize,
        gamma: S,
    ) -> Result<Self, Error> {
        if context_len == 0 {
            return Err(Error::Empty { parameter: "context" });
        }
        if features.len() < 3 || features.len() - 3 < context_len {
            return Err(Error::Empty { parameter: "windows" });
        }
        if rewards.len() + 1 != features.len() {
            let accepted = "one reward for each step of the trajectory";
            return Err(Error::OutOfRange { parameter: "rewards", accepted });
        }
        let gamma = check_gamma(gamma)?;
        // Summed up times 0, NaN and infinities give NaN: one comparison for all.
        let mut zero = S::ZERO;
        for phi in features {
            for i in 0..D {
                zero += phi[i] * S::ZERO;
            }
        }
        if !zero.is_finite() {
            return Err(Error::NonFinite { parameter: "features" });
        }
        for reward in rewards {
            zero += *reward * S::ZERO;
        }
        if !zero.is_finite() {
            return Err(Error::NonFinite { parameter: "rewards" });
        }
        Ok(Windows { features, rewards, context_len, gamma })
    }

    /// W, the number of windows with a TD error.
    #[inline(always)]
    pub fn count(&self) -> usize {
        self.features.len() - self.context_len - 2
    }

    /// n, the number of context transitions in a window.
    #[inline(always)]
    pub fn context_len(&self) -> usize {
        self.context_len
    }

    /// The discount gamma.
    #[inline(always)]
    pub fn gamma(&self) -> S {
        self.gamma
    }

    /// phi_0 to phi_{n+W+1}.
    #[inline(always)]
    pub fn features(&self) -> &'a [SVector<S, D>] {
        self.features
    }

    /// R_1 to R_{n+W+1}.
    #[inline(always)]
    pub fn rewards(&self) -> &'a [S] {
        self.rewards
    }

    /// Window t, for t = 0 to W (a larger t counts as W).
    #[inline(always)]
    pub fn window(&self, t: usize) -> Window<'a, S, D> {
        let t = t.min(self.count());
        let n = self.context_len;
        Window {
            features: &self.features[t..t + n + 2],
            rewards: &self.rewards[t..t + n],
            gamma: self.gamma,
        }
    }

    /// Context token j of the trajectory, (phi_j; gamma phi_{j+1}; R_{j+1}) and zeros up to R >= 2D + 1
    /// rows (a larger j counts as the last).
    #[inline(always)]
    pub(super) fn token<const R: usize>(&self, j: usize) -> [S; R] {
        let j = j.min(self.rewards.len() - 1);
        let (phi, phi_next) = (&self.features[j], &self.features[j + 1]);
        let mut z = [S::ZERO; R];
        for i in 0..D {
            z[i] = phi[i];
            z[D + i] = self.gamma * phi_next[i];
        }
        z[2 * D] = self.rewards[j];
        z
    }

    /// R_{t+n+2} + gamma v_{t+1}, what v_t should have been, for t = 0 to W - 1.
    #[inline(always)]
    pub fn td_target(&self, t: usize, v_next: S) -> S {
        let t = t.min(self.count() - 1);
        self.rewards[t + self.context_len + 1] + self.gamma * v_next
    }
}

impl<'a, S: Scalar, const D: usize> Window<'a, S, D> {
    /// n.
    #[inline(always)]
    pub fn context_len(&self) -> usize {
        self.rewards.len()
    }

    /// phi_t to phi_{t+n}: the features that the context's transitions pass through.
    #[inline(always)]
    pub fn context_features(&self) -> &'a [SVector<S, D>] {
        &self.features[..self.rewards.len() + 1]
    }

    /// R_{t+1} to R_{t+n}.
    #[inline(always)]
    pub fn rewards(&self) -> &'a [S] {
        self.rewards
    }

    /// The query's features phi_{t+n+1}, (D).
    #[inline(always)]
    pub fn query(&self) -> &'a SVector<S, D> {
        &self.features[self.features.len() - 1]
    }

    /// The discount gamma.
    #[inline(always)]
    pub fn gamma(&self) -> S {
        self.gamma
    }

    /// Context column j = 0 to n - 1: (phi_{t+j}; gamma phi_{t+j+1}; R_{t+j+1}), (K).
    #[inline(always)]
    pub fn token<const K: usize>(&self, j: usize) -> SVector<S, K> {
        check_token_size::<D, K>();
        let j = j.min(self.rewards.len() - 1);
        let mut z = zeros::<S, K, 1>();
        for i in 0..D {
            z[i] = self.features[j][i];
            z[D + i] = self.gamma * self.features[j + 1][i];
        }
        z[2 * D] = self.rewards[j];
        z
    }

    /// The query column (phi_{t+n+1}; 0; 0), (K).
    #[inline(always)]
    pub fn query_token<const K: usize>(&self) -> SVector<S, K> {
        query_token(self.query())
    }

    /// G_0 under TD(0)'s mask and 1/n.
    #[inline(always)]
    pub fn statistic<const K: usize>(&self) -> Statistic<S, K> {
        let mut g = zeros();
        for j in 0..self.rewards.len() {
            let z = self.token::<K>(j);
            add_outer(&mut g, &z, &z);
        }
        Statistic { g, inverse_len: S::ONE / S::from_count(self.rewards.len() as u64) }
    }

    /// The whole prompt Z_0, (K, n + 1).
    ///
    /// # Errors
    /// [`Error::CapacityExceeded`] if the window has more than N transitions.
    pub fn prompt<const K: usize, const N: usize>(&self) -> Result<Prompt<S, K, N>, Error> {
        let mut columns = Vec::<SVector<S, K>, N>::new();
        for j in 0..self.rewards.len() {
            columns
                .push(self.token(j))
                .map_err(|_| Error::CapacityExceeded { parameter: "context", capacity: N })?;
        }
        Prompt::from_columns(&columns, self.query_token())
    }
}

/// Storage for one trajectory: up to T feature vectors, T - 1 rewards, and a target for each window
/// where the loss needs one.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory<S: Scalar, const D: usize, const T: usize> {
    /// phi_0, phi_1, ..., (D) each.
    pub features: [SVector<S, D>; T],
    /// R_1, R_2, ...: the reward of step k at index k.
    pub rewards: [S; T],
    /// The target of each window's value, for losses whose targets are given.
    pub targets: [S; T],
}

impl<S: Scalar, const D: usize, const T: usize> Trajectory<S, D, T> {
    /// Zeros everywhere.
    pub fn new() -> Self {
        Trajectory { features: [zeros(); T], rewards: [S::ZERO; T], targets: [S::ZERO; T] }
    }

    /// The windows of the first n + W + 2 feature vectors.
    ///
    /// # Errors
    /// [`Error::CapacityExceeded`] if that is more than T; as [`Windows::new`].
    #[inline(always)]
    pub fn windows(
        &self,
        context_len: usize,
        windows: usize,
        gamma: S,
    ) -> Result<Windows<'_, S, D>, Error> {
        let len = context_len.saturating_add(windows).saturating_add(2);
        if len > T {
            return Err(Error::CapacityExceeded { parameter: "trajectory", capacity: T });
        }
        Windows::new(&self.features[..len], &self.rewards[..len - 1], context_len, gamma)
    }
}

impl<S: Scalar, const D: usize, const T: usize> Default for Trajectory<S, D, T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_t_holds_transitions_t_to_t_plus_n_and_asks_one_state_further() {
        let features: [SVector<f64, 1>; 6] = core::array::from_fn(|k| SVector::from([k as f64]));
        let rewards = [1.0, 2.0, 3.0, 4.0, 5.0].map(|r| 10.0 * r);
        let windows = Windows::new(&features, &rewards, 2, 0.5).unwrap();
        assert_eq!(windows.count(), 2);
        let window = windows.window(1);
        assert_eq!(window.token::<3>(0), SVector::from([1.0, 1.0, 20.0]));
        assert_eq!(window.token::<3>(1), SVector::from([2.0, 1.5, 30.0]));
        assert_eq!(window.query(), &SVector::from([4.0]));
        // From phi_4 to phi_5 the reward is R_5.
        assert_eq!(windows.td_target(1, 2.0), 51.0);
        let prompt = window.prompt::<3, 2>().unwrap();
        assert_eq!(prompt.column(1), &window.token::<3>(1));
        let statistic = Statistic::of_prompt(&prompt, &crate::attention::Td0).unwrap();
        assert_eq!(window.statistic::<3>(), statistic);
    }

    #[test]
    fn a_trajectory_without_a_complete_window_is_refused() {
        let features = [SVector::from([1.0f32]); 5];
        let windows = |len: usize, rewards: &[f32], n| {
            Windows::new(&features[..len], rewards, n, 0.9).map(|w| w.count())
        };
        assert_eq!(windows(5, &[0.0; 4], 2), Ok(1));
        assert_eq!(windows(4, &[0.0; 3], 2), Err(Error::Empty { parameter: "windows" }));
        assert_eq!(windows(5, &[0.0; 4], 0), Err(Error::Empty { parameter: "context" }));
        assert!(matches!(windows(5, &[0.0; 5], 2), Err(Error::OutOfRange { .. })));
    }

    #[test]
    fn what_is_not_finite_is_named() {
        let windows = |phi: f32, reward: f32, gamma: f32| {
            let features = [[1.0], [1.0], [1.0], [1.0], [phi]].map(SVector::from);
            Windows::new(&features, &[0.0, 0.0, 0.0, reward], 2, gamma).map(|_| ())
        };
        assert_eq!(windows(1.0, 1.0, 0.9), Ok(()));
        for bad in [f32::NAN, f32::INFINITY] {
            assert_eq!(windows(bad, 1.0, 0.9), Err(Error::NonFinite { parameter: "features" }));
            assert_eq!(windows(1.0, bad, 0.9), Err(Error::NonFinite { parameter: "rewards" }));
            assert_eq!(windows(1.0, 1.0, bad), Err(Error::NonFinite { parameter: "gamma" }));
        }
        assert!(matches!(windows(1.0, 1.0, 7.0), Err(Error::OutOfRange { .. })));
    }
}
