//! Theorem 2 over the real distribution of tasks, and where its three numbers come to rest.

pub mod system;
pub mod updates;

use super::claims::of_seeds;
use super::experiment::{Entry, Experiment, Measured, Run, run};
use super::function::layers;
use super::learning::{Scale, trained};
use super::statistics::{Interval, mean_and_stderr, median, over_items, spread};
use crate::error::Error;
use crate::options as parse;
use crate::run::records::Records;
use crate::run::report::{Claim, Verdict, table};
use crate::run::session::Session;
use crate::train::log::SeedRun;
use crate::train::options::Train;
use figures::{Axis, Curve, Curves, Figure, HorizontalLine, NamedFigures, Panel};
use ictd_core::invariant_set::Projection;
use ictd_core::layer::Layer;
use serde::{Deserialize, Serialize};
use system::{BLOCKS, System, jackknife};
use updates::UpdateRow;

const D: usize = 4;
const K: usize = 9;
const GAMMA: f64 = 0.9;
/// Feature vectors of a trajectory that Theorem 2 speaks of: n = 30 transitions, the query and its successor.
const LENGTH: usize = 33;

/// Theorem 2 by Monte Carlo, and the fixed point of its three numbers
///
/// One layer, d = 4, n = 30, gamma = 0.9. The mean update of many trajectories of fresh Boyan chains from random
/// theta_*: what of it is outside of Theta_* must be noise, entry by entry; with features that are not symmetric
/// (U(-1, 1) + 0.5) it must not.
///
/// In Theta_* the expected update vanishes at the solution of a 2 x 2 system, which is estimated and solved for
/// three families of tasks, and compared with the layers that training ends with: (eta c, eta c'), and how much of
/// P and Q is outside of Theta_*.
#[derive(Clone, Debug, PartialEq, clap::Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct FixedPoint {
    /// How much is trained; as many starting points for Theorem 2.
    #[command(flatten)]
    #[serde(flatten)]
    pub scale: Scale,
    /// Trajectories in a mean update
    #[arg(long, default_value = "4096", value_parser = parse::integer(64..=100_000_000))]
    pub samples: usize,
    /// Trajectories, of 64 windows each, for a system
    #[arg(long, default_value = "30000", value_parser = parse::integer(BLOCKS..=100_000_000))]
    pub trajectories: usize,
}

/// A family of tasks: its run, options and title.
struct Family {
    run: &'static str,
    options: &'static str,
    title: &'static str,
}

const FAMILIES: [Family; 3] = [
    Family { run: "linear-l1", options: "--layers 1", title: "Boyan's chain" },
    Family {
        run: "linear-l1-representable",
        options: "--layers 1 --task boyan-representable",
        title: "representable chains",
    },
    Family {
        run: "linear-l1-dense",
        options: "--layers 1 --task mdp --states 5",
        title: "random MDPs of 5 states",
    },
];

/// What is found.
#[derive(Serialize)]
pub struct Found {
    /// The root mean square over entries outside of Theta_* of mean / standard error: 1 of noise.
    z: f64,
    /// And with features that are not symmetric.
    z_of_control: f64,
    families: Vec<FamilyFound>,
}

/// Of a family: (eta c, eta c') and c' / c, with standard errors.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FamilyFound {
    run: &'static str,
    fixed_point: [f64; 2],
    fixed_point_stderr: [f64; 2],
    ratio: f64,
    ratio_stderr: f64,
    /// Medians over seeds, as all that follows.
    trained: [f64; 2],
    trained_ratio: f64,
    /// The share of the energy of P and Q that is outside of Theta_*.
    outside: f64,
}

/// One row of `seeds.csv`: a trained seed, in the mean over the last tenth of its log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeedRow {
    /// The run's name.
    pub run: String,
    /// The seed.
    pub seed: u64,
    /// eta c.
    pub eta_c: f64,
    /// eta c'.
    pub eta_c_prime: f64,
    /// At the end, of P and Q.
    pub outside: f64,
}

/// One row of `fixed_points.csv`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PointRow {
    run: String,
    eta_c: f64,
    eta_c_prime: f64,
}

impl Experiment for FixedPoint {
    const ENTRY: Entry = Entry {
        id: "fixed-point",
        figure: "Theorem 2 by Monte Carlo, and its fixed point",
        figures,
        run: Run::Scaled(|scale, session| {
            run(&FixedPoint { scale: scale.clone(), ..parse::parsed("") }, session)
        }),
    };

    type Found = Found;

    fn measure(&self, session: &Session, records: &mut Records) -> Measured<Found> {
        let starts = self.scale.seeds.unwrap_or(30);
        let updates = updates::measure(starts, self.samples, session)?;
        records.put_csv("updates.csv", &updates)?;
        let [z, z_of_control] = updates::root_mean_square_z(&updates);
        let mut claims = vec![updates::claim([z, z_of_control], starts, self.samples)];

        let (mut families, mut seed_rows, mut points) = (Vec::new(), Vec::new(), Vec::new());
        for family in &FAMILIES {
            let train: Train = self.scale.apply(parse::parsed(family.options));
            let seeds = trained(family.run, &train, session)?;
            let systems = system::systems(&train.recipe, self.trajectories, session)?;
            let rows: Vec<SeedRow> = seeds.iter().map(|seed| seed_row(family.run, seed)).collect();
            let found = FamilyFound::new(family.run, &systems, &rows);
            claims.extend(found.claims(family.title, &rows));
            points.push(PointRow {
                run: family.run.into(),
                eta_c: found.fixed_point[0],
                eta_c_prime: found.fixed_point[1],
            });
            seed_rows.extend(rows);
            families.push(found);
        }
        records.put_csv("seeds.csv", &seed_rows)?;
        records.put_csv("fixed_points.csv", &points)?;
        Ok((Found { z, z_of_control, families }, claims))
    }

    fn text(found: &Found) -> String {
        let head =
            ["run", "fixed point: eta c", "eta c'", "c' / c", "trained: eta c", "eta c'", "c' / c"];
        let row = |f: &FamilyFound| {
            let with = |x: f64, e: f64| format!("{x:.4} ± {e:.4}");
            let [p, pe, t] = [f.fixed_point, f.fixed_point_stderr, f.trained];
            [
                f.run.to_owned(),
                with(p[0], pe[0]),
                with(p[1], pe[1]),
                format!("{:.3} ± {:.3}", f.ratio, f.ratio_stderr),
                format!("{:.4}", t[0]),
                format!("{:.4}", t[1]),
                format!("{:.3}", f.trained_ratio),
            ]
        };
        let rows: Vec<_> = std::iter::once(head.map(str::to_owned))
            .chain(found.families.iter().map(row))
            .collect();
        format!("{}\n", table(&rows))
    }
}

fn seed_row(run: &str, seed: &SeedRun) -> SeedRow {
    let layers: Vec<Layer<f64, K>> =
        seed.points.iter().filter_map(|point| layers(point).first().copied()).collect();
    let last = layers.len().div_ceil(10);
    let mean = |of: fn(&Projection<f64>) -> f64| {
        let settled = layers.iter().rev().take(last).map(|l| of(&Projection::of::<D, K>(l)));
        mean_and_stderr(settled).0
    };
    SeedRow {
        run: run.into(),
        seed: seed.seed,
        eta_c: mean(|p| p.eta * p.c),
        eta_c_prime: mean(|p| p.eta * p.c_prime),
        outside: layers.last().map_or(f64::NAN, outside),
    }
}

/// The share of the energy of P and Q that is outside of Theta_*.
fn outside(layer: &Layer<f64, K>) -> f64 {
    let Projection { eta, c, c_prime, .. } = Projection::of::<D, K>(layer);
    let inside = eta * eta + D as f64 * (c * c + c_prime * c_prime);
    1.0 - inside / (layer.p.norm_squared() + layer.q.norm_squared())
}

impl FamilyFound {
    /// A run's seeds, beside the fixed point of the systems.
    pub fn new(run: &'static str, systems: &[System], rows: &[SeedRow]) -> Self {
        let [first, second] = [0, 1].map(|i| jackknife(systems, |u| u[i]));
        let (ratio, ratio_stderr) = jackknife(systems, |u| u[1] / u[0]);
        let median = |of: fn(&SeedRow) -> f64| median(&rows.iter().map(of).collect::<Vec<_>>());
        FamilyFound {
            run,
            fixed_point: [first.0, second.0],
            fixed_point_stderr: [first.1, second.1],
            ratio,
            ratio_stderr,
            trained: [median(|r| r.eta_c), median(|r| r.eta_c_prime)],
            trained_ratio: median(|r| r.eta_c_prime / r.eta_c),
            outside: median(|r| r.outside),
        }
    }

    /// How far the median over seeds is from the fixed point, relative to the fixed point's size.
    fn distance(&self, rows: &[SeedRow]) -> Interval {
        let [x, y] = self.fixed_point;
        over_items(rows, |rows| {
            let of = |of: fn(&SeedRow) -> f64| {
                median(&rows.iter().map(|row| of(row)).collect::<Vec<_>>())
            };
            let [u, v] = [of(|r| r.eta_c), of(|r| r.eta_c_prime)];
            libm::hypot(u - x, v - y) / libm::hypot(x, y)
        })
    }

    /// Whether training ends in the set, at its fixed point, and in the smaller set with c' = 0.
    pub fn claims(&self, title: &str, rows: &[SeedRow]) -> [Claim; 3] {
        let of_rows = |of: fn(&SeedRow) -> f64| spread(&rows.iter().map(of).collect::<Vec<_>>());
        let (near, in_set) = of_seeds(rows.iter().map(|r| r.outside < 0.05));
        let set = Claim::new(
            format!("{title}: training ends in Theorem 2's set"),
            "a candidate set that the update can possibly converge to",
            format!(
                "outside of it {} of P's and Q's squares; < 0.05 in {near}",
                of_rows(|r| r.outside)
            ),
            in_set,
        );
        let distance = self.distance(rows);
        let point = Claim::new(
            format!("{title}: and at its fixed point"),
            "(not in the paper, which leaves convergence open)",
            format!(
                "eta c {} and eta c' {} over seeds; the 2 x 2 system has {:.3} ± {:.3} and {:.3} ± {:.3}: away by a \
                 share {distance:.3}, needs < 0.1 (in part < 0.3)",
                of_rows(|r| r.eta_c),
                of_rows(|r| r.eta_c_prime),
                self.fixed_point[0],
                self.fixed_point_stderr[0],
                self.fixed_point[1],
                self.fixed_point_stderr[1],
            ),
            Verdict::graded(distance.high < 0.1, distance.high < 0.3),
        );
        let error = 3.0 * self.ratio_stderr;
        let smaller = Claim::new(
            format!("{title}: in the smaller set with c' = 0"),
            "or further to Theta'_* (left open)",
            format!(
                "c' / c is {:.3} ± {:.3} at the fixed point, needs within 3 standard errors of 0, and these < 0.05; \
                 {} in trained seeds",
                self.ratio,
                self.ratio_stderr,
                of_rows(|r| r.eta_c_prime / r.eta_c)
            ),
            Verdict::of(self.ratio.abs() < error && error < 0.05),
        );
        [set, point, smaller.open()]
    }
}

fn figures(records: &Records) -> Result<NamedFigures, Error> {
    let updates: Vec<UpdateRow> = records.csv("updates.csv")?;
    let seeds: Vec<SeedRow> = records.csv("seeds.csv")?;
    let points: Vec<PointRow> = records.csv("fixed_points.csv")?;
    let mut panels = vec![updates::panel(&updates)];
    for family in &FAMILIES {
        let sorted = |label: &str, of: fn(&SeedRow) -> f64| {
            let of_run = seeds.iter().filter(|r| r.run == family.run);
            Curve::sorted(label, of_run.map(of).filter(|y| y.is_finite()))
        };
        let point = points.iter().find(|p| p.run == family.run);
        let lines = point
            .into_iter()
            .flat_map(|p| [("−ηc, fixed point", -p.eta_c), ("−ηc′, fixed point", -p.eta_c_prime)]);
        panels.push(Panel::Curves(Curves {
            title: format!("One layer: {}", family.title),
            x: Axis::linear("seeds, each curve in its own order"),
            y: Axis::linear(""),
            curves: vec![sorted("−ηc", |r| -r.eta_c), sorted("−ηc′", |r| -r.eta_c_prime)],
            lines: lines.map(|(label, y)| HorizontalLine { label: label.into(), y }).collect(),
        }));
    }
    let figure = Figure {
        title: "Theorem 2 over the real distribution, and where its three numbers rest".into(),
        subtitle: "means of updates from 30 random starts, median with quartiles; lines: the 2 x 2 system's \
                   solution"
            .into(),
        panels,
        columns: 2,
    };
    Ok(vec![("fixed-point".into(), figure)])
}
