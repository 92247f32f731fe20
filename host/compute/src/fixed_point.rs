//! Where Theorem 2's three numbers come to rest. The value of one layer at theta_*(eta, c, c') is v = u^T x, u = (eta c, eta c'), with
//!
//! ```text
//! x = -(1/n) sum_j R_{j+1} ( <phi_j, phi_q>, gamma <phi_{j+1}, phi_q> )
//! ```
//!
//! so that the expected update in Theta_* vanishes where E[x (x - gamma x')^T] u = E[R x]: a 2 x 2 system.

use crate::log::{Matrices, SeedRun};
use crate::recipe::Recipe;
use crate::tasks::AnyTasks;
use ictd_core::Error;
use ictd_core::invariant_set::Projection;
use ictd_core::layer::Layer;
use ictd_core::linalg::linear_system::solve;
use ictd_core::rng::{Rng, Stream};
use ictd_core::tasks::{Task as _, TaskDistribution};
use nalgebra::{SMatrix, SVector};

const D: usize = 4;
const K: usize = 2 * D + 1;

/// E[x (x - gamma x')^T] and E[R x], summed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct System {
    /// E[x (x - gamma x')^T].
    pub a: SMatrix<f64, 2, 2>,
    /// E[R x].
    pub b: SVector<f64, 2>,
}

impl System {
    /// The system of no trajectory.
    pub const ZERO: Self = System {
        a: SMatrix::from_array_storage(nalgebra::ArrayStorage([[0.0; 2]; 2])),
        b: SVector::from_array_storage(nalgebra::ArrayStorage([[0.0; 2]])),
    };

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

/// Returns the system of so many trajectories of a recipe's tasks, as training draws them.
///
/// # Errors
/// The core's.
pub fn system(recipe: &Recipe, trajectories: usize, seed: u64) -> Result<System, Error> {
    let (tasks, gamma) = (AnyTasks::new(recipe), recipe.gamma as f32);
    let (mut rng, mut system) = (Rng::stream(seed, Stream::Evaluation), System::ZERO);
    for _ in 0..trajectories {
        let task = TaskDistribution::<f32, D>::draw(&tasks, gamma, &mut rng)?;
        let mut state = task.initial_state(&mut rng);
        let (mut features, mut rewards) = (Vec::new(), Vec::new());
        for _ in 0..recipe.context + recipe.batch_size + 2 {
            features.push(task.features(state).map(f64::from));
            let (reward, next) = task.step(state, &mut rng);
            rewards.push(f64::from(reward));
            state = next;
        }
        system.add(&features, &rewards, recipe.context, recipe.gamma);
    }
    Ok(system)
}

/// Returns eta c, eta c' and c' / c of all systems together, each with its standard error by leaving out one
/// system after the other (the jackknife).
pub fn fixed_point(systems: &[System]) -> [[f64; 2]; 3] {
    let at = |without: Option<usize>| {
        let kept = systems.iter().enumerate().filter(|(i, _)| Some(*i) != without);
        let sum = kept.fold(System::ZERO, |s, (_, one)| System { a: s.a + one.a, b: s.b + one.b });
        let u = solve(sum.a, sum.b, 2, "fixed point");
        u.map_or([f64::NAN; 3], |u| [u[0], u[1], u[1] / u[0]])
    };
    let (all, blocks) = (at(None), systems.len() as f64);
    let left_out: Vec<_> = (0..systems.len()).map(|i| at(Some(i))).collect();
    std::array::from_fn(|i| {
        let mean = left_out.iter().map(|x| x[i]).sum::<f64>() / blocks;
        let squares: f64 = left_out.iter().map(|x| (x[i] - mean) * (x[i] - mean)).sum();
        [all[i], ((blocks - 1.0) / blocks * squares).sqrt()]
    })
}

/// Returns eta c and eta c' of a trained layer, in the mean over the last tenth of its log, and the share of the
/// energy of P and Q that is outside of Theta_* at the end.
pub fn at_the_end(run: &SeedRun) -> [f64; 3] {
    let first = run.points.iter().filter_map(|point| point.layers.first());
    let layers: Vec<Layer<f64, K>> = first.map(Matrices::to_layer).collect();
    let tenth = layers.len().div_ceil(10);
    let mut mean = [0.0; 2];
    for layer in layers.iter().rev().take(tenth) {
        let Projection { eta, c, c_prime, .. } = Projection::of::<D, K>(layer);
        mean[0] += eta * c;
        mean[1] += eta * c_prime;
    }
    let outside = layers.last().map_or(f64::NAN, |layer| {
        let Projection { eta, c, c_prime, .. } = Projection::of::<D, K>(layer);
        let inside = eta * eta + D as f64 * (c * c + c_prime * c_prime);
        1.0 - inside / (layer.p.norm_squared() + layer.q.norm_squared())
    });
    [mean[0] / tenth as f64, mean[1] / tenth as f64, outside]
}
