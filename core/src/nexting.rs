//! Nexting: many predictions of several signals at once, again with each sample, from one context.
//!
//! For N signals and G discounts it makes N G predictions, each the discounted sum of a signal's coming values. They
//! share one context. Its state is made of all signals, so that one helps to predict another. The cumulants are
//! [deviations](crate::signal), which know no discount, and a context [answers every
//! discount](crate::context#tokens-without-a-discount), so each prediction is another read of the same context.
//!
//! - **The trace.** A context has one trace decay, while the model was trained with 0.92 gamma. The least discount
//!   serves as the trace of all: over nine recordings of three channels each (walking, running, standing; 10 and 64
//!   samples a second; horizons of 5, 10, 20 and 40 samples, three features of each signal) the error over the signals'
//!   variance was 0.80 in the geometric mean; four contexts with a trace of their own had 0.77.
//! - **In turn.** With each sample one value function is computed anew, and the others keep their weights for N G samples;
//!   every prediction is made from the latest features. That costs nothing in error (computing two a sample, or all, changed
//!   it by less than one per cent), and a sample costs one value function, whatever N and G are.
//! - **Features.** Each signal has D / N features, in this order: the value from the slow average, the slow average from
//!   the slowest, the fast average from the slow one, the difference. In the comparison above two features gave an error
//!   of 0.92, three and four 0.80.
//!
//! The name is Modayil, White and Sutton's (*Multi-timescale nexting in a reinforcement learning robot*, 2014), who
//! learn thousands of such predictions by TD(lambda).

use crate::context::{Context, Forgetting};
use crate::error::Error;
use crate::linalg::zeros;
use crate::mask::TdLambda;
use crate::model::UniversalModel;
use crate::signal::Signal;
use crate::transition::check_gamma;
use crate::value_function::{BoundedValueFunction, ValueFunction};

/// The features of [`Signal`], the most useful first.
const ORDER: [usize; 4] = [0, 3, 2, 1];

/// Predicts N signals for G discounts, by the universal model on one forgetting context with D = N to 4 N features.
///
/// ```
/// use ictd_core::nexting::Nexting;
///
/// // Two signals, three features of each; about the next 5 and the next 20 samples.
/// let mut nexting = Nexting::<2, 6, 2>::new([0.8, 0.95], 0.998)?;
/// for t in 0..200 {
///     let [[soon, later], [_, other_later]] = nexting.observe(&[(t % 10) as f32, 3.0])?;
///     assert!(t < 100 || (0.0..40.0).contains(&soon) && (60.0..120.0).contains(&later));
///     assert_eq!(other_later.round(), 60.0); // what never changes: 3 / (1 - 0.95)
/// }
/// # Ok::<(), ictd_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Nexting<const N: usize, const D: usize, const G: usize> {
    model: UniversalModel<f32>,
    discounts: [f32; G],
    signals: [Signal<4>; N],
    context: Context<D, TdLambda, Forgetting, f32, N>,
    /// The latest state, if the next sample follows it.
    phi: Option<[f32; D]>,
    value_functions: [[BoundedValueFunction<f32, D>; G]; N],
    /// The prediction whose value function is computed next: its discount, and its signal.
    turn: (usize, usize),
}

impl<const N: usize, const D: usize, const G: usize> Nexting<N, D, G> {
    /// Returns a predictor for discounts in [0, 1). With each sample the context retains this share of the past,
    /// in (0, 1): 0.998 remembers the last 500 samples or so.
    ///
    /// # Errors
    /// [`Error::NonFinite`] or [`Error::OutOfRange`], naming `gamma` or `retention`.
    pub fn new(discounts: [f32; G], retention: f32) -> Result<Self, Error> {
        const {
            assert!(N > 0 && G > 0, "there is at least one signal and one discount");
            assert!(
                D.is_multiple_of(N) && D / N >= 1 && D / N <= 4,
                "1 to 4 features of each signal"
            );
        }
        let mut least = 1.0;
        for gamma in discounts {
            least = check_gamma(gamma)?.min(least);
        }
        let model = UniversalModel::<f32>::universal(least)?.with_mask(TdLambda::new(least)?);
        let context = Context::with(*model.mask(), Forgetting::new(retention)?);
        let none = BoundedValueFunction {
            value_function: ValueFunction { weights: zeros() },
            reach: [0.0; D],
            bound: 0.0,
        };
        Ok(Nexting {
            model,
            discounts,
            signals: [Signal::new(); N],
            context,
            phi: None,
            value_functions: [[none; G]; N],
            turn: (0, 0),
        })
    }

    /// Takes the next sample of each signal, (N), computes one value function anew, and returns the predictions of
    /// sum_k gamma^k x_{t+1+k}, (N, G).
    ///
    /// # Errors
    /// [`Error::NonFinite`] or [`Error::OutOfRange`] for values that are not finite or too large to be summed: all
    /// stays as it was. [`Error::NonFinite`] if sums or layers left the range of `f32`.
    pub fn observe(&mut self, values: &[f32; N]) -> Result<[[f32; G]; N], Error> {
        let mut signals = self.signals;
        let (mut phi, mut deviations) = ([0.0; D], [0.0; N]);
        for (s, signal) in signals.iter_mut().enumerate() {
            let (features, deviation) = signal.observe(values[s])?;
            deviations[s] = deviation;
            for (to, from) in phi.chunks_mut(D / N).nth(s).into_iter().flatten().zip(ORDER) {
                *to = features[from];
            }
        }
        if let Some(before) = self.phi {
            self.context.observe(&before, deviations, &phi)?;
        }
        (self.signals, self.phi) = (signals, Some(phi));
        self.refresh()?;
        let mut predictions = [[0.0; G]; N];
        for s in 0..N {
            for g in 0..G {
                let of_deviations = self.value_functions[s][g].at(&phi);
                predictions[s][g] =
                    signals[s].level().discounted_sum(self.discounts[g], of_deviations);
            }
        }
        Ok(predictions)
    }

    /// Computes the value function whose turn it is, as [`Nexting::observe`] does. A program that has the time can
    /// compute several of them after each sample.
    ///
    /// # Errors
    /// [`Error::NonFinite`] if sums or layers left the range of `f32`.
    pub fn refresh(&mut self) -> Result<(), Error> {
        if self.context.is_empty() {
            return Ok(());
        }
        let (g, s) = self.turn;
        self.turn = if s + 1 < N { (g, s + 1) } else { ((g + 1) % G, 0) };
        self.value_functions[s][g] =
            self.model.value_function_for(&self.context, s, self.discounts[g])?;
        Ok(())
    }

    /// Says that the next sample does not follow the last one.
    pub fn end_episode(&mut self) {
        self.phi = None;
        self.context.end_episode();
        self.signals.iter_mut().for_each(Signal::end_episode);
    }

    /// Returns the discounts, (G).
    pub fn discounts(&self) -> &[f32; G] {
        &self.discounts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    const DISCOUNTS: [f32; 3] = [0.9, 0.5, 0.8];

    fn walk(t: usize, rng: &mut Rng) -> [f32; 2] {
        [(t % 7) as f32 + rng.uniform::<f32>(), 50.0 - (t % 3) as f32]
    }

    #[test]
    fn each_prediction_is_that_of_a_context_and_the_model() {
        let mut nexting = Nexting::<2, 8, 3>::new(DISCOUNTS, 0.97).unwrap();
        let mask = TdLambda::new(0.5).unwrap();
        let window = Forgetting::new(0.97).unwrap();
        let mut context = Context::<8, TdLambda, Forgetting, f32, 2>::with(mask, window);
        let (mut signals, mut before) = ([Signal::<4>::new(); 2], None);
        let mut rng = Rng::new(1);
        for t in 0..60 {
            let values = walk(t, &mut rng);
            let got = nexting.observe(&values).unwrap();
            let seen = [0, 1].map(|s| signals[s].observe(values[s]).unwrap());
            let ordered = seen.map(|(f, _)| [f[0], f[3], f[2], f[1]]);
            let phi: [f32; 8] = core::array::from_fn(|i| ordered[i / 4][i % 4]);
            if let Some(before) = before {
                context.observe(&before, seen.map(|(_, deviation)| deviation), &phi).unwrap();
            }
            before = Some(phi);
            if t == 20 {
                nexting.end_episode();
                context.end_episode();
                signals.iter_mut().for_each(Signal::end_episode);
                before = None;
            }
            // Once nothing is stale.
            if t < 40 {
                continue;
            }
            let mut fresh = nexting.clone();
            for _ in 0..6 {
                fresh.refresh().unwrap();
            }
            for s in 0..2 {
                for (g, gamma) in DISCOUNTS.into_iter().enumerate() {
                    let model = UniversalModel::<f32>::universal(gamma).unwrap().with_mask(mask);
                    let value = model.value_function_of(&context, s).unwrap();
                    assert_eq!(fresh.value_functions[s][g], value, "{t} {s} {gamma}");
                    // What was predicted is of this state, by weights of at most 6 samples before.
                    let stale = nexting.value_functions[s][g].at(&phi);
                    let prediction = signals[s].level().discounted_sum(gamma, stale);
                    assert_eq!(got[s][g], prediction, "{t} {s} {gamma}");
                }
            }
        }
    }

    #[test]
    fn what_is_refused_changes_nothing() {
        let mut nexting = Nexting::<2, 4, 3>::new(DISCOUNTS, 0.97).unwrap();
        let mut rng = Rng::new(2);
        for t in 0..20 {
            nexting.observe(&walk(t, &mut rng)).unwrap();
        }
        let before = nexting.clone();
        assert_eq!(nexting.observe(&[1.0, f32::NAN]), Err(Error::NonFinite { parameter: "value" }));
        assert!(matches!(nexting.observe(&[1e30, 1.0]), Err(Error::OutOfRange { .. })));
        assert_eq!(nexting, before);
        assert!(Nexting::<2, 4, 3>::new([0.5, 1.0, 0.0], 0.97).is_err());
        assert!(Nexting::<2, 4, 3>::new(DISCOUNTS, 1.0).is_err());
    }
}
