//! Which classical algorithm a value function is, judged by the share of it that the algorithm explains.
//!
//! Every classical algorithm here is one iteration, w <- w + C_l (b - A w) from w = 0, with an A and a b of its own
//! ([`Algorithm::iteration`]). As many iterations as the transformer has layers are fitted to its values on the
//! contexts of some tasks, and judged on those of others ([`Fitted::explained`]).
//!
//! What is fitted is the preconditioner. Theorem 1 allows any C_l. Where features are distributed alike up to signed
//! permutations, the best that tasks can share is a multiple of I, since it commutes with all of them, so that one
//! step size for each layer ([`Preconditioner::StepSizes`]) is all there is to fit. A whole matrix
//! ([`Preconditioner::Matrix`], D^2 numbers that all layers share) is for features that are not alike, and wants
//! many tasks: one that fits a few is too large a step on others.
//!
//! ```
//! use ictd_core::metrics::{Algorithm, Fitted, Preconditioner, Target};
//! use ictd_core::rng::Rng;
//! use ictd_core::tasks::{Mrp, Task, boyan_chain};
//!
//! // The values of two steps of batch TD(0), and what TD(0) and the residual gradient explain of them.
//! let rng = &mut Rng::new(1);
//! let (mut td, mut residual, mut targets) = ([None; 20], [None; 20], [None; 20]);
//! for i in 0..20 {
//!     let task: Mrp<f64, 2, 10> = boyan_chain(10, rng)?;
//!     let context = task.trajectory::<30>(30, rng)?;
//!     let iteration = Algorithm::Td0.iteration(&context, 0.9)?;
//!     let w = iteration.weights(&[0.3, 0.3].map(ictd_core::constructions::learning_rate));
//!     let mut target = Target::default();
//!     for phi in &task.feature_map()[..] {
//!         target.add(phi, w.dot(phi), 0.1);
//!     }
//!     residual[i] = Some(Algorithm::ResidualGradient.iteration(&context, 0.9)?);
//!     (td[i], targets[i]) = (Some(iteration), Some(target));
//! }
//! let [td, residual] = [td, residual].map(|of| of.map(|x| x.unwrap()));
//! let targets = targets.map(|x| x.unwrap());
//! let fit = |of: &[_]| Fitted::<2, 2>::new(&of[..10], &targets[..10], 2, Preconditioner::StepSizes);
//! assert!(fit(&td)?.explained(&td[10..], &targets[10..]) > 0.999_999);
//! assert!(fit(&residual)?.explained(&residual[10..], &targets[10..]) < 0.9);
//! # Ok::<(), ictd_core::Error>(())
//! ```

use crate::error::Error;
use crate::linalg::{add_outer, dot, identity, linear_system, mul_vector, zeros};
use crate::td;
use crate::transition::Transition;
use nalgebra::{SMatrix, SVector};

/// A classical algorithm of policy evaluation, in its batch form.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Algorithm {
    /// [`td::td0`].
    Td0,
    /// [`td::td_lambda`], with its trace decay.
    TdLambda(f64),
    /// [`td::residual_gradient`].
    ResidualGradient,
    /// [`td::average_reward`], which knows no discount.
    AverageReward,
}

/// An algorithm in a context: w <- w + C_l (b - A w).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Iteration<const D: usize> {
    /// A, (D, D).
    pub a: SMatrix<f64, D, D>,
    /// b, (D).
    pub b: SVector<f64, D>,
}

impl Algorithm {
    /// A and b in a context, read off the algorithm's own update: b is the step from w = 0 with C = I, and
    /// column i of A what the step from e_i lacks of it.
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
                Algorithm::Td0 => td::td0::update(w, &c, context, gamma),
                Algorithm::TdLambda(lambda) => td::td_lambda::update(w, &c, context, gamma, lambda),
                Algorithm::ResidualGradient => td::residual_gradient::update(w, &c, context, gamma),
                Algorithm::AverageReward => td::average_reward::update(w, &c, context),
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
    /// w after an iteration with each preconditioner.
    pub fn weights(&self, preconditioners: &[SMatrix<f64, D, D>]) -> SVector<f64, D> {
        preconditioners.iter().fold(zeros(), |w, c| w + mul_vector(c, &self.missing(&w)))
    }

    /// b - A w.
    fn missing(&self, w: &SVector<f64, D>) -> SVector<f64, D> {
        self.b - mul_vector(&self.a, w)
    }
}

/// A value function in a context, seen on states: what of it no linear function of given weights leaves over.
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

    /// sum_s d(s) (v(s) - <w, phi(s)>)^2.
    pub fn residual(&self, w: &SVector<f64, D>) -> f64 {
        self.energy - 2.0 * dot(w, &self.cross) + dot(w, &mul_vector(&self.moment, w))
    }
}

/// What is fitted of an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Preconditioner {
    /// C_l = alpha_l I: a number for each layer.
    StepSizes,
    /// C_l = C: D^2 numbers, which all layers share.
    Matrix,
}

impl Preconditioner {
    /// How many numbers it has.
    fn len(self, layers: usize, d: usize) -> usize {
        match self {
            Preconditioner::StepSizes => layers,
            Preconditioner::Matrix => d * d,
        }
    }

    /// d C_l / d(parameter p) x: C_l is linear in its numbers.
    fn derivative<const D: usize>(
        self,
        l: usize,
        p: usize,
        x: &SVector<f64, D>,
    ) -> SVector<f64, D> {
        let mut out = zeros::<f64, D, 1>();
        match self {
            Preconditioner::StepSizes if l == p => out = *x,
            Preconditioner::StepSizes => {}
            // Row by row.
            Preconditioner::Matrix => out[p / D] = x[p % D],
        }
        out
    }
}

/// An algorithm's preconditioner, fitted by least squares; P is the capacity for its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted<const D: usize, const P: usize> {
    preconditioner: Preconditioner,
    layers: usize,
    numbers: SVector<f64, P>,
}

/// Step sizes that a fit begins with, and their negatives: the best of them.
const STARTS: [f64; 10] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0];
/// Steps of Levenberg and Marquardt, at most, and the relative fall below which there are no more.
const STEPS: usize = 60;
const LEAST_FALL: f64 = 1e-10;

impl<const D: usize, const P: usize> Fitted<D, P> {
    /// Of `layers` iterations in each context towards its target: the least sum of residuals that Levenberg
    /// and Marquardt's method finds from the best single step size.
    ///
    /// # Errors
    /// [`Error::CapacityExceeded`] if the preconditioner has more than P numbers.
    pub fn new(
        iterations: &[Iteration<D>],
        targets: &[Target<D>],
        layers: usize,
        preconditioner: Preconditioner,
    ) -> Result<Self, Error> {
        let len = preconditioner.len(layers, D);
        if len > P {
            return Err(Error::CapacityExceeded { parameter: "preconditioner", capacity: P });
        }
        let of = |numbers| Fitted { preconditioner, layers, numbers };
        let mut best = of(zeros());
        let mut least = best.residual(iterations, targets);
        for alpha in STARTS.into_iter().flat_map(|alpha| [alpha, -alpha]) {
            let of_diagonal =
                |p: usize| preconditioner == Preconditioner::StepSizes || p / D == p % D;
            let start =
                of(SVector::from_fn(|p, _| if p < len && of_diagonal(p) { alpha } else { 0.0 }));
            let residual = start.residual(iterations, targets);
            if residual < least {
                (best, least) = (start, residual);
            }
        }
        let mut damping = 1e-3;
        for _ in 0..STEPS {
            let (mut hessian, gradient) = best.normal_equations(iterations, targets, len);
            for p in 0..len {
                hessian[(p, p)] *= 1.0 + damping;
            }
            let step = linear_system::solve(hessian, gradient, len, "the fit of an algorithm");
            let next = step.map(|step| of(best.numbers + step));
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

    /// C_l.
    pub fn matrix(&self, l: usize) -> SMatrix<f64, D, D> {
        match self.preconditioner {
            Preconditioner::StepSizes => identity::<f64, D>() * self.numbers[l],
            Preconditioner::Matrix => SMatrix::from_fn(|i, j| self.numbers[i * D + j]),
        }
    }

    /// R^2 = 1 - sum of the residuals / sum of the energies: the share of the values that the algorithm explains
    /// in contexts, which should be others than it was fitted in. Negative if it is worse than 0.
    pub fn explained(&self, iterations: &[Iteration<D>], targets: &[Target<D>]) -> f64 {
        let energy: f64 = targets.iter().map(|target| target.energy).sum();
        1.0 - self.residual(iterations, targets) / energy
    }

    fn residual(&self, iterations: &[Iteration<D>], targets: &[Target<D>]) -> f64 {
        let of = |(iteration, target): (&Iteration<D>, &Target<D>)| {
            let step = |w, l| w + mul_vector(&self.matrix(l), &iteration.missing(&w));
            target.residual(&(0..self.layers).fold(zeros(), step))
        };
        iterations.iter().zip(targets).map(of).sum()
    }

    /// J^T M J and J^T (m - M w), summed over contexts; J = dw / d(numbers), forward beside w.
    fn normal_equations(
        &self,
        iterations: &[Iteration<D>],
        targets: &[Target<D>],
        len: usize,
    ) -> (SMatrix<f64, P, P>, SVector<f64, P>) {
        let (mut hessian, mut gradient) = (zeros::<f64, P, P>(), zeros::<f64, P, 1>());
        for (iteration, target) in iterations.iter().zip(targets) {
            let (mut w, mut jacobian) = (zeros::<f64, D, 1>(), zeros::<f64, D, P>());
            for l in 0..self.layers {
                let (c, missing) = (self.matrix(l), iteration.missing(&w));
                for p in 0..len {
                    let w_dot = SVector::from(jacobian.column(p));
                    let change = self.preconditioner.derivative(l, p, &missing)
                        - mul_vector(&c, &mul_vector(&iteration.a, &w_dot));
                    jacobian.set_column(p, &(w_dot + change));
                }
                w += mul_vector(&c, &missing);
            }
            let error = target.cross - mul_vector(&target.moment, &w);
            for p in 0..len {
                let column = SVector::from(jacobian.column(p));
                let moment = mul_vector(&target.moment, &column);
                gradient[p] += dot(&column, &error);
                for q in 0..=p {
                    hessian[(p, q)] += dot(&moment, &SVector::from(jacobian.column(q)));
                }
            }
        }
        for p in 0..len {
            for q in 0..p {
                hessian[(q, p)] = hessian[(p, q)];
            }
        }
        (hessian, gradient)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::rng::Rng;
    use crate::tasks::{Mrp, Task, boyan_chain};
    use std::vec::Vec;

    const ALL: [Algorithm; 5] = [
        Algorithm::Td0,
        Algorithm::TdLambda(0.6),
        Algorithm::TdLambda(0.9),
        Algorithm::ResidualGradient,
        Algorithm::AverageReward,
    ];
    const LAYERS: usize = 3;

    type Contexts = Vec<(Mrp<f64, 4, 10>, Vec<Transition<f64, 4>>)>;

    fn contexts() -> Contexts {
        let mut rng = Rng::new(3);
        let one = |_| {
            let task: Mrp<f64, 4, 10> = boyan_chain(10, &mut rng).unwrap();
            let context = task.trajectory::<30>(30, &mut rng).unwrap();
            (task, context.to_vec())
        };
        (0..80).map(one).collect()
    }

    fn iterations(contexts: &Contexts, algorithm: Algorithm) -> Vec<Iteration<4>> {
        contexts.iter().map(|(_, c)| algorithm.iteration(c, 0.9).unwrap()).collect()
    }

    fn targets(contexts: &Contexts, w: impl Fn(usize) -> SVector<f64, 4>) -> Vec<Target<4>> {
        let of = |(at, (task, _)): (usize, &(Mrp<f64, 4, 10>, _))| {
            let (w, mut target) = (w(at), Target::default());
            task.feature_map()[..10].iter().for_each(|phi| target.add(phi, dot(&w, phi), 0.1));
            target
        };
        contexts.iter().enumerate().map(of).collect()
    }

    /// What each algorithm explains of the values, fitted on the first half of the contexts, in the second.
    fn shares(contexts: &Contexts, targets: &[Target<4>], what: Preconditioner) -> Vec<f64> {
        let of = |algorithm| {
            let of = iterations(contexts, algorithm);
            let fit = Fitted::<4, 16>::new(&of[..40], &targets[..40], LAYERS, what).unwrap();
            fit.explained(&of[40..], &targets[40..])
        };
        ALL.map(of).to_vec()
    }

    #[test]
    fn a_and_b_are_those_of_the_equations() {
        let (_, context) = &contexts()[0];
        let (mut a, mut b) = (zeros::<f64, 4, 4>(), zeros::<f64, 4, 1>());
        for t in context {
            a += t.phi * (t.phi - t.phi_next * 0.9).transpose() / 30.0;
            b += t.phi * (t.reward / 30.0);
        }
        let Iteration { a: found_a, b: found_b } = Algorithm::Td0.iteration(context, 0.9).unwrap();
        assert!((found_a - a).norm() < 1e-14 && (found_b - b).norm() < 1e-14);
    }

    #[test]
    fn each_algorithm_explains_itself_and_no_other_does() {
        let contexts = contexts();
        let mut rng = Rng::new(5);
        let c: SMatrix<f64, 4, 4> =
            identity::<f64, 4>() * 0.3 + SMatrix::from_fn(|_, _| 0.05 * rng.normal::<f64>());
        for (truth, algorithm) in ALL.into_iter().enumerate() {
            let of = iterations(&contexts, algorithm);
            for (what, c) in [
                (Preconditioner::StepSizes, [0.4, 0.3, 0.2].map(|x| identity::<f64, 4>() * x)),
                (Preconditioner::Matrix, [c; 3]),
            ] {
                let targets = targets(&contexts, |at| of[at].weights(&c));
                let shares = shares(&contexts, &targets, what);
                for (i, share) in shares.iter().enumerate() {
                    let as_expected = if i == truth { *share > 0.999 } else { *share < 0.95 };
                    assert!(as_expected, "{algorithm:?}, {what:?}: {shares:?}");
                }
            }
        }
    }

    #[test]
    fn of_random_values_no_algorithm_explains_anything() {
        let contexts = contexts();
        let mut rng = Rng::new(7);
        let random: Vec<SVector<f64, 4>> =
            (0..80).map(|_| SVector::from_fn(|_, _| rng.normal())).collect();
        let targets = targets(&contexts, |at| random[at]);
        for share in shares(&contexts, &targets, Preconditioner::Matrix) {
            assert!(share < 0.1, "{share}");
        }
    }

    #[test]
    fn what_is_not_linear_is_not_explained() {
        // Half of the energy is of no linear function: a value at features 0.
        let contexts = contexts();
        let of = iterations(&contexts, Algorithm::Td0);
        let w = |at: usize| of[at].weights(&[identity::<f64, 4>() * 0.3; LAYERS]);
        let mut targets = targets(&contexts, w);
        for target in &mut targets {
            target.add(&zeros(), 1.0, target.energy);
        }
        let share = shares(&contexts, &targets, Preconditioner::StepSizes)[0];
        assert!((share - 0.5).abs() < 1e-9, "{share}");
    }

    #[test]
    fn more_numbers_than_there_is_room_for_are_refused() {
        let refused = Fitted::<4, 9>::new(&[], &[], 3, Preconditioner::Matrix);
        assert!(matches!(refused, Err(Error::CapacityExceeded { capacity: 9, .. })));
    }
}
