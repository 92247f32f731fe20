//! Three solutions of TD's fixed-point equation, and the gates between them.

use crate::context::{System, TdSums};
use crate::error::Error;
use crate::linalg::linear_system::{eliminate, epsilon};
use crate::linalg::{is_finite, zeros};
use crate::scalar::{Real, Scalar};
use nalgebra::SVector;

/// The learned numbers. Every one of them multiplies a quantity without a unit, of d features that were ever seen, n
/// transitions, the discount gamma, and the solutions:
///
/// | | |
/// |---|---|
/// | 1 | a constant |
/// | long | ln(n / d) |
/// | near | 1 - gamma |
/// | far | ln(1 / (1 - gamma)) - ln 20 |
/// | rest_l | ln(E delta^2 / E r^2 + 10^-4), of the TD errors delta of a solution w_l |
/// | test_l | ln(1 + T), the test of [`crate::universal`] by which the equations of lambda_l judge the solution before |
/// | size | ln(E v^2 / E r^2 + 10^-4), of the values v of w_0 |
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Numbers<S> {
    /// ln k_l of the three solutions: 1, long, near, long near of w_0; 1, long, far, rest_0 of the others.
    pub ridge: [[S; 4]; 3],
    /// ln a and ln c: what share of the first solution's instrument is Bellman's, and how fast it becomes TD's.
    pub instrument: [S; 2],
    /// The share of F in the ridge of the second and the third solution, as a logit: 1, rest_0.
    pub full: [[S; 2]; 2],
    /// The weights of w_0, and of w_1 in what is left, as logits: 1, test_1, test_2, rest_0, rest_1, rest_2, size, long,
    /// ln d.
    pub gate: [[S; 9]; 2],
}

/// How many numbers there are.
pub const COUNT: usize = 36;

impl Numbers<()> {
    /// The shape without numbers, to be filled in order.
    pub const SHAPE: Self = Numbers {
        ridge: [[(); 4]; 3],
        instrument: [(); 2],
        full: [[(); 2]; 2],
        gate: [[(); 9]; 2],
    };
}

impl<S: Copy> Numbers<S> {
    /// Returns the same numbers of another type, made in order.
    pub fn map<T>(&self, mut f: impl FnMut(S) -> T) -> Numbers<T> {
        Numbers {
            ridge: self.ridge.map(|x| x.map(&mut f)),
            instrument: self.instrument.map(&mut f),
            full: self.full.map(|x| x.map(&mut f)),
            gate: self.gate.map(|x| x.map(&mut f)),
        }
    }

    /// Returns the numbers in order.
    pub fn iter(&self) -> impl Iterator<Item = &S> {
        let [ridge, full] = [self.ridge.as_flattened(), self.full.as_flattened()];
        ridge.iter().chain(&self.instrument).chain(full).chain(self.gate.as_flattened())
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

/// w^T M w - 2 <b, w>, of a symmetric M whose upper half is not read.
#[cfg_attr(target_os = "none", inline(never))]
fn quadratic<R: Real, const D: usize>(m: &[[R; D]; D], b: &[R; D], w: &[R; D]) -> R {
    let (mut sum, two) = (R::ZERO, R::from_f64(2.0));
    for j in 0..D {
        let mut of_j = m[j][j] * w[j] - two * b[j];
        for i in 0..j {
            of_j += two * m[j][i] * w[i];
        }
        sum += of_j * w[j];
    }
    sum
}

/// E (r + gamma w phi' - w phi)^2 / E r^2.
fn rest_of<R: Real, const D: usize>(differences: &[[R; D]; D], rewards: &[R; D], w: &[R; D]) -> R {
    let rest = R::ONE + quadratic(differences, rewards, w);
    let least = R::from_f64(LEAST);
    if rest > least { rest } else { least }
}

/// ln(x + 10^-4), at most 9: what exploded is no worse than what is next to exploding.
fn log_of<R: Real>(x: R) -> R {
    let (log, most) = (ln(x + R::from_f64(1e-4)), R::from_f64(9.0));
    if log < most { log } else { most }
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
        let long = ln(n / seen);
        let near = one - extent.gamma;
        let far = -ln(R::from_f64(20.0) * near);
        let ridge = |numbers: &[R; 4], [x, y]: [R; 2]| exp(mix(numbers, [one, long, x, y])) / n;
        let TdSums { systems: [plain, low, high], second_moments, differences, rewards, .. } = of;
        let solution = |weights| {
            let rest = rest_of(differences, rewards, &weights);
            Solution { weights, rest, log_rest: log_of(rest) }
        };
        let [of_first, of_low, of_high] = &self.ridge;
        let [bellman, td] = self.instrument.map(exp);
        let share = one / (bellman + td * n / seen);
        for j in 0..D {
            for i in 0..D {
                let difference = differences[j.max(i)][j.min(i)];
                plain.a[j][i] += share * (difference - plain.a[j][i]);
            }
            plain.b[j] += share * (rewards[j] - plain.b[j]);
        }
        let k = ridge(of_first, [near, long * near]);
        let first = solution(solve_in_place(plain, second_moments, k, R::ZERO)?);
        // A trace's solution, and its test of the one before.
        let traced = |exists: bool,
                      system: &mut System<R, D>,
                      before: &Solution<R, D>,
                      is_last: bool,
                      (k, full): (&[R; 4], &[R; 2])| {
            if !exists {
                return Ok((*before, R::ZERO));
            }
            let k = ridge(k, [far, first.log_rest]);
            let left = residual(system, &before.weights);
            // T: the mean squared residual over its variance if w is the solution for every lambda, of the features seen.
            let mut sum = R::ZERO;
            for i in 0..D {
                let variance = system.squares[i] * extent.squared_weight + k;
                sum += left[i] * left[i] / variance;
            }
            let test = ln(one + sum * n / (before.rest * seen));
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
            Ok::<_, Error>((solution(w), test))
        };
        let ([with_low, with_high], [full_low, full_high]) = (extent.traces, &self.full);
        let (second, test_low) = traced(with_low, low, &first, false, (of_low, full_low))?;
        let (third, test_high) = traced(with_high, high, &second, true, (of_high, full_high))?;
        // (Rounding may leave less than 0.)
        let size = quadratic(second_moments, &[R::ZERO; D], &first.weights).max(R::ZERO);
        let size = log_of(size);
        let quantities = [
            one,
            test_low,
            test_high,
            first.log_rest,
            second.log_rest,
            third.log_rest,
            size,
            long,
            ln(seen),
        ];
        let gate = |exists, numbers| if exists { sigmoid(mix(numbers, quantities)) } else { one };
        let [of_first, of_second] = &self.gate;
        let (to_first, to_second) = (gate(with_low, of_first), gate(with_high, of_second));
        let mut w = [R::ZERO; D];
        for i in 0..D {
            let upper = third.weights[i] + to_second * (second.weights[i] - third.weights[i]);
            w[i] = upper + to_first * (first.weights[i] - upper);
        }
        out.linearity = to_first;
        // A solution of a system next to singular explodes, and so do its TD errors.
        let rest = rest_of(differences, rewards, &w);
        let most = R::from_f64(LARGEST_REST) / near;
        let scale = if rest > most { (most / rest).sqrt() } else { one } / reward_unit;
        for i in 0..D {
            out.weights[i] = w[i] * unit[i] * scale;
        }
        if is_finite(&out.weights) { Ok(out) } else { Err(NON_FINITE) }
    }
}

const SINGULAR: Error = Error::Singular { system: "the fixed point of TD" };
const NON_FINITE: Error = Error::NonFinite { parameter: "context" };
