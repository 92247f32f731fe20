//! Measures the share of a value function that each classical algorithm explains.
//!
//! Every classical algorithm here iterates w <- w + alpha_l (b - A w) from w = 0, with its own A and b. One step size per layer
//! of the transformer is fitted to its values in the contexts of some tasks, and tested in the contexts of others; with more
//! than four layers, all iterations share one. (Theorem 1 allows any matrix C_l in place of a step size; but if features are
//! distributed alike up to signed permutations, the best C_l that tasks can share is a multiple of I.)

use crate::construction::Construction;
use ictd_core::Result;
use ictd_core::linalg::{add_outer, dot, identity, linear_system, mul_vector, zeros};
use ictd_core::transition::Transition;
use nalgebra::{SMatrix, SVector};

/// The largest number of fitted step sizes.
pub const LAYERS: usize = 4;

/// An algorithm in a context: w <- w + alpha_l (b - A w).
pub struct AlgorithmStep<const D: usize> {
    pub a: SMatrix<f64, D, D>,
    pub b: SVector<f64, D>,
}

impl<const D: usize> AlgorithmStep<D> {
    /// Computes A and b from the algorithm's own update: b is the step from w = 0 with C = I, and column i of A is b minus the
    /// step from e_i. Returns the core's error for a context without transitions, or for a sum that is not finite.
    pub fn new(
        (algorithm, lambda): (Construction, f64),
        context: &[Transition<f64, D>],
        gamma: f64,
    ) -> Result<Self> {
        let c = identity::<f64, D>();
        let step = |w: &SVector<f64, D>| {
            algorithm.update(w, &c, context, gamma, lambda).map(|next| next - w)
        };
        let b = step(&zeros())?;
        let mut a = zeros::<f64, D, D>();
        for i in 0..D {
            a.set_column(i, &(b - step(&c.column(i).into())?));
        }
        Ok(AlgorithmStep { a, b })
    }

    /// Returns w after one iteration per step size.
    pub fn weights(&self, step_sizes: &[f64]) -> SVector<f64, D> {
        step_sizes.iter().fold(zeros(), |w, alpha| w + self.missing(&w) * *alpha)
    }

    fn missing(&self, w: &SVector<f64, D>) -> SVector<f64, D> {
        self.b - mul_vector(&self.a, w)
    }
}

/// Moments of a value function over states, from which the residual of every linear function follows.
pub struct Target<const D: usize> {
    /// sum_s d(s) v(s)^2.
    pub energy: f64,
    /// sum_s d(s) v(s) phi(s), (D).
    cross: SVector<f64, D>,
    /// sum_s d(s) phi(s) phi(s)^T, (D, D).
    moment: SMatrix<f64, D, D>,
}

impl<const D: usize> Target<D> {
    /// Returns the moments over states, each with its features, value and weight d(s).
    pub fn over(states: impl IntoIterator<Item = (SVector<f64, D>, f64, f64)>) -> Self {
        let mut target = Target { energy: 0.0, cross: zeros(), moment: zeros() };
        for (phi, value, weight) in states {
            target.energy += weight * value * value;
            target.cross += phi * (weight * value);
            add_outer(&mut target.moment, &(phi * weight), &phi);
        }
        target
    }

    /// Returns sum_s d(s) (v(s) - <w, phi(s)>)^2.
    pub fn residual(&self, w: &SVector<f64, D>) -> f64 {
        self.energy - 2.0 * dot(w, &self.cross) + dot(w, &mul_vector(&self.moment, w))
    }

    /// Returns the residual over the energy.
    pub fn relative_error(&self, w: &SVector<f64, D>) -> f64 {
        self.residual(w) / self.energy
    }
}

type Contexts<'a, const D: usize> = [(&'a AlgorithmStep<D>, &'a Target<D>)];

/// Returns, for each draw of `in_draw` contexts, R^2 = 1 - sum of residuals / sum of energies: the share of the values that
/// `layers` iterations explain. Step sizes are fitted in the next draw (for the last draw, in the first), which has other
/// tasks. R^2 is negative if the algorithm is worse than 0.
pub fn explained<const D: usize>(
    iterations: &[AlgorithmStep<D>],
    targets: &[Target<D>],
    layers: usize,
    in_draw: usize,
) -> Vec<f64> {
    let contexts: Vec<_> = iterations.iter().zip(targets).collect();
    let draws: Vec<_> = contexts.chunks(in_draw.max(1)).collect();
    let mut step_sizes = None;
    let share = |(at, draw): (usize, &&Contexts<D>)| {
        let to_fit = draws[(at + 1) % draws.len()];
        let found = fit(to_fit, layers, step_sizes.take());
        let energy: f64 = draw.iter().map(|(_, target)| target.energy).sum();
        let share = 1.0 - residual(draw, &per_layer(&found, layers)) / energy;
        step_sizes = Some(found);
        share
    };
    draws.iter().enumerate().map(share).collect()
}

/// Returns the `layers` step sizes that best fit the values in the first half of the contexts.
pub fn fitted<const D: usize>(
    iterations: &[AlgorithmStep<D>],
    targets: &[Target<D>],
    layers: usize,
) -> Vec<f64> {
    let contexts = first_half(iterations, targets);
    per_layer(&fit(&contexts, layers, None), layers)
}

/// As [`fitted`]; but with more than [`LAYERS`] layers the best of a list, since the very best one is at the edge of divergence
/// in other contexts.
pub fn tuned<const D: usize>(
    iterations: &[AlgorithmStep<D>],
    targets: &[Target<D>],
    layers: usize,
) -> Vec<f64> {
    if layers <= LAYERS {
        return fitted(iterations, targets, layers);
    }
    let contexts = first_half(iterations, targets);
    vec![best_constant(&contexts, layers); layers]
}

fn first_half<'a, const D: usize>(
    iterations: &'a [AlgorithmStep<D>],
    targets: &'a [Target<D>],
) -> Vec<(&'a AlgorithmStep<D>, &'a Target<D>)> {
    iterations.iter().zip(targets).take(targets.len() / 2).collect()
}

/// Returns which of `of` step sizes an iteration has.
fn group(l: usize, layers: usize, of: usize) -> usize {
    l * of / layers
}

fn per_layer(step_sizes: &[f64], layers: usize) -> Vec<f64> {
    (0..layers).map(|l| step_sizes[group(l, layers, step_sizes.len())]).collect()
}

fn residual<const D: usize>(contexts: &Contexts<D>, step_sizes: &[f64]) -> f64 {
    contexts.iter().map(|(of, target)| target.residual(&of.weights(step_sizes))).sum()
}

/// Candidate starts of a fit, tried with both signs; the fit starts from the best.
const STARTS: [f64; 10] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0];
/// Maximum number of Levenberg-Marquardt steps, and the relative decrease at which they stop.
const STEPS: usize = 60;
const LEAST_FALL: f64 = 1e-7;

/// Returns the best step size of a list for all layers.
fn best_constant<const D: usize>(contexts: &Contexts<D>, layers: usize) -> f64 {
    let (mut best, mut least) = (0.0, f64::INFINITY);
    for alpha in [0.0].iter().chain(&STARTS).flat_map(|alpha| [*alpha, -alpha]) {
        let residual = residual(contexts, &vec![alpha; layers]);
        if residual < least {
            (best, least) = (alpha, residual);
        }
    }
    best
}

/// Returns the step sizes, one per layer or, above [`LAYERS`] layers, one for all, with the smallest sum of residuals that the
/// Levenberg-Marquardt method finds, from another fit's step sizes or from the best single one.
fn fit<const D: usize>(contexts: &Contexts<D>, layers: usize, start: Option<Vec<f64>>) -> Vec<f64> {
    // Several step sizes that many iterations share may be unstable in other contexts.
    let count = if layers > LAYERS { 1 } else { layers };
    let residual = |step_sizes: &[f64]| residual(contexts, &per_layer(step_sizes, layers));
    let mut best = start.unwrap_or_else(|| vec![best_constant(contexts, layers); count]);
    let mut least = residual(&best);
    let mut damping = 1e-3;
    for _ in 0..STEPS {
        let (mut hessian, gradient) = normal_equations(contexts, &best, layers);
        for l in 0..count {
            hessian[(l, l)] *= 1.0 + damping;
        }
        let step = linear_system::solve(hessian, gradient, count, "the fit of an algorithm");
        let next = step.map(|step| best.iter().zip(&step).map(|(x, s)| x + s).collect::<Vec<_>>());
        let fallen = next.as_ref().map_or(f64::NAN, |next| residual(next));
        if let (Ok(next), true) = (next, fallen < least) {
            let fall = least - fallen;
            (best, least) = (next, fallen);
            damping *= 0.1;
            if fall <= LEAST_FALL * least {
                break;
            }
        } else if damping > 1e9 {
            break;
        } else {
            damping *= 10.0;
        }
    }
    best
}

/// Returns J^T M J and J^T (m - M w), summed over contexts; J = dw / d(step sizes) is computed along with w.
fn normal_equations<const D: usize>(
    contexts: &Contexts<D>,
    step_sizes: &[f64],
    layers: usize,
) -> (SMatrix<f64, LAYERS, LAYERS>, SVector<f64, LAYERS>) {
    let (mut hessian, mut gradient) = (zeros(), zeros::<f64, LAYERS, 1>());
    for (iteration, target) in contexts {
        let mut w = zeros::<f64, D, 1>();
        let mut slopes = [w; LAYERS];
        for l in 0..layers {
            let at = group(l, layers, step_sizes.len());
            let alpha = step_sizes[at];
            for slope in &mut slopes {
                *slope -= mul_vector(&iteration.a, slope) * alpha;
            }
            let missing = iteration.missing(&w);
            slopes[at] += missing;
            w += missing * alpha;
        }
        let error = target.cross - mul_vector(&target.moment, &w);
        for (p, slope) in slopes.iter().enumerate() {
            let moment = mul_vector(&target.moment, slope);
            gradient[p] += dot(slope, &error);
            for (q, other) in slopes.iter().enumerate() {
                hessian[(p, q)] += dot(&moment, other);
            }
        }
    }
    (hessian, gradient)
}
