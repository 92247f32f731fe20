//! Two signals, random or drawn by the reader, and their predictions.

use ictd_core::digest::Digest;
use ictd_core::error::Error;
use ictd_core::predictor::{Outlook, Predictor};
use ictd_core::rng::Rng;
use ictd_core::tasks::random_signal;

pub const SIGNALS: usize = 2;

/// The horizons, in samples.
pub const HORIZONS: [f32; 4] = [5.0, 10.0, 20.0, 40.0];

/// The length of a random signal in samples, after which it repeats.
const LONGEST: usize = 2_000;

/// The predictors' outputs after a sample.
pub type Seen = [Outlook<{ HORIZONS.len() }>; SIGNALS];

pub struct Signals {
    pub values: [f32; SIGNALS],
    /// The outputs after the latest sample.
    pub seen: Option<Seen>,
    /// The digest of all outputs.
    pub digest: Digest,
    random: [[f32; LONGEST]; SIGNALS],
    predictors: [Predictor<{ HORIZONS.len() }>; SIGNALS],
    len: usize,
}

impl Signals {
    /// Returns the random signals of a seed, before their first sample.
    pub fn new(seed: u32) -> Result<Self, Error> {
        let mut signals = Signals {
            random: [[0.0; LONGEST]; SIGNALS],
            predictors: [Predictor::new(HORIZONS)?; SIGNALS],
            values: [0.0; SIGNALS],
            seen: None,
            len: 0,
            digest: Digest::EMPTY,
        };
        let mut rng = Rng::new(seed.into());
        signals.random.iter_mut().for_each(|signal| random_signal(signal, &mut rng));
        Ok(signals)
    }

    /// Observes the next sample of the random signals.
    pub fn advance(&mut self) {
        let t = self.len % LONGEST;
        self.observe(self.random.each_ref().map(|signal| signal.get(t).copied().unwrap_or(0.0)));
    }

    pub fn observe(&mut self, values: [f32; SIGNALS]) {
        let mut values_left = values.into_iter();
        let seen =
            self.predictors.each_mut().map(|predictor| predictor.observe(values_left.next()));
        (self.values, self.seen) = (values, Some(seen));
        self.len = self.len.saturating_add(1);
        for of_signal in seen {
            for p in of_signal.predictions {
                [p.mean, p.low, p.high].into_iter().for_each(|x| self.digest.number(x));
            }
            self.digest.number(of_signal.surprise);
        }
    }
}
