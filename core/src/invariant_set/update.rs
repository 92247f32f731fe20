use crate::error::Error;
use crate::linalg::mul_vector;
use crate::scalar::Real;
use crate::training::{Network, Parameters, Targets, Windows, td_update};
use nalgebra::{SMatrix, SVector};

/// Returns the update of one trajectory, delta grad TF_L(Z_0) with the TD error delta of TF_L(Z_0') and TF_L(Z_0),
/// where Z_0 and Z_0' are those of eq. "prompt for invariant set": its first window and the one that follows.
pub fn update<R: Real, N: Network<R>>(
    theta: &mut N,
    trajectory: &Windows<R>,
    targets: Targets<R>,
) -> N::Parameters {
    let mut update = theta.parameters().zeros_like();
    td_update(theta, trajectory, 0, targets, R::ONE, &mut update);
    update
}

/// Delta(theta) for features that are equally likely to be moved by any g of a group: the mean of [`update()`]
/// over all trajectories and, for each of them, all g. T is the capacity for a trajectory's feature vectors.
///
/// # Errors
/// [`Error::Empty`] without trajectories or group, [`Error::CapacityExceeded`] if a trajectory is longer than T,
/// [`Error::OutOfRange`] for other features than the group's.
pub fn averaged_update<R: Real, const D: usize, const T: usize, N: Network<R>>(
    theta: &mut N,
    trajectories: &[Windows<R>],
    targets: Targets<R>,
    group: impl Iterator<Item = SMatrix<R, D, D>> + Clone,
) -> Result<N::Parameters, Error> {
    let order = group.clone().count() * trajectories.len();
    if order == 0 {
        return Err(Error::Empty { parameter: "trajectories" });
    }
    let share = R::ONE / R::from_count(order as u64);
    let mut sum = theta.parameters().zeros_like();
    for trajectory in trajectories {
        let (rewards, n, gamma) =
            (trajectory.rewards(), trajectory.context_len(), trajectory.gamma());
        let mut moved = [[R::ZERO; D]; T];
        let Some(moved) = moved.get_mut(..rewards.len() + 1) else {
            return Err(Error::CapacityExceeded { parameter: "trajectory", capacity: T });
        };
        if trajectory.dim() != D {
            let accepted = "as many features as the group's maps have";
            return Err(Error::OutOfRange { parameter: "dim", accepted });
        }
        for g in group.clone() {
            for (k, to) in moved.iter_mut().enumerate() {
                *to = mul_vector(&g, &SVector::from_column_slice(trajectory.phi(k))).data.0[0];
            }
            let windows = Windows::new(D, moved.as_flattened(), rewards, n, gamma)?;
            step(&mut sum, share, &update(theta, &windows, targets));
        }
    }
    Ok(sum)
}

/// theta += alpha Delta.
pub fn step<R: Real, P: Parameters<R>>(theta: &mut P, alpha: R, delta: &P) {
    for (theta, delta) in theta.numbers_mut().zip(delta.numbers()) {
        *theta += alpha * *delta;
    }
}
