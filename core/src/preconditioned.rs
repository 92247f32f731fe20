//! Preconditioned TD: batch TD whose step l is preconditioned by (I - beta Sigma)^l, where Sigma is the second moment of the
//! context's own features. It is what the layers of a trained linear transformer compute, nearly.
//!
//! # Theorem
//!
//! Let every layer of linear attention have, with alpha and rho = -beta / alpha,
//!
//! ```text
//! P = [  0    0  0 ]      Q = [ -alpha I  alpha I  0 ]
//!     [ rho I 0  0 ]          [     0        0     0 ]
//!     [  0    0  1 ]          [     0        0     0 ]
//! ```
//!
//! Then TF_l = <w_l, phi> for every query phi, with w_0 = 0 and
//!
//! ```text
//! w_{l+1} = w_l + C_l (1/n) sum_j delta_j(w_l) e_j        C_l = alpha (I - beta Sigma)^l
//! delta_j(w) = R_j + gamma <w, phi'_j> - <w, phi_j>       Sigma = (1/n) sum_j e_j phi_j^T
//! ```
//!
//! where e_j = phi_j under TD(0)'s mask, and TD(lambda)'s trace under its mask. With beta = 0 it is Theorem 1 with
//! C_l = alpha I. (For regression, layers that also transform the features are known as GD++: von Oswald et al., 2023.)
//!
//! # Proof
//!
//! Write X, Y and r for the rows of Z: of phi, of gamma phi', and of the reward. P has no row for X, so X stays. With
//! U = Y - X a layer computes Y + (rho / n) X M X^T alpha U and r + (1/n) r M X^T alpha U. By the first,
//! U_l = (I - beta Sigma^T)^l U_0, as Sigma^T = (1/n) X M X^T. By the second, r_l = r_0 + w_l^T U_0 for one vector w_l
//! that all columns share: if it is so for l, then (1/n) r_l M X^T = (1/n) sum_j delta_j(w_l) e_j^T, as column j of U_0 is
//! gamma phi'_j - phi_j, and so
//! r_{l+1} = r_l + (1/n) sum_j delta_j(w_l) e_j^T alpha (I - beta Sigma^T)^l U_0 = r_0 + w_{l+1}^T U_0.
//! The query's column of U_0 is -phi and its reward 0, so TF_l = -r_l = <w_l, phi>.

use crate::chip::{not_unrolled, once_on_chip, rolled};
use crate::error::{Error, Result, ensure};
use crate::linalg::{add_outer, add_scaled, check_finite, mul_vector, zeros};
use crate::scalar::Scalar;
use crate::statistic::Statistic;
use crate::transition::{Transition, check_token_size};
use nalgebra::{SMatrix, SVector};

/// The means over a context that preconditioned TD iterates, for one discount.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PreconditionedTd<S: Scalar, const D: usize> {
    /// A = (1/n) sum_j e_j (phi_j - gamma phi'_j)^T, (D, D).
    pub a: SMatrix<S, D, D>,
    /// b = (1/n) sum_j R_j e_j, (D).
    pub b: SVector<S, D>,
    /// Sigma = (1/n) sum_j e_j phi_j^T, (D, D).
    pub sigma: SMatrix<S, D, D>,
}

impl<S: Scalar, const D: usize> PreconditionedTd<S, D> {
    /// Returns the means over transitions that follow each other, with the trace e_j = lambda e_{j-1} + phi_j: the paper's
    /// lambda, 0 for TD(0).
    /// Returns [`Error::Empty`] without transitions and [`Error::NonFinite`] if a mean is not finite.
    pub fn from_transitions(transitions: &[Transition<S, D>], gamma: S, lambda: S) -> Result<Self> {
        ensure(!transitions.is_empty(), Error::Empty { parameter: "transitions" })?;
        let (mut a, mut b, mut sigma) = (zeros(), zeros(), zeros());
        let mut trace = zeros::<S, D, 1>();
        let inverse_len = S::ONE / S::from_count(transitions.len() as u64);
        for Transition { phi, reward, phi_next } in transitions {
            let mut e = *phi;
            add_scaled(&mut e, lambda, &trace);
            trace = e;
            let mut difference = *phi;
            add_scaled(&mut difference, -gamma, phi_next);
            add_outer(&mut a, &e, &difference);
            add_outer(&mut sigma, &e, phi);
            add_scaled(&mut b, *reward, &e);
        }
        let (a, sigma) = (a.map(|x| inverse_len * x), sigma.map(|x| inverse_len * x));
        let b = b.map(|x| inverse_len * x);
        check_finite(&a, "A")?;
        check_finite(&sigma, "Sigma")?;
        check_finite(&b, "b")?;
        Ok(PreconditionedTd { a, b, sigma })
    }

    /// Returns the means that are parts of G, of a context under the mask of TD(0) or TD(lambda).
    pub fn from_statistic<const K: usize>(statistic: &Statistic<S, K>) -> Self {
        check_token_size::<D, K>();
        let Statistic { g, inverse_len } = statistic;
        let mut means = PreconditionedTd { a: zeros(), b: zeros(), sigma: zeros() };
        for j in 0..D {
            // Column j of G is sum_i z_i e_i[j].
            let column = &g.data.0[j];
            for i in 0..D {
                means.a.data.0[i][j] = *inverse_len * (column[i] - column[D + i]);
                means.sigma.data.0[i][j] = *inverse_len * column[i];
            }
            means.b.data.0[0][j] = *inverse_len * column[2 * D];
        }
        means
    }

    /// Returns w_L after `iterations` steps, L. C_l is applied as l products with a vector, so the steps take
    /// L (L + 1) / 2 of them, each in D^2 operations.
    pub fn weights(&self, alpha: S, beta: S, iterations: usize) -> SVector<S, D> {
        steps(self.b, [alpha, beta], iterations, |of, x| match of {
            Mean::A => mul_vector(&self.a, x),
            Mean::Sigma => mul_vector(&self.sigma, x),
        })
    }
}

/// A mean that a step multiplies with.
#[derive(Clone, Copy)]
enum Mean {
    A,
    Sigma,
}

/// Returns w_L after `iterations` steps, L; `product` multiplies a mean with a vector.
#[inline(always)]
fn steps<S: Scalar, const D: usize>(
    b: SVector<S, D>,
    [alpha, beta]: [S; 2],
    iterations: usize,
    product: impl Fn(Mean, &SVector<S, D>) -> SVector<S, D>,
) -> SVector<S, D> {
    let (mut w, mut residual) = (zeros(), b);
    for l in rolled(iterations) {
        let mut step = residual;
        for _ in rolled(l) {
            let moved = product(Mean::Sigma, &step);
            add_multiple(&mut step, -beta, &moved);
        }
        add_multiple(&mut w, alpha, &step);
        add_multiple(&mut residual, -alpha, &product(Mean::A, &step));
    }
    w
}

/// Returns what [`PreconditionedTd::weights`] of [`PreconditionedTd::from_statistic`] returns, without a copy of the means.
pub(crate) fn weights_of<S: Scalar, const D: usize, const K: usize>(
    statistic: &Statistic<S, K>,
    factors: [S; 2],
    iterations: usize,
) -> SVector<S, D> {
    let Statistic { g, inverse_len } = statistic;
    let mut b = zeros::<S, D, 1>();
    for j in 0..D {
        b.data.0[0][j] = *inverse_len * g.data.0[j][2 * D];
    }
    steps(b, factors, iterations, |of, x| {
        let next = if let Mean::A = of { S::ONE } else { S::ZERO };
        mean_times(statistic, next, x)
    })
}

once_on_chip! {
    /// Adds s x to a.
    fn add_multiple<S: Scalar, const D: usize>(a: &mut SVector<S, D>, s: S, x: &SVector<S, D>) {
        add_scaled(a, s, x);
    }

    /// Multiplies A, with `next` 1, or Sigma, with 0, with a vector.
    fn mean_times<S: Scalar, const D: usize, const K: usize>(
        Statistic { g, inverse_len }: &Statistic<S, K>,
        next: S,
        x: &SVector<S, D>,
    ) -> SVector<S, D> {
        let mut product = zeros::<S, D, 1>();
        let columns = g.data.0.iter().zip(&mut product.data.0[0]);
        for (column, product) in columns.take(rolled(D).len()) {
            let (phi, phi_next) = column.split_at_checked(D).unwrap_or_default();
            let pairs = phi.iter().zip(phi_next).zip(&x.data.0[0]);
            for ((phi, phi_next), x) in pairs.take(rolled(D).len()) {
                not_unrolled();
                *product += *inverse_len * (*phi - next * *phi_next) * *x;
            }
        }
        product
    }
}
