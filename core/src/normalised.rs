//! The normalised read: a context seen in units of its own, so that no scale of features, no length and no
//! step size is left to choose.
//!
//! For n transitions (in a forgetting context the sum of their weights) let F = sum (phi phi^T + phi' phi'^T) / 2.
//! With the root mean squares of each feature, D^-1 = diag(sqrt(F_ii / n)), and of the rewards,
//! rho^2 = (1/n) sum r^2, and with a prior count n_0:
//!
//! ```text
//! C C^T = I + off-diagonal part of D F D / (n + n_0)
//! G~ = T G T^T / (n + n_0)        T = diag(C^-1 D, C^-1 D, 1 / rho)        w = rho D C^-T w~
//! ```
//!
//! C C^T is the matrix of the features' (uncentred) correlations, shrunk towards I as if n_0 transitions
//! had been seen in which they are independent; w~ is what layers read out of G~. They see features of
//! unit second moment, uncorrelated, and rewards of unit size.
//!
//! A feature, or a reward, measured in units 2^k times as large changes no bit of the values but the reward's factor; other
//! factors, signs and the order of features change roundings alone. A feature that is always 0 gets the weight 0 and
//! changes no bit of the others. C exists for n < d, constant and equal features: where n_0 is lost beside n, a pivot below
//! 2^-20 counts as 2^-20.

use crate::context::{Context, Memory, StatisticEntry};
use crate::error::Error;
use crate::layer::Layer;
use crate::linalg::{keep_apart, zeros};
use crate::mask::Mask;
use crate::scalar::Scalar;
use crate::statistic::Statistic;
use crate::transformer::Transformer;
use crate::value_function::{ClippedValueFunction, FEATURE_CLIP, ValueFunction, clamp};

/// The least pivot of the decompositions, of features with unit second moment.
const LEAST_PIVOT: f64 = 1.0 / 1_048_576.0;

/// T of the normalised read of d features, in memory that it is given.
pub(crate) struct Units<'a, S> {
    /// Below the diagonal C, (d, d), column by column.
    c: &'a mut [S],
    /// D_ii.
    scale: &'a mut [S],
    /// 1 / C_ii.
    inverse_diagonal: &'a mut [S],
    rho: S,
    inverse_rho: S,
    /// 1 / (n + n_0).
    shrink: S,
}

impl<'a, S: Scalar> Units<'a, S> {
    /// Returns the units of n transitions, with a prior count n_0 > 0: of 2 F, (d, d) column by column, whose upper triangle
    /// is read and whose lower one becomes C, and of sum r^2. The vectors, (d), are to work with.
    #[inline(always)]
    pub(crate) fn new(
        second_moments: &'a mut [S],
        squared_rewards: S,
        [n, prior_count]: [S; 2],
        [scale, inverse_diagonal]: [&'a mut [S]; 2],
    ) -> Self {
        let (c, d) = (second_moments, scale.len());
        let (inverse_len, n_and_prior) = (S::ONE / n, n + prior_count);
        let half = S::from_f64(0.5);
        for i in 0..d {
            keep_apart::<S>();
            scale[i] = inverse((half * c[i * d + i] * inverse_len).sqrt());
        }
        // Cholesky, column by column, of the matrix whose row and column j are those of D F D.
        let shrink = half / n_and_prior;
        for j in 0..d {
            let mut pivot = S::ONE;
            for k in 0..j {
                pivot -= c[k * d + j] * c[k * d + j];
            }
            inverse_diagonal[j] = inverse(pivot.max(S::from_f64(LEAST_PIVOT)).sqrt());
            let of_column = shrink * scale[j];
            for i in j + 1..d {
                let mut entry = scale[i] * c[i * d + j] * of_column;
                for k in 0..j {
                    entry -= c[k * d + i] * c[k * d + j];
                }
                c[j * d + i] = entry * inverse_diagonal[j];
            }
        }
        let rho = (squared_rewards * inverse_len).sqrt();
        let (inverse_rho, shrink) = (inverse(rho), S::ONE / n_and_prior);
        Units { c, scale, inverse_diagonal, rho, inverse_rho, shrink }
    }

    /// C^-1 x, in place.
    #[inline(always)]
    fn whiten(&self, x: &mut [S]) {
        let d = x.len();
        for j in 0..d {
            x[j] *= self.inverse_diagonal[j];
            for i in j + 1..d {
                keep_apart::<S>();
                let x_j = x[j];
                x[i] -= self.c[j * d + i] * x_j;
            }
        }
    }

    /// Turns G, (K, K) column by column with K = 2 d + 1, into G~.
    #[inline(always)]
    pub(crate) fn normalise(&self, g: &mut [S]) {
        let d = self.scale.len();
        let k = 2 * d + 1;
        for column in g.chunks_exact_mut(k) {
            for part in column[..2 * d].chunks_exact_mut(d) {
                for i in 0..d {
                    keep_apart::<S>();
                    part[i] *= self.scale[i];
                }
                self.whiten(part);
            }
            column[2 * d] *= self.inverse_rho;
        }
        // Sums begin with 0, as if in a matrix of zeros: 0 + -0.0 is 0.
        for row in 0..k {
            for block in [0, d] {
                for j in 0..d {
                    let at = |j: usize| (block + j) * k + row;
                    let mut sum = S::ZERO + self.scale[j] * g[at(j)];
                    for l in 0..j {
                        sum -= self.c[l * d + j] * g[at(l)];
                    }
                    g[at(j)] = S::ZERO + self.inverse_diagonal[j] * sum;
                }
            }
            let last = &mut g[2 * d * k + row];
            *last = S::ZERO + self.inverse_rho * *last;
        }
        for x in g {
            keep_apart::<S>();
            *x = S::ZERO + self.shrink * *x;
        }
    }

    /// Turns the features of a query into those of (phi; 0; 0) in these units, rho C^-1 D phi, within their reach.
    #[inline(always)]
    pub(crate) fn normalise_query(&self, phi: &mut [S]) {
        for i in 0..phi.len() {
            keep_apart::<S>();
            let reach = inverse(self.scale[i]) * S::from_f64(FEATURE_CLIP);
            phi[i] = self.rho * (self.scale[i] * clamp(phi[i], reach));
        }
        self.whiten(phi);
    }

    /// w = rho D C^-T w~, in place.
    fn denormalise(&self, w: &mut [S]) {
        let d = w.len();
        for i in (0..d).rev() {
            for k in i + 1..d {
                let w_k = w[k];
                w[i] -= self.c[i * d + k] * w_k;
            }
            w[i] *= self.inverse_diagonal[i];
        }
        for i in 0..d {
            w[i] = self.rho * (self.scale[i] * w[i]);
        }
    }
}

impl<S: Scalar, const K: usize, const C: usize> Transformer<Layer<S, K>, C> {
    /// Returns the value function that dense layers compute from a context in units of its own, with a prior count
    /// n_0 > 0, kept within what the context has seen ([`ClippedValueFunction::new`]).
    /// Errors are those of [`Context::statistic`] and [`Transformer::value_function`].
    pub fn normalised_value_function<const D: usize, M: Mask<S>, W: Memory<S>>(
        &self,
        context: &Context<D, M, W, S>,
        gamma: S,
        prior_count: S,
    ) -> Result<ClippedValueFunction<S, D>, Error> {
        let mut statistic = Statistic { g: zeros::<S, K, K>(), inverse_len: S::ZERO };
        context.statistic_to(gamma, 0, false, &mut statistic)?;
        let read = context.discounted(gamma, 0)?;
        let mut moments = [[S::ZERO; D]; D];
        for j in 0..D {
            for i in 0..=j {
                moments[j][i] = read.sum(StatisticEntry::SecondMoment(i, j));
            }
        }
        let (n, mut scale, mut diagonal) = (context.effective_len(), [S::ZERO; D], [S::ZERO; D]);
        let (moments, rewards) =
            (moments.as_flattened_mut(), read.sum(StatisticEntry::SquaredRewards));
        let units = Units::new(moments, rewards, [n, prior_count], [&mut scale, &mut diagonal]);
        units.normalise(statistic.g.data.0.as_flattened_mut());
        statistic.inverse_len = S::ONE;
        let mut u = self.readout(&statistic);
        units.denormalise(&mut u.as_mut_slice()[..D]);
        let root_mean_squares = core::array::from_fn(|i| inverse(units.scale[i]));
        let max_abs_reward = context.max_abs_reward(0);
        let inputs =
            crate::value_function::ValueClipInputs { effective_len: n, gamma, max_abs_reward };
        let value_function = ValueFunction::from_readout(&u.data.0[0])?;
        Ok(ClippedValueFunction::new(value_function, root_mean_squares, inputs))
    }
}

/// 1 / x of x >= 0; 0 where that is not finite.
#[inline(always)]
fn inverse<S: Scalar>(x: S) -> S {
    let mut out = S::ONE / x;
    for lane in 0..S::LANES {
        if !out.lane(lane).is_finite() {
            out.set_lane(lane, Scalar::ZERO);
        }
    }
    out
}
