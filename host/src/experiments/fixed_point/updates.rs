//! Theorem 2 by Monte Carlo: the mean update of many trajectories from theta_*.

use super::{D, GAMMA, K, LENGTH, Session};
use crate::error::{Doing, Error};
use crate::experiments::invariant_set::Sample;
use crate::experiments::statistics::{mean_and_stderr, quartiles};
use crate::run::report::{Claim, Verdict};
use figures::{Axis, Curve, Curves, Panel};
use ictd_core::invariant_set::{Projection, linear_update, theta_star};
use ictd_core::layer::Layer;
use ictd_core::mask::Td0;
use ictd_core::rng::{Rng, Stream};
use ictd_core::transformer::Transformer;
use nalgebra::SVector;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Numbers of trajectories, relative to all of them, at which a mean update is looked at.
const SHARES: [f64; 4] = [1.0 / 64.0, 1.0 / 16.0, 0.25, 1.0];
/// What the control adds to every feature, so that no sign change leaves their distribution as it is.
pub const SHIFT: f64 = 0.5;
const SYMMETRIC: &str = "symmetric";
const SHIFTED: &str = "shifted";

/// One row of `updates.csv`: a mean update from one start.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct UpdateRow {
    features: String,
    start: usize,
    samples: usize,
    /// The size of its part outside of Theta_*, over that of the part inside.
    outside: f64,
    /// The root mean square of mean / standard error over the entries outside.
    z: f64,
}

/// Mean updates of so many trajectories from each of the starts, with either kind of features.
pub(super) fn measure(
    starts: usize,
    samples: usize,
    session: &Session,
) -> Result<Vec<UpdateRow>, Error> {
    let starts: Vec<usize> = (0..starts).collect();
    let mut updates = Vec::new();
    for (features, shift) in [(SYMMETRIC, 0.0), (SHIFTED, SHIFT)] {
        let of_starts = session.map(features, &starts, |&start| {
            let found = mean_update(session.seed, start, shift, samples);
            found.doing(format!("fixed-point, start {start}"))
        })?;
        for (start, rows) in of_starts.into_iter().enumerate() {
            updates.extend(rows.into_iter().map(|(samples, outside, z)| {
                let features = features.into();
                UpdateRow { features, start, samples, outside, z }
            }));
        }
    }
    Ok(updates)
}

/// The mean updates from one random theta_*, at each of `SHARES` of the trajectories: how many, the size of the
/// part outside of Theta_* over that of the part inside, and the root mean square over its entries of
/// mean / standard error.
///
/// # Errors
/// The core's.
pub fn mean_update(
    seed: u64,
    start: usize,
    shift: f64,
    samples: usize,
) -> Result<Vec<(usize, f64, f64)>, ictd_core::Error> {
    let mut rng = Rng::stream(seed.wrapping_add(start as u64), Stream::Evaluation);
    let [eta, c, c_prime] = [(); 3].map(|()| rng.uniform_in(-1.0, 1.0));
    let star = theta_star::<f64, D, K>(eta, c, c_prime);
    let theta = Transformer::<_, 1>::autoregressive(star, 1)?;
    let (mut inside, mut outside) = (SVector::<f64, 3>::zeros(), Moments::default());
    let mut rows = Vec::new();
    let at = SHARES.map(|share| (share * samples as f64) as usize);
    for n in 1..=samples {
        let sample = Sample::<D, LENGTH>::new(&mut rng)?.shifted(shift);
        let update =
            linear_update::<f64, D, K, 1, LENGTH>(&theta, &Td0, GAMMA, &sample.trajectory())?;
        let Some(update) = update.layers().first() else { continue };
        let Projection { eta, c, c_prime, .. } = Projection::of::<D, K>(update);
        inside += SVector::from([eta, c, c_prime]);
        outside.add(&difference(update, &theta_star::<f64, D, K>(eta, c, c_prime)));
        if at.contains(&n) {
            let [eta, c, c_prime] = (inside / n as f64).into();
            let size = (eta * eta + D as f64 * (c * c + c_prime * c_prime)).sqrt();
            rows.push((n, outside.size() / size, outside.z()));
        }
    }
    Ok(rows)
}

/// P's and then Q's entries of a layer without those of another.
fn difference(a: &Layer<f64, K>, b: &Layer<f64, K>) -> [f64; 2 * K * K] {
    let mut numbers = a.p.iter().chain(&a.q).zip(b.p.iter().chain(&b.q)).map(|(a, b)| a - b);
    std::array::from_fn(|_| numbers.next().unwrap_or(0.0))
}

/// Sums of numbers and of their squares.
struct Moments {
    count: f64,
    sum: [f64; 2 * K * K],
    squares: [f64; 2 * K * K],
}

impl Default for Moments {
    fn default() -> Self {
        Moments { count: 0.0, sum: [0.0; 2 * K * K], squares: [0.0; 2 * K * K] }
    }
}

impl Moments {
    fn add(&mut self, numbers: &[f64; 2 * K * K]) {
        self.count += 1.0;
        for ((sum, squares), x) in self.sum.iter_mut().zip(&mut self.squares).zip(numbers) {
            *sum += x;
            *squares += x * x;
        }
    }

    /// The root of the sum of the squared means.
    fn size(&self) -> f64 {
        self.sum.iter().map(|sum| sum * sum).sum::<f64>().sqrt() / self.count
    }

    /// The root mean square of mean / standard error, over the entries that are not always 0.
    fn z(&self) -> f64 {
        let (mut sum, mut entries) = (0.0, 0.0);
        for (total, squares) in self.sum.iter().zip(&self.squares).filter(|(_, s)| **s > 0.0) {
            let mean = total / self.count;
            let variance = squares / self.count - mean * mean;
            sum += mean * mean * self.count / variance;
            entries += 1.0;
        }
        (sum / entries).sqrt()
    }
}

/// Of both kinds of features, over all starts, of the largest mean.
pub(super) fn root_mean_square_z(rows: &[UpdateRow]) -> [f64; 2] {
    [SYMMETRIC, SHIFTED].map(|features| z_of(rows, features))
}

fn z_of(rows: &[UpdateRow], features: &str) -> f64 {
    let most = rows.iter().map(|r| r.samples).max().unwrap_or(0);
    let of = rows.iter().filter(|r| r.features == features && r.samples == most);
    mean_and_stderr(of.map(|r| r.z * r.z)).0.sqrt()
}

/// Noise has 1 for its root mean square of mean / standard error.
pub fn claim([z, z_of_control]: [f64; 2], starts: usize, samples: usize) -> Claim {
    let measured = format!(
        "{starts} starts, means of {samples} trajectories: entries outside the set are {z:.2} standard errors (root \
         mean square; noise: 1), with features of mean {SHIFT} {z_of_control:.1}"
    );
    let verdict = if z_of_control > 2.0 { Verdict::of(z < 1.2) } else { Verdict::HoldsInPart };
    let claim = "the expected update stays in the invariant set, over the real distribution";
    Claim::new(claim, "theta_k in Theta_* implies theta_{k+1} in Theta_*", measured, verdict)
}

pub(super) fn panel(updates: &[UpdateRow]) -> Panel {
    let curve = |label: &str, features: &str| {
        let mut samples = BTreeMap::<usize, Vec<f64>>::new();
        for row in updates {
            let of_samples = samples.entry(row.samples).or_default();
            of_samples.extend((row.features == features).then_some(row.outside));
        }
        let points = samples.into_iter().map(|(n, outside)| (n as f64, quartiles(outside)));
        Curve::with_quartiles(label, points)
    };
    let symmetric = curve("features U(−1, 1)", SYMMETRIC);
    let x = symmetric.x.clone();
    let y = x.iter().map(|n| symmetric.y[0] * (x[0] / n).sqrt()).collect();
    let noise = Curve { dashed: true, ..Curve::plain("1 / √N", x, y) };
    Panel::Curves(Curves {
        title: "Theorem 2 by Monte Carlo".into(),
        x: Axis::log("trajectories N in the mean update"),
        y: Axis::log("part outside over part inside"),
        curves: vec![symmetric, curve("features U(−0.5, 1.5)", SHIFTED), noise],
        ..Default::default()
    })
}
