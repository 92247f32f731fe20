//! The cart and the pole: the equations of OpenAI Gym's CartPole, by explicit Euler steps.

use crate::rng::Rng;
use crate::scalar::Real;

/// The cart leaves the track beyond this distance from its centre, in metres.
pub const POSITION_LIMIT: f64 = 2.4;
/// The pole has fallen beyond this angle from the vertical: 12 degrees, in radians.
pub const ANGLE_LIMIT: f64 = 12.0 * 2.0 * core::f64::consts::PI / 360.0;

/// Position and motion of cart and pole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CartPoleState<R: Real> {
    /// x: the cart's distance from the centre of the track, in metres.
    pub position: R,
    /// x': in metres per second.
    pub velocity: R,
    /// theta: the pole's angle from the vertical, in radians.
    pub angle: R,
    /// theta': in radians per second.
    pub angular_velocity: R,
}

impl<R: Real> CartPoleState<R> {
    /// Draws S_0 ~ p_0 = U(-0.05, 0.05)^4.
    pub fn sample(rng: &mut Rng) -> Self {
        let edge = R::from_f64(0.05);
        let mut draw = || rng.uniform_in(-edge, edge);
        let (position, velocity, angle, angular_velocity) = (draw(), draw(), draw(), draw());
        CartPoleState { position, velocity, angle, angular_velocity }
    }

    /// Returns true if the cart left the track or the pole fell, so that the state is reset.
    #[inline(always)]
    pub fn has_failed(&self) -> bool {
        let (x, theta) = (R::from_f64(POSITION_LIMIT), R::from_f64(ANGLE_LIMIT));
        !(self.position.abs() <= x && self.angle.abs() <= theta)
    }
}

/// The physical parameters Psi of one cart and its pole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CartPolePhysics<R: Real> {
    /// m_cart, in kilograms.
    pub cart_mass: R,
    /// m_pole, in kilograms.
    pub pole_mass: R,
    /// l_pole as Gym's equations use it: half the length of the pole, in metres.
    pub half_length: R,
    /// g, in metres per second squared.
    pub gravity: R,
    /// tau: the time of one step, in seconds.
    pub time_step: R,
    /// f: the magnitude of the force on the cart, in newtons.
    pub force: R,
}

impl<R: Real> CartPolePhysics<R> {
    /// Draws Psi as the paper samples it, with m_pole between two numbers: U(0.5, 1.5) in the paper, U(0.05, 0.15) in the
    /// authors' code. What the paper calls the length of the pole is half of it here, as in the authors' code.
    pub fn sample([lightest, heaviest]: [f64; 2], rng: &mut Rng) -> Self {
        let mut draw = |low, high| rng.uniform_in(R::from_f64(low), R::from_f64(high));
        CartPolePhysics {
            cart_mass: draw(0.5, 1.5),
            pole_mass: draw(lightest, heaviest),
            half_length: draw(0.5, 1.5),
            gravity: draw(7.0, 12.0),
            time_step: draw(0.01, 0.05),
            force: draw(5.0, 15.0),
        }
    }

    /// Returns the state one time step later under a push to the right (+f) or to the left (-f), before any
    /// reset.
    ///
    /// ```text
    /// m = m_cart + m_pole      h = (+-f + m_pole l theta'^2 sin theta) / m
    /// theta'' = (g sin theta - h cos theta) / (l (4/3 - m_pole cos^2 theta / m))
    /// x''     = h - m_pole l theta'' cos theta / m
    /// ```
    #[inline(always)]
    pub fn step(&self, s: &CartPoleState<R>, push_right: bool) -> CartPoleState<R> {
        let (sin, cos) = sin_cos(s.angle);
        // A table, not a branch: half of all branches on a random push would be mispredicted.
        let force = [-self.force, self.force][push_right as usize];
        let inverse_mass = R::ONE / (self.cart_mass + self.pole_mass);
        let pole_share = self.pole_mass * inverse_mass;
        let pole_moment = self.pole_mass * self.half_length;
        let h =
            (force + pole_moment * (s.angular_velocity * s.angular_velocity) * sin) * inverse_mass;
        let four_thirds = R::from_f64(4.0 / 3.0);
        let angular_acceleration = (self.gravity * sin - cos * h)
            / (self.half_length * (four_thirds - pole_share * (cos * cos)));
        let acceleration = h - pole_moment * inverse_mass * angular_acceleration * cos;
        let tau = self.time_step;
        CartPoleState {
            position: s.position + tau * s.velocity,
            velocity: s.velocity + tau * acceleration,
            angle: s.angle + tau * s.angular_velocity,
            angular_velocity: s.angular_velocity + tau * angular_acceleration,
        }
    }
}

/// Returns the sine and the cosine of an angle: by their series where a standing pole is, up to 0.25 radians
/// (14 degrees), within rounding of `f64` and faster than the general functions.
#[inline(always)]
fn sin_cos<R: Real>(x: R) -> (R, R) {
    if !(x.abs() <= R::from_f64(0.25)) {
        return (x.sin(), x.cos());
    }
    // Grouped by powers of z^2, so that the products do not wait for one another.
    let c = |reciprocal: f64| R::from_f64(1.0 / reciprocal);
    let z = x * x;
    let z2 = z * z;
    let sin_high = (c(362_880.0) - z * c(39_916_800.0)) * z2;
    let sin_tail = (c(120.0) - z * c(5040.0) + sin_high) * z - c(6.0);
    let cos_high = (c(40_320.0) - z * c(3_628_800.0) + z2 * c(479_001_600.0)) * z2;
    let cos_tail = (c(24.0) - z * c(720.0) + cos_high) * z2;
    (x + x * z * sin_tail, (R::ONE - z * R::from_f64(0.5)) + cos_tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sine_and_cosine_are_within_rounding_of_libm() {
        for i in -300..=300 {
            let x = i as f64 / 1000.0;
            let (sin, cos) = sin_cos(x);
            assert!((sin - libm::sin(x)).abs() <= 2.3e-16 * x.abs(), "sin {x}");
            assert!((cos - libm::cos(x)).abs() <= 2.3e-16, "cos {x}");
            let (sin, cos) = sin_cos(x as f32);
            assert!((sin - libm::sinf(x as f32)).abs() <= 1.3e-7 * x.abs() as f32, "sin {x}");
            assert!((cos - libm::cosf(x as f32)).abs() <= 1.3e-7, "cos {x}");
        }
    }
}
