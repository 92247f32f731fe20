use super::linear::split;
use super::network::BatchLoss;
use super::windows::{OuterProduct, TRACES, gained_and_lost, next_token};
use super::{Targets, Window, Windows};
use crate::chip::not_unrolled;
use crate::error::{Error, Result, ensure};
use crate::linalg::any_size::{add, dot, scaled};
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
        let mut room = Room::<S, D>::ZEROS;
        let (mut system, mut tokens, _) = room.divide(window.dim());
        system.read(window, 0, self.lambda, &mut tokens);
        Ok(system.value_and_slope(self.step_size, self.layers, window.query())[0])
    }

    /// Returns the loss of a batch, and its derivative by the step size with the targets held constant, or
    /// [`Error::CapacityExceeded`] for more than D features.
    // Where a chip's compiler knows D, the system's numbers stay in registers.
    #[cfg_attr(target_os = "none", inline(always))]
    #[cfg_attr(not(target_os = "none"), inline(never))]
    pub fn batch_gradient(&self, windows: &Windows<S>, targets: Targets<S>) -> Result<[S; 2]> {
        ensure(windows.dim() <= D, Error::capacity("features", D))?;
        let (mut room, layers) = (Room::<S, D>::ZEROS, (self.step_size, self.layers));
        let (system, tokens, traces) = room.divide(windows.dim());
        Ok(batch_gradient(layers, self.lambda, windows, targets, system, tokens, traces))
    }
}

/// Room for a system of D features, for tokens, and for the traces of [`gained_and_lost`].
struct Room<S, const D: usize> {
    a: [[S; D]; D],
    vectors: [[S; D]; VECTORS],
    tokens: [[[S; D]; 3]; TOKENS + TRACES],
}

/// b, (1/n) e, w, dw/dalpha, and their steps.
const VECTORS: usize = 6;
const TOKENS: usize = 4;

impl<S: Scalar, const D: usize> Room<S, D> {
    const ZEROS: Self = Room {
        a: [[S::ZERO; D]; D],
        vectors: [[S::ZERO; D]; VECTORS],
        tokens: [[[S::ZERO; D]; 3]; TOKENS + TRACES],
    };

    /// Returns a system, tokens, and traces of d <= D features.
    #[inline(always)]
    fn divide(&mut self, d: usize) -> (System<'_, S>, [&mut [S]; TOKENS], &mut [S]) {
        let [a] = split(self.a.as_flattened_mut(), d * d);
        let vectors = split(self.vectors.as_flattened_mut(), d);
        let (tokens, traces) = self.tokens.split_at_mut(TOKENS);
        let tokens = split(tokens.as_flattened_mut().as_flattened_mut(), 2 * d + 1);
        let [traces] = split(traces.as_flattened_mut().as_flattened_mut(), TRACES * (2 * d + 1));
        (System { inverse_len: S::ONE, a, vectors }, tokens, traces)
    }
}

/// The system of batch TD: A = (1/n) sum e (phi - gamma phi')^T, (d, d), and b = (1/n) sum R e, with
/// e = phi or the trace of TD(lambda). Its capacity is no part of its type, so that it is compiled once.
struct System<'a, S> {
    inverse_len: S,
    /// Column by column.
    a: &'a mut [S],
    /// b first; the others are intermediate results.
    vectors: [&'a mut [S]; VECTORS],
}

impl<S: Scalar> System<'_, S> {
    /// Sets it to that of the context that begins at transition `start`.
    #[inline(always)]
    fn read(
        &mut self,
        windows: &Windows<S>,
        start: usize,
        lambda: Option<S>,
        [z, e, ..]: &mut [&mut [S]; TOKENS],
    ) {
        self.inverse_len = S::ONE / S::from_count(windows.context_len() as u64);
        self.a.fill(S::ZERO);
        self.vectors[0].fill(S::ZERO);
        for i in start..start + windows.context_len() {
            self.add(S::ONE, next_token(windows, start, i, lambda, [z, e]));
        }
    }

    /// Adds a token x, seen by the trace of tokens x', times s.
    #[inline(always)]
    fn add(&mut self, s: S, [x, right]: OuterProduct<S>) {
        let [b, trace, ..] = &mut self.vectors;
        let d = b.len();
        let (here, rest) = x.split_at_checked(d).unwrap_or_default();
        let (next, rest) = rest.split_at_checked(d).unwrap_or_default();
        let reward = rest.first().copied().unwrap_or(S::ZERO);
        scaled(trace, s * self.inverse_len, right);
        let mut columns = &mut *self.a;
        for (here, next) in here.iter().zip(next) {
            let (column, rest) = columns.split_at_mut_checked(d).unwrap_or_default();
            add_scaled(column, *here - *next, trace);
            columns = rest;
        }
        add_scaled(b, reward, trace);
    }

    /// Returns the value of a query after L steps of a step size, and its derivative.
    #[inline(always)]
    fn value_and_slope(&mut self, alpha: S, layers: usize, query: &[S]) -> [S; 2] {
        let [b, _, w, w_dot, residual, change] = &mut self.vectors;
        for (w, w_dot) in w.iter_mut().zip(w_dot.iter_mut()) {
            not_unrolled();
            (*w, *w_dot) = (S::ZERO, S::ZERO);
        }
        if layers > 0 {
            // From w = 0 both steps are b.
            add(w_dot, b);
            add_scaled(w, alpha, b);
        }
        for _ in 1..layers {
            // b - A w, then the change of dw/dalpha, then of w.
            minus_product(residual, b, self.a, S::ONE, w);
            minus_product(change, residual, self.a, alpha, w_dot);
            add(w_dot, change);
            add_scaled(w, alpha, residual);
        }
        [dot(w, query), dot(w_dot, query)]
    }
}

/// Adds s x.
#[inline(always)]
fn add_scaled<S: Scalar>(to: &mut [S], s: S, x: &[S]) {
    for (to, x) in to.iter_mut().zip(x) {
        keep_apart::<S>();
        *to += *x * s;
    }
}

/// Computes y - s A x.
#[inline(always)]
fn minus_product<S: Scalar>(out: &mut [S], y: &[S], a: &[S], s: S, x: &[S]) {
    let mut columns = a;
    for (out, y) in out.iter_mut().zip(y) {
        not_unrolled();
        *out = *y;
    }
    for x_j in x {
        let (column, rest) = columns.split_at_checked(x.len()).unwrap_or_default();
        add_scaled(out, -s * *x_j, column);
        columns = rest;
    }
}

kernel! {
    /// Takes windows that slide in reverse time: the system slides along, gains one token and loses one.
    inline fn batch_gradient as BatchGradient<'a, S: Scalar>(
        layers: (S, usize),
        lambda: Option<S>,
        windows: &'a Windows<'a, S>,
        targets: Targets<'a, S>,
        system: System<'a, S>,
        tokens: [&'a mut [S]; TOKENS],
        traces: &'a mut [S],
    ) -> [S; 2] {
        let (slide, mut system, mut tokens) = (windows.slide(), system, tokens);
        if slide {
            system.read(windows, windows.count(), lambda, &mut tokens);
        }
        let (mut loss, mut gradient) = (BatchLoss::new(windows, targets), S::ZERO);
        for i in loss.passes() {
            let valued = loss.pass(i);
            if !slide {
                system.read(&valued.window, 0, lambda, &mut tokens);
            } else if let Some(t) = valued.t {
                let tokens = tokens.each_mut().map(|token| &mut **token);
                let [gained, lost] = gained_and_lost(windows, t, lambda, tokens, traces);
                system.add(S::ONE, gained);
                system.add(-S::ONE, lost);
            }
            let [v, slope] = system.value_and_slope(layers.0, layers.1, valued.window.query());
            if let Some(v_bar) = loss.take(&valued, v) {
                gradient += v_bar * slope;
            }
        }
        [loss.mean(), gradient]
    }
}
