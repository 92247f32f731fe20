//! Online TD(lambda) and LSTD(lambda) with each setting of a grid: each step size and each ridge has a lane, which computes
//! what [`OnlineTd`](ictd_core::td::OnlineTd) and [`Lstd`](ictd_core::td::Lstd) compute, to the bit.

use compute::level::with_best_instructions;
use ictd_core::scalar::Kernel;
use ictd_core::signal::{FeatureScaler, SignalFeatures};
use ictd_core::{Error, Result};

type Lanes = [f64; 4];

/// The step sizes of online TD, divided by the number of features, which are normalised.
pub(super) const STEP_SIZES: [f64; 4] = [0.01, 0.03, 0.1, 0.3];
pub(super) const TD_LAMBDAS: [f64; 3] = [0.0, 0.5, 0.9];
/// The ridges of LSTD, in transitions.
pub(super) const RIDGES: [f64; 3] = [0.03, 0.3, 3.0];
type Ridges = [f64; RIDGES.len()];
/// The retentions of LSTD per row.
pub(super) const RETENTIONS: [f64; 3] = [0.99, 0.998, 0.9998];
pub(super) const LSTD_LAMBDA: f64 = 0.9;

/// The retention of the features' root mean squares per row.
const SCALE_RETENTION: f64 = 0.999;

/// A value above this multiple of what the rewards can add up to has diverged.
const DIVERGED: f64 = 100.0;
/// The root of a feature's sum of squares up to which the feature counts as forgotten, and the product of feature and
/// reward that it may then still have.
const LEAST_ROOT: f64 = 1e-150;
const LEAST_PRODUCT: f64 = 1e-290;

const TDS: usize = TD_LAMBDAS.len() * STEP_SIZES.len();
const VALUES: usize = TDS + RETENTIONS.len() * RIDGES.len();

/// The features of a signal, and the grids that learn from them.
pub(super) trait SignalGrids: Send + Sync {
    /// Takes the next value and, if it follows the last one, its deviation from the level, the reward. Returns the values of
    /// the new state: TD's lambda by lambda, then LSTD's, ridge by ridge for each retention. They are 0 before the first
    /// transition, and NaN where values have diverged or are not determined.
    fn observe(&mut self, value: f64, reward: Option<f64>) -> Result<[f64; VALUES]>;

    /// Returns the features of the last state and of the new one.
    fn features(&self) -> [&[f64]; 2];

    /// Records that the next value does not follow the last one.
    fn end_episode(&mut self);
}

/// Returns grids of d features of a signal. Returns [`Error::CapacityExceeded`] for more than 16.
pub(super) fn grids(gamma: f64, d: usize) -> Result<Box<dyn SignalGrids>> {
    Ok(match d {
        1..=4 => Box::new(OfSignal::<4>::new(gamma, d)?),
        5..=16 => Box::new(OfSignal::<16>::new(gamma, d)?),
        _ => return Err(Error::CapacityExceeded { parameter: "features", capacity: 16 }),
    })
}

/// The grids of d features, which are 0 beyond.
struct OfSignal<const D: usize> {
    d: usize,
    signal: SignalFeatures<D, f64>,
    scale: FeatureScaler<D, f64>,
    /// The features of the last state and of the new one, as they are and normalised.
    features: [[f64; D]; 2],
    scaled: [[f64; D]; 2],
    has_transitions: bool,
    td: [Td<D>; TD_LAMBDAS.len()],
    lstd: [Lstd<D>; RETENTIONS.len()],
}

impl<const D: usize> OfSignal<D> {
    fn new(gamma: f64, d: usize) -> Result<Self> {
        Ok(OfSignal {
            d,
            signal: SignalFeatures::new(),
            scale: FeatureScaler::new(SCALE_RETENTION)?,
            features: [[0.0; D]; 2],
            scaled: [[0.0; D]; 2],
            has_transitions: false,
            td: TD_LAMBDAS.map(|lambda| Td::new(gamma, lambda, d)),
            lstd: RETENTIONS.map(|retention| Lstd::new(gamma, retention)),
        })
    }
}

impl<const D: usize> SignalGrids for OfSignal<D> {
    fn observe(&mut self, value: f64, reward: Option<f64>) -> Result<[f64; VALUES]> {
        let mut features = self.signal.observe(value)?.0;
        features[self.d..].fill(0.0);
        self.features = [self.features[1], features];
        self.scaled = [self.scaled[1], self.scale.scaled(&features)];
        self.has_transitions |= reward.is_some();
        if !self.has_transitions {
            return Ok([0.0; VALUES]);
        }
        Ok(with_best_instructions(Step { grids: self, reward }))
    }

    fn features(&self) -> [&[f64]; 2] {
        self.features.each_ref().map(|features| &features[..self.d])
    }

    fn end_episode(&mut self) {
        self.signal.end_episode();
        self.td.iter_mut().for_each(|td| td.trace = [0.0; D]);
        self.lstd.iter_mut().for_each(|lstd| lstd.trace = [[0.0; 2]; D]);
    }
}

/// Learns from a transition, if there is one, and computes the values.
struct Step<'a, const D: usize> {
    grids: &'a mut OfSignal<D>,
    reward: Option<f64>,
}

impl<const D: usize> Kernel for Step<'_, D> {
    type Output = [f64; VALUES];

    #[inline(always)]
    fn run(self) -> [f64; VALUES] {
        let OfSignal { features: [phi, phi_next], scaled: [x, next], td, lstd, .. } = self.grids;
        let mut values = [0.0; VALUES];
        let (of_td, of_lstd) = values.split_at_mut(TDS);
        for (td, values) in td.iter_mut().zip(of_td.as_chunks_mut().0) {
            if let Some(reward) = self.reward {
                td.observe(x, reward, next);
            }
            *values = td.values(next);
        }
        for (lstd, values) in lstd.iter_mut().zip(of_lstd.as_chunks_mut().0) {
            if let Some(reward) = self.reward {
                lstd.observe(phi, reward, phi_next);
            }
            *values = lstd.values(phi_next);
        }
        values
    }
}

/// Online TD(lambda) with each step size.
struct Td<const D: usize> {
    gamma: f64,
    /// gamma lambda.
    decay: f64,
    alpha: Lanes,
    trace: [f64; D],
    weights: [Lanes; D],
    largest_reward: f64,
    largest_value: Lanes,
}

impl<const D: usize> Td<D> {
    fn new(gamma: f64, lambda: f64, d: usize) -> Self {
        Td {
            gamma,
            decay: gamma * lambda,
            alpha: STEP_SIZES.map(|step_size| step_size / d as f64),
            trace: [0.0; D],
            weights: [[0.0; 4]; D],
            largest_reward: 0.0,
            largest_value: [0.0; 4],
        }
    }

    #[inline(always)]
    fn observe(&mut self, x: &[f64; D], reward: f64, next: &[f64; D]) {
        let [values, of_next] = [x, next].map(|x| dot(&self.weights, x));
        self.largest_reward = larger(self.largest_reward, reward.abs());
        for i in 0..D {
            self.trace[i] = self.decay * self.trace[i] + x[i];
        }
        for values in [values, of_next] {
            self.largest_value = zip(self.largest_value, values, |most, x| larger(most, x.abs()));
        }
        let delta = zip(of_next, values, |next, value| reward + self.gamma * next - value);
        let step = zip(self.alpha, delta, |alpha, delta| alpha * delta);
        for i in 0..D {
            let update = zip(step, [self.trace[i]; 4], |step, trace| step * trace);
            self.weights[i] = zip(self.weights[i], update, |w, update| w + update);
        }
    }

    /// Returns the values of a state, NaN for those that have diverged.
    #[inline(always)]
    fn values(&self, phi: &[f64; D]) -> Lanes {
        let possible = self.largest_reward * DIVERGED;
        let mut values = dot(&self.weights, phi);
        for l in 0..4 {
            let rest = self.weights.iter().fold(0.0, |rest, weights| rest + weights[l] * 0.0);
            // Only finite numbers leave nothing.
            let converges = (1.0 - self.gamma) * self.largest_value[l] <= possible;
            values[l] = if converges & (rest == 0.0) { values[l] } else { f64::NAN };
        }
        values
    }
}

#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}

/// Returns <w, phi>, its first product not added to 0: 0 + -0.0 would lose the sign.
#[inline(always)]
fn dot<const D: usize>(w: &[Lanes; D], phi: &[f64; D]) -> Lanes {
    let times = |i: usize| zip(w[i], [phi[i]; 4], |w, phi| w * phi);
    let mut sums = times(0);
    for i in 1..D {
        sums = zip(sums, times(i), |sum, x| sum + x);
    }
    sums
}

/// LSTD(lambda) with each ridge.
struct Lstd<const D: usize> {
    gamma: f64,
    retention: f64,
    /// The trace e, and what rounding lost of it.
    trace: [[f64; 2]; D],
    /// sum e_j phi_i and sum e_j phi'_i, row by row.
    phi: [[f64; D]; D],
    next: [[f64; D]; D],
    /// sum e_j r.
    rewards: [f64; D],
    /// sum (phi_j^2 + phi'_j^2).
    squares: [f64; D],
    /// The sum of the transitions' weights.
    len: f64,
}

impl<const D: usize> Lstd<D> {
    fn new(gamma: f64, retention: f64) -> Self {
        Lstd {
            gamma,
            retention,
            trace: [[0.0; 2]; D],
            phi: [[0.0; D]; D],
            next: [[0.0; D]; D],
            rewards: [0.0; D],
            squares: [0.0; D],
            len: 0.0,
        }
    }

    #[inline(always)]
    fn observe(&mut self, x: &[f64; D], reward: f64, next: &[f64; D]) {
        let (decay, retention) = (self.gamma * LSTD_LAMBDA, self.retention);
        for j in 0..D {
            // With Kahan's compensation.
            let [trace, compensation] = self.trace[j].map(|x| decay * x);
            let y = x[j] + compensation;
            let e = trace + y;
            self.trace[j] = [e, y - (e - trace)];
            for i in 0..D {
                self.phi[j][i] = retention * self.phi[j][i] + x[i] * e;
                self.next[j][i] = retention * self.next[j][i] + next[i] * e;
            }
            self.rewards[j] = retention * self.rewards[j] + reward * e;
            let square = x[j] * x[j] + next[j] * next[j];
            self.squares[j] = retention * self.squares[j] + square;
        }
        self.len = retention * self.len + 1.0;
    }

    /// Returns the values of a state, NaN where the transitions determine none.
    #[inline(always)]
    fn values(&self, phi: &[f64; D]) -> [f64; RIDGES.len()] {
        let (mut scale, mut is_known) = ([0.0; D], true);
        for j in 0..D {
            let is_seen = self.squares[j].sqrt() > LEAST_ROOT;
            // 2 n, as the squares are those of both states.
            let root = ((self.len + self.len) / self.squares[j]).sqrt();
            scale[j] = if is_seen { root } else { 0.0 };
            is_known &= is_seen | (self.rewards[j].abs() <= LEAST_PRODUCT);
        }
        let (mut a, mut b) = ([[0.0; D]; D], [0.0; D]);
        for j in 0..D {
            b[j] = scale[j] * self.rewards[j];
            for i in 0..D {
                let difference = self.phi[j][i] - self.gamma * self.next[j][i];
                a[j][i] = scale[j] * difference * scale[i];
            }
        }
        let (mut a, mut w) = (a.map(|row| row.map(|x| [x; 3])), b.map(|x| [x; 3]));
        for j in 0..D {
            for (l, ridge) in RIDGES.into_iter().enumerate() {
                a[j][j][l] = if scale[j] == 0.0 { 1.0 } else { a[j][j][l] + ridge };
            }
        }
        let is_solved = solve(&mut a, &mut w);
        let mut values = [0.0; RIDGES.len()];
        for l in 0..RIDGES.len() {
            values[l] = scale[0] * w[0][l] * phi[0];
            for j in 1..D {
                values[l] += scale[j] * w[j][l] * phi[j];
            }
            values[l] = if is_solved[l] & is_known { values[l] } else { f64::NAN };
        }
        values
    }
}

/// Solves A x = b, row by row, as [`linear_system::solve`](ictd_core::linalg::linear_system::solve) does, for each ridge: none
/// of the systems waits for another. Writes x into b, and returns which are solutions.
#[inline(always)]
fn solve<const D: usize>(a: &mut [[Ridges; D]; D], b: &mut [Ridges; D]) -> [bool; RIDGES.len()] {
    let (mut largest, mut rest) = ([0.0; RIDGES.len()], [0.0; RIDGES.len()]);
    for i in 0..D {
        for l in 0..RIDGES.len() {
            rest[l] += b[i][l] * 0.0;
            for j in 0..D {
                largest[l] = larger(largest[l], a[i][j][l].abs());
                rest[l] += a[i][j][l] * 0.0;
            }
        }
    }
    // Only finite numbers leave nothing.
    let mut is_solved = rest.map(|rest| rest == 0.0);
    for k in 0..D {
        for l in 0..RIDGES.len() {
            let (mut pivot, mut size) = (k, a[k][k][l].abs());
            for i in k + 1..D {
                let x = a[i][k][l].abs();
                (pivot, size) = if x > size { (i, x) } else { (pivot, size) };
            }
            is_solved[l] &= size > largest[l] * (f64::EPSILON * D as f64);
            if pivot != k {
                // Columns before k are not read again.
                for j in k..D {
                    (a[k][j][l], a[pivot][j][l]) = (a[pivot][j][l], a[k][j][l]);
                }
                (b[k][l], b[pivot][l]) = (b[pivot][l], b[k][l]);
            }
        }
        for i in k + 1..D {
            let mut factor = [0.0; RIDGES.len()];
            for l in 0..RIDGES.len() {
                factor[l] = a[i][k][l] / a[k][k][l];
            }
            let reduce = |x: &mut Ridges, of_k: &Ridges| {
                for l in 0..RIDGES.len() {
                    let reduced = x[l] - factor[l] * of_k[l];
                    x[l] = if factor[l] != 0.0 { reduced } else { x[l] };
                }
            };
            let (of_k, b_k) = (a[k], b[k]);
            for j in k + 1..D {
                reduce(&mut a[i][j], &of_k[j]);
            }
            reduce(&mut b[i], &b_k);
        }
    }
    let mut rest = [0.0; RIDGES.len()];
    for i in (0..D).rev() {
        for l in 0..RIDGES.len() {
            for j in i + 1..D {
                b[i][l] -= a[i][j][l] * b[j][l];
            }
            b[i][l] /= a[i][i][l];
            rest[l] += b[i][l] * 0.0;
        }
    }
    std::array::from_fn(|l| is_solved[l] & (rest[l] == 0.0))
}

#[inline(always)]
fn zip(a: Lanes, b: Lanes, f: impl Fn(f64, f64) -> f64) -> Lanes {
    [f(a[0], b[0]), f(a[1], b[1]), f(a[2], b[2]), f(a[3], b[3])]
}
