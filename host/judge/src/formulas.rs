//! The formulas that a trained function is compared with, each with as few numbers as it has.
//!
//! A formula gives the weights of a linear function in a context, from numbers that all contexts share. The numbers are fitted
//! in the contexts of one draw by the mean of the relative error |v_TF - v|^2 / |v_TF|^2, at most 1 in a context, so that no
//! context in which layers explode decides them. In other draws the share explained is the median over contexts of 1 minus
//! that error; the pooled share, a ratio of sums, hangs on a few contexts and stands beside it.

use crate::explained::{AlgorithmStep, Target};
use ictd_core::td::PreconditionedTd;
use nalgebra::SVector;

/// The weights of a formula in the context of an index, from its numbers.
type Weights<'a, const D: usize> = dyn Fn(usize, &[f64]) -> SVector<f64, D> + 'a;

/// A formula: its name in records, the start of its fit, and its weights in the context of an index.
pub struct Formula<'a, const D: usize> {
    pub name: String,
    pub start: Vec<f64>,
    pub weights: Box<Weights<'a, D>>,
}

impl<const D: usize> Formula<'_, D> {
    /// Returns the numbers that fit best in some of the contexts. The fit starts from the best multiple of the start, since the
    /// error has no slope where it is 1 in all contexts.
    pub fn fitted(
        &self,
        targets: &[Target<D>],
        contexts: impl Iterator<Item = usize> + Clone,
    ) -> Vec<f64> {
        let cost = |numbers: &[f64]| {
            let error = |at: usize| {
                let error = targets[at].relative_error(&(self.weights)(at, numbers));
                if error < 1.0 { error } else { 1.0 }
            };
            contexts.clone().map(error).sum::<f64>() / contexts.clone().count() as f64
        };
        let multiple = |by: &f64| self.start.iter().map(|x| x * by).collect::<Vec<_>>();
        let starts = [1.0, 0.1, 0.25, 0.5, 2.0].iter().map(multiple);
        let best = starts.min_by(|a, b| cost(a).total_cmp(&cost(b)));
        minimise(&best.unwrap_or_default(), cost)
    }
}

/// Returns the formula of an algorithm with one step size for all of its `layers` steps.
pub fn one_step_size<'a, const D: usize>(
    name: &str,
    steps: &'a [AlgorithmStep<D>],
    layers: usize,
) -> Formula<'a, D> {
    Formula {
        name: name.into(),
        start: vec![1.0],
        weights: Box::new(move |at, numbers| steps[at].weights(&vec![numbers[0]; layers])),
    }
}

pub const STEP_SIZES: &str = "a step size a layer";
pub const PRECONDITIONED: &str = "preconditioned TD";
pub const OWN_DISCOUNT: &str = "preconditioned TD, own discount";

/// Returns the formula of the algorithm with a step size for each layer.
pub fn step_sizes<const D: usize>(steps: &[AlgorithmStep<D>], layers: usize) -> Formula<'_, D> {
    let weights = Box::new(|at: usize, numbers: &[f64]| steps[at].weights(numbers));
    Formula { name: STEP_SIZES.into(), start: vec![1.0; layers], weights }
}

/// Returns the formula of preconditioned TD: alpha and beta.
pub fn preconditioned<const D: usize>(
    means: &[PreconditionedTd<f64, D>],
    layers: usize,
) -> Formula<'_, D> {
    let weights = Box::new(move |at: usize, n: &[f64]| means[at].weights(n[0], n[1], layers));
    Formula { name: PRECONDITIONED.into(), start: vec![1.2, 0.3], weights }
}

/// Returns the formula of preconditioned TD whose discount is multiplied by a third number: Q's right diagonal over its left
/// one. With Q = [-a I, b I; 0, 0], U = b Y - a X in the theorem's proof, so that each step has gamma b / a in place of gamma.
pub fn own_discount<const D: usize>(
    means: &[PreconditionedTd<f64, D>],
    layers: usize,
) -> Formula<'_, D> {
    let weights = move |at: usize, n: &[f64]| {
        let PreconditionedTd { a, b, sigma } = means[at];
        let a = sigma - (sigma - a) * n[2];
        PreconditionedTd { a, b, sigma }.weights(n[0], n[1], layers)
    };
    Formula { name: OWN_DISCOUNT.into(), start: vec![1.2, 0.3, 1.0], weights: Box::new(weights) }
}

/// The most steps of a fit, and the differences of cost and of numbers at which it stops.
const STEPS: usize = 400;
const LEAST_FALL: f64 = 1e-6;
const LEAST_MOVE: f64 = 1e-3;

/// Returns the numbers with the least cost that Nelder and Mead's simplex finds; a cost that is not a number counts as infinite.
pub fn minimise(start: &[f64], cost: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    let n = start.len();
    let at = |x: Vec<f64>| {
        let y = cost(&x);
        (if y.is_nan() { f64::INFINITY } else { y }, x)
    };
    let corner = |i: usize| {
        let mut x = start.to_vec();
        if let Some(x) = i.checked_sub(1).and_then(|i| x.get_mut(i)) {
            *x += 0.25 * x.abs().max(0.2);
        }
        at(x)
    };
    let mut simplex: Vec<(f64, Vec<f64>)> = (0..=n).map(corner).collect();
    for _ in 0..STEPS {
        simplex.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (least, worst) = (simplex[0].0, simplex[n].0);
        let is_near =
            |x: &[f64]| x.iter().zip(&simplex[0].1).all(|(x, y)| (x - y).abs() < LEAST_MOVE);
        if worst - least < LEAST_FALL && simplex.iter().all(|(_, x)| is_near(x)) {
            break;
        }
        let middle = |i: usize| simplex[..n].iter().map(|(_, x)| x[i]).sum::<f64>() / n as f64;
        let middle: Vec<f64> = (0..n).map(middle).collect();
        let last = &simplex[n].1;
        let moved = |by: f64| at(middle.iter().zip(last).map(|(m, x)| m + by * (x - m)).collect());
        let reflected = moved(-1.0);
        let next = if reflected.0 < least {
            let far = moved(-2.0);
            if far.0 < reflected.0 { far } else { reflected }
        } else if reflected.0 < simplex[n - 1].0 {
            reflected
        } else {
            moved(if reflected.0 < worst { -0.5 } else { 0.5 })
        };
        if next.0 < worst {
            simplex[n] = next;
        } else {
            let best = simplex[0].1.clone();
            for corner in &mut simplex[1..] {
                *corner = at(corner.1.iter().zip(&best).map(|(x, y)| 0.5 * (x + y)).collect());
            }
        }
    }
    simplex.sort_by(|a, b| a.0.total_cmp(&b.0));
    simplex.swap_remove(0).1
}
