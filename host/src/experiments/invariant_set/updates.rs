//! Expected updates of any network whose layers are of ten numbers, and updates of samples.

use super::InvariantSet;
use super::theorem_2::{GAMMA, Sample};
use crate::error::{Doing, Error};
use crate::experiments::experiment::Measured;
use crate::experiments::panels;
use crate::experiments::statistics::{Interval, nan_or_larger, over_items};
use crate::run::records::Records;
use crate::run::report::{Claim, Verdict};
use crate::run::session::Session;
use figures::{Axis, Curve, Curves, Figure};
use ictd_core::invariant_set::{
    FeatureTrajectory, SignedPermutation, averaged_update, commuting_part, linear_update,
    share_outside, softmax_update, step, two_head_update,
};
use ictd_core::layer::{Layer, LayerParameters, TwoHeadLayer};
use ictd_core::mask::TdLambda;
use ictd_core::rng::Rng;
use ictd_core::training::{Adam, AdamSettings, Parameters};
use ictd_core::transformer::Transformer;
use serde::{Deserialize, Serialize};

const D: usize = 2;
/// Of a trajectory, for contexts of 6 transitions.
const LENGTH: usize = 9;
/// Starting points, fewer if fewer seeds are asked for.
const STARTS: usize = 8;
const STEPS: usize = 10;
/// Trajectories in a mean update.
const SAMPLES: [usize; 5] = [1, 4, 16, 64, 256];

type Theta<L> = Transformer<L, 3>;
type Update<'a, L> = &'a (
        dyn Fn(&Theta<L>, &FeatureTrajectory<f64, D>) -> Result<Theta<L>, ictd_core::Error> + Sync
    );

/// How far a network's parameters are from the set (the root of the share of their energy) after as many
/// updates, and what updates of samples have outside.
#[derive(Serialize)]
pub struct Network {
    /// With its mask.
    pub attention: &'static str,
    /// How many, and whether they are shared.
    pub layers: &'static str,
    /// By averaged TD updates, the largest distance over the starting points.
    pub td: f64,
    /// By Adam on these, as large.
    pub adam: f64,
    /// By TD on one trajectory, the smallest.
    pub single: f64,
    /// The power of the number of trajectories with which what is outside of their mean update falls, over the
    /// starting points.
    pub exponent: Interval,
}

/// One row of `samples.csv`.
#[derive(Serialize, Deserialize)]
struct SampleRow {
    attention: String,
    layers: String,
    /// Trajectories in the mean update.
    samples: usize,
    /// The size of its part outside of the set (root mean square over starting points and means), relative
    /// to that of one trajectory's.
    outside: f64,
}

/// What a starting point shows.
struct Start {
    distances: [f64; 3],
    /// The mean energy outside, for each of [`SAMPLES`].
    outside: [f64; SAMPLES.len()],
}

pub(super) fn measure(
    options: &InvariantSet,
    session: &Session,
    records: &mut Records,
) -> Measured<Vec<Network>> {
    let seeds = options.starts(session, STARTS);
    let (mut networks, mut rows) = (Vec::new(), Vec::new());
    let mut add = |attention, layers, starts: Vec<Start>| {
        let distances = |i: usize| starts.iter().map(move |s| s.distances[i]);
        let outside = |starts: &[&Start], i: usize| {
            let energy = |i: usize| starts.iter().map(|s| s.outside[i]).sum::<f64>();
            (energy(i) / energy(0)).sqrt()
        };
        let last = SAMPLES.len() - 1;
        let exponent = over_items(&starts, |starts| {
            libm::log(outside(starts, last)) / libm::log(SAMPLES[last] as f64)
        });
        networks.push(Network {
            attention,
            layers,
            td: distances(0).fold(0.0, nan_or_larger),
            adam: distances(1).fold(0.0, nan_or_larger),
            single: distances(2).fold(f64::INFINITY, f64::min),
            exponent,
        });
        let all: Vec<&Start> = starts.iter().collect();
        rows.extend(SAMPLES.iter().enumerate().map(|(i, &samples)| SampleRow {
            attention: attention.into(),
            layers: layers.into(),
            samples,
            outside: outside(&all, i),
        }));
    };
    for (attention, lambda) in [("linear, TD(0)", 0.0), ("linear, TD(0.7)", 0.7)] {
        let mask = TdLambda::new(lambda).doing("invariant-set, updates")?;
        let update = |theta: &Theta<Layer<f64, 5>>, trajectory: &FeatureTrajectory<f64, D>| {
            linear_update::<_, D, 5, 3, LENGTH>(theta, &mask, GAMMA, trajectory)
        };
        for (layers, depths) in LAYERS {
            add(attention, layers, starts(depths, &seeds, session, &update)?);
        }
    }
    let update = |theta: &Theta<Layer<f64, 5>>, trajectory: &FeatureTrajectory<f64, D>| {
        softmax_update::<_, D, 5, 3, LENGTH>(theta, GAMMA, trajectory)
    };
    for (layers, depths) in LAYERS {
        add("softmax", layers, starts(depths, &seeds, session, &update)?);
    }
    let update = |theta: &Theta<TwoHeadLayer<f64, 6>>, trajectory: &FeatureTrajectory<f64, D>| {
        two_head_update::<_, D, 6, 3, LENGTH>(theta, trajectory)
    };
    for (layers, depths) in LAYERS {
        add("two heads", layers, starts(depths, &seeds, session, &update)?);
    }
    records.put_csv("samples.csv", &rows)?;
    let claims = claims(&networks);
    Ok((networks, claims))
}

/// What is said of the layers, how many are stored, and how many passed.
const LAYERS: [(&str, [usize; 2]); 3] = [("1", [1, 1]), ("3, shared", [1, 3]), ("2, own", [2, 2])];

fn starts<L: LayerParameters<Scalar = f64>>(
    [stored, depth]: [usize; 2],
    seeds: &[u64],
    session: &Session,
    update: Update<L>,
) -> Result<Vec<Start>, Error> {
    session.map("updates", seeds, |&seed| {
        let mut rng = Rng::new(seed);
        let layers = [(); 2].map(|()| {
            let mut layer = L::ZERO;
            layer.matrices_mut().flatten().for_each(|x| *x = rng.uniform_in(-0.5, 0.5));
            commuting_part::<D, L>(&layer)
        });
        let theta = match stored {
            1 => Theta::autoregressive(layers[0], depth),
            _ => Theta::sequential(&layers),
        };
        theta.and_then(|theta| start(theta, &mut rng, update)).doing(format!("seed {seed}"))
    })
}

fn start<L: LayerParameters<Scalar = f64>>(
    theta: Theta<L>,
    rng: &mut Rng,
    update: Update<L>,
) -> Result<Start, ictd_core::Error> {
    let sample = Sample::<D, LENGTH>::new(rng)?;
    let averaged = |theta: &Theta<L>| {
        let group = SignedPermutation::<D>::all();
        let moved = |moved: &FeatureTrajectory<f64, D>| update(theta, moved);
        averaged_update::<f64, D, LENGTH, _>(&[sample.trajectory()], group, moved)
    };
    let [mut by_td, mut by_adam, mut by_one] = [(); 3].map(|()| theta.clone());
    // Below such an epsilon Adam would make steps of what is rounding.
    let settings = AdamSettings { learning_rate: 0.01, epsilon: 1e-2, ..Default::default() };
    let mut adam = Adam::new(settings, &theta)?;
    for _ in 0..STEPS {
        let delta = averaged(&by_td)?;
        step(&mut by_td, 0.1, &delta);
        let delta = averaged(&by_adam)?;
        let mut gradient = delta.zeros_like();
        step(&mut gradient, -2.0, &delta);
        adam.step(&mut by_adam, &gradient);
        let delta = update(&by_one, &sample.trajectory())?;
        step(&mut by_one, 0.1, &delta);
    }
    let distances =
        [&by_td, &by_adam, &by_one].map(|theta| share_outside::<D, L>(theta.layers()).sqrt());

    // The energy outside, of every mean of neighbours: in the mean over all of them.
    let most = SAMPLES[SAMPLES.len() - 1];
    let mut outside = [0.0; SAMPLES.len()];
    let mut means = SAMPLES.map(|_| theta.zeros_like());
    for k in 1..=most {
        let delta = update(&theta, &Sample::<D, LENGTH>::new(rng)?.trajectory())?;
        for ((mean, outside), samples) in means.iter_mut().zip(&mut outside).zip(SAMPLES) {
            step(mean, 1.0 / samples as f64, &delta);
            if k % samples == 0 {
                *outside += energy_outside(mean) * samples as f64 / most as f64;
                *mean = theta.zeros_like();
            }
        }
    }
    Ok(Start { distances, outside })
}

fn energy_outside<L: LayerParameters<Scalar = f64>>(theta: &Theta<L>) -> f64 {
    let energy: f64 = theta.numbers().map(|x| x * x).sum();
    share_outside::<D, L>(theta.layers()) * energy
}

/// Whether expected updates stay in the set, and means of samples approach it as the root of their number.
pub fn claims(networks: &[Network]) -> Vec<Claim> {
    let largest = |of: fn(&Network) -> f64| networks.iter().map(of).fold(0.0, nan_or_larger);
    let (td, adam) = (largest(|n| n.td), largest(|n| n.adam));
    let single = networks.iter().map(|n| n.single).fold(f64::INFINITY, f64::min);
    let within = |low: f64, high: f64| {
        let is = |n: &Network| low < n.exponent.low && n.exponent.high < high;
        !networks.is_empty() && networks.iter().all(is)
    };
    let exponents: Vec<_> = networks.iter().map(|n| format!("{:.2}", n.exponent)).collect();
    vec![
        Claim::new(
            "layers of ten numbers stay such, for any depth, mask and attention",
            NOT_IN_THE_PAPER,
            format!(
                "{} networks, {STEPS} averaged updates: distance at most {td:.1e} by TD, {adam:.1e} \
                 by Adam; at least {single:.1e} by one trajectory",
                networks.len()
            ),
            Verdict::of(td < 1e-10 && adam < 1e-10 && single > 1e-6),
        ),
        Claim::new(
            "mean updates of N trajectories approach the set as 1 / sqrt(N)",
            NOT_IN_THE_PAPER,
            format!(
                "N to the power of {}, up to N = 256; needs -0.5 +- 0.1 (in part +- 0.3) in each network",
                exponents.join(", ")
            ),
            Verdict::graded(within(-0.6, -0.4), within(-0.8, -0.2)),
        ),
    ]
}

/// What stands where the paper's words would.
pub(super) const NOT_IN_THE_PAPER: &str =
    "(not in the paper, whose Theorem 2 is the case of one layer)";

/// The table for a human.
pub(super) fn rows(networks: &[Network]) -> Vec<[String; 6]> {
    let head = ["attention", "layers", "by TD", "by Adam", "one trajectory", "N to the power of"];
    let row = |n: &Network| {
        let [td, adam, single] = [n.td, n.adam, n.single].map(|x| format!("{x:.1e}"));
        [n.attention.into(), n.layers.into(), td, adam, single, format!("{:.2}", n.exponent)]
    };
    std::iter::once(head.map(str::to_owned)).chain(networks.iter().map(row)).collect()
}

pub(super) fn figure(records: &Records) -> Result<Figure, Error> {
    let rows: Vec<SampleRow> = records.csv("samples.csv")?;
    let mut curves: Vec<Curve> = Vec::new();
    // Shared layers stand for the others, whose curves lie on theirs.
    for row in rows.iter().filter(|r| r.layers == "3, shared") {
        if curves.last().is_none_or(|c| c.label != row.attention) {
            curves.push(Curve::plain(&row.attention, Vec::new(), Vec::new()));
        }
        if let Some(curve) = curves.last_mut() {
            curve.x.push(row.samples as f64);
            curve.y.push(row.outside);
        }
    }
    let x: Vec<f64> = SAMPLES.map(|n| n as f64).into();
    let y = x.iter().map(|n| 1.0 / n.sqrt()).collect();
    curves.push(Curve { dashed: true, ..Curve::plain("1 / √N", x, y) });
    let panel = Curves {
        x: Axis::log("trajectories N in the mean update"),
        y: Axis::log("what is outside the set, relative to N = 1"),
        curves,
        ..Default::default()
    };
    let title = "Updates of samples approach the layers of ten numbers";
    let subtitle =
        "three layers that share their numbers, d = 2; root mean square over starting points";
    Ok(panels::single(title, subtitle, panel))
}
