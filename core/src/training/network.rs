use super::{Window, Windows};
use crate::error::{Error, Result, ensure, out_of_range};
use crate::rng::Rng;
use crate::scalar::{Real, Scalar};
use core::fmt::Debug;

/// A network that values the query of a window, with parameters to train: a transformer of either attention, or a
/// recurrent network.
pub trait Network<S: Scalar> {
    /// The type of its parameters, and of gradients with respect to them.
    type Parameters: Parameters<S>;

    /// Returns the parameters.
    fn parameters(&self) -> &Self::Parameters;

    /// Returns the parameters, to change them.
    fn parameters_mut(&mut self) -> &mut Self::Parameters;

    /// Returns d, how many features its tokens have.
    fn dim(&self) -> usize;

    /// The largest number of transitions in a context; `None` if there is no limit.
    const CONTEXT_CAPACITY: Option<usize> = None;

    /// Draws the initial parameters of one lane.
    fn initialise_lane(&mut self, lane: usize, rng: &mut Rng);

    /// Returns v, the value of the window's query, or the errors of [`Network::check`].
    fn value(&mut self, window: &Window<S>) -> Result<S>;

    /// Returns v, and gradient += v-bar dv/dtheta, where v-bar = `adjoint(v)` may depend on v; or the errors of
    /// [`Network::check`].
    fn value_and_gradient(
        &mut self,
        window: &Window<S>,
        adjoint: impl FnOnce(S) -> S,
        gradient: &mut Self::Parameters,
    ) -> Result<S>;

    /// Checks that the network takes windows like these.
    /// Returns [`Error::OutOfRange`] for another number of features, [`Error::CapacityExceeded`] for a longer context.
    #[inline(always)]
    fn check(&self, windows: &Windows<S>) -> Result<()> {
        let same = windows.dim() == self.dim();
        ensure(same, out_of_range("dim", "as many features as the network has"))?;
        let capacity = Self::CONTEXT_CAPACITY.unwrap_or(usize::MAX);
        ensure(windows.context_len() <= capacity, Error::capacity("context", capacity))
    }

    /// Returns the loss of a batch, (1/W) sum_t (target_t - v_t)^2, and gradient += its gradient with the targets held
    /// constant (semi-gradient), (1/W) sum_t -2 (target_t - v_t) dv_t/dtheta; or the errors of [`Network::check`]. A network
    /// whose windows can share work does so here.
    fn batch_gradient(
        &mut self,
        windows: &Windows<S>,
        targets: Targets<S>,
        gradient: &mut Self::Parameters,
    ) -> Result<S> {
        batch_gradient_by_window(self, windows, targets, gradient)
    }
}

/// All trainable numbers of a network, slice after slice in one written order: what optimisers and
/// checkpoints see.
pub trait Parameters<S: Scalar>: Clone + Debug {
    /// Returns zeros of the same shape.
    fn zeros_like(&self) -> Self {
        let mut zeros = self.clone();
        zeros.slices_mut().for_each(|slice| slice.fill(S::ZERO));
        zeros
    }

    /// Returns the numbers, matrix after matrix.
    fn slices(&self) -> impl Iterator<Item = &[S]>;

    /// Returns the numbers, to be changed.
    fn slices_mut(&mut self) -> impl Iterator<Item = &mut [S]>;

    /// Returns the numbers, one after the other.
    fn numbers<'a>(&'a self) -> impl Iterator<Item = &'a S>
    where
        S: 'a,
    {
        self.slices().flatten()
    }

    /// Returns the numbers, to be changed.
    fn numbers_mut<'a>(&'a mut self) -> impl Iterator<Item = &'a mut S>
    where
        S: 'a,
    {
        self.slices_mut().flatten()
    }
}

/// Storage for numbers: an array or, where there is a heap, a `Vec`.
pub trait Storage<S>: AsRef<[S]> + AsMut<[S]> + Clone + Debug {}

impl<S, B: AsRef<[S]> + AsMut<[S]> + Clone + Debug> Storage<S> for B {}

impl<S: Scalar, B: Storage<S>> Parameters<S> for B {
    fn slices(&self) -> impl Iterator<Item = &[S]> {
        core::iter::once(self.as_ref())
    }
    fn slices_mut(&mut self) -> impl Iterator<Item = &mut [S]> {
        core::iter::once(self.as_mut())
    }
}

/// Returns the standard deviation of initial parameters, Xavier normal with a gain, of layers for tokens of size k.
pub(super) fn deviation<R: Real>(gain: f64, k: usize) -> R {
    R::from_f64(gain) / Scalar::sqrt(R::from_count(k as u64))
}

/// The targets of a batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Targets<'a, S: Scalar> {
    /// R_{t+n+2} + gamma v_{t+1}, with the value of the next window.
    Bootstrapped,
    /// Given numbers, one for each window (missing ones count as 0).
    Given(&'a [S]),
    /// The bootstrapped target is not constant: the gradient passes through v_{t+1}, too (the residual
    /// gradient). A batch needs its TD errors, [`td_errors`], before its first window.
    Residual(&'a [S]),
}

impl<S: Scalar> Targets<'_, S> {
    /// Returns the target of v_t.
    #[inline(always)]
    pub(super) fn target(&self, windows: &Windows<S>, t: usize, v_next: S) -> S {
        match self {
            Targets::Bootstrapped | Targets::Residual(_) => windows.target(t, v_next),
            Targets::Given(targets) => targets.get(t).copied().unwrap_or(S::ZERO),
        }
    }

    /// Returns true if they need the value of the window that follows.
    #[inline(always)]
    fn bootstrap(&self) -> bool {
        !matches!(self, Targets::Given(_))
    }
}

/// Writes delta_t = R_{t+n+2} + gamma v_{t+1} - v_t of each window, or returns the errors of [`Network::check`].
pub fn td_errors<S: Scalar, N: Network<S> + ?Sized>(
    network: &mut N,
    windows: &Windows<S>,
    errors: &mut [S],
) -> Result<()> {
    let loss = BatchLoss::new(windows, Targets::Bootstrapped);
    let mut v_next = S::ZERO;
    for i in loss.passes() {
        let valued = loss.pass(i);
        let v = network.value(&valued.window)?;
        if let Some((t, error)) = valued.t.and_then(|t| Some((t, errors.get_mut(t)?))) {
            *error = windows.target(t, v_next) - v;
        }
        v_next = v;
    }
    Ok(())
}

/// The loss of a batch whose windows come in reverse time: v_{t+1} is then known when window t is
/// reached, and each window's forward pass is made once.
pub(super) struct BatchLoss<'a, S: Scalar> {
    windows: &'a Windows<'a, S>,
    targets: Targets<'a, S>,
    inverse_count: S,
    v_next: S,
    squares: S,
}

pub(super) struct Valued<'a, S: Scalar> {
    pub(super) window: Window<'a, S>,
    /// The time t of v_t; `None` for a window that is only used to bootstrap.
    pub(super) t: Option<usize>,
    /// The window whose target the value is in.
    earlier: Option<usize>,
}

impl<'a, S: Scalar> BatchLoss<'a, S> {
    #[inline(always)]
    pub(super) fn new(windows: &'a Windows<'a, S>, targets: Targets<'a, S>) -> Self {
        let inverse_count = S::ONE / S::from_count(windows.count() as u64);
        BatchLoss { windows, targets, inverse_count, v_next: S::ZERO, squares: S::ZERO }
    }

    /// Returns the indices of the windows to value, in reverse: W to 0 if they slide; if they grow, each window's
    /// successor, then the window. Without W and successors if the targets do not bootstrap.
    #[inline(always)]
    pub(super) fn passes(&self) -> core::iter::Rev<core::ops::Range<usize>> {
        let count = self.windows.count();
        let more = if self.windows.slide() { 1 } else { count };
        (0..count + if self.targets.bootstrap() { more } else { 0 }).rev()
    }

    #[inline(always)]
    pub(super) fn pass(&self, i: usize) -> Valued<'a, S> {
        let windows = self.windows;
        if windows.slide() || !self.targets.bootstrap() {
            let t = (i < windows.count()).then_some(i);
            Valued { window: windows.at(i), t, earlier: i.checked_sub(1) }
        } else if i.is_multiple_of(2) {
            Valued { window: windows.at(i / 2), t: Some(i / 2), earlier: None }
        } else {
            Valued { window: windows.after(i / 2), t: None, earlier: Some(i / 2) }
        }
    }

    /// Takes the value of the next window; gives v_t-bar = (1/W) -2 (target_t - v_t), and none for a window that only
    /// bootstraps. For a residual gradient v_t-bar is (1/W) -2 (delta_t - gamma delta_{t-1}), as delta_{t-1}
    /// has v_t in its target, and a window that only bootstraps has one.
    #[inline(always)]
    pub(super) fn take(&mut self, valued: &Valued<S>, v: S) -> Option<S> {
        let v_next = core::mem::replace(&mut self.v_next, v);
        let mut error = S::ZERO;
        if let Some(t) = valued.t {
            error = self.targets.target(self.windows, t, v_next) - v;
            self.squares += error * error;
        }
        if let Targets::Residual(errors) = self.targets {
            if let Some(t) = valued.earlier {
                error -= self.windows.gamma() * errors.get(t).copied().unwrap_or(S::ZERO);
            }
        } else if valued.t.is_none() {
            return None;
        }
        Some(-(self.inverse_count + self.inverse_count) * error)
    }

    /// Returns (1/W) sum_t (target_t - v_t)^2.
    #[inline(always)]
    pub(super) fn mean(&self) -> S {
        self.squares * self.inverse_count
    }
}

/// Returns and adds what [`Network::batch_gradient`] does, window by window.
pub fn batch_gradient_by_window<S: Scalar, N: Network<S> + ?Sized>(
    network: &mut N,
    windows: &Windows<S>,
    targets: Targets<S>,
    gradient: &mut N::Parameters,
) -> Result<S> {
    let mut loss = BatchLoss::new(windows, targets);
    for i in loss.passes() {
        let valued = loss.pass(i);
        if valued.t.is_none() && !matches!(targets, Targets::Residual(_)) {
            let v = network.value(&valued.window)?;
            loss.take(&valued, v);
        } else {
            let adjoint = |v| loss.take(&valued, v).unwrap_or(S::ZERO);
            network.value_and_gradient(&valued.window, adjoint, gradient)?;
        }
    }
    Ok(loss.mean())
}

/// Writes one update of Algorithm 1, theta += alpha delta_t grad v_t, with v_t and v_{t+1} of the current theta; the residual
/// gradient's is alpha delta_t (grad v_t - gamma grad v_{t+1}). Returns delta_t, or [`Error::OutOfRange`] for t >= W and the
/// errors of [`Network::check`].
pub fn td_update<S: Scalar, N: Network<S> + ?Sized>(
    network: &mut N,
    windows: &Windows<S>,
    t: usize,
    targets: Targets<S>,
    alpha: S,
    update: &mut N::Parameters,
) -> Result<S> {
    let (window, successor) = (windows.window(t)?, windows.successor(t)?);
    update.slices_mut().for_each(|slice| slice.fill(S::ZERO));
    let v_next = if targets.bootstrap() { network.value(&successor)? } else { S::ZERO };
    let target = targets.target(windows, t, v_next);
    let adjoint = |v: S| alpha * (target - v);
    let v = network.value_and_gradient(&window, adjoint, update)?;
    if let Targets::Residual(_) = targets {
        let adjoint = -windows.gamma() * (alpha * (target - v));
        network.value_and_gradient(&successor, |_| adjoint, update)?;
    }
    Ok(target - v)
}
