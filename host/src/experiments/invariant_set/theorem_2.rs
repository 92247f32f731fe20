//! Theorem 2: one layer, from theta_*.

use super::InvariantSet;
use crate::error::{Doing, Error};
use crate::experiments::experiment::Measured;
use crate::experiments::panels;
use crate::experiments::statistics::{nan_or_larger, quartiles};
use crate::run::records::Records;
use crate::run::report::{Claim, Verdict};
use crate::run::session::Session;
use figures::{Axis, Curve, Curves, Figure};
use ictd_core::invariant_set::{
    FeatureTrajectory, Projection, SignedPermutation, averaged_update, linear_update, step,
    theta_star,
};
use ictd_core::layer::Layer;
use ictd_core::mask::Td0;
use ictd_core::rng::Rng;
use ictd_core::tasks::{Mrp, Task, boyan_chain};
use ictd_core::transformer::Transformer;
use nalgebra::{SMatrix, SVector};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const D: usize = 3;
const K: usize = 7;
/// Of a trajectory, for contexts of 10 transitions.
const LENGTH: usize = 13;
const TRAJECTORIES: usize = 4;
pub(super) const GAMMA: f64 = 0.9;

type OneLayer = Transformer<Layer<f64, K>, 1>;

/// One row of `departures.csv`: the distance from Theta_*, the largest absolute entry off its form.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct DepartureRow {
    /// The seed.
    seed: u64,
    /// Updates so far.
    step: usize,
    /// From theta_* with the averaged update.
    averaged: f64,
    /// From theta_* with one trajectory's own update.
    single: f64,
    /// From elsewhere with the averaged update.
    outside: f64,
}

/// How far the parameters go from the set.
#[derive(Serialize)]
pub struct Found {
    /// The largest, by averaged updates from theta_*.
    pub max_departure: f64,
    /// The smallest by single updates from theta_*.
    pub min_departure_without_average: f64,
    /// The smallest by averaged updates from elsewhere.
    pub min_departure_outside: f64,
}

pub(super) fn measure(
    options: &InvariantSet,
    session: &Session,
    records: &mut Records,
) -> Measured<Found> {
    let seeds = options.starts(session, usize::MAX);
    let per_seed = session.map("invariant", &seeds, |&seed| {
        departures(options, seed).doing(format!("invariant-set, seed {seed}"))
    })?;
    let rows: Vec<DepartureRow> = per_seed.into_iter().flatten().collect();
    records.put_csv("departures.csv", &rows)?;
    let steps = options.steps;
    let smallest = |of: fn(&DepartureRow) -> f64| {
        rows.iter().filter(|r| r.step == steps).map(of).fold(f64::INFINITY, f64::min)
    };
    let inside = rows.iter().map(|r| r.averaged).fold(0.0, nan_or_larger);
    let single = smallest(|r| r.single);
    let found = Found {
        max_departure: inside,
        min_departure_without_average: single,
        min_departure_outside: smallest(|r| r.outside),
    };
    let claims = claims(&found, seeds.len(), steps);
    Ok((found, claims))
}

/// Whether averaged updates stay in the set, and single ones leave it.
pub fn claims(found: &Found, seeds: usize, steps: usize) -> Vec<Claim> {
    let Found { max_departure: inside, min_departure_without_average: single, .. } = found;
    let outside = found.min_departure_outside;
    vec![
        Claim::new(
            "updates stay in the invariant set",
            "theta_k in Theta_* for all k",
            format!(
                "{seeds} seeds, {steps} updates: largest departure {inside:.1e}, needs < 1e-12 (from elsewhere it \
                 is at least {outside:.1e})"
            ),
            Verdict::of(*inside < 1e-12),
        ),
        Claim::new(
            "the symmetry of the features is needed",
            "Assumption 2",
            format!("one trajectory alone departs by at least {single:.1e}, needs > 1e-6"),
            Verdict::of(*single > 1e-6),
        ),
    ]
}

pub(super) fn figure(records: &Records) -> Result<Figure, Error> {
    let rows: Vec<DepartureRow> = records.csv("departures.csv")?;
    let mut steps = BTreeMap::<usize, Vec<&DepartureRow>>::new();
    for row in &rows {
        steps.entry(row.step).or_default().push(row);
    }
    let curve = |label: &str, of: fn(&DepartureRow) -> f64| {
        let at = |rows: &Vec<&DepartureRow>| quartiles(rows.iter().map(|r| of(r)).collect());
        // What is exactly on the set is drawn at the bottom.
        let point = |(step, rows): (&usize, _)| (*step as f64, at(rows).map(|x| x.max(1e-18)));
        Curve::with_quartiles(label, steps.iter().map(point))
    };
    let panel = Curves {
        x: Axis::linear("update k"),
        y: Axis::log("largest entry off the set's form"),
        curves: vec![
            curve("from θ*, averaged", |r| r.averaged),
            curve("from θ*, one trajectory", |r| r.single),
            curve("from elsewhere, averaged", |r| r.outside),
        ],
        ..Default::default()
    };
    let title = "Theorem 2: the invariant set";
    let subtitle = "median over seeds with quartiles; one layer, d = 3, all 48 signed permutations";
    Ok(panels::single(title, subtitle, panel))
}

/// A trajectory of a fresh Boyan chain: T feature vectors, and a reward from each.
pub struct Sample<const D: usize, const T: usize> {
    features: [SVector<f64, D>; T],
    rewards: [f64; T],
}

impl<const D: usize, const T: usize> Sample<D, T> {
    pub fn new(rng: &mut Rng) -> Result<Self, ictd_core::Error> {
        let task: Mrp<f64, D, 10> = boyan_chain(10, rng)?;
        let mut state = task.initial_state(rng);
        let mut sample = Sample { features: [SVector::zeros(); T], rewards: [0.0; T] };
        for (phi, reward) in sample.features.iter_mut().zip(&mut sample.rewards) {
            *phi = task.features(state);
            (*reward, state) = task.step(state, rng);
        }
        Ok(sample)
    }

    /// With so much added to every feature.
    pub fn shifted(mut self, by: f64) -> Self {
        self.features.iter_mut().for_each(|phi| phi.add_scalar_mut(by));
        self
    }

    /// From the first of the features to the last.
    pub fn trajectory(&self) -> FeatureTrajectory<'_, f64, D> {
        FeatureTrajectory { features: &self.features, rewards: &self.rewards[..T - 1] }
    }
}

/// The three ways of one seed.
fn departures(options: &InvariantSet, seed: u64) -> Result<Vec<DepartureRow>, ictd_core::Error> {
    let mut rng = Rng::new(seed);
    let mut samples = Vec::new();
    for _ in 0..TRAJECTORIES {
        samples.push(Sample::<D, LENGTH>::new(&mut rng)?);
    }
    let trajectories: Vec<_> = samples.iter().map(Sample::trajectory).collect();
    let mut draw = |size: f64| rng.uniform_in(-size, size);
    let star = theta_star::<f64, D, K>(draw(1.0), draw(1.0), draw(1.0));
    let mut noise = || SMatrix::<f64, K, K>::from_fn(|_, _| draw(0.1));
    let elsewhere = Layer { p: star.p + noise(), q: star.q + noise() };
    let mut averaged = OneLayer::autoregressive(star, 1)?;
    let mut single = averaged.clone();
    let mut outside = OneLayer::autoregressive(elsewhere, 1)?;
    let departure = |theta: &OneLayer| Projection::of::<D, K>(&theta.layers()[0]).departure;
    let update = |theta: &OneLayer, trajectory: &FeatureTrajectory<f64, D>| {
        linear_update::<f64, D, K, 1, LENGTH>(theta, &Td0, GAMMA, trajectory)
    };
    let mean = |theta: &OneLayer| {
        let group = SignedPermutation::<D>::all();
        averaged_update::<f64, D, LENGTH, _>(&trajectories, group, |moved| update(theta, moved))
    };
    let mut rows = Vec::new();
    for k in 0..=options.steps {
        rows.push(DepartureRow {
            seed,
            step: k,
            averaged: departure(&averaged),
            single: departure(&single),
            outside: departure(&outside),
        });
        for theta in [&mut averaged, &mut outside] {
            let delta = mean(theta)?;
            step(theta, options.alpha, &delta);
        }
        let own = update(&single, &trajectories[0])?;
        step(&mut single, options.alpha, &own);
    }
    Ok(rows)
}
