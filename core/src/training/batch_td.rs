use super::{Network, Window};
use crate::kernel::{add_outer, add_scaled, dot, mul_vector, zeros};
use crate::rng::Rng;
use crate::scalar::Scalar;
use nalgebra::{SMatrix, SVector};

/// The batch-TD reference transformer: Theorem 1's construction with C_l = alpha I, whose only
/// parameter alpha is trained alongside the network that is compared with it.
///
/// Its value is that of L steps of batch TD(0), w <- w + alpha (b - A w) from w = 0, with
/// A = (1/n) sum phi (phi - gamma phi')^T and b = (1/n) sum R phi; and dw/dalpha follows
/// w-dot <- w-dot + (b - A w) - alpha A w-dot.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchTd<S: Scalar, const D: usize> {
    alpha: [S; 1],
    layers: usize,
}

impl<S: Scalar, const D: usize> BatchTd<S, D> {
    /// alpha_0 = 1 and L layers.
    pub fn new(layers: usize) -> Self {
        BatchTd { alpha: [S::ONE], layers }
    }

    /// The step size alpha.
    pub fn alpha(&self) -> S {
        self.alpha[0]
    }

    /// L.
    pub fn layers(&self) -> usize {
        self.layers
    }

    /// The weights w after L steps on a context, and dw/dalpha.
    #[inline(always)]
    pub fn weights(&self, system: &TdSystem<S, D>) -> [SVector<S, D>; 2] {
        let mut w = zeros::<S, D, 1>();
        let mut w_dot = zeros::<S, D, 1>();
        for _ in 0..self.layers {
            let mut residual = system.b;
            add_scaled(&mut residual, -S::ONE, &mul_vector(&system.a, &w));
            let mut change = residual;
            add_scaled(&mut change, -self.alpha[0], &mul_vector(&system.a, &w_dot));
            add_scaled(&mut w, self.alpha[0], &residual);
            add_scaled(&mut w_dot, S::ONE, &change);
        }
        [w, w_dot]
    }
}

/// The linear system that TD solves on a context: its fixed point is A w = b.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TdSystem<S: Scalar, const D: usize> {
    /// A = (1/n) sum phi (phi - gamma phi')^T, (D, D).
    pub a: SMatrix<S, D, D>,
    /// b = (1/n) sum R phi, (D).
    pub b: SVector<S, D>,
}

impl<S: Scalar, const D: usize> TdSystem<S, D> {
    /// The system of a window's context.
    #[inline(always)]
    pub fn of_window(window: &Window<S, D>) -> Self {
        let mut system = TdSystem { a: zeros(), b: zeros() };
        let features = window.context_features();
        for (j, reward) in window.rewards().iter().enumerate() {
            let mut difference = features[j];
            add_scaled(&mut difference, -window.gamma(), &features[j + 1]);
            add_outer(&mut system.a, &features[j], &difference);
            add_scaled(&mut system.b, *reward, &features[j]);
        }
        let inverse_len = S::ONE / S::from_count(window.context_len() as u64);
        system.a = crate::kernel::scale(inverse_len, &system.a);
        system.b = crate::kernel::scale(inverse_len, &system.b);
        system
    }
}

impl<S: Scalar, const D: usize> Network<S, D> for BatchTd<S, D> {
    type Parameters = [S; 1];

    fn parameters(&self) -> &[S; 1] {
        &self.alpha
    }

    fn parameters_mut(&mut self) -> &mut [S; 1] {
        &mut self.alpha
    }

    fn initialise_lane(&mut self, lane: usize, _rng: &mut Rng) {
        self.alpha[0].set_lane(lane, Scalar::ONE);
    }

    #[inline(always)]
    fn value(&self, window: &Window<S, D>) -> S {
        let [w, _] = self.weights(&TdSystem::of_window(window));
        dot(&w, window.query())
    }

    #[inline(always)]
    fn value_and_gradient(
        &self,
        window: &Window<S, D>,
        adjoint: impl FnOnce(S) -> S,
        gradient: &mut [S; 1],
    ) -> S {
        let [w, w_dot] = self.weights(&TdSystem::of_window(window));
        let v = dot(&w, window.query());
        gradient[0] += adjoint(v) * dot(&w_dot, window.query());
        v
    }
}
