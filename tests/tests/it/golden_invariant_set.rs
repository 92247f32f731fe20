//! Golden family invariant_set: Theorem 2.

use super::*;
use ictd_core::invariant_set::{
    Projection, apply_update, averaged_update, signed_permutations, theta_star, trajectory_update,
};
use ictd_core::layer::LayerParameters;
use ictd_core::training::{LinearNetwork, LinearShape, Network, Parameters, Targets};

/// The capacity for a trajectory.
const T: usize = 64;

golden!(golden_invariant_set, "invariant_set", Real, invariant_set);

fn invariant_set<R: Real, const D: usize, const K: usize>(case: &Case, _: usize) -> Outputs<R> {
    assert_eq!(case.count("group_order"), signed_permutations::<R, D>().count());
    let number = |name| R::from_f64(case.number(name));
    let (count, n, states) = (case.count("trajectories"), case.count("n"), case.count("n_states"));
    let visited = case.input("states").indices();
    let rewards: Vec<R> = tests::load(&case.input("rewards"), 0);
    let phi: Vec<R> = tests::load(&case.input("Phi"), 0);
    assert_eq!((visited.len(), rewards.len()), (count * (n + 3), count * (n + 2)));
    assert_eq!(phi.len(), count * states * D);
    let features = |i: usize| {
        let visited = &visited[i * (n + 3)..][..n + 3];
        visited.iter().flat_map(|s| phi[(i * states + s) * D..][..D].to_vec()).collect()
    };
    let features: Vec<Vec<R>> = (0..count).map(features).collect();
    let trajectory = |i: usize| {
        let rewards = &rewards[i * (n + 2)..][..n + 2];
        Windows::new(D, &features[i], rewards, n, number("gamma")).unwrap()
    };
    let trajectories: Vec<Windows<R>> = (0..count).map(trajectory).collect();
    let targets = Targets::Bootstrapped;
    let averaged = |theta: &mut LinearNetwork<R, Vec<R>>| {
        let group = signed_permutations::<R, D>();
        averaged_update::<R, D, T, _>(theta, &trajectories, targets, group).unwrap()
    };
    let one_layer = |layer: Layer<R, K>| {
        let shape = LinearShape::new(D, 1, 1);
        let mut theta = LinearNetwork::<R, Vec<R>>::zeros(shape, |len| vec![R::ZERO; len]).unwrap();
        let numbers = theta.parameters_mut().numbers_mut();
        numbers.zip(layer.matrices().flatten()).for_each(|(to, from)| *to = *from);
        theta
    };

    let layer = |numbers: &Vec<R>| Layer::<R, K>::from_numbers(Parameters::<R>::numbers(numbers));

    let mut out = Outputs::new();
    let star = theta_star::<R, D, K>(number("eta"), number("c"), number("c_prime"));
    let mut theta = one_layer(star);
    let delta = layer(&averaged(&mut theta));
    matrices(&mut out, ["Delta_P", "Delta_Q"], &delta);
    let projection = Projection::from_layer::<D, K>(&delta);
    out.field("rho", "averaged", [projection.eta]);
    out.field("delta", "averaged", [projection.c]);
    out.field("delta_prime", "averaged", [projection.c_prime]);
    let alone = layer(&trajectory_update(&mut theta, &trajectories[0], targets).unwrap());
    let names = ["control_no_averaging_Delta_P", "control_no_averaging_Delta_Q"];
    matrices(&mut out, names, &alone);
    let outside = Layer {
        p: tests::matrices(&case.input("control_outside_P"), 0)[0],
        q: tests::matrices(&case.input("control_outside_Q"), 0)[0],
    };
    let names = ["control_outside_Delta_P", "control_outside_Delta_Q"];
    let delta = averaged(&mut one_layer(outside));
    matrices(&mut out, names, &layer(&delta));

    let mut iterates = Vec::new();
    for _ in 0..case.count("iterates") {
        let delta = averaged(&mut theta);
        apply_update(theta.parameters_mut(), number("iterate_lr"), &delta);
        let at = Projection::from_layer::<D, K>(&layer(theta.parameters()));
        iterates.extend([at.eta, at.c, at.c_prime]);
        let rounding = if size_of::<R>() == 8 { 1e-12 } else { 1e-4 };
        assert!(at.departure.to_f64() < rounding, "{}: {at:?}", case.label());
    }
    out.field("iterates_eta_c_cprime", "averaged", iterates);
    out
}

fn matrices<R: Real, const K: usize>(out: &mut Outputs<R>, names: [&str; 2], layer: &Layer<R, K>) {
    for (name, m) in names.into_iter().zip([&layer.p, &layer.q]) {
        let rows: SMatrix<R, K, K> = m.transpose();
        out.field(name, "averaged", rows.iter().copied());
    }
}
