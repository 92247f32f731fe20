//! Theorem 2: updates from theta_* that are averaged over all signed permutations of the features stay in its invariant set;
//! updates of samples, or averaged over fewer permutations, leave it.

use crate::judge::{Measurement, number};
use compute::log::{Matrices, SeedRun};
use ictd_core::Result;
use ictd_core::invariant_set::{
    Projection, apply_update, averaged_update, signed_permutations, theta_star, trajectory_update,
};
use ictd_core::layer::{Layer, LayerParameters as _};
use ictd_core::rng::Rng;
use ictd_core::tasks::{Mrp, Task, boyan_chain};
use ictd_core::training::{
    LinearNetwork, LinearShape, Network as _, Parameters as _, Targets, Windows,
};
use nalgebra::SMatrix;

const GAMMA: f64 = 0.9;
const ALPHA: f64 = 0.1;

/// Updates one layer with d = 3 on contexts of 10 transitions; returns after each update the largest absolute entry off
/// Theta_*'s form: `averaged` updates from theta_*, those of a `single` trajectory, those averaged over the permutations of
/// features but not over their signs (`permuted`), and averaged updates from `elsewhere`.
pub fn theorem_2(seed: u64, steps: usize) -> Result<Vec<Measurement>> {
    const D: usize = 3;
    const K: usize = 7;
    const LENGTH: usize = 13;
    const TRAJECTORIES: usize = 4;
    type OneLayer = LinearNetwork<f64, Vec<f64>>;
    let mut rng = Rng::new(seed);
    let mut samples = Vec::new();
    for _ in 0..TRAJECTORIES {
        let task: Mrp<f64, D, 10> = boyan_chain(10, D, &mut rng)?;
        let transitions = task.trajectory::<LENGTH>(LENGTH, &mut rng)?;
        let features: Vec<f64> = transitions.iter().flat_map(|t| t.phi.iter().copied()).collect();
        // The reward of the last state is not needed.
        let rewards: Vec<f64> = transitions.iter().take(LENGTH - 1).map(|t| t.reward).collect();
        samples.push((features, rewards));
    }
    let trajectories = samples
        .iter()
        .map(|(features, rewards)| Windows::<f64>::new(D, features, rewards, LENGTH - 3, GAMMA));
    let trajectories: Vec<_> = trajectories.collect::<Result<_, _>>()?;
    let mut draw = |size: f64| rng.uniform_in(-size, size);
    let star = theta_star::<f64, D, K>(draw(1.0), draw(1.0), draw(1.0));
    let mut noise = || SMatrix::<f64, K, K>::from_fn(|_, _| draw(0.1));
    let elsewhere = Layer { p: star.p + noise(), q: star.q + noise() };
    let one_layer = |layer: &Layer<f64, K>| -> Result<OneLayer> {
        let mut theta = OneLayer::zeros(LinearShape::new(D, 1, 1), |len| vec![0.0; len])?;
        let numbers = theta.parameters_mut().numbers_mut();
        numbers.zip(layer.matrices().flatten()).for_each(|(to, from)| *to = *from);
        Ok(theta)
    };
    let (mut averaged, mut outside) = (one_layer(&star)?, one_layer(&elsewhere)?);
    let (mut single, mut permuted) = (averaged.clone(), averaged.clone());
    let has_signs = |g: &SMatrix<f64, D, D>| g.iter().any(|x| *x < 0.0);
    let targets = Targets::Bootstrapped;
    let mut numbers = Vec::new();
    for k in 0..=steps {
        for (metric, theta) in [
            ("averaged", &averaged),
            ("single", &single),
            ("permuted", &permuted),
            ("elsewhere", &outside),
        ] {
            let layer = Layer::<f64, K>::from_numbers(theta.parameters().numbers());
            let departure = Projection::from_layer::<D, K>(&layer).departure;
            numbers.push(Measurement { at: k as f64, ..number(metric, departure) });
        }
        for theta in [&mut averaged, &mut outside] {
            let group = signed_permutations::<_, D>();
            let delta = averaged_update::<_, D, LENGTH, _>(theta, &trajectories, targets, group)?;
            apply_update(theta.parameters_mut(), ALPHA, &delta);
        }
        let group = signed_permutations::<_, D>().filter(|g| !has_signs(g));
        let delta =
            averaged_update::<_, D, LENGTH, _>(&mut permuted, &trajectories, targets, group)?;
        apply_update(permuted.parameters_mut(), ALPHA, &delta);
        let own = trajectory_update(&mut single, &trajectories[0], targets)?;
        apply_update(single.parameters_mut(), ALPHA, &own);
    }
    Ok(numbers)
}

/// Returns the share of |P|^2 + |Q|^2 of a trained layer with d = 4 that is outside Theta_*; NaN if there is no layer.
pub fn outside_theta_star(run: &SeedRun) -> f64 {
    const D: usize = 4;
    let last = run.points.iter().rev().find_map(|point| point.layers.first());
    last.map(Matrices::to_layer).map_or(f64::NAN, |layer: Layer<f64, 9>| {
        let Projection { eta, c, c_prime, .. } = Projection::from_layer::<D, 9>(&layer);
        let inside = eta * eta + D as f64 * (c * c + c_prime * c_prime);
        1.0 - inside / (layer.p.norm_squared() + layer.q.norm_squared())
    })
}
