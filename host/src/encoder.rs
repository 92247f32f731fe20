//! Features of raw observations: standardised, tile coding, or a Fourier basis. All have a constant feature, and are a function
//! of numbers that are stored with the values ([`Encoder`] as JSON).

use crate::error::{Error, InFile as _, Problem};
use crate::files::{self, limits::FEATURES};
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;
use std::path::Path;

/// The number of first rows of a log that give level and scale, or low and high.
pub const FIRST: usize = 1000;

pub const KINDS: [&str; 3] = ["standard", "tiles", "fourier"];

/// The tilings and the tiles in each direction by default.
const TILES: usize = 4;
/// The highest order of a Fourier basis by default.
const ORDER: usize = 3;

/// A map from observations (n, k) to features (n, d).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Encoder {
    /// (x - level) / scale, and 1: k + 1 features.
    Standard { level: Vec<f64>, scale: Vec<f64> },
    /// 1 / sqrt(tilings) in a tile of each tiling, and 1. Tiling t is shifted by t / tilings of a tile. More than 63 tiles are
    /// hashed to 63 features.
    Tiles { low: Vec<f64>, high: Vec<f64>, tiles: usize, tilings: usize },
    /// cos(pi <c, u>) for all c in {0, ..., order}^k, where u is x from 0 at `low` to 1 at `high`: (order + 1)^k features
    /// (Konidaris, Osentoski and Thomas, 2011).
    Fourier { low: Vec<f64>, high: Vec<f64>, order: usize },
}

impl Encoder {
    /// Returns the encoder of a kind for observations of k numbers, from their first rows.
    pub fn fit(kind: &str, observations: &[f64], k: usize) -> Result<Self, String> {
        let rows = observations.chunks_exact(k).take(FIRST);
        let each = |of: &dyn Fn(&mut dyn Iterator<Item = f64>) -> f64| -> Vec<f64> {
            (0..k).map(|i| of(&mut rows.clone().map(|row| row[i]))).collect()
        };
        let n = rows.len() as f64;
        let encoder = match kind {
            "standard" => {
                let level = each(&|x| x.sum::<f64>() / n);
                let scale = (0..k).map(|i| {
                    let squares = rows.clone().map(|row| (row[i] - level[i]) * (row[i] - level[i]));
                    Some((squares.sum::<f64>() / n).sqrt()).filter(|x| *x > 0.0).unwrap_or(1.0)
                });
                Encoder::Standard { scale: scale.collect(), level }
            }
            "tiles" | "fourier" => {
                let low = each(&|x| x.fold(f64::INFINITY, f64::min));
                let high = each(&|x| x.fold(f64::NEG_INFINITY, f64::max));
                // A number that never changes is 0 of 1.
                let high = high.iter().zip(&low);
                let high =
                    high.map(|(high, low)| if high > low { *high } else { low + 1.0 }).collect();
                let fits = |order: &usize| {
                    (order + 1).checked_pow(k as u32).is_some_and(|d| d <= FEATURES)
                };
                match kind {
                    "tiles" => Encoder::Tiles { low, high, tiles: TILES, tilings: TILES },
                    _ => {
                        let order = (1..=ORDER).rev().find(fits).unwrap_or(1);
                        Encoder::Fourier { low, high, order }
                    }
                }
            }
            _ => return Err(format!("{kind}: expected one of {}", KINDS.join(", "))),
        };
        encoder.check().map(|()| encoder)
    }

    /// Reads an encoder that was stored.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let encoder: Encoder = serde_json::from_str(text).map_err(|e| e.to_string())?;
        encoder.check().map(|()| encoder)
    }

    pub fn open(file: &Path) -> Result<Self, Error> {
        let bytes = files::read(file, files::TEXT).in_file(file)?;
        Self::from_json(&String::from_utf8_lossy(&bytes)).map_err(Problem::from).in_file(file)
    }

    pub fn to_json(&self) -> String {
        serde_json::json!(self).to_string()
    }

    /// The numbers of each observation: two for each of its k numbers.
    fn places(&self) -> [&[f64]; 2] {
        match self {
            Encoder::Standard { level, scale } => [level, scale],
            Encoder::Tiles { low, high, .. } | Encoder::Fourier { low, high, .. } => [low, high],
        }
    }

    /// k, the numbers of an observation.
    pub fn observed(&self) -> usize {
        self.places()[0].len()
    }

    fn check(&self) -> Result<(), String> {
        let [first, second] = self.places();
        let finite = first.iter().chain(second).all(|x| x.is_finite());
        let rises = |(a, b): (&f64, &f64)| match self {
            Encoder::Standard { .. } => *b > 0.0,
            _ => b > a,
        };
        if first.is_empty()
            || first.len() != second.len()
            || !finite
            || !first.iter().zip(second).all(rises)
        {
            return Err("features: expected level and scale above 0, or low and high above it, for each number of an observation".into());
        }
        let k = first.len();
        match self {
            Encoder::Standard { .. } if k >= FEATURES => Err(format!(
                "features: observations of {k} numbers; expected at most {}",
                FEATURES - 1
            )),
            Encoder::Tiles { tiles, tilings, .. }
                if !(1..=64).contains(tiles) || !(1..=64).contains(tilings) =>
            {
                Err("features: expected 1 to 64 tiles and tilings".into())
            }
            Encoder::Fourier { order, .. } => match (order + 1).checked_pow(k as u32) {
                Some(d) if d <= FEATURES => Ok(()),
                _ => Err(format!(
                    "features: a Fourier basis of order {order} of {k} numbers; expected at most {FEATURES} features, (order + 1)^{k}"
                )),
            },
            _ => Ok(()),
        }
    }

    /// d, the number of features.
    pub fn features(&self) -> usize {
        let k = self.observed() as u32;
        match self {
            Encoder::Standard { level, .. } => level.len() + 1,
            Encoder::Tiles { tiles, tilings, .. } => Self::tiles_of(*tiles, *tilings, k) + 1,
            Encoder::Fourier { order, .. } => (order + 1).pow(k),
        }
    }

    /// The number of features of the tiles: all, or as many as they are hashed to.
    fn tiles_of(tiles: usize, tilings: usize, k: u32) -> usize {
        let all = (tiles + 1).checked_pow(k).and_then(|each| each.checked_mul(tilings));
        all.unwrap_or(FEATURES).min(FEATURES - 1)
    }

    /// Returns the features of observations, row by row.
    pub fn encode(&self, observations: &[f64]) -> Vec<f64> {
        let (k, d) = (self.observed(), self.features());
        let mut features = vec![0.0; observations.len() / k * d];
        for (x, phi) in observations.chunks_exact(k).zip(features.chunks_exact_mut(d)) {
            self.encode_one(x, phi);
        }
        features
    }

    fn encode_one(&self, x: &[f64], phi: &mut [f64]) {
        let last = phi.len() - 1;
        let unit = |i: usize, low: &[f64], high: &[f64]| {
            ((x[i] - low[i]) / (high[i] - low[i])).clamp(0.0, 1.0)
        };
        match self {
            Encoder::Standard { level, scale } => {
                for i in 0..last {
                    phi[i] = (x[i] - level[i]) / scale[i];
                }
                phi[last] = 1.0;
            }
            Encoder::Tiles { low, high, tiles, tilings } => {
                let share = 1.0 / (*tilings as f64).sqrt();
                let all = (tiles + 1)
                    .checked_pow(x.len() as u32)
                    .and_then(|each| each.checked_mul(*tilings));
                for tiling in 0..*tilings {
                    let shift = tiling as f64 / *tilings as f64;
                    let tile = |i: usize| {
                        ((unit(i, low, high) * *tiles as f64 + shift) as usize).min(*tiles)
                    };
                    let place = if all.is_some_and(|all| all <= last) {
                        (0..x.len()).fold(tiling, |place, i| place * (tiles + 1) + tile(i))
                    } else {
                        // FNV-1a of the tiling and the tile.
                        let hash =
                            |hash: u64, n: usize| (hash ^ n as u64).wrapping_mul(0x0100_0000_01b3);
                        let start = hash(0xcbf2_9ce4_8422_2325, tiling);
                        let hashed = (0..x.len()).map(tile).fold(start, hash);
                        ((hashed >> 32) % last as u64) as usize
                    };
                    phi[place] += share;
                }
                phi[last] = 1.0;
            }
            Encoder::Fourier { low, high, order } => {
                for (mut c, phi) in phi.iter_mut().enumerate() {
                    let mut sum = 0.0;
                    for i in 0..x.len() {
                        sum += (c % (order + 1)) as f64 * unit(i, low, high);
                        c /= order + 1;
                    }
                    *phi = libm::cos(PI * sum);
                }
            }
        }
    }
}

/// Returns true if some weights give every row, (n, d), the value 1.
pub fn has_constant(phi: &[f64], d: usize) -> bool {
    let rows = phi.len() / d;
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let reduced = |mut column: Vec<f64>, basis: &[Vec<f64>]| {
        // Twice, for what rounding leaves the first time.
        for unit in basis.iter().chain(basis) {
            let along = dot(&column, unit);
            column.iter_mut().zip(unit).for_each(|(x, u)| *x -= along * u);
        }
        column
    };
    for i in 0..d {
        let column: Vec<f64> = (0..rows).map(|row| phi[row * d + i]).collect();
        let before = dot(&column, &column).sqrt();
        let mut rest = reduced(column, &basis);
        let size = dot(&rest, &rest).sqrt();
        if size > 1e-10 * before {
            rest.iter_mut().for_each(|x| *x /= size);
            basis.push(rest);
        }
    }
    let rest = reduced(vec![1.0; rows], &basis);
    dot(&rest, &rest) < 1e-12 * rows as f64
}
