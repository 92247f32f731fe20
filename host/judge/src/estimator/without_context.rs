//! Methods without a context: they read each transition as it comes, or keep all of them.

use super::reader::{
    AnyValueFunction, Dense, Linear, Other, TransitionSink, on_context, reading, trained,
};
use super::{Estimator, Method, SOFTMAX_CONTEXT, Stream};
use ictd_core::attention::SoftmaxAttention;
use ictd_core::context::{Forgetting, Growing};
use ictd_core::linalg::{check_finite, linear_system};
use ictd_core::model::AttentionKind;
use ictd_core::prompt::Prompt;
use ictd_core::td::{OnlineTd, OnlineTdSettings, RecursiveLstd, RecursiveLstdSettings, updates};
use ictd_core::transition::{Transition, query_token};
use ictd_core::value_function::ValueFunction;
use ictd_core::{Error, Result};
use nalgebra::{SMatrix, SVector};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::sync::Arc;

#[derive(Deserialize, Serialize)]
struct TransitionLog<const D: usize> {
    /// The transitions with their importance weights, (n).
    rows: Vec<(Transition<f64, D>, f64)>,
    /// The index at which each episode ends.
    ends: Vec<usize>,
}

impl<const D: usize> TransitionSink<D> for TransitionLog<D> {
    fn observe(&mut self, t: &Transition<f64, D>, rho: f64, is_terminal: bool) -> Result<()> {
        self.rows.push((*t, rho));
        if is_terminal {
            self.end_episode();
        }
        Ok(())
    }

    fn end_episode(&mut self) {
        self.ends.push(self.rows.len());
    }

    fn len(&self) -> u64 {
        self.rows.len() as u64
    }

    fn clear(&mut self) {
        (self.rows, self.ends) = (Vec::new(), Vec::new());
    }

    fn save(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("a vector has room")
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<()> {
        let found = postcard::from_bytes(bytes).ok();
        let fits = |log: &Self| log.ends.iter().all(|end| *end <= log.rows.len());
        *self = found.filter(fits).ok_or(Error::Mismatch { parameter: "transitions" })?;
        Ok(())
    }
}

impl<const D: usize> TransitionLog<D> {
    /// Returns each episode's transitions with their traces, e <- rho (decay e + phi).
    fn episodes(
        &self,
        decay: f64,
    ) -> impl Iterator<Item = impl ExactSizeIterator<Item = (&Transition<f64, D>, SVector<f64, D>)>>
    {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        let ends = self.ends.iter().copied().chain([self.rows.len()]);
        starts.zip(ends).filter(|(a, b)| a < b).map(move |(a, b)| {
            let mut trace = SVector::<f64, D>::zeros();
            self.rows[a..b].iter().map(move |(t, rho)| {
                trace = (trace * decay + t.phi) * *rho;
                (t, trace)
            })
        })
    }
}

fn softmax<const D: usize, const K: usize>(
    transformer: &Arc<Dense<K>>,
    kept: &TransitionLog<D>,
    gamma: f64,
) -> Result<AnyValueFunction<D>> {
    const {
        assert!(K == 2 * D + 1, "tokens have K = 2 * D + 1");
    }
    let (transitions, nothing) = (kept.rows.iter().map(|row| row.0), SVector::zeros());
    let transitions: Vec<_> = transitions.collect();
    let prompt = Prompt::<f64, K, SOFTMAX_CONTEXT>::discounted(&transitions, gamma, &nothing)?;
    let (prompt, transformer) = (RefCell::new(Box::new(prompt)), transformer.clone());
    Ok(Other(Box::new(move |phi| {
        let mut prompt = prompt.borrow_mut();
        prompt.query = query_token(phi);
        transformer.value(&prompt, &SoftmaxAttention)
    })))
}

/// Returns w after one iteration of TD(lambda) with a separate trace for each episode: the mean of the episodes' new w,
/// weighted by their numbers of transitions.
fn iteration<const D: usize>(
    w: &SVector<f64, D>,
    alpha: f64,
    kept: &TransitionLog<D>,
    gamma: f64,
    trace_decay: f64,
) -> SVector<f64, D> {
    let mut mean = SVector::zeros();
    for episode in kept.episodes(trace_decay) {
        let n = episode.len() as f64;
        let sum = episode.fold(SVector::zeros(), |sum: SVector<f64, D>, (t, trace)| {
            sum + trace * updates::td_error(w, t, gamma)
        });
        mean += (w + sum * alpha * (1.0 / n)) * (n / kept.rows.len() as f64);
    }
    mean
}

/// Returns the weights of LSTD(lambda) with a separate trace for each episode.
fn fixed_point<const D: usize>(
    kept: &TransitionLog<D>,
    d: usize,
    gamma: f64,
    trace_decay: f64,
) -> Result<SVector<f64, D>> {
    let (mut a, mut b) = (SMatrix::<f64, D, D>::zeros(), SVector::zeros());
    let mut squares = SVector::<f64, D>::zeros();
    for episode in kept.episodes(trace_decay) {
        for (t, trace) in episode {
            a += trace * (t.phi - t.phi_next * gamma).transpose();
            b += trace * t.reward;
            squares += t.phi.component_mul(&t.phi);
        }
    }
    // Normalise each feature by a power of two, which rounds nothing.
    const EXPONENT: u64 = 0x7ff << 52;
    let unit = |x: f64| f64::from_bits(x.sqrt().to_bits() & EXPONENT);
    let scale = squares.map(|x| if x > 0.0 { 1.0 / unit(x) } else { 1.0 });
    let scaled = SMatrix::from_fn(|i, j| scale[i] * a[(i, j)] * scale[j]);
    let solve = |b| linear_system::solve(scaled, b, d, "the LSTD system");
    let weights = solve(scale.component_mul(&b))?;
    // Sums of n terms have n units of rounding: no weights where the system makes a hundredth of them.
    let size = |column: &SVector<f64, D>| column.iter().map(|x| x.abs()).sum::<f64>();
    let mut condition = 0.0_f64;
    for j in 0..d {
        let unit = SVector::from_fn(|i, _| if i == j { 1.0 } else { 0.0 });
        condition = condition.max(size(&solve(unit)?));
    }
    condition *= scaled.column_iter().map(|column| size(&column.into())).fold(0.0, f64::max);
    if condition * kept.rows.len() as f64 * f64::EPSILON > 0.01 {
        return Err(Error::Singular { system: "the LSTD system" });
    }
    Ok(scale.component_mul(&weights))
}

fn finite<const D: usize>(weights: SVector<f64, D>) -> Result<AnyValueFunction<D>> {
    check_finite(&weights, "weights")?;
    Ok(Linear(ValueFunction { weights }))
}

/// Returns a stream of d features with room for D; a context forgets if it is told how.
// Not inlined, so that few features do not need the stack of many.
#[inline(never)]
pub(super) fn stream<const D: usize, const K: usize>(
    estimator: &Estimator,
    d: usize,
    forgetting: Option<Forgetting<f64>>,
) -> Result<Box<dyn Stream>> {
    let Estimator { ref method, gamma, layers } = *estimator;
    let kept = TransitionLog::<D> { rows: Vec::new(), ends: Vec::new() };
    match method {
        &Method::OnlineTd { lambda, alpha, true_online } => {
            let new = if true_online { OnlineTd::true_online } else { OnlineTd::new };
            let learner =
                new(OnlineTdSettings::new(gamma).lambda(lambda).step_size(alpha))?.context::<D>();
            reading(estimator, d, learner, |l, _| l.value_function().map(Linear))
        }
        &Method::RecursiveLstd { lambda, retention, ridge } => {
            let settings =
                RecursiveLstdSettings::new(gamma).lambda(lambda).retention(retention).ridge(ridge);
            let learner = RecursiveLstd::new(settings)?.with_features(d).context::<D>();
            reading(estimator, d, learner, |l, _| l.value_function().map(Linear))
        }
        &Method::Iterated { alpha, trace_decay } => reading(estimator, d, kept, move |kept, _| {
            let step = |w, _| iteration(&w, alpha, kept, gamma, trace_decay);
            finite((0..layers).fold(SVector::zeros(), step))
        }),
        &Method::FixedPoint { trace_decay } => reading(estimator, d, kept, move |kept, _| {
            finite(fixed_point(kept, d, gamma, trace_decay)?)
        }),
        Method::Trained { parameters, attention } if *attention != AttentionKind::Linear => {
            let transformer: Arc<Dense<K>> = trained(parameters, layers)?.into();
            reading(estimator, d, kept, move |kept, _| softmax(&transformer, kept, gamma))
        }
        // All others read a context.
        _ => match forgetting {
            None => on_context::<D, K, _>(estimator, d, Growing),
            Some(window) => on_context::<D, K, _>(estimator, d, window),
        },
    }
}
