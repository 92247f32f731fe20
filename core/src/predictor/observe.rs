//! A predictor observes a sample: this file has everything that the sample changes.

use super::belief::{Belief, Moment};
use super::features::{Features, SLOW};
use super::gate::{Arrival, Gate};
use super::surprise::{Observed, share};
use super::{
    LARGEST, MOST, Outlook, Prediction, Predictor, SMALLEST, SampleStatus, larger, narrow, smaller,
};
use crate::linalg::dot_arrays as dot;
use crate::linalg::linear_system::epsilon;
use crate::scalar::Real;
use crate::value_function::clamp;

/// A horizon is known once it has been seen this many times: the long-run mean is then known about as badly as the variance of
/// the returns.
const SEEN: f32 = 10.0;
/// The ends of a band are moved outwards by this share of the recent range, and by some units in the last place for rounding.
const RESOLUTION: f32 = 1.0 / 1024.0;
const ROUNDING: usize = 2;
/// The prediction of a sample takes its place if it is missing or held back, up to this many in a row, if as many samples were
/// taken before.
const MISSING: f32 = 100.0;
const BEGUN: f32 = 50.0;
/// An event counts as at most this many recent ranges.
const EVENT: f32 = 30.0;

impl<const H: usize, S: Real> Predictor<H, S> {
    /// Takes one of the first three samples: their median is the anchor, which one bad sample does not move.
    pub(super) fn begin(&mut self, sample: Option<S>, status: SampleStatus) -> Outlook<H, S> {
        if let Some(x) = sample {
            if self.state.seen == 0.0 {
                self.anchor = x;
            }
            let third = narrow(x - self.anchor);
            if self.state.seen == 2.0 {
                let (low, high) = (smaller(0.0, self.state.second), larger(0.0, self.state.second));
                let (lowest, highest) = (smaller(low, third), larger(high, third));
                let median = larger(low, smaller(high, third));
                self.anchor += S::from_f64(f64::from(median));
                self.state.gate = Gate::new(smaller(median - lowest, highest - median));
                // What came before the anchor was known counts as the anchor.
                let outlook = self.follow(sample, status);
                self.state.seen = 3.0;
                return outlook;
            }
            self.state.second = third;
            self.state.seen += 1.0;
            self.state.taken = self.state.seen;
        }
        let mean = sample.unwrap_or(self.anchor);
        self.answer([mean; H].map(|mean| Prediction { mean, ..Self::NOTHING }), 0.0, status)
    }

    /// The samples in which each horizon and the next sample have a turn: few horizons have it as seldom as four.
    pub(super) const TURNS: usize = if H < 4 { 5 } else { H + 1 };
    const NOTHING: Prediction<S> =
        Prediction { mean: S::ZERO, low: S::ZERO, high: S::ZERO, known: false };

    /// Takes a sample, which is held back if it cannot be measured, or none.
    pub(super) fn follow(&mut self, sample: Option<S>, mut status: SampleStatus) -> Outlook<H, S> {
        let (expected, [last, ..]) = (self.state.next.predicted, self.state.signal.values);
        let y = sample.map(|x| clamp(narrow(x - self.anchor), LARGEST));
        let size = narrow(sample.unwrap_or(self.anchor)).abs();
        let size = smaller(size, LARGEST);
        let average = self.state.signal.slow;
        let fits = status == SampleStatus::Taken;
        if let Some(y) = y.filter(|_| fits) {
            let (distance, error) = (y - average, y - expected);
            let (seen, taken) = (self.state.seen, self.state.taken);
            status = self.state.gate.judge(Arrival { distance, error, size, seen, taken });
        }
        let depth = match y {
            Some(value) if self.state.seen > 3.0 => {
                let held_back = status == SampleStatus::HeldBack;
                self.state.surprise.observe(Observed { value, expected, last, size, held_back })
            }
            _ => 0.0,
        };
        let mut value = last;
        let after_gap = self.state.missing > 0.0;
        match (status, y) {
            (SampleStatus::Taken, Some(y)) => (value, self.state.missing) = (y, 0.0),
            (SampleStatus::Moved, Some(y)) => {
                (value, self.state.missing, self.state.taken) = (0.0, 0.0, 0.0);
                self.shift(y);
            }
            _ => {
                self.state.missing = smaller(self.state.missing + 1.0, MOST);
                if self.state.taken > BEGUN && self.state.missing <= MISSING {
                    value = average + clamp(expected - average, self.state.gate.range);
                }
            }
        }
        let mut event = 0.0;
        if let (true, SampleStatus::HeldBack, Some(y)) = (fits, status, y) {
            event = clamp(y - value, EVENT * self.state.gate.range);
            self.state.gate.add(event, self.state.seen);
        }
        if self.state.missing == 0.0 {
            self.state.seen = smaller(self.state.seen + 1.0, MOST);
            self.state.taken = smaller(self.state.taken + 1.0, MOST);
        }
        let moved = status == SampleStatus::Moved;
        if after_gap && status == SampleStatus::Taken {
            let step = self.state.autoregression.revision() * (value - expected);
            self.state.signal.revise(step);
            #[cfg(feature = "long-memory")]
            self.state.lattice.revise(step);
        }
        let before = self.state.signal;
        let imputed = self.state.missing > 0.0;
        let share = if imputed { 0.0 } else { Features::share(self.state.taken) };
        self.state.signal.observe(value, share);
        let phi = self.state.signal.of_td();
        let halves = if moved {
            self.state.td.begin();
            false
        } else {
            self.state.td.observe(self.growth, &before.of_td(), value - before.slow, &phi)
        };
        if !imputed {
            self.state.autoregression.learn(&before.of_autoregression(), value - before.mean);
        }
        #[cfg(feature = "long-memory")]
        let next = {
            let distance = value - self.state.signal.mean;
            self.state.lattice.observe(distance, imputed, self.state.taken)
        };
        self.refresh(share);
        let state = &mut self.state;
        let (taken, follows, factor) = (state.taken, !moved, state.td.factor);
        let moment = Moment { value, taken, follows, factor, halves, imputed };
        // What a refused sample was is no part of an answer.
        let level = narrow(self.anchor).abs();
        let size = if imputed { level } else { size };
        let pad = RESOLUTION * state.gate.range + narrow(epsilon::<S>(ROUNDING)) * size;
        let (signal, phi) = (&state.signal, state.td.clipped(&phi));
        let (lags, turn) = (signal.of_autoregression(), self.turn as usize);
        let events = state.gate.events_mean();
        let observe = |h: usize, belief: &mut Belief| {
            let gamma = belief.gamma();
            let td = signal.slow + (1.0 - gamma * (1.0 - SLOW)) * dot(&belief.td, &phi);
            let regression = signal.mean
                + dot(state.reads.get(h).unwrap_or(&state.autoregression.weights), &lags);
            let experts = [
                signal.possible(td),
                signal.possible(regression),
                value,
                #[cfg(feature = "long-memory")]
                signal.possible(
                    signal.mean
                        + state
                            .lattice_reads
                            .get(h)
                            .map_or(next, |read| state.lattice.predict(read)),
                ),
            ];
            // A surprise is one of a sample that is no event.
            let events = if h < H { events } else { 0.0 };
            (gamma, belief.observe(moment, gamma, experts, h == turn % Self::TURNS, events))
        };
        let reach = larger(level, signal.reach());
        let has_squares = reach == 0.0 || (SMALLEST..=LARGEST / 2.0).contains(&reach);
        let mut predictions = [Self::NOTHING; H];
        let horizons = state.horizons.iter_mut().zip(&mut state.bands).zip(&mut predictions);
        for (h, ((belief, band), out)) in horizons.enumerate() {
            let (gamma, [mean, delta]) = observe(h, belief);
            let [low, high] = band.observe(belief.length, gamma, delta, state.seen, pad, event);
            let at = |offset: f32| self.anchor + S::from_f64(f64::from(offset));
            out.mean = at(mean);
            out.known = has_squares && state.seen >= SEEN * belief.length;
            (out.low, out.high) = (at(mean + low), at(mean + high));
        }
        observe(H, &mut state.next);
        self.answer(predictions, depth, status)
    }

    fn answer(
        &mut self,
        mut predictions: [Prediction<S>; H],
        depth: f32,
        status: SampleStatus,
    ) -> Outlook<H, S> {
        for prediction in predictions.iter_mut().filter(|prediction| !prediction.known) {
            let infinity = S::from_f64(f64::INFINITY);
            (prediction.low, prediction.high) = (-infinity, infinity);
        }
        let surprise = share(depth);
        let recent = self.state.surprise.recent(surprise);
        Outlook { predictions, depth, surprise, recent, status }
    }

    /// Computes weights anew: the autoregression's of one horizon, and with every other sample TD's of one. The newest value has
    /// this share of the mean.
    fn refresh(&mut self, share: f32) {
        let state = &mut self.state;
        self.turn = (self.turn + 1) % (2 * Self::TURNS) as u32;
        let turn = self.turn as usize;
        let h = turn % Self::TURNS;
        if let (Some(read), Some(belief)) = (state.reads.get_mut(h), state.horizons.get(h)) {
            *read = state.autoregression.of_discount(belief.gamma());
        }
        #[cfg(feature = "long-memory")]
        if let (Some(read), Some(belief)) = (state.lattice_reads.get_mut(h), state.horizons.get(h))
        {
            *read = state.lattice.of_discount(belief.gamma());
        } else if h == H && !turn.is_multiple_of(2) {
            state.lattice.refresh();
        }
        if turn.is_multiple_of(2) && turn / 2 <= H {
            let belief = state.horizons.get_mut(turn / 2).unwrap_or(&mut state.next);
            if let Some(read) = state.td.value_function(belief.gamma(), share) {
                belief.td = read;
            }
        }
    }

    /// Moves the anchor to a new level; the signal begins again from there.
    fn shift(&mut self, by: f32) {
        self.anchor += S::from_f64(f64::from(by));
        self.state.signal.begin_at(by);
        #[cfg(feature = "long-memory")]
        self.state.lattice.begin();
        self.state.surprise.shift(by);
        self.state
            .horizons
            .iter_mut()
            .chain([&mut self.state.next])
            .for_each(|horizon| horizon.shift(by));
    }
}
