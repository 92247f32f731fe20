//! What trained parameters have beside ten numbers a layer: of P and Q, and of the function.

use super::InvariantSet;
use super::updates::NOT_IN_THE_PAPER;
use crate::error::{Doing, Error};
use crate::experiments::experiment::{Measured, Run, TrainingRun};
use crate::experiments::function::{Heads, Judge};
use crate::experiments::learning;
use crate::experiments::panels;
use crate::experiments::statistics::{median, median_interval, spread};
use crate::experiments::trained::{AUTOREGRESSIVE, CART_POLE, COMPARISON, FIGURE_2, SEQUENTIAL};
use crate::options as parse;
use crate::run::records::Records;
use crate::run::report::{Claim, Verdict};
use crate::run::session::Session;
use crate::train::log::SeedRun;
use crate::train::options::{Recipe, Train};
use figures::{Axis, Curve, Curves, Figure, Panel};
use ictd_core::invariant_set::{commuting_part, share_outside};
use ictd_core::layer::Layer;
use ictd_core::rng::{Rng, Stream};
use nalgebra::SMatrix;
use serde::{Deserialize, Serialize};

/// One row of `trained.csv`: a trained seed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SeedRow {
    /// The run's name.
    pub run: String,
    /// The seed.
    pub seed: u64,
    /// The share of the energy of P, of all stored layers together, outside of the set.
    pub outside_p: f64,
    /// And of Q.
    pub outside_q: f64,
    /// The share of |v|^2 that is lost by projecting on ten numbers a layer.
    pub ten_numbers: f64,
    /// By keeping those three alone that Theorem 1 has.
    pub theorem_1: f64,
    /// By projecting random layers, whose P and Q have the size of the trained ones.
    pub random: f64,
}

/// A run, in medians over its seeds.
#[derive(Serialize)]
pub(super) struct Found {
    run: &'static str,
    outside_p: f64,
    outside_q: f64,
    ten_numbers: f64,
    theorem_1: f64,
    random: f64,
}

/// The paper's linear transformers, each run once.
fn runs() -> Vec<&'static TrainingRun> {
    let mut runs: Vec<&TrainingRun> = Vec::new();
    for entry in [&FIGURE_2, &AUTOREGRESSIVE, &COMPARISON, &SEQUENTIAL, &CART_POLE] {
        let Run::Trained(training) = &entry.run else { continue };
        runs.extend(training.runs);
    }
    let mut names = std::collections::BTreeSet::new();
    runs.retain(|run| names.insert(run.name));
    runs
}

pub(super) fn measure(
    options: &InvariantSet,
    session: &Session,
    records: &mut Records,
) -> Measured<Vec<Found>> {
    let (mut rows, mut found, mut claims) = (Vec::new(), Vec::new(), Vec::new());
    for run in runs() {
        let train: Train = options.scale.apply(parse::parsed(run.options));
        let seeds = learning::trained(run.name, &train, session)?;
        let of_run = match train.recipe.dim {
            8 => of_seeds::<8, 17>(run.name, &train.recipe, &seeds, options.tasks, session)?,
            _ => of_seeds::<4, 9>(run.name, &train.recipe, &seeds, options.tasks, session)?,
        };
        let all = |of: fn(&SeedRow) -> f64| of_run.iter().map(of).collect::<Vec<f64>>();
        let median = |of| median(&all(of));
        let of = Found {
            run: run.name,
            outside_p: median(|r| r.outside_p),
            outside_q: median(|r| r.outside_q),
            ten_numbers: median(|r| r.ten_numbers),
            theorem_1: median(|r| r.theorem_1),
            random: median(|r| r.random),
        };
        claims.push(claim(run.name, &of_run));
        found.push(of);
        rows.extend(of_run);
    }
    records.put_csv("trained.csv", &rows)?;
    Ok((found, claims))
}

fn of_seeds<const D: usize, const K: usize>(
    name: &str,
    recipe: &Recipe,
    runs: &[SeedRun],
    tasks: usize,
    session: &Session,
) -> Result<Vec<SeedRow>, Error> {
    let judge = Judge::<Layer<f64, K>, D>::new(recipe, &[], tasks, session.seed);
    let judge = judge.doing(format!("invariant-set, contexts of {name}"))?;
    session.map(name, runs, |run| {
        of_seed(name, run, &judge).doing(format!("invariant-set, {name}, seed {}", run.seed))
    })
}

fn of_seed<const D: usize, const K: usize>(
    name: &str,
    run: &SeedRun,
    judge: &Judge<Layer<f64, K>, D>,
) -> Result<SeedRow, ictd_core::Error> {
    let layers = Layer::at_end(run);
    let mut rng = Rng::stream(run.seed, Stream::Evaluation);
    let mut like = |m: &SMatrix<f64, K, K>| {
        let normal = SMatrix::<f64, K, K>::from_fn(|_, _| rng.normal());
        normal * (m.norm() / normal.norm())
    };
    let random: Vec<_> = layers.iter().map(|l| Layer { p: like(&l.p), q: like(&l.q) }).collect();
    let ten_numbers = |layers: &[_]| layers.iter().map(commuting_part::<D, _>).collect::<Vec<_>>();
    let projected = ten_numbers(&layers);
    let theorem_1: Vec<_> = projected.iter().map(theorem_1s_entries::<D, K>).collect();

    // A seed that has diverged has no function.
    let finite = run.diverged().is_none();
    let lost = |of: &[_], kept: &[_]| {
        if finite { judge.lost(of, kept) } else { Ok(f64::NAN) }
    };
    let zero = SMatrix::zeros();
    let of = |layers: Vec<Layer<f64, K>>| share_outside::<D, _>(&layers);
    Ok(SeedRow {
        run: name.into(),
        seed: run.seed,
        outside_p: of(layers.iter().map(|l| Layer { q: zero, ..*l }).collect()),
        outside_q: of(layers.iter().map(|l| Layer { p: zero, ..*l }).collect()),
        ten_numbers: lost(&layers, &projected)?,
        theorem_1: lost(&layers, &theorem_1)?,
        random: lost(&random, &ten_numbers(&random))?,
    })
}

/// Ten numbers a layer are most of the function: projecting on them loses little of |v|^2.
pub fn claim(name: &str, seeds: &[SeedRow]) -> Claim {
    const LITTLE: f64 = 0.05;
    let all = |of: fn(&SeedRow) -> f64| seeds.iter().map(of).collect::<Vec<f64>>();
    let (ten, random) = (all(|r| r.ten_numbers), median(&all(|r| r.random)));
    let few = ten.iter().filter(|share| **share < LITTLE).count();
    let lost = median_interval(&ten);
    Claim::new(
        format!("{name}: ten numbers a layer are most of the function"),
        NOT_IN_THE_PAPER,
        format!(
            "lost of |v|^2: median {lost}, needs < {LITTLE} (in part < half of what random layers lose, {random:.2}); \
             below it in {few} of {} seeds; with Theorem 1's entries alone {}",
            ten.len(),
            spread(&all(|r| r.theorem_1))
        ),
        Verdict::graded(lost.high < LITTLE, lost.high < 0.5 * random),
    )
}

/// Of ten numbers those of Theorem 1: eta, and the multiples of I in Q's upper blocks.
fn theorem_1s_entries<const D: usize, const K: usize>(layer: &Layer<f64, K>) -> Layer<f64, K> {
    let mut kept = Layer { p: SMatrix::zeros(), q: SMatrix::zeros() };
    kept.p[(2 * D, 2 * D)] = layer.p[(2 * D, 2 * D)];
    for i in 0..D {
        for j in [i, D + i] {
            kept.q[(i, j)] = layer.q[(i, j)];
        }
    }
    kept
}

/// The table for a human: medians over seeds.
pub(super) fn rows(found: &[Found]) -> Vec<[String; 6]> {
    let head =
        ["run", "outside: P", "Q", "lost: ten numbers", "Theorem 1's entries", "random layers"];
    let row = |f: &Found| {
        let [p, q, ten, three, random] =
            [f.outside_p, f.outside_q, f.ten_numbers, f.theorem_1, f.random]
                .map(|share| format!("{share:.4}"));
        [f.run.into(), p, q, ten, three, random]
    };
    std::iter::once(head.map(str::to_owned)).chain(found.iter().map(row)).collect()
}

pub(super) fn figure(records: &Records) -> Result<Figure, Error> {
    let rows: Vec<SeedRow> = records.csv("trained.csv")?;
    let runs = panels::names("trained.csv", rows.iter().map(|r| r.run.as_str()))?;
    let panel = |run: &&str| {
        let curve = |label: &str, of: fn(&SeedRow) -> f64| {
            Curve::sorted(label, rows.iter().filter(|r| r.run == *run).map(of))
        };
        Panel::Curves(Curves {
            title: run.to_string(),
            x: Axis::linear("seeds, each curve in its own order"),
            y: Axis { low: Some(1e-3), high: Some(1e3), ..Axis::log("share") },
            curves: vec![
                curve("ten numbers", |r| r.ten_numbers),
                curve("Theorem 1's", |r| r.theorem_1),
                curve("random layers", |r| r.random),
                Curve { dashed: true, ..curve("outside: P", |r| r.outside_p) },
                Curve { dashed: true, ..curve("outside: Q", |r| r.outside_q) },
            ],
            ..Default::default()
        })
    };
    Ok(Figure {
        title: "What trained layers are beside ten numbers each".into(),
        subtitle:
            "share of |v|² that is lost by keeping those alone, or Theorem 1's three, or ten of \
                   random layers; dashed: share of P's and Q's squares outside"
                .into(),
        panels: runs.iter().map(panel).collect(),
        columns: 3,
    })
}
