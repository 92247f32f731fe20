//! Theorem 2: the parameters that implement TD form an invariant set of the training.

use super::experiment::{Entry, Experiment, Measured, Run, run};
use super::panels;
use super::statistics::quartiles;
use crate::error::{Doing, Error};
use crate::options;
use crate::run::records::Records;
use crate::run::report::{Claim, Verdict};
use crate::run::session::Session;
use figures::{Axis, Curve, Curves, NamedFigures};
use ictd_core::invariant_set::{
    FeatureTrajectory, Projection, group_averaged_update, step, theta_star, update,
};
use ictd_core::layer::Layer;
use ictd_core::rng::Rng;
use ictd_core::tasks::{Mrp, Task as _, boyan_chain};
use nalgebra::{SMatrix, SVector};
use serde::{Deserialize, Serialize};

const D: usize = 3;
const K: usize = 7;
/// Context length of the trajectories.
const CONTEXT: usize = 10;
const LENGTH: usize = CONTEXT + 3;
const TRAJECTORIES: usize = 4;
const GAMMA: f64 = 0.9;

/// Theorem 2: training never leaves the parameters that implement TD
///
/// One layer, d = 3. The expectation over features is exact: the mean over all 48 signed
/// permutations. From theta_* the averaged update stays on the set {theta_*(eta, c, c')}, step after
/// step, up to rounding; without the average, or from elsewhere, it leaves.
#[derive(Clone, Debug, PartialEq, clap::Args, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct InvariantSet {
    /// Updates
    #[arg(long, default_value = "40", value_parser = options::integer(1..=100_000))]
    pub steps: usize,
    /// Step size alpha
    #[arg(long, default_value = "0.1", value_parser = options::real(0.0..=1.0))]
    pub alpha: f64,
    /// How many starting points and sets of trajectories
    #[arg(long, default_value = "30", value_parser = options::integer(1..=100_000))]
    pub seeds: usize,
}

impl Default for InvariantSet {
    fn default() -> Self {
        options::parsed("")
    }
}

/// One row of `departures.csv`: the distance from Theta_*, the largest absolute entry off its form.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DepartureRow {
    /// The seed.
    pub seed: u64,
    /// Updates so far.
    pub step: usize,
    /// From theta_* with the averaged update.
    pub averaged: f64,
    /// From theta_* with one trajectory's own update.
    pub single: f64,
    /// From elsewhere with the averaged update.
    pub outside: f64,
}

/// How far the parameters go from the set.
#[derive(Serialize)]
pub struct Found {
    max_departure: f64,
    min_departure_without_average: f64,
    min_departure_outside: f64,
}

impl Experiment for InvariantSet {
    const ENTRY: Entry = Entry {
        id: "invariant-set",
        figure: "Theorem 2: the invariant set of TD pretraining",
        figures,
        run: Run::Fixed(|session| run(&InvariantSet::default(), session)),
    };

    type Found = Found;

    fn measure(&self, session: &Session, records: &mut Records) -> Measured<Found> {
        let seeds: Vec<u64> = (0..self.seeds as u64).map(|i| session.seed + i).collect();
        let per_seed = session.map("invariant", &seeds, |&seed| {
            departures(self, seed).doing(format!("invariant-set, seed {seed}"))
        })?;
        let rows: Vec<DepartureRow> = per_seed.into_iter().flatten().collect();
        records.put_csv("departures.csv", &rows)?;
        let smallest = |of: fn(&DepartureRow) -> f64| {
            let ends = rows.iter().filter(|r| r.step == self.steps).map(of);
            ends.fold(f64::INFINITY, f64::min)
        };
        let inside = rows.iter().map(|r| r.averaged).fold(0.0, f64::max);
        let single = smallest(|r| r.single);
        let (seeds, steps) = (self.seeds, self.steps);
        let claims = vec![
            Claim::new(
                "updates stay in the invariant set",
                "theta_k in Theta_* for all k",
                format!("{seeds} seeds, {steps} updates: largest departure {inside:.1e}"),
                Verdict::of(inside < 1e-12),
            ),
            Claim::new(
                "the symmetry of the features is needed",
                "Assumption 2",
                format!("one trajectory alone departs by at least {single:.1e}"),
                Verdict::of(single > 1e-6),
            ),
        ];
        let found = Found {
            max_departure: inside,
            min_departure_without_average: single,
            min_departure_outside: smallest(|r| r.outside),
        };
        Ok((found, claims))
    }
}

fn figures(records: &Records) -> Result<NamedFigures, Error> {
    let rows: Vec<DepartureRow> = records.csv("departures.csv")?;
    let steps = rows.iter().map(|r| r.step).max().unwrap_or(0);
    let curve = |label: &str, of: fn(&DepartureRow) -> f64| {
        let at = |k: usize| quartiles(rows.iter().filter(|r| r.step == k).map(of).collect());
        // What is exactly on the set is drawn at the bottom.
        let quartiles: Vec<_> = (0..=steps).map(|k| at(k).map(|x| x.max(1e-18))).collect();
        Curve {
            label: label.into(),
            x: (0..=steps).map(|k| k as f64).collect(),
            y: quartiles.iter().map(|q| q[1]).collect(),
            band: quartiles.iter().map(|q| (q[0], q[2])).collect(),
            dashed: false,
        }
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
    Ok(vec![("invariant-set".into(), panels::single(title, subtitle, panel))])
}

/// The three ways of one seed.
fn departures(options: &InvariantSet, seed: u64) -> Result<Vec<DepartureRow>, ictd_core::Error> {
    let mut rng = Rng::new(seed);
    let mut features = [[SVector::<f64, D>::zeros(); LENGTH]; TRAJECTORIES];
    let mut rewards = [[0.0; LENGTH - 1]; TRAJECTORIES];
    for (features, rewards) in features.iter_mut().zip(&mut rewards) {
        let task: Mrp<f64, D, 10> = boyan_chain(10, &mut rng)?;
        let mut state = task.initial_state(&mut rng);
        for k in 0..LENGTH {
            features[k] = task.features(state);
            if k + 1 < LENGTH {
                (rewards[k], state) = task.step(state, &mut rng);
            }
        }
    }
    let trajectories: [FeatureTrajectory<f64, D>; TRAJECTORIES] =
        std::array::from_fn(|i| FeatureTrajectory { features: &features[i], rewards: &rewards[i] });
    let star = theta_star::<f64, D, K>(
        rng.uniform_in(-1.0, 1.0),
        rng.uniform_in(-1.0, 1.0),
        rng.uniform_in(-1.0, 1.0),
    );
    let mut noise = || SMatrix::<f64, K, K>::from_fn(|_, _| rng.uniform_in(-0.1, 0.1));
    let mut averaged = star;
    let mut single = star;
    let mut outside = Layer { p: star.p + noise(), q: star.q + noise() };
    let departure = |layer: &Layer<f64, K>| Projection::of::<D, K>(layer).departure;
    let mut rows = Vec::new();
    for k in 0..=options.steps {
        rows.push(DepartureRow {
            seed,
            step: k,
            averaged: departure(&averaged),
            single: departure(&single),
            outside: departure(&outside),
        });
        let mean = |layer: &Layer<f64, K>| {
            group_averaged_update::<f64, D, K, LENGTH>(layer, &trajectories, GAMMA)
        };
        averaged = step(&averaged, options.alpha, &mean(&averaged)?);
        outside = step(&outside, options.alpha, &mean(&outside)?);
        let own = update::<f64, D, K>(&single, &trajectories[0], GAMMA)?;
        single = step(&single, options.alpha, &own);
    }
    Ok(rows)
}
