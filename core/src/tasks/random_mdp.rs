use super::{Mrp, check_states, random_distribution, random_features, uniform_vector};
use crate::error::Error;
use crate::linalg::{add_scaled, zeros};
use crate::rng::Rng;
use crate::scalar::Real;
use crate::transition::check_gamma;
use nalgebra::SVector;

/// How many actions a random MDP may have.
pub const MAX_ACTIONS: usize = 8;

/// The tasks of Figure 1 (App. on Figure 1): a random MDP, a random policy, random features, and a
/// reward for which the true value function is representable.
///
/// p_MDP(. | s, a) and pi(. | s) are uniform numbers, normalised; the task is the MRP that they
/// reduce to, p(s' | s) = sum_a pi(a | s) p_MDP(s' | s, a). Features are U(-1, 1)^d, w* ~
/// U(-1, 1)^d, and r = (I - gamma p) Phi w* as in Algorithm 3, so that the least possible MSVE is 0.
/// The paper does not say how many actions there are.
///
/// # Errors
/// [`Error::OutOfRange`] for no states, actions outside 1..=[`MAX_ACTIONS`] or gamma outside
/// [0, 1); [`Error::CapacityExceeded`] beyond M states.
pub fn random_mdp<R: Real, const D: usize, const M: usize>(
    states: usize,
    actions: usize,
    gamma: R,
    rng: &mut Rng,
) -> Result<Mrp<R, D, M>, Error> {
    draw(states, D, actions, gamma, rng)
}

/// [`random_mdp`] with `dim` <= D features.
pub(super) fn draw<R: Real, const D: usize, const M: usize>(
    states: usize,
    dim: usize,
    actions: usize,
    gamma: R,
    rng: &mut Rng,
) -> Result<Mrp<R, D, M>, Error> {
    check_states::<M>(states, 1)?;
    if !(1..=MAX_ACTIONS).contains(&actions) {
        return Err(Error::OutOfRange { parameter: "actions", accepted: "1 to 8" });
    }
    check_gamma(gamma)?;
    let w = uniform_vector(dim, rng);
    let features = random_features(states, dim, rng);
    let initial = random_distribution(states, rng);
    let mut p = zeros::<R, M, M>();
    for s in 0..states {
        let policy: SVector<R, MAX_ACTIONS> = random_distribution(actions, rng);
        let mut p_s = zeros::<R, M, 1>();
        for probability in policy.iter().take(actions) {
            add_scaled(&mut p_s, *probability, &random_distribution(states, rng));
        }
        p.set_row(s, &p_s.transpose());
    }
    let mrp = Mrp::from_parts(states, features, initial, &p, zeros());
    Ok(mrp.with_representable_value(&w, gamma))
}
