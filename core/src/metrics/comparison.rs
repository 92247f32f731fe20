//! The judge of value functions: a transformer's against batch TD's, on the states of a task.

use crate::error::{Error, Result, ensure, out_of_range};
use crate::linalg::{check_finite, dot, linear_system, to_f64, weighted_squared_difference, zeros};
use crate::scalar::Real;
use crate::statistic::Statistic;
use crate::tasks::Mrp;
use crate::value_function::ValueFunction;
use nalgebra::SVector;

/// Returns the value function of `iterations` steps of batch TD with step size alpha from w = 0, in the context of
/// a statistic: TD(0) under its mask, TD(lambda) under that of a trace.
/// Returns [`Error::NonFinite`] if the iterates blow up.
pub fn batch_td<R: Real, const D: usize, const K: usize>(
    statistic: &Statistic<R, K>,
    alpha: R,
    iterations: usize,
) -> Result<ValueFunction<R, D>> {
    crate::transition::check_token_size::<D, K>();
    let (g, scale) = (&statistic.g, alpha * statistic.inverse_len);
    let mut weights = zeros::<R, D, 1>();
    for _ in 0..iterations {
        let w = weights;
        for i in 0..D {
            // A = sum e (phi - gamma phi')^T has the trace on the left, G on the right.
            let mut expected_error = g[(2 * D, i)];
            for j in 0..D {
                expected_error += (g[(D + j, i)] - g[(j, i)]) * w[j];
            }
            weights[i] += scale * expected_error;
        }
    }
    check_finite(&weights, "batch TD's weights")?;
    Ok(ValueFunction { weights })
}

/// The states for the comparison of value functions: their features, and their weights d_p.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluationStates<R: Real, const D: usize, const M: usize> {
    states: usize,
    /// d <= D: how many features there are; zeros beyond.
    dim: usize,
    weights: SVector<R, M>,
    features: [SVector<R, D>; M],
}

/// A value function on the evaluation states.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueSample<R: Real, const D: usize, const M: usize> {
    /// v(s) for each state, (M).
    pub values: SVector<R, M>,
    /// The gradient of v(s) with respect to phi(s), (D) for each state.
    pub sensitivities: [SVector<R, D>; M],
}

/// The three metrics of a learned value function v_TF against batch TD's v_TD.
///
/// With linear attention v_TF is exactly linear in the query, so that IWS and SS are one number up to rounding whenever
/// the features of the states span all d dimensions; with softmax attention it is not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchTdComparison<R: Real> {
    /// Value difference: sum_s d_p(s) (v_TF(s) - v_TD(s))^2.
    pub vd: R,
    /// Implicit weight similarity: cos(w_TF, w_TD).
    pub iws: R,
    /// Sensitivity similarity: sum_s d_p(s) cos(grad v_TF(s), grad v_TD(s)).
    pub ss: R,
}

impl<R: Real, const D: usize, const M: usize> EvaluationStates<R, D, M> {
    /// Takes the first `states` states, with weights d_p(s).
    /// Returns [`Error::CapacityExceeded`] beyond M states; [`Error::NonFinite`] for NaN or an infinity;
    /// [`Error::OutOfRange`] for a negative weight.
    pub fn new(
        states: usize,
        weights: &SVector<R, M>,
        features: &[SVector<R, D>; M],
    ) -> Result<Self> {
        ensure(states <= M, Error::capacity("states", M))?;
        let mut evaluation =
            EvaluationStates { states, dim: D, weights: zeros(), features: *features };
        for s in 0..states {
            check_finite(&features[s], "phi")?;
            evaluation.weights[s] = weights[s];
            ensure(!(weights[s] < R::ZERO), out_of_range("d_p", "probabilities"))?;
        }
        check_finite(&evaluation.weights, "d_p")?;
        Ok(evaluation)
    }

    /// Returns all states of a task, weighted by its stationary distribution, or [`Error::Singular`] if that is not unique.
    pub fn from_mrp(mrp: &Mrp<R, D, M>) -> Result<Self> {
        // Elimination may leave a state that is never visited with a weight of minus a rounding error.
        let weights = mrp.stationary_distribution()?.map(|w| w.max(R::ZERO));
        Self::new(mrp.states(), &weights, mrp.feature_map())
    }

    /// Returns the same states in `f64`: VD of two nearly equal functions would be rounding in `f32`.
    pub fn to_f64(&self) -> EvaluationStates<f64, D, M> {
        let features = self.features.map(|phi| to_f64(&phi));
        let weights = to_f64(&self.weights);
        EvaluationStates { states: self.states, dim: self.dim, weights, features }
    }

    /// Returns the same states, whose features beyond the first `dim` are 0 and do not count.
    pub fn with_dim(self, dim: usize) -> Self {
        EvaluationStates { dim: dim.min(D), ..self }
    }

    /// Returns phi(s), (D), for each state.
    pub fn features(&self) -> &[SVector<R, D>] {
        &self.features[..self.states]
    }

    /// Samples a linear value function, whose sensitivity is its weight vector everywhere.
    pub fn sample_linear(&self, v: &ValueFunction<R, D>) -> ValueSample<R, D, M> {
        let mut sample = ValueSample { values: zeros(), sensitivities: [v.weights; M] };
        for (value, phi) in sample.values.iter_mut().zip(self.features()) {
            *value = v.at(phi);
        }
        sample
    }

    /// Samples any value function, given v(s) and its gradient with respect to phi(s) as functions of phi(s).
    /// Returns the function's errors.
    pub fn sample(
        &self,
        mut value_and_gradient: impl FnMut(&SVector<R, D>) -> Result<(R, SVector<R, D>)>,
    ) -> Result<ValueSample<R, D, M>> {
        let mut sample = ValueSample { values: zeros(), sensitivities: [zeros(); M] };
        for s in 0..self.states {
            (sample.values[s], sample.sensitivities[s]) = value_and_gradient(&self.features[s])?;
        }
        Ok(sample)
    }

    /// Computes sum_s d_p(s) (v(s) - u(s))^2: the value difference of two value functions, the MSVE of one against the
    /// true one.
    pub fn squared_difference(&self, v: &SVector<R, M>, u: &SVector<R, M>) -> R {
        weighted_squared_difference(&self.weights, v, u)
    }

    /// Computes the implicit weight vector of a value function, argmin_w ||Phi w - v|| under d_p.
    /// Returns [`Error::Singular`] if the features of the weighted states do not span d dimensions; [`Error::NonFinite`] if
    /// v holds NaN or an infinity.
    pub fn implicit_weights(&self, v: &SVector<R, M>) -> Result<SVector<R, D>> {
        let mut a = zeros::<R, M, D>();
        let mut b = zeros::<R, M, 1>();
        for s in 0..self.states {
            let root = self.weights[s].sqrt();
            b[s] = root * v[s];
            for i in 0..D {
                a[(s, i)] = root * self.features[s][i];
            }
        }
        let size = [self.states, self.dim];
        linear_system::least_squares(a, b, size, "the implicit weights")
    }

    /// Compares a value function v_TF, with its weights or its [implicit weights](Self::implicit_weights), with batch TD's.
    pub fn compare(
        &self,
        v_tf: &ValueSample<R, D, M>,
        w_tf: &SVector<R, D>,
        v_td: &ValueFunction<R, D>,
    ) -> BatchTdComparison<R> {
        let td = self.sample_linear(v_td);
        let mut ss = R::ZERO;
        for s in 0..self.states {
            ss += self.weights[s] * cosine(&v_tf.sensitivities[s], &v_td.weights);
        }
        let vd = self.squared_difference(&v_tf.values, &td.values);
        BatchTdComparison { vd, iws: cosine(w_tf, &v_td.weights), ss }
    }
}

/// Computes d_cos(x, y) = <x, y> / (||x|| ||y||); 0 if either is 0.
pub fn cosine<R: Real, const D: usize>(x: &SVector<R, D>, y: &SVector<R, D>) -> R {
    // Each scaled by its largest entry, so that no square overflows or vanishes.
    let [x, y] = [x, y].map(|v| {
        let largest = v.iter().fold(R::ZERO, |largest, x| largest.max(x.abs()));
        if largest > R::ZERO { v.map(|x| x / largest) } else { *v }
    });
    let norms = (dot(&x, &x) * dot(&y, &y)).sqrt();
    if norms > R::ZERO { dot(&x, &y) / norms } else { R::ZERO }
}
