//! The classical algorithm that a value function is, judged by the share of it that the algorithm explains.
//!
//! Every classical algorithm here is one iteration, w <- w + alpha_l (b - A w) from w = 0, with an A and a b of its
//! own ([`Algorithm::iteration`]). As many iterations as the transformer has layers are fitted to its values on the
//! contexts of some tasks, and judged on those of others ([`Fitted::explained`]).
//!
//! The step sizes are fitted, one for each layer. Theorem 1 allows any matrix C_l in their place; but where features
//! are distributed alike up to signed permutations, the best that tasks can share is a multiple of I, since it
//! commutes with all of them.

use crate::error::Error;
use crate::linalg::{add_outer, dot, identity, linear_system, mul_vector, zeros};
use crate::td;
use crate::transition::Transition;
use nalgebra::{SMatrix, SVector};

/// A classical algorithm of policy evaluation, in its batch form.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Algorithm {
    /// [`td::updates::td0`].
    Td0,
    /// [`td::updates::td_lambda`], with its trace decay.
    TdLambda(f64),
    /// [`td::updates::residual_gradient`].
    ResidualGradient,
    /// [`td::updates::average_reward`], which knows no discount.
    AverageReward,
}

/// An algorithm in a context: w <- w + alpha_l (b - A w).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Iteration<const D: usize> {
    /// A, (D, D).
    pub a: SMatrix<f64, D, D>,
    /// b, (D).
    pub b: SVector<f64, D>,
}

impl Algorithm {
    /// Returns A and b in a context, read off the algorithm's own update: b is the step from w = 0 with C = I, and
    /// column i of A is b less the step from e_i.
    ///
    /// # Errors
    /// [`Error::Empty`] without transitions, [`Error::NonFinite`] if a sum is not finite.
    pub fn iteration<const D: usize>(
        self,
        context: &[Transition<f64, D>],
        gamma: f64,
    ) -> Result<Iteration<D>, Error> {
        let c = identity::<f64, D>();
        let step = |w: &SVector<f64, D>| {
            let next = match self {
                Algorithm::Td0 => td::updates::td0(w, &c, context, gamma),
                Algorithm::TdLambda(lambda) => {
                    td::updates::td_lambda(w, &c, context, gamma, lambda)
                }
                Algorithm::ResidualGradient => {
                    td::updates::residual_gradient(w, &c, context, gamma)
                }
                Algorithm::AverageReward => td::updates::average_reward(w, &c, context),
            };
            next.map(|next| next - w)
        };
        let b = step(&zeros())?;
        let mut a = zeros::<f64, D, D>();
        for i in 0..D {
            a.set_column(i, &(b - step(&c.column(i).into())?));
        }
        Ok(Iteration { a, b })
    }
}

impl<const D: usize> Iteration<D> {
    /// Returns w after an iteration with each step size.
    pub fn weights(&self, step_sizes: &[f64]) -> SVector<f64, D> {
        step_sizes.iter().fold(zeros(), |w, alpha| w + self.missing(&w) * *alpha)
    }

    /// Returns b - A w.
    fn missing(&self, w: &SVector<f64, D>) -> SVector<f64, D> {
        self.b - mul_vector(&self.a, w)
    }
}

/// A value function in a context, seen on states: enough of it to tell what linear functions leave over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target<const D: usize> {
    /// sum_s d(s) v(s)^2.
    pub energy: f64,
    /// sum_s d(s) v(s) phi(s), (D).
    cross: SVector<f64, D>,
    /// sum_s d(s) phi(s) phi(s)^T, (D, D).
    moment: SMatrix<f64, D, D>,
}

impl<const D: usize> Default for Target<D> {
    fn default() -> Self {
        Target { energy: 0.0, cross: zeros(), moment: zeros() }
    }
}

impl<const D: usize> Target<D> {
    /// Adds a state of weight d(s), with its features and value.
    pub fn add(&mut self, phi: &SVector<f64, D>, value: f64, weight: f64) {
        self.energy += weight * value * value;
        self.cross += phi * (weight * value);
        add_outer(&mut self.moment, &(phi * weight), phi);
    }

    /// Returns sum_s d(s) (v(s) - <w, phi(s)>)^2.
    pub fn residual(&self, w: &SVector<f64, D>) -> f64 {
        self.energy - 2.0 * dot(w, &self.cross) + dot(w, &mul_vector(&self.moment, w))
    }
}

/// An algorithm's step sizes, one for each layer, fitted by least squares; L is the capacity for layers.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted<const L: usize> {
    layers: usize,
    step_sizes: SVector<f64, L>,
}

/// Step sizes that a fit begins with, and their negatives: the best of them.
const STARTS: [f64; 10] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0];
/// Steps of Levenberg and Marquardt, at most, and the relative fall below which there are no more.
const STEPS: usize = 60;
const LEAST_FALL: f64 = 1e-10;

impl<const L: usize> Fitted<L> {
    /// Fits `layers` iterations in each context to its target: the least sum of residuals that Levenberg
    /// and Marquardt's method finds from the best single step size.
    ///
    /// # Errors
    /// [`Error::CapacityExceeded`] for more than L layers.
    pub fn new<const D: usize>(
        iterations: &[Iteration<D>],
        targets: &[Target<D>],
        layers: usize,
    ) -> Result<Self, Error> {
        if layers > L {
            return Err(Error::CapacityExceeded { parameter: "layers", capacity: L });
        }
        let of = |step_sizes| Fitted { layers, step_sizes };
        let mut best = of(zeros());
        let mut least = best.residual(iterations, targets);
        for alpha in STARTS.into_iter().flat_map(|alpha| [alpha, -alpha]) {
            let start = of(SVector::from_fn(|l, _| if l < layers { alpha } else { 0.0 }));
            let residual = start.residual(iterations, targets);
            if residual < least {
                (best, least) = (start, residual);
            }
        }
        let mut damping = 1e-3;
        for _ in 0..STEPS {
            let (mut hessian, gradient) = best.normal_equations(iterations, targets);
            for l in 0..layers {
                hessian[(l, l)] *= 1.0 + damping;
            }
            let step = linear_system::solve(hessian, gradient, layers, "the fit of an algorithm");
            let next = step.map(|step| of(best.step_sizes + step));
            let residual =
                next.as_ref().map_or(f64::NAN, |next| next.residual(iterations, targets));
            if let (Ok(next), true) = (next, residual < least) {
                let fall = least - residual;
                (best, least) = (next, residual);
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
        Ok(best)
    }

    /// Returns the step sizes, one for each layer.
    pub fn step_sizes(&self) -> &[f64] {
        &self.step_sizes.as_slice()[..self.layers]
    }

    /// Returns R^2 = 1 - sum of the residuals / sum of the energies: the share of the values that the algorithm
    /// explains in contexts, which should be others than it was fitted in. It is negative if the algorithm is worse
    /// than 0.
    pub fn explained<const D: usize>(
        &self,
        iterations: &[Iteration<D>],
        targets: &[Target<D>],
    ) -> f64 {
        let energy: f64 = targets.iter().map(|target| target.energy).sum();
        1.0 - self.residual(iterations, targets) / energy
    }

    fn residual<const D: usize>(&self, iterations: &[Iteration<D>], targets: &[Target<D>]) -> f64 {
        let contexts = iterations.iter().zip(targets);
        contexts.map(|(of, target)| target.residual(&of.weights(self.step_sizes()))).sum()
    }

    /// Returns J^T M J and J^T (m - M w), summed over contexts; J = dw / d(step sizes), forward beside w.
    fn normal_equations<const D: usize>(
        &self,
        iterations: &[Iteration<D>],
        targets: &[Target<D>],
    ) -> (SMatrix<f64, L, L>, SVector<f64, L>) {
        let (mut hessian, mut gradient) = (zeros::<f64, L, L>(), zeros::<f64, L, 1>());
        for (iteration, target) in iterations.iter().zip(targets) {
            let mut w = zeros::<f64, D, 1>();
            let mut slopes = [w; L];
            for (l, alpha) in self.step_sizes().iter().enumerate() {
                for slope in &mut slopes {
                    *slope -= mul_vector(&iteration.a, slope) * *alpha;
                }
                let missing = iteration.missing(&w);
                slopes[l] += missing;
                w += missing * *alpha;
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
}
