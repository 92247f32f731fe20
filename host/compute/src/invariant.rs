//! Theorem 2: the mean over all signed permutations of the features of updates from theta_*, which stay in its
//! invariant set, and updates of samples, which leave it.

use crate::judge::{Judged, Number, number};
use ictd_core::invariant_set::{
    FeatureTrajectory, Projection, SignedPermutation, averaged_update, linear_update, step,
    theta_star,
};
use ictd_core::layer::Layer;
use ictd_core::mask::Td0;
use ictd_core::rng::Rng;
use ictd_core::tasks::{Mrp, Task, boyan_chain};
use ictd_core::transformer::Transformer;
use nalgebra::SMatrix;

const GAMMA: f64 = 0.9;
/// The step size of updates by TD.
const ALPHA: f64 = 0.1;

/// Updates of one layer with d = 3 after contexts of 10 transitions; returns after each of them the largest
/// absolute entry off Theta_*'s form: `averaged` updates from theta_*, those of a `single` trajectory, and averaged
/// updates from `elsewhere`.
///
/// # Errors
/// The core's.
pub fn theorem_2(seed: u64, steps: usize) -> Judged<Vec<Number>> {
    const D: usize = 3;
    const K: usize = 7;
    const LENGTH: usize = 13;
    const TRAJECTORIES: usize = 4;
    type OneLayer = Transformer<Layer<f64, K>, 1>;
    let mut rng = Rng::new(seed);
    let mut samples = Vec::new();
    for _ in 0..TRAJECTORIES {
        let task: Mrp<f64, D, 10> = boyan_chain(10, &mut rng)?;
        let mut state = task.initial_state(&mut rng);
        let (mut features, mut rewards) = (Vec::new(), Vec::new());
        for _ in 0..LENGTH {
            features.push(task.features(state));
            let (reward, next) = task.step(state, &mut rng);
            rewards.push(reward);
            state = next;
        }
        // The last state pays nothing any more.
        rewards.pop();
        samples.push((features, rewards));
    }
    let trajectories: Vec<_> =
        samples.iter().map(|(features, rewards)| FeatureTrajectory { features, rewards }).collect();
    let mut draw = |size: f64| rng.uniform_in(-size, size);
    let star = theta_star::<f64, D, K>(draw(1.0), draw(1.0), draw(1.0));
    let mut noise = || SMatrix::<f64, K, K>::from_fn(|_, _| draw(0.1));
    let elsewhere = Layer { p: star.p + noise(), q: star.q + noise() };
    let mut averaged = OneLayer::autoregressive(star, 1)?;
    let mut single = averaged.clone();
    let mut outside = OneLayer::autoregressive(elsewhere, 1)?;
    let update = |theta: &OneLayer, trajectory: &FeatureTrajectory<f64, D>| {
        linear_update::<f64, D, K, 1, LENGTH>(theta, &Td0, GAMMA, trajectory)
    };
    let mean = |theta: &OneLayer| {
        let group = SignedPermutation::<D>::all();
        averaged_update::<f64, D, LENGTH, _>(&trajectories, group, |moved| update(theta, moved))
    };
    let mut numbers = Vec::new();
    for k in 0..=steps {
        for (metric, theta) in
            [("averaged", &averaged), ("single", &single), ("elsewhere", &outside)]
        {
            let departure = Projection::of::<D, K>(&theta.layers()[0]).departure;
            numbers.push(Number { at: k as f64, ..number(metric, departure) });
        }
        for theta in [&mut averaged, &mut outside] {
            let delta = mean(theta)?;
            step(theta, ALPHA, &delta);
        }
        let own = update(&single, &trajectories[0])?;
        step(&mut single, ALPHA, &own);
    }
    Ok(numbers)
}
