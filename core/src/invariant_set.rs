//! The invariant set of TD pretraining: ten parameters per layer; three of them are those of Theorem 2.
//!
//! Let g be an orthogonal map of the features. It acts on a token as S_g = diag(g, g, 1), and on a token with a
//! memory row as diag(g, g, 1, 1). The matrices that commute with every S_g are P and Q of the form
//!
//! ```text
//! [ x1 I  x2 I   0  ]
//! [ x3 I  x4 I   0  ]      (with two heads, x5 is a (2, 2) block: 8 numbers a matrix)
//! [  0     0    x5  ]
//! ```
//!
//! If the distribution of tasks does not change when g acts on the features (Assumptions 1 and 2: features
//! uniform on a cube, rewards that do not see g), the expected update of parameters of this form,
//!
//! ```text
//! Delta(theta) = E[(R + gamma TF_L(Z_0'; theta) - TF_L(Z_0; theta)) grad TF_L(Z_0; theta)]
//! ```
//!
//! has this form, for any number of layers, shared or not, under any mask, for softmax and for two heads.
//! [`averaged_update`] computes the expectation over the group exactly, as a finite sum, so that this holds
//! for each trajectory up to rounding. Without it, the part outside of the set is of size 1 / sqrt(N) for N trajectories.
//!
//! # Which step needs which maps
//!
//! | step | holds for |
//! |---|---|
//! | TF_L(S_g Z; P, Q) = TF_L(Z; S_g^T P S_g, S_g^T Q S_g): scores are products with S_g^T Q S_g, columns are moved by S_g, and no g touches the last row | every orthogonal g |
//! | the update of a trajectory moved by g is S_g Delta(S_g^T theta S_g) S_g^T | every orthogonal g: then the map of the parameters is orthogonal, too |
//! | cube: the distribution of tasks does not change | signed permutations alone |
//! | the mean of S_g X S_g^T over the group is X's [`commuting_part`] | signed permutations (their signs cancel the entries off the blocks' diagonals, their permutations average each diagonal), and so for every group that contains them or is as rich: for d = 2 the symmetries of a triangle are, its rotations alone are not |
//! | theta of the set and features in another orthonormal basis give the same values | every orthogonal g |
//! | plain TD keeps the set, and commutes with S_g | every orthogonal g: it is linear in the update |
//! | Adam keeps the set: it applies the same odd function to each entry, so that equal entries stay equal and zeros stay zeros, and so do second moments | this needs no map: equal entries and zeros define the set's matrices |
//! | Adam commutes with S_g: if no g changes the distribution of theta_0, no g changes that of the trained parameters, whose mean over seeds is then in the set | signed permutations alone: a rotation mixes the entries whose squares Adam takes |
//!
//! Adam keeps the set in exact arithmetic. With rounding, an entry that should be 0 makes a full step in the direction
//! of the rounding error once its gradient exceeds epsilon, so a departure as small as a rounding error grows to the step size.
//!
//! # Theorem 2
//!
//! Theorem 2 is the case L = 1. The value of one layer depends only on P's last row and on Q's columns of the query's
//! features. So only three of the ten parameters, eta, c and c', get updates, and parameters never leave
//! Theta_* = { [`theta_star`]`(eta, c, c')` }.
//!
//! (The paper's last line prints c_k + alpha_k delta I_d for the new block; it is
//! (c_k + alpha_k delta) I_d.)

use crate::error::{Error, Result, ensure, out_of_range};
use crate::layer::{Layer, LayerParameters};
use crate::linalg::{mul_vector, zeros};
use crate::scalar::{Real, Scalar as _};
use crate::training::{Network, Parameters, Targets, Windows, td_update};
use nalgebra::{SMatrix, SVector};

/// Returns all 2^d d! signed permutations g, (D, D); the first is the identity. They are meant for d <= 3 (8 and 48).
pub fn signed_permutations<R: Real, const D: usize>()
-> impl Iterator<Item = SMatrix<R, D, D>> + Clone {
    const {
        assert!(D >= 1 && D <= 12, "2^d d! signed permutations: d from 1 to 12");
    }
    let order: u64 = (1..=D as u64).map(|i| 2 * i).product();
    (0..order).map(|index| {
        let (mut g, mut sources) = (zeros::<R, D, D>(), core::array::from_fn::<_, D, _>(|i| i));
        let mut rest = index;
        for i in 0..D {
            // One of the features that are left, and its sign.
            let left = (D - i) as u64;
            sources.swap(i, i + (rest % left) as usize);
            rest /= left;
            g[(i, sources[i])] = if rest.is_multiple_of(2) { R::ONE } else { -R::ONE };
            rest /= 2;
        }
        g
    })
}

/// Returns the part of a layer of dense matrices that commutes with every S_g, its nearest: of each (D, D) block the
/// mean of the diagonal, of the rows and columns beyond 2 D their own block.
pub fn commuting_part<const D: usize, L>(layer: &L) -> L
where
    L: LayerParameters<Scalar: Real>,
{
    let mut part = *layer;
    for m in part.matrices_mut() {
        let k = m.len().isqrt();
        // Column by column: the diagonal of the block at (row, column) is every (K + 1)-th number.
        for at in [0, D, D * k, D * k + D] {
            let diagonal = (0..D).map(|i| at + i * (k + 1));
            let mut sum = L::Scalar::ZERO;
            diagonal.clone().for_each(|i| sum += m[i]);
            let mean = sum / L::Scalar::from_count(D as u64);
            diagonal.for_each(|i| m[i] = mean);
        }
        for (at, x) in m.iter_mut().enumerate() {
            let (row, column) = (at % k, at / k);
            let features = [row < 2 * D, column < 2 * D];
            if features[0] != features[1] || (features[0] && row % D != column % D) {
                *x = L::Scalar::ZERO;
            }
        }
    }
    part
}

/// Returns theta_*(eta, c, c') (eq. "optimal single layer"):
///
/// ```text
/// P = [ 0   0  ]      Q = [ c I   0  0 ]
///     [ 0  eta ]          [ c' I  0  0 ]
///                         [  0    0  0 ]
/// ```
pub fn theta_star<R: Real, const D: usize, const K: usize>(
    eta: R,
    c: R,
    c_prime: R,
) -> Layer<R, K> {
    crate::transition::check_token_size::<D, K>();
    let mut layer = Layer { p: zeros(), q: zeros() };
    layer.p[(2 * D, 2 * D)] = eta;
    for i in 0..D {
        layer.q[(i, i)] = c;
        layer.q[(D + i, i)] = c_prime;
    }
    layer
}

/// A layer's place with respect to Theta_*.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Projection<R: Real> {
    /// P\[2d, 2d\].
    pub eta: R,
    /// The mean diagonal entry of Q's upper-left (d, d) block.
    pub c: R,
    /// The mean diagonal entry of the block below it.
    pub c_prime: R,
    /// The largest absolute entry of the residual after theta_*(eta, c, c') is subtracted; 0 on
    /// Theta_*.
    pub departure: R,
}

impl<R: Real> Projection<R> {
    /// Projects a layer, or an update.
    pub fn from_layer<const D: usize, const K: usize>(layer: &Layer<R, K>) -> Self {
        let inverse_d = R::ONE / R::from_count(D as u64);
        let (mut c, mut c_prime) = (R::ZERO, R::ZERO);
        for i in 0..D {
            c += layer.q[(i, i)];
            c_prime += layer.q[(D + i, i)];
        }
        let (eta, c, c_prime) = (layer.p[(2 * D, 2 * D)], c * inverse_d, c_prime * inverse_d);
        let star = theta_star::<R, D, K>(eta, c, c_prime);
        let mut departure = R::ZERO;
        for (m, m_star) in [(&layer.p, &star.p), (&layer.q, &star.q)] {
            for (x, x_star) in m.iter().zip(m_star.iter()) {
                departure = departure.max((*x - *x_star).abs());
            }
        }
        Projection { eta, c, c_prime, departure }
    }
}

/// Returns the update of one trajectory, delta grad TF_L(Z_0) with the TD error delta of TF_L(Z_0') and TF_L(Z_0),
/// where Z_0 and Z_0' are those of eq. "prompt for invariant set": its first window and the one that follows.
/// Returns the errors of [`td_update`].
pub fn trajectory_update<R: Real, N: Network<R>>(
    theta: &mut N,
    trajectory: &Windows<R>,
    targets: Targets<R>,
) -> Result<N::Parameters> {
    let mut update = theta.parameters().zeros_like();
    td_update(theta, trajectory, 0, targets, R::ONE, &mut update)?;
    Ok(update)
}

/// Returns Delta(theta) for features that any g of a group is equally likely to move: the mean of [`trajectory_update`]
/// over all trajectories and, for each of them, all g. T is the capacity for a trajectory's feature vectors.
/// Returns [`Error::Empty`] without trajectories or group, [`Error::CapacityExceeded`] if a trajectory is longer than T,
/// [`Error::OutOfRange`] for other features than the group's.
pub fn averaged_update<R: Real, const D: usize, const T: usize, N: Network<R>>(
    theta: &mut N,
    trajectories: &[Windows<R>],
    targets: Targets<R>,
    group: impl Iterator<Item = SMatrix<R, D, D>> + Clone,
) -> Result<N::Parameters> {
    let order = group.clone().count() * trajectories.len();
    ensure(order != 0, Error::Empty { parameter: "trajectories" })?;
    let share = R::ONE / R::from_count(order as u64);
    let mut sum = theta.parameters().zeros_like();
    for trajectory in trajectories {
        let (rewards, n, gamma) =
            (trajectory.rewards(), trajectory.context_len(), trajectory.gamma());
        let mut moved = [[R::ZERO; D]; T];
        let moved = moved.get_mut(..rewards.len() + 1).ok_or(Error::capacity("trajectory", T))?;
        ensure(
            trajectory.dim() == D,
            out_of_range("dim", "as many features as the group's maps have"),
        )?;
        for g in group.clone() {
            for (k, to) in moved.iter_mut().enumerate() {
                let phi = SVector::from_column_slice(trajectory.phi(k)?);
                *to = mul_vector(&g, &phi).data.0[0];
            }
            let windows = Windows::new(D, moved.as_flattened(), rewards, n, gamma)?;
            apply_update(&mut sum, share, &trajectory_update(theta, &windows, targets)?);
        }
    }
    Ok(sum)
}

/// Computes theta += alpha Delta.
pub fn apply_update<R: Real, P: Parameters<R>>(theta: &mut P, alpha: R, delta: &P) {
    for (theta, delta) in theta.numbers_mut().zip(delta.numbers()) {
        *theta += alpha * *delta;
    }
}
