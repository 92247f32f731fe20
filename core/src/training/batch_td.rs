use super::network::BatchLoss;
use super::{Adam, AdamSettings, Network, Optimizer, Targets, Window, Windows};
use crate::error::Error;
use crate::linalg::padded::{Columns, add, add_mul_vector, add_outers, dot, scaled, zeros};
use crate::rng::Rng;
use crate::scalar::{Scalar, kernel};

/// The batch-TD reference transformer: Theorem 1's construction with C_l = alpha I, whose only
/// parameter alpha is trained alongside the network that is compared with it.
///
/// Its value is that of L steps of batch TD(0), w <- w + alpha (b - A w) from w = 0, with
/// A = (1/n) sum phi (phi - gamma phi')^T (phi' = 0 after an episode's end) and b = (1/n) sum R phi; and dw/dalpha follows
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

    /// The weights w after L steps, and dw/dalpha.
    #[inline(always)]
    fn weights(&self, a: &Columns<S, D, D>, b: &[S; D]) -> [[S; D]; 2] {
        let alpha = self.alpha[0];
        let mut w = [S::ZERO; D];
        let mut w_dot = [S::ZERO; D];
        for _ in 0..self.layers {
            // b - A w, then the change of dw/dalpha, then of w.
            let residual = add_mul_vector(b, a, &scaled(-S::ONE, &w));
            let change = add_mul_vector(&residual, a, &scaled(-alpha, &w_dot));
            add(&mut w_dot, &change);
            add(&mut w, &scaled(alpha, &residual));
        }
        [w, w_dot]
    }

    /// The value of a window's query, and its derivative by alpha.
    fn value_and_slope(&self, window: &Window<S, D>) -> [S; 2] {
        let inverse_len = S::ONE / S::from_count(window.context_len() as u64);
        let mut a: Columns<S, D, D> = zeros();
        let mut b = [S::ZERO; D];
        for j in 0..window.context_len() {
            add_transition(&mut a, &mut b, &window.from, j, inverse_len);
        }
        self.weights(&a, &b).map(|w| dot::<D, S, D>(&w, &window.query().data.0[0]))
    }
}

/// A [`BatchTd`] that learns its step size from the batches that a network learns from
/// ([`MultiTaskTd::train_task_beside`](super::MultiTaskTd::train_task_beside)), with an Adam of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchTdReference<S: Scalar, const D: usize> {
    pub(super) network: BatchTd<S, D>,
    pub(super) adam: Adam<[S; 1]>,
}

impl<S: Scalar, const D: usize> BatchTdReference<S, D> {
    /// alpha_0 = 1 and L layers, beside a network with this optimiser: its Adam's settings, or the
    /// default ones beside plain TD.
    ///
    /// # Errors
    /// As [`AdamSettings::check`].
    pub fn new(layers: usize, optimizer: &Optimizer) -> Result<Self, Error> {
        let settings = match optimizer {
            Optimizer::Adam(settings) => *settings,
            Optimizer::Td { .. } => AdamSettings::default(),
        };
        let network = BatchTd::new(layers);
        Ok(BatchTdReference { adam: Adam::new(settings, network.parameters())?, network })
    }

    /// A step of Adam on a batch.
    pub fn train(&mut self, windows: &Windows<S, D>, targets: Targets<S>) {
        let mut gradient = [S::ZERO];
        self.network.batch_gradient(windows, targets, &mut gradient);
        self.adam.step(self.network.parameters_mut(), &gradient);
    }

    /// The step size alpha.
    pub fn alpha(&self) -> S {
        self.network.alpha()
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

    fn value(&self, window: &Window<S, D>) -> S {
        self.value_and_slope(window)[0]
    }

    fn value_and_gradient(
        &self,
        window: &Window<S, D>,
        adjoint: impl FnOnce(S) -> S,
        gradient: &mut [S; 1],
    ) -> S {
        let [v, slope] = self.value_and_slope(window);
        gradient[0] += adjoint(v) * slope;
        v
    }

    /// The windows in reverse time, the system sliding along: one token gained, one lost.
    fn batch_gradient(
        &self,
        windows: &Windows<S, D>,
        targets: Targets<S>,
        gradient: &mut [S; 1],
    ) -> S {
        batch_gradient(self, windows, targets, &mut gradient[0])
    }
}

kernel! {
    fn batch_gradient as BatchGradient<'a, S: Scalar, const D: usize>(
        network: &'a BatchTd<S, D>,
        windows: &'a Windows<'a, S, D>,
        targets: Targets<'a, S>,
        gradient: &'a mut S,
    ) -> S {
        let (count, n) = (windows.count(), windows.context_len());
        let inverse_len = S::ONE / S::from_count(n as u64);
        let mut a: Columns<S, D, D> = zeros();
        let mut b = [S::ZERO; D];
        for j in count..count + n {
            add_transition(&mut a, &mut b, windows, j, inverse_len);
        }
        let mut loss = BatchLoss::new(windows, targets);
        for t in loss.times() {
            if t < count {
                add_transition(&mut a, &mut b, windows, t, inverse_len);
                add_transition(&mut a, &mut b, windows, t + n, -inverse_len);
            }
            let [w, w_dot] = network.weights(&a, &b);
            let query = &windows.window(t).query().data.0[0];
            if let Some(v_bar) = loss.take(t, dot::<D, S, D>(&w, query)) {
                *gradient += v_bar * dot::<D, S, D>(&w_dot, query);
            }
        }
        loss.mean()
    }
}

/// A += s phi (phi - gamma phi')^T and b += s R phi for transition j of the trajectory.
#[inline(always)]
fn add_transition<S: Scalar, const D: usize>(
    a: &mut Columns<S, D, D>,
    b: &mut [S; D],
    windows: &Windows<S, D>,
    j: usize,
    s: S,
) {
    let j = j.min(windows.rewards().len() - 1);
    let phi = &windows.features()[j].data.0[0];
    let mut difference = scaled(-windows.discount(j), &windows.features()[j + 1].data.0[0]);
    add(&mut difference, phi);
    let s_phi = scaled(s, phi);
    add_outers(a, [(&s_phi, &difference)]);
    add(b, &scaled(windows.rewards()[j], &s_phi));
}
