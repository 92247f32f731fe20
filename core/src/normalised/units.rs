//! The normalised read as it is written: the statistic in units of its own, and the way back.

use super::{LEAST_PIVOT, Unnormalised, Whole, bounded, inverse, is_positive, reach};
use crate::block_matrix::BlockMatrix;
use crate::context::{Context, Window};
use crate::error::Error;
use crate::layer::Layer;
use crate::linalg::zeros;
use crate::mask::Mask;
use crate::scalar::Scalar;
use crate::statistic::Statistic;
use crate::transformer::Transformer;
use crate::transition::{Token, check_token_size};
use crate::value_function::{BoundedValueFunction, ValueFunction, within};
use crate::vector::Vector;

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
    /// Returns the units of n transitions (or weights that add up to n), with a prior count n_0 > 0.
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

    /// Returns a value function that layers computed from this statistic of n transitions, kept within what the
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

    /// Returns how far the features of a query reach.
    #[inline(always)]
    pub(crate) fn reach(&self) -> [S; D] {
        reach(self.root_mean_squares())
    }

    /// Returns the query (phi; 0; 0) in these units, rho C^-1 D phi, of features within their reach.
    #[inline(always)]
    pub(crate) fn query(&self, phi: &[S; D]) -> [S; D] {
        let mut query = within(phi, &self.reach());
        self.adjoint_of_denormalise(&mut query);
        query
    }

    /// Returns how many features were ever seen.
    pub fn features_seen(&self) -> S {
        self.units.seen
    }

    /// Returns the root mean square of each feature, 0 of one that was never seen.
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
    /// Returns the statistic of a cumulant (0 to C - 1) in units of the context's own, with a prior count n_0 > 0.
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

impl<S: Scalar, const K: usize, const C: usize> Transformer<Layer<S, K>, C> {
    /// Returns the value function that dense layers compute from a normalised statistic, in the units of the context.
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
