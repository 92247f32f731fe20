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
pub struct System {
    /// E[x (x - gamma x')^T].
    pub a: SMatrix<f64, 2, 2>,
    /// E[R x].
    pub b: SVector<f64, 2>,
}

impl System {
    /// Of no trajectory.
    pub fn zero() -> Self {
        System { a: SMatrix::zeros(), b: SVector::zeros() }
    }

    fn solution(&self) -> Result<SVector<f64, 2>, ictd_core::Error> {
        solve(self.a, self.b, 2, "fixed point")
    }

    /// Adds the windows of a trajectory: phi_0, ..., R_1, ..., contexts of n transitions.
    pub fn add(&mut self, features: &[SVector<f64, D>], rewards: &[f64], n: usize, gamma: f64) {
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
pub fn jackknife(systems: &[System], of: impl Fn(&SVector<f64, 2>) -> f64) -> (f64, f64) {
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
