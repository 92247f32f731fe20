use super::boyan_chain::positive_uniform;
use super::{Mrp, check_states, normalise, random_features, uniform_vector};
use crate::error::Error;
use crate::linalg::zeros;
use crate::rng::Rng;
use crate::scalar::Real;
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
    check_states::<M>(states, 1)?;
    if !(1..=MAX_ACTIONS).contains(&actions) {
        return Err(Error::OutOfRange { parameter: "actions", accepted: "1 to 8" });
    }
    if !(gamma >= R::ZERO && gamma < R::ONE) {
        return Err(Error::OutOfRange { parameter: "gamma", accepted: "[0, 1)" });
    }
    let w = uniform_vector(rng);
    let mut mrp = Mrp::with_features(states, random_features(states, rng));
    for s in 0..states {
        mrp.initial[s] = positive_uniform(rng);
    }
    normalise(&mut mrp.initial.data.0[0][..states]);
    for s in 0..states {
        let mut policy = [R::ZERO; MAX_ACTIONS];
        for probability in &mut policy[..actions] {
            *probability = positive_uniform(rng);
        }
        normalise(&mut policy[..actions]);
        for probability in &policy[..actions] {
            let mut p_mdp = zeros::<R, M, 1>();
            for next in 0..states {
                p_mdp[next] = positive_uniform(rng);
            }
            normalise(&mut p_mdp.data.0[0][..states]);
            let p_s: &mut SVector<R, M> = &mut mrp.transition[s];
            crate::linalg::add_scaled(p_s, *probability, &p_mdp);
        }
    }
    mrp.accumulate();
    Ok(mrp.with_representable_value(&w, gamma))
}
