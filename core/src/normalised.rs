//! The normalised read: a context seen in units of its own, so that no scale of features, no length and no
//! step size is left to choose.
//!
//! Of n transitions (for a forgetting context the sum of their weights), with
//! F = sum (phi phi^T + phi' phi'^T) / 2, the root mean squares of each feature, D^-1 = diag(sqrt(F_ii / n)),
//! and of the rewards, rho^2 = (1/n) sum r^2, and with a prior count n_0:
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
//! - A feature, or a reward, measured in units 2^k times as large changes no bit of the values but the
//!   reward's factor. Other factors change roundings alone.
//! - Signs and order of the features change roundings alone.
//! - A feature that is always 0 gets the weight 0 and changes no bit of the others; so do rewards that
//!   are all 0.
//! - C exists for n < d, constant and equal features: n_0 keeps it away from singular, and where n_0 is
//!   lost beside n, a pivot below 2^-20 counts as 2^-20.
//!
//! [`Normalised`] is this as it stands: what training and dense layers read. A [`UniversalModel`](crate::UniversalModel)
//! computes its values in the units of the context, by products with vectors and [`Metric`]: the same but for
//! roundings.

mod metric;
mod pass;

pub use metric::Metric;

use crate::block_matrix::{BlockMatrix, SquareMatrix};
use crate::context::{Block, Context, Entries, Entry, Read, Window};
use crate::error::Error;
use crate::layer::{EquivariantLayer, Layer};
use crate::linalg::zeros;
use crate::mask::Mask;
use crate::scalar::Scalar;
use crate::statistic::Statistic;
use crate::transformer::Transformer;
use crate::transition::{Token, check_token_size};
use crate::value_function::{BoundedValueFunction, ValueFunction, within};
use crate::vector::Vector;

/// The least pivot of the decompositions, of features with unit second moment.
const LEAST_PIVOT: f64 = 1.0 / 1_048_576.0;

/// How many root mean squares of what was seen a feature may reach; uniform and binary features stay below. (After
/// one or two transitions a feature that happened to be small there would count a hundredfold.)
pub(crate) const REACH: f64 = 2.0;

/// What a normalised read needs of a context: G(gamma), F and sum r^2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unnormalised<S, const D: usize> {
    /// G(gamma), whose tokens are (phi; gamma phi'; r).
    pub g: BlockMatrix<S, D>,
    /// 2 F = sum (phi phi^T + phi' phi'^T), its upper triangle, column by column.
    pub second_moments: [[S; D]; D],
    /// sum r^2.
    pub squared_rewards: S,
}

impl<S: Scalar, const D: usize> Unnormalised<S, D> {
    /// Of no transition.
    pub const ZERO: Self = Unnormalised {
        g: BlockMatrix::ZERO,
        second_moments: [[S::ZERO; D]; D],
        squared_rewards: S::ZERO,
    };

    /// The root mean square of each feature.
    pub fn root_mean_squares(&self, n: S) -> [S; D] {
        let share = S::from_f64(0.5) / n;
        let mut out = [S::ZERO; D];
        for i in 0..D {
            out[i] = (share * self.second_moments[i][i]).sqrt();
        }
        out
    }

    /// Replaces what is in one lane.
    pub(crate) fn set_lane(&mut self, lane: usize, of: &Unnormalised<S::Element, D>) {
        for (to, from) in self.g.columns_mut().zip(of.g.columns()) {
            for i in 0..D {
                to.phi[i].set_lane(lane, from.phi[i]);
                to.phi_next[i].set_lane(lane, from.phi_next[i]);
            }
            to.rewards[0].set_lane(lane, from.rewards[0]);
        }
        for j in 0..D {
            for i in 0..=j {
                self.second_moments[j][i].set_lane(lane, of.second_moments[j][i]);
            }
        }
        self.squared_rewards.set_lane(lane, of.squared_rewards);
    }
}

/// How far the features of a query reach.
#[inline(always)]
pub(crate) fn reach<S: Scalar, const D: usize>(mut root_mean_squares: [S; D]) -> [S; D] {
    // (`map` may stay a call, which a kernel must not make.)
    for x in &mut root_mean_squares {
        *x *= S::from_f64(REACH);
    }
    root_mean_squares
}

/// [`Normalised::bounded`], of the features' root mean squares.
#[inline(always)]
pub(crate) fn bounded<S: Scalar, const D: usize>(
    value_function: ValueFunction<S, D>,
    root_mean_squares: [S; D],
    n: S,
    gamma: S,
    largest_reward: S,
) -> BoundedValueFunction<S, D> {
    let horizon = n / (n * (S::ONE - gamma) + gamma) * (n / (n + S::ONE));
    BoundedValueFunction {
        value_function,
        reach: reach(root_mean_squares),
        bound: largest_reward * horizon,
    }
}

/// Reads a context into an [`Unnormalised`].
pub(crate) struct Whole;

impl<S: Scalar, const D: usize> Entries<S, D> for Whole {
    type Output = Unnormalised<S, D>;

    #[inline(always)]
    fn take(self, read: &Read<'_, S, impl Entry<S, D>>) -> Unnormalised<S, D> {
        // Columns that are there: zeros would be a call on a chip. And no reference: what is returned would be copied.
        let reward = read.column((Block::Reward, 0));
        let mut out = Unnormalised {
            g: BlockMatrix { phi: [reward; D], phi_next: [reward; D], reward },
            second_moments: [[S::ZERO; D]; D],
            squared_rewards: read.squared_rewards(),
        };
        for j in 0..D {
            out.g.phi[j] = read.column((Block::Phi, j));
        }
        for j in 0..D {
            out.g.phi_next[j] = read.column((Block::PhiNext, j));
        }
        for j in 0..D {
            for i in 0..=j {
                out.second_moments[j][i] = read.second_moment(i, j);
            }
        }
        out
    }
}

/// 1 where x is above 0, 0 elsewhere.
#[inline(always)]
fn is_positive<S: Scalar>(x: S) -> S {
    let mut out = S::ZERO;
    for lane in 0..S::LANES {
        if x.lane(lane) > Scalar::ZERO {
            out.set_lane(lane, Scalar::ONE);
        }
    }
    out
}

/// A context's statistic in units of its own, with the way back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Normalised<S, const D: usize> {
    /// G~; 1/n is in it.
    pub g: BlockMatrix<S, D>,
    units: Units<S, D>,
}

/// T of the normalised read.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Units<S, const D: usize> {
    /// D_ii.
    scale: [S; D],
    /// C below its diagonal, column by column.
    c: [[S; D]; D],
    /// 1 / C_ii.
    inverse_diagonal: [S; D],
    rho: S,
    inverse_rho: S,
    /// How many features were ever seen.
    seen: S,
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

impl<S: Scalar, const D: usize> Units<S, D> {
    #[cfg_attr(not(target_os = "none"), inline(always))]
    fn new(of: &Unnormalised<S, D>, n: S, n_and_prior: S) -> Self {
        let (f, inverse_len, half) = (&of.second_moments, S::ONE / n, S::from_f64(0.5));
        let mean_square = of.squared_rewards * inverse_len;
        let mut units = Units {
            scale: [S::ZERO; D],
            c: [[S::ZERO; D]; D],
            inverse_diagonal: [S::ZERO; D],
            rho: mean_square.sqrt(),
            inverse_rho: inverse(mean_square.sqrt()),
            seen: S::ZERO,
        };
        for i in 0..D {
            units.scale[i] = inverse((half * f[i][i] * inverse_len).sqrt());
            units.seen += is_positive(units.scale[i]);
        }
        // Cholesky, column by column, of the matrix whose row and column j are those of D F D.
        let shrink = half / n_and_prior;
        for j in 0..D {
            let mut pivot = S::ONE;
            for k in 0..j {
                pivot -= units.c[k][j] * units.c[k][j];
            }
            units.inverse_diagonal[j] = inverse(pivot.max(S::from_f64(LEAST_PIVOT)).sqrt());
            let scale = shrink * units.scale[j];
            for i in j + 1..D {
                let mut entry = units.scale[i] * f[i][j] * scale;
                for k in 0..j {
                    entry -= units.c[k][i] * units.c[k][j];
                }
                units.c[j][i] = entry * units.inverse_diagonal[j];
            }
        }
        units
    }

    /// C^-1 x, in place.
    #[inline(always)]
    fn whiten(&self, x: &mut [S; D]) {
        for j in 0..D {
            x[j] *= self.inverse_diagonal[j];
            for i in j + 1..D {
                let x_j = x[j];
                x[i] -= self.c[j][i] * x_j;
            }
        }
    }

    /// T z, in place.
    #[cfg_attr(not(target_os = "none"), inline(always))]
    #[cfg_attr(target_os = "none", inline(never))]
    fn normalise(&self, z: &mut Token<S, D, 1>) {
        for part in [&mut z.phi, &mut z.phi_next] {
            for i in 0..D {
                part[i] *= self.scale[i];
            }
            self.whiten(part);
        }
        z.rewards[0] *= self.inverse_rho;
    }

    /// M T^T of the columns that belong to phi, or to phi', in place.
    #[cfg_attr(not(target_os = "none"), inline(always))]
    #[cfg_attr(target_os = "none", inline(never))]
    fn normalise_columns(&self, columns: &mut [Token<S, D, 1>; D]) {
        for j in 0..D {
            let mut column = Token::ZERO;
            column.add_scaled(self.scale[j], &columns[j]);
            for k in 0..j {
                column.add_scaled(-self.c[k][j], &columns[k]);
            }
            columns[j] = Token::ZERO;
            columns[j].add_scaled(self.inverse_diagonal[j], &column);
        }
    }
}

impl<S: Scalar, const D: usize> Normalised<S, D> {
    /// Of n transitions (or weights that add up to n), with a prior count n_0 > 0.
    #[cfg_attr(not(target_os = "none"), inline(always))]
    pub fn new(of: &Unnormalised<S, D>, n: S, prior_count: S) -> Self {
        let n_and_prior = n + prior_count;
        let units = Units::new(of, n, n_and_prior);
        let (mut g, shrink) = (of.g, S::ONE / n_and_prior);
        for column in g.columns_mut() {
            units.normalise(column);
        }
        units.normalise_columns(&mut g.phi);
        units.normalise_columns(&mut g.phi_next);
        let (reward, mut scaled) = (g.reward, Token::ZERO);
        scaled.add_scaled(units.inverse_rho, &reward);
        g.reward = scaled;
        for column in g.columns_mut() {
            let unscaled = *column;
            *column = Token::ZERO;
            column.add_scaled(shrink, &unscaled);
        }
        Normalised { g, units }
    }

    /// A value function that layers computed from this statistic of n transitions, kept within what the
    /// context has seen: features within twice their root mean square, values within what the largest reward
    /// max |r| could add up to.
    #[inline(always)]
    pub fn bounded(
        &self,
        value_function: ValueFunction<S, D>,
        n: S,
        gamma: S,
        largest_reward: S,
    ) -> BoundedValueFunction<S, D> {
        bounded(value_function, self.root_mean_squares(), n, gamma, largest_reward)
    }

    /// How far the features of a query reach.
    #[inline(always)]
    pub(crate) fn reach(&self) -> [S; D] {
        reach(self.root_mean_squares())
    }

    /// The query (phi; 0; 0) in these units, rho C^-1 D phi, of features within their reach.
    #[inline(always)]
    pub(crate) fn query(&self, phi: &[S; D]) -> [S; D] {
        let mut query = within(phi, &self.reach());
        self.adjoint_of_denormalise(&mut query);
        query
    }

    /// How many features were ever seen.
    pub fn features_seen(&self) -> S {
        self.units.seen
    }

    /// The root mean square of each feature, 0 of one that was never seen.
    #[inline(always)]
    pub fn root_mean_squares(&self) -> [S; D] {
        let mut out = self.units.scale;
        for x in &mut out {
            *x = inverse(*x);
        }
        out
    }

    /// w = rho D C^-T w~, in place.
    pub fn denormalise(&self, w: &mut [S; D]) {
        let Units { scale, c, inverse_diagonal, rho, .. } = &self.units;
        for i in (0..D).rev() {
            for k in i + 1..D {
                let w_k = w[k];
                w[i] -= c[i][k] * w_k;
            }
            w[i] *= inverse_diagonal[i];
        }
        for i in 0..D {
            w[i] = *rho * (scale[i] * w[i]);
        }
    }

    /// The adjoint of [`Normalised::denormalise`]: of w-bar, C^-1 D rho w-bar, in place.
    #[inline(always)]
    pub fn adjoint_of_denormalise(&self, w_bar: &mut [S; D]) {
        for i in 0..D {
            w_bar[i] = self.units.rho * (self.units.scale[i] * w_bar[i]);
        }
        self.units.whiten(w_bar);
    }
}

impl<const D: usize, M: Mask<S>, W: Window<S>, S: Scalar, const C: usize> Context<D, M, W, S, C> {
    /// The statistic of a cumulant (0 to C - 1) in units of the context's own, with a prior count n_0 > 0.
    ///
    /// # Errors
    /// [`Error::Empty`] before the first transition; [`Error::OutOfRange`], naming `cumulant`.
    pub fn normalised(
        &self,
        gamma: S,
        cumulant: usize,
        prior_count: S,
    ) -> Result<Normalised<S, D>, Error> {
        let unnormalised = self.read_to(gamma, cumulant, Whole)?;
        Ok(Normalised::new(&unnormalised, self.weight(), prior_count))
    }
}

impl<S: Scalar, const C: usize> Transformer<EquivariantLayer<S>, C> {
    /// The value function that layers of ten numbers compute from a normalised statistic, in the units of
    /// the context.
    ///
    /// # Errors
    /// [`Error::NonFinite`] if the layers blow up.
    pub fn value_function<const D: usize>(
        &self,
        statistic: &Normalised<S, D>,
    ) -> Result<ValueFunction<S, D>, Error> {
        let mut u = self.readout_of::<_, true>(&statistic.g, S::ONE).phi;
        statistic.denormalise(&mut u);
        ValueFunction::from_readout(&u)
    }
}

impl<S: Scalar, const K: usize, const C: usize> Transformer<Layer<S, K>, C> {
    /// The value function that dense layers compute from a normalised statistic, in the units of the context.
    ///
    /// # Errors
    /// [`Error::NonFinite`] if the layers blow up.
    pub fn normalised_value_function<const D: usize>(
        &self,
        statistic: &Normalised<S, D>,
    ) -> Result<ValueFunction<S, D>, Error> {
        check_token_size::<D, K>();
        let mut g = zeros::<S, K, K>();
        for (to, from) in g.data.0.iter_mut().zip(statistic.g.columns()) {
            let numbers = from.phi.iter().chain(&from.phi_next).chain(&from.rewards);
            to.iter_mut().zip(numbers).for_each(|(to, from)| *to = *from);
        }
        let readout = self.readout(&Statistic { g, inverse_len: S::ONE });
        let mut u = core::array::from_fn(|i| readout[i]);
        statistic.denormalise(&mut u);
        ValueFunction::from_readout(&u)
    }
}

#[cfg(test)]
mod tests;
