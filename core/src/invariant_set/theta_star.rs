use crate::layer::Layer;
use crate::linalg::zeros;
use crate::scalar::Real;

/// theta_*(eta, c, c') (eq. "optimal single layer"):
///
/// ```text
/// P = [ 0   0  ]      Q = [ c I   0  0 ]
///     [ 0  eta ]          [ c' I  0  0 ]
///                         [  0    0  0 ]
/// ```
///
/// ```
/// use ictd_core::invariant_set::{Projection, theta_star};
///
/// let mut layer = theta_star::<f32, 2, 5>(0.5, -1.0, 0.25);
/// layer.p[(0, 1)] = 0.125;
/// let expected = Projection { eta: 0.5, c: -1.0, c_prime: 0.25, departure: 0.125 };
/// assert_eq!(Projection::of::<2, 5>(&layer), expected);
/// ```
pub fn theta_star<R: Real, const D: usize, const K: usize>(
    eta: R,
    c: R,
    c_prime: R,
) -> Layer<R, K> {
    crate::transition::check_token_size::<D, K>();
    let mut layer = Layer { p: zeros(), q: zeros() };
    layer.p[(2 * D, 2 * D)] = eta;
    for i in 0..D {
        layer.q[(i, i)] = c;
        layer.q[(D + i, i)] = c_prime;
    }
    layer
}

/// A layer's place with respect to Theta_*.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Projection<R: Real> {
    /// P\[2d, 2d\].
    pub eta: R,
    /// The mean diagonal entry of Q's upper-left (d, d) block.
    pub c: R,
    /// The mean diagonal entry of the block below it.
    pub c_prime: R,
    /// The largest absolute entry of what is left after theta_*(eta, c, c') is taken away: 0 on
    /// Theta_*.
    pub departure: R,
}

impl<R: Real> Projection<R> {
    /// Returns the ten numbers of a layer, or of an update.
    pub fn of<const D: usize, const K: usize>(layer: &Layer<R, K>) -> Self {
        let inverse_d = R::ONE / R::from_count(D as u64);
        let (mut c, mut c_prime) = (R::ZERO, R::ZERO);
        for i in 0..D {
            c += layer.q[(i, i)];
            c_prime += layer.q[(D + i, i)];
        }
        let (eta, c, c_prime) = (layer.p[(2 * D, 2 * D)], c * inverse_d, c_prime * inverse_d);
        let star = theta_star::<R, D, K>(eta, c, c_prime);
        let mut departure = R::ZERO;
        for (m, m_star) in [(&layer.p, &star.p), (&layer.q, &star.q)] {
            for (x, x_star) in m.iter().zip(m_star.iter()) {
                departure = departure.max((*x - *x_star).abs());
            }
        }
        Projection { eta, c, c_prime, departure }
    }
}
