//! Where the expected update in Theta_* vanishes. The value of one layer at theta_*(eta, c, c') is v = u^T x,
//! u = (eta c, eta c'), with
//!
//! ```text
//! x = -(1/n) sum_j R_{j+1} ( <phi_j, phi_q>, gamma <phi_{j+1}, phi_q> )
//! ```
//!
//! so that it vanishes where E[x (x - gamma x')^T] u = E[R x]: a 2 x 2 system.

use super::D;
use crate::error::{Doing, Error};
use crate::run::session::Session;
use crate::train::options::Recipe;
use crate::train::tasks::AnyTasks;
use ictd_core::linalg::linear_system::solve;
use ictd_core::rng::{Rng, Stream};
use ictd_core::tasks::{Task as _, TaskDistribution};
use nalgebra::{SMatrix, SVector};

/// Parts of the sample that leave the system's error: of each all others are solved without it.
pub(super) const BLOCKS: usize = 30;

/// E[x (x - gamma x')^T] and E[R x], summed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct System {
    pub a: SMatrix<f64, 2, 2>,
    pub b: SVector<f64, 2>,
}

impl System {
    fn zero() -> Self {
        System { a: SMatrix::zeros(), b: SVector::zeros() }
    }

    fn solution(&self) -> Result<SVector<f64, 2>, ictd_core::Error> {
        solve(self.a, self.b, 2, "fixed point")
    }

    /// Adds the windows of a trajectory: phi_0, ..., R_1, ..., contexts of n transitions.
    fn add(&mut self, features: &[SVector<f64, D>], rewards: &[f64], n: usize, gamma: f64) {
        let x = |t: usize| {
            let query = &features[t + n + 1];
            let mut x = SVector::<f64, 2>::zeros();
            for j in t..t + n {
                x[0] -= rewards[j] * features[j].dot(query) / n as f64;
                x[1] -= rewards[j] * gamma * features[j + 1].dot(query) / n as f64;
            }
            x
        };
        let mut next = x(0);
        for t in 0..features.len() - n - 2 {
            let now = std::mem::replace(&mut next, x(t + 1));
            self.a += now * (now - next * gamma).transpose();
            self.b += now * rewards[t + n + 1];
        }
    }
}

/// The systems of equal parts of so many trajectories.
pub(super) fn systems(
    recipe: &Recipe,
    trajectories: usize,
    session: &Session,
) -> Result<Vec<System>, Error> {
    let tasks = AnyTasks::new(recipe);
    let of_block = |&block: &u64| -> Result<System, Error> {
        let mut rng = Rng::stream(session.seed.wrapping_add(block), Stream::Evaluation);
        let mut system = System::zero();
        for _ in 0..trajectories / BLOCKS {
            sample(&tasks, recipe, &mut rng, &mut system).doing("fixed-point")?;
        }
        Ok(system)
    };
    let blocks: Vec<u64> = (0..BLOCKS as u64).collect();
    session.map("2 x 2 system", &blocks, of_block)
}

/// Adds the windows of one batch, as training draws it.
fn sample(
    tasks: &AnyTasks,
    recipe: &Recipe,
    rng: &mut Rng,
    system: &mut System,
) -> Result<(), ictd_core::Error> {
    let gamma = recipe.gamma as f32;
    let task = TaskDistribution::<f32, D>::draw(tasks, gamma, rng)?;
    let mut state = task.initial_state(rng);
    let (mut features, mut rewards) = (Vec::new(), Vec::new());
    for _ in 0..recipe.context + recipe.batch_size + 2 {
        features.push(task.features(state).map(f64::from));
        let (reward, next) = task.step(state, rng);
        rewards.push(f64::from(reward));
        state = next;
    }
    system.add(&features, &rewards, recipe.context, recipe.gamma);
    Ok(())
}

/// A statistic of all systems together, with its standard error by leaving out each of them (the jackknife).
pub(super) fn jackknife(systems: &[System], of: impl Fn(&SVector<f64, 2>) -> f64) -> (f64, f64) {
    let sum = |without: Option<usize>| {
        let kept = systems.iter().enumerate().filter(|(i, _)| Some(*i) != without);
        kept.fold(System::zero(), |sum, (_, s)| System { a: sum.a + s.a, b: sum.b + s.b })
    };
    let at = |without| sum(without).solution().map_or(f64::NAN, |u| of(&u));
    let blocks = systems.len() as f64;
    let left_out: Vec<f64> = (0..systems.len()).map(|i| at(Some(i))).collect();
    let mean = left_out.iter().sum::<f64>() / blocks;
    let squares: f64 = left_out.iter().map(|x| (x - mean) * (x - mean)).sum();
    (at(None), ((blocks - 1.0) / blocks * squares).sqrt())
}

#[cfg(test)]
mod tests {
    use super::super::{GAMMA, K, LENGTH};
    use super::*;
    use crate::experiments::invariant_set::Sample;
    use ictd_core::invariant_set::{Projection, linear_update, theta_star};
    use ictd_core::mask::Td0;
    use ictd_core::transformer::Transformer;

    /// The gradient of Algorithm 1 at u: what the system's residual says, by a network's own gradient.
    #[test]
    fn the_system_is_the_expected_update_in_theta_star() {
        let (eta, c, c_prime) = (0.5, -0.75, 0.25);
        let star = theta_star::<f64, D, K>(eta, c, c_prime);
        let theta = Transformer::<_, 1>::autoregressive(star, 1).unwrap();
        let mut rng = Rng::new(5);
        let sample = Sample::<D, LENGTH>::new(&mut rng).unwrap();
        let trajectory = sample.trajectory();
        let update =
            linear_update::<f64, D, K, 1, LENGTH>(&theta, &Td0, GAMMA, &trajectory).unwrap();
        let mut system = System::zero();
        system.add(trajectory.features, trajectory.rewards, LENGTH - 3, GAMMA);
        // One window: delta x, and by the chain rule eta delta x for (c, c') and (c, c') delta x for eta.
        let residual = system.b - system.a * SVector::from([eta * c, eta * c_prime]);
        let found = Projection::of::<D, K>(&update.layers()[0]);
        let d = D as f64;
        for (found, expected) in [
            (found.eta, c * residual[0] + c_prime * residual[1]),
            (d * found.c, eta * residual[0]),
            (d * found.c_prime, eta * residual[1]),
        ] {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }

    #[test]
    fn the_jackknife_gives_the_error_of_a_mean() {
        let system = |y: f64| System { a: SMatrix::identity(), b: SVector::from([y, 2.0]) };
        let (mean, stderr) = jackknife(&[1.0, 2.0, 3.0].map(system), |u| u[0]);
        assert!((mean - 2.0).abs() < 1e-12 && (stderr - (1.0_f64 / 3.0).sqrt()).abs() < 1e-12);
    }
}
