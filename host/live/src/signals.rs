//! Two signals, random ones or the reader's hand, and what is predicted of them.

use ictd_core::digest::Digest;
use ictd_core::error::Error;
use ictd_core::nexting::Nexting;
use ictd_core::rng::Rng;
use ictd_core::tasks::random_signal;

/// How many signals there are.
pub const SIGNALS: usize = 2;

/// The discounts, for horizons of 5, 10, 20 and 40 samples.
pub const DISCOUNTS: [f32; 4] = [0.8, 0.9, 0.95, 0.975];

/// The last 500 samples or so.
const RETENTION: f32 = 0.998;

/// How many samples a random signal has; then it begins again.
const LONGEST: usize = 2_000;

/// The predictions, of each signal for each discount.
pub type Predictions = [[f32; DISCOUNTS.len()]; SIGNALS];

/// Two signals that are predicted as they come, by the universal model on one context.
pub struct Signals {
    random: [[f32; LONGEST]; SIGNALS],
    nexting: Nexting<SIGNALS, 6, { DISCOUNTS.len() }>,
    values: [f32; SIGNALS],
    predictions: Predictions,
    len: usize,
    digest: Digest,
}

impl Signals {
    /// Signals of a seed, none of which has been seen.
    ///
    /// # Errors
    /// None: the constants are in range.
    pub fn new(seed: u32) -> Result<Self, Error> {
        let mut signals = Signals {
            random: [[0.0; LONGEST]; SIGNALS],
            nexting: Nexting::new(DISCOUNTS, RETENTION)?,
            values: [0.0; SIGNALS],
            predictions: [[f32::NAN; DISCOUNTS.len()]; SIGNALS],
            len: 0,
            digest: Digest::EMPTY,
        };
        let mut rng = Rng::new(seed.into());
        signals.random.iter_mut().for_each(|signal| random_signal(signal, &mut rng));
        Ok(signals)
    }

    /// The next sample of the random signals.
    ///
    /// # Errors
    /// As [`Signals::observe`].
    pub fn advance(&mut self) -> Result<(), Error> {
        let t = self.len % LONGEST;
        self.observe(self.random.each_ref().map(|signal| signal.get(t).copied().unwrap_or(0.0)))
    }

    /// The next sample is this one.
    ///
    /// # Errors
    /// As [`Nexting::observe`].
    pub fn observe(&mut self, values: [f32; SIGNALS]) -> Result<(), Error> {
        self.predictions = self.nexting.observe(&values)?;
        self.values = values;
        self.len = self.len.saturating_add(1);
        for x in self.predictions.as_flattened() {
            self.digest.number(*x);
        }
        Ok(())
    }

    /// Returns how many samples were observed.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true before the first one.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the latest sample.
    pub fn values(&self) -> [f32; SIGNALS] {
        self.values
    }

    /// Returns the predictions after the latest sample, sum_k gamma^k x_{t+1+k}; NaN before the first.
    pub fn predictions(&self) -> Predictions {
        self.predictions
    }

    /// Returns the digest of all predictions.
    pub fn digest(&self) -> u64 {
        self.digest.value()
    }
}
