//! What no linear recurrent network can do: TD.
//!
//! Without the activation a recurrent network of any depth is a linear map of its tokens (eq. "linear
//! rnn prediction"),
//!
//! ```text
//! a_T = sum_t W_aa^{T-t-1} W_ax x_t        v = <W_o, a_T> = sum_t <w_t, x_t>
//! ```
//!
//! with vectors w_t that do not depend on the tokens ([`functional`]). TD's value of a query,
//! <w, phi_q> with w a sum of products of rewards and features, is no such functional.
//! [`LinearFit`] measures how far the best of all functionals is from it: a lower bound for every
//! linear recurrent network, however it was trained.

use crate::error::Error;
use crate::linalg::linear_system;
use crate::linalg::{dot, transpose_mul_vector, zeros};
use crate::scalar::{Real, Scalar};
use nalgebra::{SMatrix, SVector};

/// w_0, ..., w_{T-1} of a one-layer linear network: w_t = W_ax^T (W_aa^T)^{T-t-1} W_o, (X) each.
pub fn functional<S: Scalar, const X: usize, const H: usize, const T: usize>(
    wax: &SMatrix<S, H, X>,
    waa: &SMatrix<S, H, H>,
    wo: &SVector<S, H>,
) -> [SVector<S, X>; T] {
    let mut weights = [zeros::<S, X, 1>(); T];
    let mut back = *wo;
    for w in weights.iter_mut().rev() {
        *w = transpose_mul_vector(wax, &back);
        back = transpose_mul_vector(waa, &back);
    }
    weights
}

/// The best linear functional of F numbers for a target, in the least-squares sense, from a stream
/// of samples in O(F^2) memory.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearFit<R: Real, const F: usize> {
    gram: SMatrix<R, F, F>,
    moment: SVector<R, F>,
    count: u64,
}

impl<R: Real, const F: usize> LinearFit<R, F> {
    /// No sample yet.
    pub fn new() -> Self {
        LinearFit { gram: zeros(), moment: zeros(), count: 0 }
    }

    /// Adds a sample: the numbers, (F), and the target.
    pub fn observe(&mut self, numbers: &SVector<R, F>, target: R) {
        for j in 0..F {
            for i in 0..F {
                self.gram[(i, j)] += numbers[i] * numbers[j];
            }
            self.moment[j] += numbers[j] * target;
        }
        self.count += 1;
    }

    /// The weights of the best functional, (F). Numbers that never vary from 0 get weight 0.
    ///
    /// # Errors
    /// [`Error::Empty`] without samples; [`Error::Singular`] if several functionals are equally good.
    pub fn weights(&self) -> Result<SVector<R, F>, Error> {
        if self.count == 0 {
            return Err(Error::Empty { parameter: "samples" });
        }
        let mut gram = self.gram;
        for i in 0..F {
            if gram[(i, i)] == R::ZERO {
                gram[(i, i)] = R::ONE;
            }
        }
        linear_system::solve(gram, self.moment, F, "the best linear functional")
    }
}

impl<R: Real, const F: usize> Default for LinearFit<R, F> {
    fn default() -> Self {
        Self::new()
    }
}

/// How much of a target a functional leaves unexplained, on samples it was not fitted to:
/// sum (target - <w, numbers>)^2 / sum target^2. 0 is perfect, 1 as good as predicting 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unexplained<R: Real, const F: usize> {
    weights: SVector<R, F>,
    squared_error: R,
    squared_target: R,
}

impl<R: Real, const F: usize> Unexplained<R, F> {
    /// For a functional with these weights, (F).
    pub fn of(weights: SVector<R, F>) -> Self {
        Unexplained { weights, squared_error: R::ZERO, squared_target: R::ZERO }
    }

    /// Adds a sample.
    pub fn observe(&mut self, numbers: &SVector<R, F>, target: R) {
        let error = target - dot(&self.weights, numbers);
        self.squared_error += error * error;
        self.squared_target += target * target;
    }

    /// The unexplained share.
    ///
    /// # Errors
    /// [`Error::Empty`] if there was no target but 0.
    pub fn share(&self) -> Result<R, Error> {
        if self.squared_target > R::ZERO {
            Ok(self.squared_error / self.squared_target)
        } else {
            Err(Error::Empty { parameter: "samples" })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{add_outer, mul_vector};
    use crate::rng::Rng;
    use crate::statistic::Statistic;
    use crate::tasks::{Mrp, Task, boyan_chain};
    use crate::td::td0;
    use crate::transition::token;

    #[test]
    fn a_linear_recurrent_network_is_a_fixed_functional_of_its_tokens() {
        let mut rng = Rng::new(1);
        let mut draw = || rng.uniform_in(-0.7, 0.7);
        let wax = SMatrix::<f64, 4, 6>::from_fn(|_, _| draw());
        let waa = SMatrix::<f64, 4, 4>::from_fn(|_, _| draw());
        let wo = SVector::<f64, 4>::from_fn(|_, _| draw());
        let w: [_; 5] = functional(&wax, &waa, &wo);
        for _ in 0..10 {
            let tokens: [SVector<f64, 6>; 5] =
                core::array::from_fn(|_| SVector::from_fn(|_, _| draw()));
            let mut a = zeros::<f64, 4, 1>();
            for x in &tokens {
                a = mul_vector(&wax, x) + mul_vector(&waa, &a);
            }
            let v: f64 = w.iter().zip(&tokens).map(|(w, x)| dot(w, x)).sum();
            assert!((dot(&wo, &a) - v).abs() < 1e-14);
        }
    }

    /// One task: what stands in its tokens (each phi once: a token's gamma phi' is a multiple of the
    /// next token's phi), the products that TD forms of it, and the value of one TD iteration,
    /// alpha (1/n) sum_j R_j <phi_j, phi_q>.
    fn sample(rng: &mut Rng) -> (SVector<f64, 16>, SVector<f64, 4>, f64) {
        let task: Mrp<f64, 2, 5> = boyan_chain(5, rng).unwrap();
        let transitions = task.trajectory::<4>(4, rng).unwrap();
        let query = task.features(rng.below(5) as usize);
        let (mut numbers, mut products) = (zeros::<f64, 16, 1>(), zeros::<f64, 4, 1>());
        let mut g = zeros::<f64, 5, 5>();
        for (t, transition) in transitions.iter().enumerate() {
            let z = token::<f64, 2, 5>(transition, 0.9);
            add_outer(&mut g, &z, &z);
            numbers[3 * t] = z[0];
            numbers[3 * t + 1] = z[1];
            numbers[3 * t + 2] = z[4];
            // The last token's phi' alone is not overwritten.
            numbers[3 * t + 3] = z[2];
            numbers[3 * t + 4] = z[3];
            products[t] = transition.reward * dot(&transition.phi, &query);
        }
        (0..2).for_each(|i| numbers[14 + i] = query[i]);
        let statistic = Statistic { g, inverse_len: 0.25 };
        let td = td0::value_function::<f64, 2, 5>(&statistic, 0.5, 1).unwrap();
        (numbers, products, td.at(&query))
    }

    #[test]
    fn no_linear_functional_of_the_tokens_is_td_but_one_of_their_products_is() {
        let mut rng = Rng::new(2);
        let (mut tokens, mut products) = (LinearFit::<f64, 16>::new(), LinearFit::<f64, 4>::new());
        for _ in 0..4000 {
            let (numbers, product, v) = sample(&mut rng);
            tokens.observe(&numbers, v);
            products.observe(&product, v);
        }
        let mut of_tokens = Unexplained::of(tokens.weights().unwrap());
        let mut of_products = Unexplained::of(products.weights().unwrap());
        for _ in 0..2000 {
            let (numbers, product, v) = sample(&mut rng);
            of_tokens.observe(&numbers, v);
            of_products.observe(&product, v);
        }
        let (linear, bilinear) = (of_tokens.share().unwrap(), of_products.share().unwrap());
        assert!(linear > 0.5, "the best functional of the tokens leaves {linear}");
        assert!(bilinear < 1e-20, "of the products {bilinear}");
    }
}
