use super::{Parameters, Window, Windows};
use crate::rng::Rng;
use crate::scalar::Scalar;

/// Something that values the query of a window, with parameters to train: a transformer of either
/// attention, the batch-TD reference, a recurrent network.
pub trait Network<S: Scalar> {
    /// Its parameters, and gradients with respect to them.
    type Parameters: Parameters<S>;

    /// Returns the parameters.
    fn parameters(&self) -> &Self::Parameters;

    /// Returns the parameters, to change them.
    fn parameters_mut(&mut self) -> &mut Self::Parameters;

    /// d, how many features its tokens have.
    fn dim(&self) -> usize;

    /// Returns how many transitions a context may have; none if any number.
    fn context_capacity(&self) -> Option<usize> {
        None
    }

    /// Draws the initial parameters of one lane.
    fn initialise_lane(&mut self, lane: usize, rng: &mut Rng);

    /// v: the value of the window's query.
    fn value(&mut self, window: &Window<S>) -> S;

    /// v, and gradient += v-bar dv/dtheta, where v-bar = `adjoint(v)` may depend on v.
    fn value_and_gradient(
        &mut self,
        window: &Window<S>,
        adjoint: impl FnOnce(S) -> S,
        gradient: &mut Self::Parameters,
    ) -> S;

    /// Returns the loss of a batch, and gradient += its gradient with the targets held constant
    /// (semi-gradient).
    ///
    /// The loss is (1/W) sum_t (target_t - v_t)^2, so the gradient is
    /// (1/W) sum_t -2 (target_t - v_t) dv_t/dtheta. By default it is summed one window at a time; a network whose
    /// windows can share work replaces this.
    fn batch_gradient(
        &mut self,
        windows: &Windows<S>,
        targets: Targets<S>,
        gradient: &mut Self::Parameters,
    ) -> S {
        batch_gradient_by_window(self, windows, targets, gradient)
    }
}

/// The targets of a batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Targets<'a, S: Scalar> {
    /// R_{t+n+2} + gamma v_{t+1}, with the value of the next window.
    Bootstrapped,
    /// Given numbers, one for each window (missing ones count as 0).
    Given(&'a [S]),
    /// R_{t+n+2} - r-bar + v_{t+1}, of differential values ([`Windows::differential_target`]).
    Differential,
    /// As [`Targets::Bootstrapped`], no constant: the gradient passes through v_{t+1}, too (the residual
    /// gradient). For it a batch needs its TD errors, [`td_errors`], before its first window.
    Residual(&'a [S]),
}

impl<S: Scalar> Targets<'_, S> {
    /// Returns the target of v_t.
    #[inline(always)]
    pub fn of(&self, windows: &Windows<S>, t: usize, v_next: S) -> S {
        match self {
            Targets::Bootstrapped | Targets::Residual(_) => windows.td_target(t, v_next),
            Targets::Differential => windows.differential_target(t, v_next),
            Targets::Given(targets) => targets.get(t).copied().unwrap_or(S::ZERO),
        }
    }

    /// Returns true if they need the value of the window that follows.
    #[inline(always)]
    fn bootstrap(&self) -> bool {
        !matches!(self, Targets::Given(_))
    }
}

/// delta_t = R_{t+n+2} + gamma v_{t+1} - v_t of each window.
pub fn td_errors<S: Scalar, N: Network<S> + ?Sized>(
    network: &mut N,
    windows: &Windows<S>,
    errors: &mut [S],
) {
    let mut v_next = S::ZERO;
    for t in (0..windows.count()).rev() {
        if !windows.slide() || t + 1 == windows.count() {
            v_next = network.value(&windows.successor(t));
        }
        let v = network.value(&windows.window(t));
        if let Some(error) = errors.get_mut(t) {
            *error = windows.td_target(t, v_next) - v;
        }
        v_next = v;
    }
}

/// The loss of a batch whose windows come in reverse time: v_{t+1} is then known when window t is
/// reached, and each window's forward pass is made once.
pub(super) struct BatchLoss<'a, S: Scalar> {
    windows: &'a Windows<'a, S>,
    targets: Targets<'a, S>,
    /// 1/W.
    inverse_count: S,
    v_next: S,
    /// The last window taken, W at first.
    later: usize,
    squares: S,
}

impl<'a, S: Scalar> BatchLoss<'a, S> {
    #[inline(always)]
    pub(super) fn new(windows: &'a Windows<'a, S>, targets: Targets<'a, S>) -> Self {
        let inverse_count = S::ONE / S::from_count(windows.count() as u64);
        let later = windows.count();
        BatchLoss { windows, targets, inverse_count, v_next: S::ZERO, later, squares: S::ZERO }
    }

    /// Counts the windows to value, which [`Self::pass`] gives.
    #[inline(always)]
    pub(super) fn passes(&self) -> core::iter::Rev<core::ops::Range<usize>> {
        let more = if self.windows.slide() { 1 } else { self.windows.count() };
        (0..self.windows.count() + if self.targets.bootstrap() { more } else { 0 }).rev()
    }

    /// Returns a window to value, and the t to [`take`](Self::take) it as: window W, which only bootstraps, if the
    /// targets do, then W - 1 to 0; of windows that grow, if the targets bootstrap, before each its successor as W.
    #[inline(always)]
    pub(super) fn pass(&self, i: usize) -> (Window<'a, S>, usize) {
        let windows = self.windows;
        if windows.slide() || !self.targets.bootstrap() {
            (windows.window(i), i)
        } else if i.is_multiple_of(2) {
            (windows.window(i / 2), i / 2)
        } else {
            (windows.successor(i / 2), windows.count())
        }
    }

    /// Takes v_t, the next of [`Self::pass`]; gives v_t-bar = (1/W) -2 (target_t - v_t), and none for
    /// window W. For a residual gradient v_t-bar is (1/W) -2 (delta_t - gamma delta_{t-1}), as delta_{t-1}
    /// has v_t in its target, and window W has one.
    #[inline(always)]
    pub(super) fn take(&mut self, t: usize, v: S) -> Option<S> {
        let v_next = core::mem::replace(&mut self.v_next, v);
        let bootstraps_only = t == self.windows.count();
        let mut error = S::ZERO;
        if !bootstraps_only {
            error = self.targets.of(self.windows, t, v_next) - v;
            self.squares += error * error;
        }
        if let Targets::Residual(errors) = self.targets {
            // The window whose target this one's value is in.
            let earlier = if bootstraps_only { self.later } else { t }.checked_sub(1);
            if let Some(t) = earlier
                && (bootstraps_only || self.windows.slide())
            {
                error -= self.windows.td_discount(t) * errors.get(t).copied().unwrap_or(S::ZERO);
            }
        } else if bootstraps_only {
            return None;
        }
        if !bootstraps_only {
            self.later = t;
        }
        Some(-(self.inverse_count + self.inverse_count) * error)
    }

    /// (1/W) sum_t (target_t - v_t)^2.
    #[inline(always)]
    pub(super) fn mean(&self) -> S {
        self.squares * self.inverse_count
    }
}

/// [`Network::batch_gradient`] window by window.
pub fn batch_gradient_by_window<S: Scalar, N: Network<S> + ?Sized>(
    network: &mut N,
    windows: &Windows<S>,
    targets: Targets<S>,
    gradient: &mut N::Parameters,
) -> S {
    let mut loss = BatchLoss::new(windows, targets);
    for i in loss.passes() {
        let (window, t) = loss.pass(i);
        let mut adjoint = |v| loss.take(t, v).unwrap_or(S::ZERO);
        if t == windows.count() && !matches!(targets, Targets::Residual(_)) {
            adjoint(network.value(&window));
        } else {
            network.value_and_gradient(&window, adjoint, gradient);
        }
    }
    loss.mean()
}

/// Writes one update of Algorithm 1, step_size delta_t grad v_t with v_t and v_{t+1} of the current theta; the residual
/// gradient's is step_size delta_t (grad v_t - gamma grad v_{t+1}). Returns delta_t.
pub fn td_update<S: Scalar, N: Network<S> + ?Sized>(
    network: &mut N,
    windows: &Windows<S>,
    t: usize,
    targets: Targets<S>,
    step_size: S,
    update: &mut N::Parameters,
) -> S {
    update.slices_mut().for_each(|slice| slice.fill(S::ZERO));
    let v_next = if targets.bootstrap() { network.value(&windows.successor(t)) } else { S::ZERO };
    let target = targets.of(windows, t, v_next);
    let adjoint = |v: S| step_size * (target - v);
    let v = network.value_and_gradient(&windows.window(t), adjoint, update);
    if let Targets::Residual(_) = targets {
        let adjoint = -windows.td_discount(t) * (step_size * (target - v));
        network.value_and_gradient(&windows.successor(t), |_| adjoint, update);
    }
    target - v
}

/// One step of Algorithm 1: theta += [`td_update`], which `update` has room for. Returns delta_t.
pub fn td_step<S: Scalar, N: Network<S> + ?Sized>(
    network: &mut N,
    windows: &Windows<S>,
    t: usize,
    targets: Targets<S>,
    step_size: S,
    update: &mut N::Parameters,
) -> S {
    let delta = td_update(network, windows, t, targets, step_size, update);
    for (theta, g) in network.parameters_mut().numbers_mut().zip(update.numbers()) {
        *theta += *g;
    }
    delta
}
