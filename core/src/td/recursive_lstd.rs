//! Recursive LSTD(lambda).

use super::batch::SYSTEM;
use super::online::{Learner, OnlineAlgorithm, learner_methods};
use super::trace_decay;
use crate::error::{Error, Result, ensure};
use crate::linalg::{arrays::add_scaled, check_finite, dot_arrays, linear_system};
use crate::scalar::{Real, Scalar, check_lanes};
use crate::setters::setters;
use crate::transition::Token;
use crate::value_function::ValueFunction;
use nalgebra::{SMatrix, SVector};

/// Recursive LSTD(lambda) that forgets, with a ridge that does not, in O(d^2) per transition: after each of them
/// A w = b for
///
/// A <- retention A + e (phi - gamma phi')^T + R,  b <- retention b + r e,  e <- gamma lambda e + phi,
///
/// where A starts as ridge I, and transition k adds R = ridge (1 - retention^d) to A's entry (k mod d, k mod d) alone.
///
/// The textbook form keeps only A^-1, by the formula of Sherman and Morrison. Where the stream does not excite a
/// direction, forgetting lets the ridge fade there and A^-1 grow without bound ("wind-up"); R restores the ridge, one
/// coordinate per transition. Rounding errors in A^-1 would also persist, so A and b are kept, too: their rounding errors
/// are forgotten with the data. In addition to Sherman and Morrison's update, one column of A^-1 in turn takes a step of
/// Newton's iteration, c <- c + A^-1 (1 - A c), and the weights take a step of iterative refinement,
/// w <- w + A^-1 (b - A w). A column that is far off (|1 - A c| > 1/2) belongs to an A that was nearly singular: A^-1 is
/// then computed from A, in O(d^3), which is rare. While A is singular, the value function is an error
/// ([`Error::Singular`]). The test `lstd_drift` compares it with `f64` over 10^8 transitions.
///
/// To forget nothing, [`Lstd`](super::Lstd) reads a growing context, whose sums are compensated. The ridge has the units
/// of a feature's square: [`FeatureScaler`](crate::signal::FeatureScaler) makes the mean square of every feature 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecursiveLstd<R: Real = f32> {
    gamma: R,
    /// gamma lambda.
    decay: R,
    retention: R,
    ridge: R,
    /// The number of features in use.
    features: usize,
}

/// The settings of [`RecursiveLstd`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct RecursiveLstdSettings<R = f32> {
    /// The discount, in \[0, 1).
    pub gamma: R,
    /// Sutton and Barto's lambda, in \[0, 1\]: the trace decays by gamma lambda.
    pub lambda: R,
    /// The factor, in (0, 1), that each transition applies to the weight of the past.
    pub retention: R,
    /// The ridge, above 0, in units of a squared feature.
    pub ridge: R,
}

impl<R: Real> RecursiveLstdSettings<R> {
    /// Returns the settings of LSTD(0.9) with this discount, the retention 0.999 and the ridge 1.
    pub fn new(gamma: R) -> Self {
        let [lambda, retention] = [0.9, 0.999].map(R::from_f64);
        RecursiveLstdSettings { gamma, lambda, retention, ridge: R::ONE }
    }

    setters! { gamma: R, lambda: R, retention: R, ridge: R }
}

impl<R: Real> RecursiveLstd<R> {
    /// Returns recursive LSTD(lambda), or [`Error::NonFinite`] or [`Error::OutOfRange`], naming the setting.
    #[inline]
    pub fn new(settings: RecursiveLstdSettings<R>) -> Result<Self> {
        let RecursiveLstdSettings { gamma, lambda, retention, ridge } = settings;
        let within = |x| x > Scalar::ZERO && x < Scalar::ONE;
        Ok(RecursiveLstd {
            gamma,
            decay: trace_decay(gamma, lambda)?,
            retention: check_lanes(retention, "retention", within, "(0, 1)")?,
            ridge: check_lanes(ridge, "ridge", |x| x > Scalar::ZERO, "above 0")?,
            features: usize::MAX,
        })
    }

    /// Returns the algorithm for vectors of which only the leading d numbers are features, the others always 0: the weights
    /// are those of vectors of d numbers.
    #[inline]
    pub fn with_features(self, d: usize) -> Self {
        RecursiveLstd { features: d, ..self }
    }
}

learner_methods!(RecursiveLstd, Real);

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecursiveLstdState<R, const D: usize> {
    /// Row by row.
    a: [[R; D]; D],
    /// A^-1, row by row; zeros if A is singular.
    inverse: [[R; D]; D],
    b: [R; D],
    weights: [R; D],
    trace: [R; D],
    /// The amount that the ridge gets back at a time: ridge (1 - retention^d).
    returned: R,
    turn: u32,
    singular: bool,
}

/// Computes M x; M is stored row by row.
fn product<R: Real, const D: usize>(m: &[[R; D]; D], x: &[R; D]) -> [R; D] {
    core::array::from_fn(|i| dot_arrays(&m[i], x))
}

fn diagonal<R: Real, const D: usize>(x: R) -> [[R; D]; D] {
    core::array::from_fn(|i| core::array::from_fn(|j| if i == j { x } else { R::ZERO }))
}

impl<R: Real, const D: usize> RecursiveLstdState<R, D> {
    /// Makes the inverse of A that of retention A + x y^T (Sherman and Morrison).
    fn update_inverse(&mut self, retention: R, x: &[R; D], y: &[R; D]) {
        let left = product(&self.inverse, x);
        let mut right = [R::ZERO; D];
        for i in 0..D {
            add_scaled(&mut right, y[i], &self.inverse[i]);
        }
        let denominator = retention + dot_arrays(y, &left);
        for i in 0..D {
            add_scaled(&mut self.inverse[i], -(left[i] / denominator), &right);
            for x in &mut self.inverse[i] {
                *x = *x / retention;
            }
        }
    }

    /// Takes a step of Newton's iteration for column k of the inverse, or computes all of its `size` columns anew.
    fn correct_inverse(&mut self, k: usize, size: usize) {
        let column: [R; D] = core::array::from_fn(|i| self.inverse[i][k]);
        let mut residual = product(&self.a, &column).map(|x| -x);
        residual[k] += R::ONE;
        let half = R::from_f64(0.5);
        if residual.iter().all(|x| x.abs() <= half) {
            let step = product(&self.inverse, &residual);
            for i in 0..D {
                self.inverse[i][k] += step[i];
            }
            return;
        }
        self.singular = false;
        for j in 0..size {
            let unit = SVector::<R, D>::from_fn(|i, _| if i == j { R::ONE } else { R::ZERO });
            let a = SMatrix::<R, D, D>::from_fn(|i, j| self.a[i][j]);
            let Ok(column) = linear_system::solve(a, unit, size, SYSTEM) else {
                (self.inverse, self.singular) = ([[R::ZERO; D]; D], true);
                return;
            };
            for i in 0..D {
                self.inverse[i][j] = column[i];
            }
        }
    }
}

impl<R: Real> OnlineAlgorithm<R> for RecursiveLstd<R> {
    type State<const D: usize> = RecursiveLstdState<R, D>;

    fn empty<const D: usize>(&self) -> RecursiveLstdState<R, D> {
        let mut kept = R::ONE;
        for _ in 0..self.features.min(D) {
            kept *= self.retention;
        }
        RecursiveLstdState {
            a: diagonal(self.ridge),
            inverse: diagonal(R::ONE / self.ridge),
            b: [R::ZERO; D],
            weights: [R::ZERO; D],
            trace: [R::ZERO; D],
            returned: self.ridge * (R::ONE - kept),
            turn: 0,
            singular: false,
        }
    }

    fn learn<const D: usize>(&self, state: &mut RecursiveLstdState<R, D>, token: &Token<R, D, 1>) {
        let (retention, k) = (self.retention, state.turn as usize % self.features.min(D).max(1));
        state.turn = k as u32 + 1;
        let mut difference = token.phi;
        add_scaled(&mut difference, -self.gamma, &token.phi_next);
        for i in 0..D {
            state.trace[i] = self.decay * state.trace[i] + token.phi[i];
        }
        let e = state.trace;
        for i in 0..D {
            for j in 0..D {
                state.a[i][j] = retention * state.a[i][j] + e[i] * difference[j];
            }
        }
        state.a[k][k] += state.returned;
        state.update_inverse(retention, &e, &difference);
        for i in self.features.min(D)..D {
            (state.a[i][i], state.inverse[i][i]) = (self.ridge, R::ONE / self.ridge);
        }
        let (mut put, mut back) = ([R::ZERO; D], [R::ZERO; D]);
        (put[k], back[k]) = (state.returned, R::ONE);
        state.update_inverse(R::ONE, &put, &back);
        state.correct_inverse(k, self.features.min(D));
        let (b, w) = (&mut state.b, &mut state.weights);
        let mut residual = [R::ZERO; D];
        for i in 0..D {
            b[i] = retention * b[i] + token.rewards[0] * e[i];
            residual[i] = b[i] - dot_arrays(&state.a[i], w);
        }
        add_scaled(w, R::ONE, &product(&state.inverse, &residual));
        // An overflow while A was singular: solved again from 0.
        if !w.iter().all(|x| x.is_finite()) {
            *w = [R::ZERO; D];
        }
    }

    fn end_episode<const D: usize>(&self, state: &mut RecursiveLstdState<R, D>) {
        state.trace = [R::ZERO; D];
    }

    fn numbers<const D: usize>(
        &self,
        state: &mut RecursiveLstdState<R, D>,
        visit: &mut impl FnMut(&mut R),
    ) {
        let matrices =
            state.a.as_flattened_mut().iter_mut().chain(state.inverse.as_flattened_mut());
        let vectors = state.b.iter_mut().chain(&mut state.weights).chain(&mut state.trace);
        matrices.chain(vectors).for_each(&mut *visit);
        visit(&mut state.returned);
        let mut counts = [R::from_f64(state.turn.into()), R::from_f64(f64::from(state.singular))];
        counts.iter_mut().for_each(visit);
        (state.turn, state.singular) = (counts[0].to_f64() as u32, counts[1] > R::ZERO);
    }

    fn weights<const D: usize>(&self, state: &RecursiveLstdState<R, D>) -> Result<[R; D]> {
        ensure(!state.singular, Error::Singular { system: SYSTEM })?;
        check_finite(&SVector::from(state.weights), "recursive LSTD's weights")?;
        Ok(state.weights)
    }
}
