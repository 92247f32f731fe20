//! Three solutions of TD's fixed-point equation, and the gates that mix them.

use super::level::{MIN_RELATIVE_TD_ERROR, level, quadratic, share_beyond, sum_of_squares};
use crate::context::{TdSums, TdSystem, least_product, least_root};
use crate::error::Error;
use crate::linalg::linear_system::{eliminate, epsilon};
use crate::linalg::{is_finite, zeros};
use crate::scalar::{Real, Scalar};
use nalgebra::SVector;

/// The learned parameters. Each multiplies a dimensionless quantity, computed from d (the number of features that were
/// ever nonzero), n (transitions), the discount gamma, and the solutions w_0, w_1, w_2:
///
/// | name | quantity |
/// |---|---|
/// | 1 | a constant |
/// | log_n_per_feature | ln(n / d) |
/// | inverse_horizon | 1 - gamma |
/// | log_horizon | ln(1 / (1 - gamma)) - ln 20 |
/// | log_td_error_l | ln(E delta^2 / E r^2 + 10^-4), delta the TD errors of w_l |
/// | log_hausman_l | ln(1 + T), the test of w_{l-1} in the equations of lambda_l ([`crate::universal`]) |
/// | log_value_scale | ln(E v^2 / E r^2 + 10^-4), v the values of w_0 |
/// | tabular | 1 if no two features were ever nonzero in the same state, as with a feature for each state; else 0 |
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UniversalParameters<S> {
    /// ln k_l of the three ridges; for w_0 they multiply 1, log_n_per_feature, inverse_horizon and the product of these
    /// two, for w_1 and w_2 1, log_n_per_feature, log_horizon, log_td_error_0.
    pub log_ridge: [[S; 4]; 3],
    /// ln a and ln c, which decide how much of w_0's equation is Bellman's: s = 1 / (a + c n / d).
    pub log_bellman_mix: [S; 2],
    /// f_1 and f_2, the share of F in the ridges of w_1 and w_2, as logits; they multiply 1, log_td_error_0.
    pub ridge_mix_logit: [[S; 2]; 2],
    /// g_1 and g_2, the weights of w_0, and of w_1 in the rest, as logits; they multiply 1, log_hausman_1,
    /// log_hausman_2, log_td_error_0, log_td_error_1, log_td_error_2, log_value_scale, log_n_per_feature, ln d.
    pub gate_logits: [[S; 9]; 2],
    /// If tabular is 1, the first number and the second, times log_n_per_feature, are added to ln k_0, and the third to g_1's
    /// logit, since values are linear in features that tell all states apart; and w_0's equation is TD's alone, s = 0.
    pub tabular: [S; 3],
}

impl UniversalParameters<()> {
    /// How many parameters there are.
    pub const COUNT: usize = 39;

    /// The shape without numbers, to be filled in order by [`UniversalParameters::map`].
    pub const SHAPE: Self = UniversalParameters {
        log_ridge: [[(); 4]; 3],
        log_bellman_mix: [(); 2],
        ridge_mix_logit: [[(); 2]; 2],
        gate_logits: [[(); 9]; 2],
        tabular: [(); 3],
    };
}

impl<S: Copy> UniversalParameters<S> {
    /// Applies `f` to each parameter, in order.
    pub fn map<T>(&self, mut f: impl FnMut(S) -> T) -> UniversalParameters<T> {
        UniversalParameters {
            log_ridge: self.log_ridge.map(|x| x.map(&mut f)),
            log_bellman_mix: self.log_bellman_mix.map(&mut f),
            ridge_mix_logit: self.ridge_mix_logit.map(|x| x.map(&mut f)),
            gate_logits: self.gate_logits.map(|x| x.map(&mut f)),
            tabular: self.tabular.map(&mut f),
        }
    }

    /// Returns the parameters in order.
    pub fn iter(&self) -> impl Iterator<Item = &S> {
        let ridges = self.log_ridge.as_flattened().iter().chain(&self.log_bellman_mix);
        let mixes = self.ridge_mix_logit.as_flattened().iter();
        ridges.chain(mixes).chain(self.gate_logits.as_flattened()).chain(&self.tabular)
    }
}

/// The numbers of a context that the solution needs in addition to its sums.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContextSummary<S> {
    /// n, the sum of the transitions' weights.
    pub effective_len: S,
    /// The sum of the squared weights over the sum of the weights (Kish's design effect over n); 1 if nothing is
    /// forgotten.
    pub design_effect: S,
    /// The discount gamma, in [0, 1).
    pub gamma: S,
    /// Whether each of the two traces decays at least as fast as gamma, so that its lambda is at most 1.
    pub admissible: [bool; 2],
}

impl<S: Copy> ContextSummary<S> {
    /// Applies `f` to each number.
    pub fn map<T>(self, f: impl Fn(S) -> T) -> ContextSummary<T> {
        let ContextSummary { effective_len, design_effect, gamma, admissible } = self;
        let [effective_len, design_effect, gamma] = [effective_len, design_effect, gamma].map(f);
        ContextSummary { effective_len, design_effect, gamma, admissible }
    }
}

/// The largest mean squared TD error allowed, relative to the mean squared reward times the horizon 1 / (1 - gamma);
/// weights with a larger one are scaled down.
const MAX_RELATIVE_TD_ERROR: f64 = 4.0;
/// The share of w_1 and w_2 in the mixture is at most this number times w_0's mean squared TD error over theirs.
const MAX_TIMES_TD_ERROR: f64 = 4.0;
#[inline(never)]
fn exp<R: Real>(x: R) -> R {
    (x * R::from_f64(core::f64::consts::LOG2_E)).exp2()
}

#[inline(never)]
fn ln<R: Real>(x: R) -> R {
    x.ln()
}

#[inline(never)]
fn sigmoid<R: Real>(x: R) -> R {
    // `exp2` takes arguments up to 127.
    let least = R::from_f64(-80.0);
    R::ONE / (R::ONE + exp(-(if x > least { x } else { least })))
}

/// Returns <parameters, quantities>.
fn linear_combination<R: Real, const N: usize>(parameters: &[R; N], quantities: [R; N]) -> R {
    let mut sum = R::ZERO;
    for (parameter, x) in parameters.iter().zip(quantities) {
        sum += *parameter * x;
    }
    sum
}

/// Returns ln(x + 10^-4), capped at 9: beyond that, how far a solution exploded does not matter.
#[inline(never)]
fn capped_ln<R: Real>(x: R) -> R {
    let (log, most) = (ln(x + R::from_f64(1e-4)), R::from_f64(9.0));
    if log < most { log } else { most }
}

/// Factors that turn features and rewards into numbers with sum of squares 1.
struct Units<R, const D: usize> {
    /// 1 / sqrt(F_ii); 0 for a feature that was never seen.
    features: [R; D],
    /// 1 / sqrt(sum r^2).
    reward: R,
    /// The number of features that have a unit.
    seen: R,
    /// The size of their products with rewards of those that have none: 0, unless their squares underflowed.
    lost: R,
}

/// Rescales the sums so that each feature and the reward have sum of squares 1; `roots` are the current sqrt(F_ii).
#[inline(never)]
fn change_units<R: Real, const D: usize>(sums: &mut TdSums<R, D>, roots: &[R; D]) -> Units<R, D> {
    let half = R::from_f64(0.5);
    let (mut features, mut seen, mut lost) = ([R::ZERO; D], R::ZERO, R::ZERO);
    for i in 0..D {
        if roots[i] > R::from_f64(least_root::<R>()) && sums.squared_rewards != R::ZERO {
            features[i] = R::ONE / roots[i];
            seen += R::ONE;
        } else {
            lost += sums.systems[2].b[i].abs();
        }
    }
    let reward = R::ONE / sums.squared_rewards.sqrt();
    for j in 0..D {
        for i in 0..D {
            let both = features[i] * features[j];
            for system in &mut sums.systems {
                system.a[j][i] *= both;
            }
            if i <= j {
                sums.second_moments[j][i] *= half * both;
                sums.residual_gram[j][i] *= both;
            }
        }
        sums.residual_rewards[j] *= features[j] * reward;
        sums.level.features[j] *= features[j];
        sums.level.residual[j] *= features[j];
        for system in &mut sums.systems {
            system.b[j] *= features[j] * reward;
            system.c[j] *= features[j];
            system.squares[j] *= features[j] * features[j];
        }
    }
    sums.level.rewards *= reward;
    sums.level.explained_rewards *= reward;
    Units { features, reward, seen, lost }
}

/// Returns E (r + gamma w phi' - w phi)^2 / E r^2.
#[inline(never)]
fn relative_td_error<R: Real, const D: usize>(sums: &TdSums<R, D>, w: &[R; D]) -> R {
    let error = R::ONE + quadratic(&sums.residual_gram, &sums.residual_rewards, w);
    let least = R::from_f64(MIN_RELATIVE_TD_ERROR);
    if error > least { error } else { least }
}

impl<R: Real, const D: usize> TdSystem<R, D> {
    /// Solves (A + R) w = b for each right-hand side b, in place, with R = ridge ((1 - mix) I + mix F), in the sums' own units;
    /// A is overwritten.
    #[inline(never)]
    fn solve<const K: usize>(
        &mut self,
        right: &mut [[R; D]; K],
        second_moments: &[[R; D]; D],
        ridge: R,
        mix: R,
    ) -> Result<(), Error> {
        let a = &mut self.a;
        let mut largest = R::ONE;
        for j in 0..D {
            for i in 0..D {
                largest = largest.max(a[j][i].abs());
            }
        }
        // A pivot that elimination cannot distinguish from 0 does not count as one.
        let least = R::from_f64(4.0) * epsilon::<R>(D) * largest;
        let diagonal = ridge * (R::ONE - mix);
        let diagonal = if diagonal > least { diagonal } else { least };
        for j in 0..D {
            for i in 0..j {
                let of_ridge = ridge * mix * second_moments[j][i];
                a[j][i] += of_ridge;
                a[i][j] += of_ridge;
            }
            // (A feature that was never seen gets the weight 0.)
            a[j][j] += diagonal + ridge * mix;
        }
        eliminate(a, right, D, least * R::from_f64(0.25)).ok_or(SINGULAR)
    }

    /// Returns b - A w.
    fn residual(&self, w: &[R; D]) -> [R; D] {
        let mut residual = self.b;
        for j in 0..D {
            for i in 0..D {
                residual[i] -= self.a[j][i] * w[j];
            }
        }
        residual
    }
}

/// A solution w_l, and its TD errors.
#[derive(Clone, Copy)]
struct FixedPoint<R, const D: usize> {
    weights: [R; D],
    /// E delta^2 / E r^2.
    relative_td_error: R,
    /// ln(E delta^2 / E r^2 + 10^-4).
    log_td_error: R,
}

impl<R: Real, const D: usize> FixedPoint<R, D> {
    #[inline(never)]
    fn new(weights: [R; D], sums: &TdSums<R, D>) -> Self {
        let relative_td_error = relative_td_error(sums, &weights);
        FixedPoint { weights, relative_td_error, log_td_error: capped_ln(relative_td_error) }
    }
}

/// The dimensionless quantities of a context that the parameters multiply.
struct Quantities<R> {
    /// The number n of transitions.
    n: R,
    /// d, the number of features that were ever nonzero.
    d: R,
    log_n_per_feature: R,
    inverse_horizon: R,
    log_horizon: R,
    tabular: R,
}

impl<R: Real> Quantities<R> {
    fn new(summary: &ContextSummary<R>, d: R, tabular: R) -> Self {
        let (n, inverse_horizon) = (summary.effective_len, R::ONE - summary.gamma);
        let log_horizon = -ln(R::from_f64(20.0) * inverse_horizon);
        Quantities { n, d, log_n_per_feature: ln(n / d), inverse_horizon, log_horizon, tabular }
    }

    /// Returns k_l / n; `more` is added to its logarithm.
    fn ridge(&self, log_ridge: &[R; 4], x: R, y: R, more: R) -> R {
        exp(linear_combination(log_ridge, [R::ONE, self.log_n_per_feature, x, y]) + more) / self.n
    }
}

/// The traces whose systems are solved after that of lambda = 0.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trace {
    /// lambda_1: w_1 solves TD(lambda_1)'s equation.
    Low,
    /// lambda_2 = 1: w_2 - w_1 is a regression of what w_1 leaves of the returns.
    High,
}

/// The solution read from a context.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GatedSolution<R: Scalar, const D: usize> {
    /// The weights w, (D).
    pub weights: SVector<R, D>,
    /// The value where all features are 0, the level of the values.
    pub level: R,
    /// sqrt(F_ii), the root of each feature's sum of squares, (D).
    pub roots: [R; D],
    /// The weight of the solution for lambda = 0, in \[0, 1\].
    pub linearity: R,
}

impl<R: Real> UniversalParameters<R> {
    /// Solves the three equations of [`crate::universal`] and mixes their solutions. The sums are overwritten.
    /// Returns [`Error::NonFinite`] if sums or weights left the range of the scalar: in `f32` features and rewards have sizes
    /// from 1e-19 to 1e14, or are 0; [`Error::Singular`] if a system was singular in spite of its ridge.
    pub fn solve<const D: usize>(
        &self,
        sums: &mut TdSums<R, D>,
        mut summary: ContextSummary<R>,
    ) -> Result<GatedSolution<R, D>, Error> {
        let (roots, one) = (sums.roots(), R::ONE);
        let mut out =
            GatedSolution { weights: zeros(), level: R::ZERO, roots, linearity: R::from_f64(0.5) };
        let mut units = change_units(sums, &roots);
        let d = units.seen;
        let is_lost = units.lost > R::from_f64(least_product::<R>());
        // (What is not finite makes weights that are not, below.)
        if is_lost || sums.squared_rewards == R::ZERO {
            return if is_lost { Err(NON_FINITE) } else { Ok(out) };
        }
        summary.design_effect *= sums.level.squared_weights / sums.level.weight;
        let taken = one / (one - summary.gamma) + d;
        let freedom = sums.level.weight / summary.design_effect - taken;
        if d == R::ZERO {
            out.level = level(sums, &[[R::ZERO; D]; 2], R::ZERO, freedom) / units.reward;
            return Ok(out);
        }
        let tabular = if d > one && sums.tells_states_apart() { one } else { R::ZERO };
        let quantities = Quantities::new(&summary, d, tabular);
        let (solutions @ [w, of_level], ridge) = self.solve_first(sums, &quantities)?;
        let level = level(sums, &solutions, ridge, freedom);
        out.level = level / units.reward;
        let left = if level == R::ZERO { R::ONE } else { sums.subtract_level(level) };
        // (Nothing, if the level is all that there is.)
        if left == R::ZERO {
            return Ok(out);
        }
        let unit = R::ONE / left.sqrt();
        units.reward *= unit;
        let mut first = [R::ZERO; D];
        for j in 0..D {
            first[j] = (w[j] - level * of_level[j]) * unit;
        }
        let first = FixedPoint::new(first, sums);
        let seen = sum_of_squares(&sums.systems[0].b);
        let mut solve_next = |trace, before: &FixedPoint<R, D>| {
            self.solve_trace(trace, sums, &summary, &quantities, [&first, before])
        };
        let (second, log_hausman_1) = solve_next(Trace::Low, &first)?;
        let (third, log_hausman_2) = solve_next(Trace::High, &second)?;
        // (Rounding may make a sum of squares negative.)
        let value_scale = quadratic(&sums.second_moments, &[R::ZERO; D], &first.weights);
        let gate_inputs = [
            one,
            log_hausman_1,
            log_hausman_2,
            first.log_td_error,
            second.log_td_error,
            third.log_td_error,
            capped_ln(value_scale.max(R::ZERO)),
            quantities.log_n_per_feature,
            ln(d),
        ];
        let gate = |exists, logits, more| {
            if exists { sigmoid(linear_combination(logits, gate_inputs) + more) } else { one }
        };
        let ([low, high], [gate_low, gate_high]) = (summary.admissible, &self.gate_logits);
        let g_1 = gate(low, gate_low, self.tabular[2] * tabular);
        let g_2 = gate(high, gate_high, R::ZERO);
        // The share of the other solutions falls with their TD errors.
        let others =
            third.relative_td_error + g_2 * (second.relative_td_error - third.relative_td_error);
        let most = R::from_f64(MAX_TIMES_TD_ERROR) * first.relative_td_error / others;
        let g_1 = g_1.max(R::ONE - most);
        let mut w = [R::ZERO; D];
        for i in 0..D {
            let u = third.weights[i] + g_2 * (second.weights[i] - third.weights[i]);
            w[i] = u + g_1 * (first.weights[i] - u);
        }
        // f is (1/d) sum_i b_i^2 / F_ii, which is E delta^2 if rewards are noise. (Both are over E r^2.)
        let f = seen * quantities.n / (d * summary.design_effect);
        let noise = first.relative_td_error;
        let kept = share_beyond(if noise < one { noise } else { one }, f);
        w.iter_mut().for_each(|w| *w *= kept);
        out.linearity = g_1;
        // The solution of a nearly singular system explodes, and so do its TD errors.
        let error = relative_td_error(sums, &w);
        let most = R::from_f64(MAX_RELATIVE_TD_ERROR) / quantities.inverse_horizon;
        let scale = if error > most { (most / error).sqrt() } else { one } / units.reward;
        for i in 0..D {
            out.weights[i] = w[i] * units.features[i] * scale;
        }
        if is_finite(&out.weights) { Ok(out) } else { Err(NON_FINITE) }
    }

    /// Solves for w_0, lambda = 0: TD's equation mixed with Bellman's residual, which is data-efficient with few
    /// transitions. Returns w_0 for rewards without a level, what a level of 1 takes from it, and the ridge.
    fn solve_first<const D: usize>(
        &self,
        sums: &mut TdSums<R, D>,
        quantities: &Quantities<R>,
    ) -> Result<([[R; D]; 2], R), Error> {
        let Quantities { n, d, log_n_per_feature, inverse_horizon, tabular, .. } = *quantities;
        let ([a, c], [offset, slope, _]) = (self.log_bellman_mix.map(exp), self.tabular);
        let s = (R::ONE - tabular) / (a + c * n / d);
        let TdSums { systems: [system, ..], second_moments, residual_gram, level, .. } = sums;
        let mut right = [system.b, system.c];
        for j in 0..D {
            for i in 0..D {
                let bellman = residual_gram[j.max(i)][j.min(i)];
                system.a[j][i] += s * (bellman - system.a[j][i]);
            }
            right[0][j] += s * (sums.residual_rewards[j] - system.b[j]);
            right[1][j] += s * (level.residual[j] - system.c[j]);
        }
        let both = log_n_per_feature * inverse_horizon;
        let more = offset * tabular + slope * (tabular * log_n_per_feature);
        let k = quantities.ridge(&self.log_ridge[0], inverse_horizon, both, more);
        system.solve(&mut right, second_moments, k, R::ZERO)?;
        Ok((right, k))
    }

    /// Solves for w_1 or w_2 from w_0 and the solution before it, and returns it with the logarithm of the test of the
    /// solution before.
    #[inline(never)]
    fn solve_trace<const D: usize>(
        &self,
        trace: Trace,
        sums: &mut TdSums<R, D>,
        summary: &ContextSummary<R>,
        quantities: &Quantities<R>,
        [first, before]: [&FixedPoint<R, D>; 2],
    ) -> Result<(FixedPoint<R, D>, R), Error> {
        let [low, high] = summary.admissible;
        if !(if trace == Trace::Low { low } else { high }) {
            // Without the equation w_l is w_{l-1}, and no test rejects that.
            return Ok((*before, R::ZERO));
        }
        let TdSums { systems: [_, low, high], second_moments, .. } = sums;
        let [_, log_ridge_low, log_ridge_high] = &self.log_ridge;
        let [mix_low, mix_high] = &self.ridge_mix_logit;
        let (system, log_ridge, mix_logit) = match trace {
            Trace::Low => (low, log_ridge_low, mix_low),
            Trace::High => (high, log_ridge_high, mix_high),
        };
        let (horizon, error) = (quantities.log_horizon, first.log_td_error);
        let k = quantities.ridge(log_ridge, horizon, error, R::ZERO);
        let left = system.residual(&before.weights);
        // T: the mean squared residual over its variance if w_{l-1} is right for every lambda.
        let mut sum = R::ZERO;
        for i in 0..D {
            let variance = system.squares[i] * summary.design_effect + k;
            sum += left[i] * left[i] / variance;
        }
        let t = sum * quantities.n / (before.relative_td_error * quantities.d);
        let log_hausman = ln(R::ONE + t);
        let (mut start, mut right) = ([R::ZERO; D], [system.b]);
        if trace == Trace::High {
            (start, right) = (before.weights, [left]);
            for j in 0..D {
                for i in 0..j + 1 {
                    (system.a[j][i], system.a[i][j]) = (second_moments[j][i], second_moments[j][i]);
                }
            }
        }
        let mix = sigmoid(linear_combination(mix_logit, [R::ONE, first.log_td_error]));
        system.solve(&mut right, second_moments, k, mix)?;
        let [mut w] = right;
        for i in 0..D {
            w[i] += start[i];
        }
        Ok((FixedPoint::new(w, sums), log_hausman))
    }
}

const SINGULAR: Error = Error::Singular { system: "the fixed point of TD" };
const NON_FINITE: Error = Error::NonFinite { parameter: "context" };
