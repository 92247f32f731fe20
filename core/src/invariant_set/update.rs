use crate::error::Error;
use crate::linalg::{mul_vector, zeros};
use crate::scalar::Real;
use crate::training::Parameters;
use crate::transition::Transition;
use heapless::Vec;
use nalgebra::{SMatrix, SVector};

/// One trajectory (S_0, R_1, ..., R_{n+2}, S_{n+2}) through features.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FeatureTrajectory<'a, R: Real, const D: usize> {
    /// phi_0 to phi_{n+2}, (D) each.
    pub features: &'a [SVector<R, D>],
    /// R_1 to R_{n+2}.
    pub rewards: &'a [R],
}

/// The setting of the values, which decides the TD error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Setting<R> {
    /// Discounted values: R + gamma v' - v.
    Discounted {
        /// The discount.
        gamma: R,
    },
    /// Differential values: R - r-bar + v' - v with the mean r-bar of the context's rewards.
    AverageReward,
}

/// Returns the update of one trajectory, delta grad TF_L(Z_0) with the TD error delta of TF_L(Z_0') and TF_L(Z_0),
/// where Z_0 and Z_0' are those of eq. "prompt for invariant set": contexts of n transitions and the queries
/// phi_{n+1} and phi_{n+2}, R = R_{n+2}. `value` and `gradient` are those of any network, for a context and
/// the features of a query. T is the capacity for a trajectory's n + 3 feature vectors.
///
/// # Errors
/// [`Error::Empty`] or [`Error::OutOfRange`] if the trajectory is too short for one transition of
/// context or has not one reward per step; [`Error::CapacityExceeded`] beyond T; the network's.
pub fn update<R: Real, const D: usize, const T: usize, P: Parameters<R>>(
    trajectory: &FeatureTrajectory<R, D>,
    setting: Setting<R>,
    value: impl Fn(&[Transition<R, D>], &SVector<R, D>) -> Result<R, Error>,
    gradient: impl FnOnce(&[Transition<R, D>], &SVector<R, D>) -> Result<P, Error>,
) -> Result<P, Error> {
    let FeatureTrajectory { features, rewards } = trajectory;
    let mut transitions = Vec::<_, T>::new();
    for (phi, reward) in features.windows(2).zip(*rewards) {
        let transition = Transition { phi: phi[0], reward: *reward, phi_next: phi[1] };
        let full = Error::CapacityExceeded { parameter: "trajectory", capacity: T };
        transitions.push(transition).map_err(|_| full)?;
    }
    if rewards.len() + 1 != features.len() {
        let accepted = "one reward for each step of the trajectory";
        return Err(Error::OutOfRange { parameter: "rewards", accepted });
    }
    // Those of phi_0 to phi_{n+1}, and the last, from phi_{n+1} to phi_{n+2}.
    let Some((last, seen @ [_, _, ..])) = transitions.split_last() else {
        return Err(Error::Empty { parameter: "context" });
    };
    let (now, next) = (&seen[..seen.len() - 1], &seen[1..]);
    let (v, v_next) = (value(now, &last.phi)?, value(next, &last.phi_next)?);
    let target = match setting {
        Setting::Discounted { gamma } => last.reward + gamma * v_next,
        Setting::AverageReward => {
            let mut sum = R::ZERO;
            now.iter().for_each(|t| sum += t.reward);
            last.reward - sum / R::from_count(now.len() as u64) + v_next
        }
    };
    let mut update = gradient(now, &last.phi)?;
    update.numbers_mut().for_each(|x| *x *= target - v);
    Ok(update)
}

/// Delta(theta) for features that are equally likely to be moved by any g of a group: the mean of `update`
/// over all trajectories and, for each of them, all g. T as in [`update()`].
///
/// # Errors
/// Those of `update`; [`Error::Empty`] without trajectories or group, [`Error::CapacityExceeded`] if a
/// trajectory is longer than T.
pub fn averaged_update<R: Real, const D: usize, const T: usize, P: Parameters<R>>(
    trajectories: &[FeatureTrajectory<R, D>],
    group: impl Iterator<Item = SMatrix<R, D, D>> + Clone,
    update: impl Fn(&FeatureTrajectory<R, D>) -> Result<P, Error>,
) -> Result<P, Error> {
    let order = group.clone().count() * trajectories.len();
    let share = R::ONE / R::from_count(order as u64);
    let mut sum = None;
    for FeatureTrajectory { features, rewards } in trajectories {
        let mut moved = [zeros::<R, D, 1>(); T];
        let Some(moved) = moved.get_mut(..features.len()) else {
            return Err(Error::CapacityExceeded { parameter: "trajectory", capacity: T });
        };
        for g in group.clone() {
            for (to, phi) in moved.iter_mut().zip(*features) {
                *to = mul_vector(&g, phi);
            }
            let update = update(&FeatureTrajectory { features: moved, rewards })?;
            step(sum.get_or_insert_with(|| update.zeros_like()), share, &update);
        }
    }
    sum.ok_or(Error::Empty { parameter: "trajectories" })
}

/// theta += alpha Delta.
pub fn step<R: Real, P: Parameters<R>>(theta: &mut P, alpha: R, delta: &P) {
    for (theta, delta) in theta.numbers_mut().zip(delta.numbers()) {
        *theta += alpha * *delta;
    }
}
