//! Empty streams of an estimator, with room for few or many features.

use super::reader::on_context;
use super::without_context::stream;
use super::{Estimator, MAX_FEATURES, Stream, on_large_stack};
use ictd_core::context::{Forgetting, Growing};
use ictd_core::{Error, Result};

impl Estimator {
    /// Returns an empty stream for d features. It remembers everything or, if the method reads a context, multiplies the weight
    /// of the past by `retention` at each transition.
    /// Returns the core's error, which names the parameter, for a setting that the method does not accept and for d >
    /// [`MAX_FEATURES`]. With up to 8 features it computes on the caller's stack, which needs 4 MiB.
    pub fn stream(&self, d: usize, retention: Option<f64>) -> Result<Box<dyn Stream>> {
        // Experiments make a stream for each context: a thread would cost more than the context.
        if d <= 8 {
            return self.stream_here(d, retention);
        }
        on_large_stack(|| self.stream_here(d, retention))?
    }

    /// Returns a stream of d features that has observed a trajectory: features, (n + 1, d), and rewards, (n).
    pub fn after(&self, d: usize, features: &[f64], rewards: &[f64]) -> Result<Box<dyn Stream>> {
        let mut stream = self.stream(d, None)?;
        for (k, reward) in rewards.iter().enumerate() {
            let [phi, next] = [k, k + 1].map(|k| &features[k * d..][..d]);
            stream.observe(phi, *reward, Some(next), 1.0)?;
        }
        Ok(stream)
    }

    fn stream_here(&self, d: usize, retention: Option<f64>) -> Result<Box<dyn Stream>> {
        let forgetting = retention.filter(|_| self.has_a_context()).map(Forgetting::new);
        let forgetting = forgetting.transpose()?;
        match (d, forgetting) {
            // Signals have four features, and millions of rows.
            (1..=4, Some(forgetting)) => on_context::<4, 9, _>(self, d, forgetting),
            (1..=4, _) if self.has_a_context() => on_context::<4, 9, _>(self, d, Growing),
            (1..=8, _) => stream::<8, 17>(self, d, forgetting),
            (9..=12, None) if self.has_a_context() => on_context::<12, 25, _>(self, d, Growing),
            (9..=16, None) if self.has_a_context() => on_context::<16, 33, _>(self, d, Growing),
            (9..=32, _) => stream::<32, 65>(self, d, forgetting),
            (33..=MAX_FEATURES, _) => stream::<MAX_FEATURES, 129>(self, d, forgetting),
            _ => Err(Error::CapacityExceeded { parameter: "features", capacity: MAX_FEATURES }),
        }
    }
}
