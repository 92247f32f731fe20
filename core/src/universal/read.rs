//! Three solutions of TD's fixed-point equation, and the gates between them.

use crate::context::{System, TdSums};
use crate::error::Error;
use crate::linalg::linear_system::{eliminate, epsilon};
use crate::linalg::{is_finite, zeros};
use crate::scalar::{Real, Scalar};
use nalgebra::SVector;

/// The learned numbers. Every one of them multiplies one of five quantities without a unit, of d features that were ever
/// seen, n transitions, the discount gamma, and the mean squared TD error E delta^2 of a solution:
///
/// | | |
/// |---|---|
/// | 1 | a constant |
/// | few | ln(1 + 2 d / n) |
/// | far | ln(1 / (1 - gamma)) - ln 20 |
/// | rest | ln(E delta^2 / E r^2 + 10^-4) |
/// | test | ln(1 + T), the test of [`crate::universal`] |
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Numbers<S> {
    /// ln k_l of the three solutions: 1, few, far, rest of w_0 (ln d for w_0 itself).
    pub ridge: [[S; 4]; 3],
    /// ln c: how fast the instrument of the first solution becomes phi.
    pub instrument: S,
    /// The share of F in the ridge of the second and the third solution, as a logit: 1, rest of w_0.
    pub full: [[S; 2]; 2],
    /// The weights of w_0 and of w_low, as logits: 1, test, rest (of the gate's own solution), ln(n / d), far.
    pub gate: [[S; 5]; 2],
}

/// How many numbers there are.
pub const COUNT: usize = 27;

impl Numbers<()> {
    /// The shape without numbers, to be filled in order.
    pub const SHAPE: Self =
        Numbers { ridge: [[(); 4]; 3], instrument: (), full: [[(); 2]; 2], gate: [[(); 5]; 2] };
}

impl<S: Copy> Numbers<S> {
    /// Returns the same numbers of another type, made in order.
    pub fn map<T>(&self, mut f: impl FnMut(S) -> T) -> Numbers<T> {
        Numbers {
            ridge: self.ridge.map(|x| x.map(&mut f)),
            instrument: f(self.instrument),
            full: self.full.map(|x| x.map(&mut f)),
            gate: self.gate.map(|x| x.map(&mut f)),
        }
    }

    /// Returns the numbers in order.
    pub fn iter(&self) -> impl Iterator<Item = &S> {
        let [ridge, full] = [self.ridge.as_flattened(), self.full.as_flattened()];
        ridge.iter().chain([&self.instrument]).chain(full).chain(self.gate.as_flattened())
    }
}

/// The facts about a context beside its sums.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent<S> {
    /// n, the sum of the transitions' weights.
    pub weight: S,
    /// The sum of the squared weights over that of the weights: 1 if nothing is forgotten.
    pub squared_weight: S,
    /// The discount.
    pub gamma: S,
    /// Which of the two traces decay no slower than gamma, so that their lambda is at most 1.
    pub traces: [bool; 2],
}

impl<S: Copy> Extent<S> {
    /// Returns the same of another type.
    pub fn map<T>(self, f: impl Fn(S) -> T) -> Extent<T> {
        let Extent { weight, squared_weight, gamma, traces } = self;
        Extent { weight: f(weight), squared_weight: f(squared_weight), gamma: f(gamma), traces }
    }
}

/// The mean squared TD error, over that of the rewards and the horizon 1 / (1 - gamma), that a value function is scaled back
/// to.
const LARGEST_REST: f64 = 4.0;
/// The least mean squared TD error, over that of the rewards: what rounding leaves.
const LEAST: f64 = 1e-6;

#[cfg_attr(target_os = "none", inline(never))]
fn exp<R: Real>(x: R) -> R {
    (x * R::from_f64(core::f64::consts::LOG2_E)).exp2()
}

#[cfg_attr(target_os = "none", inline(never))]
fn ln<R: Real>(x: R) -> R {
    x.ln()
}

fn sigmoid<R: Real>(x: R) -> R {
    // 2^x is for x of at most 127.
    let least = R::from_f64(-80.0);
    R::ONE / (R::ONE + exp(-(if x > least { x } else { least })))
}

/// <numbers, quantities>.
#[cfg_attr(target_os = "none", inline(never))]
fn mix<R: Real, const N: usize>(numbers: &[R; N], quantities: [R; N]) -> R {
    let mut sum = R::ZERO;
    for (number, x) in numbers.iter().zip(quantities) {
        sum += *number * x;
    }
    sum
}

/// Changes sums to units in which each feature and the reward have the sum of squares 1, of the roots of today's, and returns
/// the units: 1 / sqrt(F_ii), 0 of a feature that was never seen, and 1 / sqrt(sum r^2).
#[cfg_attr(target_os = "none", inline(never))]
fn change_units<R: Real, const D: usize>(sums: &mut TdSums<R, D>, roots: &[R; D]) -> ([R; D], R) {
    let half = R::from_f64(0.5);
    let mut unit = [R::ZERO; D];
    for i in 0..D {
        if roots[i] > R::ZERO {
            unit[i] = R::ONE / roots[i];
        }
    }
    let of_reward = R::ONE / sums.squared_rewards.sqrt();
    for j in 0..D {
        for i in 0..D {
            let both = unit[i] * unit[j];
            for system in &mut sums.systems {
                system.a[j][i] *= both;
            }
            if i <= j {
                sums.second_moments[j][i] *= half * both;
                sums.differences[j][i] *= both;
            }
        }
        sums.rewards[j] *= unit[j] * of_reward;
        for system in &mut sums.systems {
            system.b[j] *= unit[j] * of_reward;
            system.squares[j] *= unit[j] * unit[j];
        }
    }
    (unit, of_reward)
}

/// A solution w_l, and what the next one and the gates need to know of it.
#[derive(Clone, Copy)]
struct Solution<R, const D: usize> {
    weights: [R; D],
    /// E delta^2 / E r^2.
    rest: R,
    /// ln(rest + 10^-4).
    log_rest: R,
}

/// Solves (A + R) w = b with R = ridge ((1 - full) I + full F), in the sums' own units and the system's own place.
#[cfg_attr(target_os = "none", inline(never))]
fn solve_in_place<R: Real, const D: usize>(
    System { a, b, .. }: &mut System<R, D>,
    second_moments: &[[R; D]; D],
    ridge: R,
    full: R,
) -> Result<[R; D], Error> {
    let mut largest = R::ONE;
    for j in 0..D {
        for i in 0..D {
            largest = largest.max(a[j][i].abs());
        }
    }
    // What elimination cannot tell from 0 is no pivot.
    let least = R::from_f64(4.0) * epsilon::<R>(D) * largest;
    let diagonal = ridge * (R::ONE - full);
    let diagonal = if diagonal > least { diagonal } else { least };
    for j in 0..D {
        for i in 0..j {
            let of_ridge = ridge * full * second_moments[j][i];
            a[j][i] += of_ridge;
            a[i][j] += of_ridge;
        }
        // A feature that was never seen gets the weight 0.
        let seen = second_moments[j][j] > R::ZERO;
        a[j][j] += if seen { diagonal + ridge * full } else { R::ONE };
    }
    eliminate(a, b, D, least * R::from_f64(0.25)).ok_or(SINGULAR)?;
    Ok(*b)
}

/// E (r + gamma w phi' - w phi)^2 / E r^2.
fn rest_of<R: Real, const D: usize>(differences: &[[R; D]; D], rewards: &[R; D], w: &[R; D]) -> R {
    let (mut sum, two) = (R::ONE, R::from_f64(2.0));
    for j in 0..D {
        let mut of_j = differences[j][j] * w[j] - two * rewards[j];
        for i in 0..j {
            of_j += two * differences[j][i] * w[i];
        }
        sum += of_j * w[j];
    }
    let least = R::from_f64(LEAST);
    if sum > least { sum } else { least }
}

/// b - A w.
#[cfg_attr(target_os = "none", inline(never))]
fn residual<R: Real, const D: usize>(system: &System<R, D>, w: &[R; D]) -> [R; D] {
    let mut residual = system.b;
    for j in 0..D {
        for i in 0..D {
            residual[i] -= system.a[j][i] * w[j];
        }
    }
    residual
}

/// The solution that is read of a context.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solved<R: Scalar, const D: usize> {
    /// The weights w, (D).
    pub weights: SVector<R, D>,
    /// sqrt(F_ii), the root of each feature's sum of squares, (D).
    pub roots: [R; D],
    /// The weight of the solution for lambda = 0, in \[0, 1\].
    pub linearity: R,
}

impl<R: Real> Numbers<R> {
    /// Solves for the weights. The sums are changed on the way: to units of their own, and the systems are solved in place.
    ///
    /// # Errors
    /// [`Error::NonFinite`] if sums or weights left the range of the scalar; [`Error::Singular`] if a system was singular
    /// in spite of its ridge.
    pub fn solve<const D: usize>(
        &self,
        of: &mut TdSums<R, D>,
        extent: Extent<R>,
    ) -> Result<Solved<R, D>, Error> {
        let (roots, one) = (of.roots(), R::ONE);
        let mut out = Solved { weights: zeros(), roots, linearity: R::from_f64(0.5) };
        if !(of.squared_rewards > R::ZERO) {
            return if of.squared_rewards == R::ZERO { Ok(out) } else { Err(NON_FINITE) };
        }
        let mut seen = R::ZERO;
        for root in roots {
            if root > R::ZERO {
                seen += one;
            }
        }
        if seen == R::ZERO {
            return Ok(out);
        }
        let (unit, reward_unit) = change_units(of, &roots);
        let n = extent.weight;
        let few = ln(one + R::from_f64(2.0) * seen / n);
        let far = -ln(R::from_f64(20.0) * (one - extent.gamma));
        let length = ln(n / seen);
        let ridge = |numbers: &[R; 4], log_rest| exp(mix(numbers, [one, few, far, log_rest])) / n;
        let TdSums { systems: [plain, low, high], second_moments, differences, rewards, .. } = of;
        let solution = |weights| {
            let rest = rest_of(differences, rewards, &weights);
            Solution { weights, rest, log_rest: ln(rest + R::from_f64(1e-4)) }
        };
        let [of_first, of_low, of_high] = &self.ridge;
        let share = one / (R::from_f64(2.0) + exp(self.instrument) * n / seen);
        for j in 0..D {
            for i in 0..D {
                let difference = differences[j.max(i)][j.min(i)];
                plain.a[j][i] += share * (difference - plain.a[j][i]);
            }
            plain.b[j] += share * (rewards[j] - plain.b[j]);
        }
        let k = ridge(of_first, ln(seen));
        let first = solution(solve_in_place(plain, second_moments, k, R::ZERO)?);
        // A trace's solution, and the weight of what is before it.
        let traced = |exists: bool,
                      system: &mut System<R, D>,
                      before: &Solution<R, D>,
                      is_last: bool,
                      (k, full, gate): (&[R; 4], &[R; 2], &[R; 5])| {
            if !exists {
                return Ok((before.weights, one));
            }
            let k = ridge(k, first.log_rest);
            let left = residual(system, &before.weights);
            // T: the mean squared residual over its variance if w is the solution for every lambda, of the features seen.
            let mut sum = R::ZERO;
            for i in 0..D {
                let variance = system.squares[i] * extent.squared_weight + k;
                sum += left[i] * left[i] / variance;
            }
            let test = ln(one + sum * n / (before.rest * seen));
            let gate = sigmoid(mix(gate, [one, test, before.log_rest, length, far]));
            let mut start = [R::ZERO; D];
            if is_last {
                // What is left is regressed on the features.
                (start, system.b) = (before.weights, left);
                for j in 0..D {
                    for i in 0..=j {
                        (system.a[j][i], system.a[i][j]) =
                            (second_moments[j][i], second_moments[j][i]);
                    }
                }
            }
            let full = sigmoid(mix(full, [one, first.log_rest]));
            let mut w = solve_in_place(system, second_moments, k, full)?;
            for i in 0..D {
                w[i] += start[i];
            }
            Ok::<_, Error>((w, gate))
        };
        let ([with_low, with_high], [full_low, full_high]) = (extent.traces, &self.full);
        let [gate_low, gate_high] = &self.gate;
        let (low, to_first) = traced(with_low, low, &first, false, (of_low, full_low, gate_low))?;
        let (high, to_low) =
            traced(with_high, high, &solution(low), true, (of_high, full_high, gate_high))?;
        let mut w = [R::ZERO; D];
        for i in 0..D {
            let upper = high[i] + to_low * (low[i] - high[i]);
            w[i] = upper + to_first * (first.weights[i] - upper);
        }
        out.linearity = to_first;
        // A solution of a system next to singular explodes, and so do its TD errors.
        let rest = rest_of(differences, rewards, &w);
        let most = R::from_f64(LARGEST_REST) / (one - extent.gamma);
        let scale = if rest > most { (most / rest).sqrt() } else { one } / reward_unit;
        for i in 0..D {
            out.weights[i] = w[i] * unit[i] * scale;
        }
        if is_finite(&out.weights) { Ok(out) } else { Err(NON_FINITE) }
    }
}

const SINGULAR: Error = Error::Singular { system: "the fixed point of TD" };
const NON_FINITE: Error = Error::NonFinite { parameter: "context" };
