use super::network::BatchLoss;
use super::windows::{OuterProduct, TRACES, gained_and_lost, next_token};
use super::{Targets, Window, Windows};
use crate::error::{Error, Result, ensure};
use crate::linalg::keep_apart;
use crate::mask::TdLambda;
use crate::scalar::{Scalar, kernel};

/// The batch-TD reference transformer: Theorem 1's construction with C_l = alpha I, with one
/// parameter, alpha. [`MultiTaskTd`](super::MultiTaskTd) trains it on the same tasks as the network that is compared with it. D
/// is the capacity for features.
///
/// The value is that of L steps of batch TD(0), w <- w + alpha (b - A w) from w = 0, with
/// A = (1/n) sum phi (phi - gamma phi')^T and b = (1/n) sum R phi; and dw/dalpha follows
/// w-dot <- w-dot + (b - A w) - alpha A w-dot.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchTdReference<S: Scalar, const D: usize> {
    /// The step size alpha.
    pub step_size: S,
    layers: usize,
    /// The trace decay of TD(lambda); `None` for TD(0).
    lambda: Option<S>,
}

impl<S: Scalar, const D: usize> BatchTdReference<S, D> {
    /// Returns L layers, of batch TD(lambda), with the step size 1, or [`Error::OutOfRange`] unless 0 <= lambda <= 1 in every
    /// lane.
    pub fn new(layers: usize, lambda: S) -> Result<Self> {
        let lambda = TdLambda::new(lambda)?.trace_decay();
        Ok(BatchTdReference {
            step_size: S::ONE,
            layers,
            lambda: (lambda != S::ZERO).then_some(lambda),
        })
    }

    /// Returns v, the value of the window's query, or [`Error::CapacityExceeded`] for more than D features.
    pub fn value(&self, window: &Window<S>) -> Result<S> {
        ensure(window.dim() <= D, Error::capacity("features", D))?;
        Ok(self.value_and_slope(&self.system(window, 0), window.query())[0])
    }

    /// Returns the loss of a batch, and its derivative by the step size with the targets held constant, or
    /// [`Error::CapacityExceeded`] for more than D features.
    pub fn batch_gradient(&self, windows: &Windows<S>, targets: Targets<S>) -> Result<[S; 2]> {
        ensure(windows.dim() <= D, Error::capacity("features", D))?;
        Ok(batch_gradient(self, windows, targets))
    }

    #[inline(always)]
    fn system(&self, windows: &Windows<S>, start: usize) -> System<S, D> {
        let mut system = System::zeros(windows);
        let [mut z, mut e] = [[[S::ZERO; D]; 3]; 2];
        for i in start..start + windows.context_len() {
            let room = [z.as_flattened_mut(), e.as_flattened_mut()];
            system.add(S::ONE, next_token(windows, start, i, self.lambda, room));
        }
        system
    }

    #[inline(always)]
    fn value_and_slope(&self, system: &System<S, D>, query: &[S]) -> [S; 2] {
        let [w, w_dot] = system.weights(self.step_size, self.layers);
        let mut values = [S::ZERO; 2];
        for ((w, w_dot), x) in w.iter().zip(&w_dot).zip(query) {
            values[0] += *w * *x;
            values[1] += *w_dot * *x;
        }
        values
    }
}

/// The system of batch TD: A = (1/n) sum e (phi - gamma phi')^T, (d, d), and b = (1/n) sum R e, with
/// e = phi or the trace of TD(lambda).
struct System<S, const D: usize> {
    dim: usize,
    inverse_len: S,
    /// Column by column.
    a: [[S; D]; D],
    b: [S; D],
}

impl<S: Scalar, const D: usize> System<S, D> {
    #[inline(always)]
    fn zeros(windows: &Windows<S>) -> Self {
        let inverse_len = S::ONE / S::from_count(windows.context_len() as u64);
        System { dim: windows.dim(), inverse_len, a: [[S::ZERO; D]; D], b: [S::ZERO; D] }
    }

    /// Returns the number of rows to compute: where rows fill registers, those for more features, too, which are zero.
    #[inline(always)]
    fn rows(&self) -> usize {
        if S::ROWS_IN_REGISTER { D } else { self.dim }
    }

    /// Adds a token x, seen by the trace of tokens x', times s.
    #[inline(always)]
    fn add(&mut self, s: S, [x, right]: OuterProduct<S>) {
        let (d, rows) = (self.dim, self.rows());
        let (here, rest) = x.split_at_checked(d).unwrap_or_default();
        let (next, rest) = rest.split_at_checked(d).unwrap_or_default();
        let reward = rest.first().copied().unwrap_or(S::ZERO);
        let scale = s * self.inverse_len;
        let mut trace = [S::ZERO; D];
        for (trace, right) in trace.iter_mut().zip(right).take(d) {
            keep_apart::<S>();
            *trace = scale * *right;
        }
        for ((column, here), next) in self.a.iter_mut().zip(here).zip(next) {
            let difference = *here - *next;
            for (a, trace) in column.iter_mut().zip(&trace).take(rows) {
                keep_apart::<S>();
                *a += *trace * difference;
            }
        }
        for (b, trace) in self.b.iter_mut().zip(&trace).take(rows) {
            keep_apart::<S>();
            *b += reward * *trace;
        }
    }

    /// Returns y - s A x.
    #[inline(always)]
    fn minus_a_times(&self, y: &[S; D], s: S, x: &[S; D]) -> [S; D] {
        let mut out = *y;
        for (column, x) in self.a.iter().zip(x).take(self.dim) {
            let x_j = -s * *x;
            for (out, a) in out.iter_mut().zip(column).take(self.rows()) {
                keep_apart::<S>();
                *out += *a * x_j;
            }
        }
        out
    }

    /// Returns the weights w after L steps, and dw/dalpha.
    #[inline(always)]
    fn weights(&self, alpha: S, layers: usize) -> [[S; D]; 2] {
        let [mut w, mut w_dot] = [[S::ZERO; D]; 2];
        for l in 0..layers {
            // b - A w, then the change of dw/dalpha, then of w. From w = 0 both steps are b.
            let [mut residual, mut change] = [self.b; 2];
            if l > 0 {
                residual = self.minus_a_times(&self.b, S::ONE, &w);
                change = self.minus_a_times(&residual, alpha, &w_dot);
            }
            let steps = residual.iter().zip(&change);
            for ((w, w_dot), (residual, change)) in w.iter_mut().zip(&mut w_dot).zip(steps) {
                keep_apart::<S>();
                *w_dot += *change;
                *w += alpha * *residual;
            }
        }
        [w, w_dot]
    }
}

kernel! {
    /// Takes windows that slide in reverse time: the system slides along, gains one token and loses one.
    fn batch_gradient as BatchGradient<'a, S: Scalar, const D: usize>(
        reference: &'a BatchTdReference<S, D>,
        windows: &'a Windows<'a, S>,
        targets: Targets<'a, S>,
    ) -> [S; 2] {
        let slide = windows.slide();
        let mut system = reference.system(windows, if slide { windows.count() } else { 0 });
        let (mut room, mut traces) = ([[[S::ZERO; D]; 3]; 4], [[S::ZERO; D]; TRACES]);
        let (mut loss, mut gradient) = (BatchLoss::new(windows, targets), S::ZERO);
        for i in loss.passes() {
            let valued = loss.pass(i);
            if !slide {
                system = reference.system(&valued.window, 0);
            } else if let Some(t) = valued.t {
                let room = room.each_mut().map(|room| room.as_flattened_mut());
                let traces = traces.as_flattened_mut();
                let [gained, lost] =
                    gained_and_lost(windows, t, reference.lambda, room, traces);
                system.add(S::ONE, gained);
                system.add(-S::ONE, lost);
            }
            let [v, slope] = reference.value_and_slope(&system, valued.window.query());
            if let Some(v_bar) = loss.take(&valued, v) {
                gradient += v_bar * slope;
            }
        }
        [loss.mean(), gradient]
    }
}
