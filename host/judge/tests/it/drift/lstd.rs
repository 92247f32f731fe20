//! Recursive LSTD in `f32` over a long stream, against its A and b summed in `f64` and solved.
//!
//! The error is max |w_f32 - w_f64| / max(1, max |w_f64|).

use super::{D, Stream, soak};
use ictd_core::linalg::linear_system;
use ictd_core::td::{Learner, RecursiveLstd, RecursiveLstdSettings};
use ictd_core::transition::Transition;
use nalgebra::{SMatrix, SVector};

const GAMMA: f64 = 0.9;
const LAMBDA: f64 = 0.9;
/// Transitions between two solutions in `f64`.
const EVERY: usize = 997;

/// A and b in `f64`, as the documentation of [`RecursiveLstd`] has them.
struct Sums {
    a: SMatrix<f64, D, D>,
    b: SVector<f64, D>,
    trace: SVector<f64, D>,
    retention: f64,
    ridge: f64,
    len: usize,
}

impl Sums {
    fn new(retention: f32, ridge: f32) -> Self {
        let (retention, ridge) = (f64::from(retention), f64::from(ridge));
        let a = SMatrix::identity() * ridge;
        Sums { a, b: SVector::zeros(), trace: SVector::zeros(), retention, ridge, len: 0 }
    }

    fn add(&mut self, t: &Transition<f32, D>) {
        let (phi, phi_next) = (t.phi.map(f64::from), t.phi_next.map(f64::from));
        // The algorithm's own gamma and lambda are those of `f32`.
        let (gamma, lambda) = (f64::from(GAMMA as f32), f64::from(GAMMA as f32 * LAMBDA as f32));
        self.trace = self.trace * lambda + phi;
        self.a = self.a * self.retention + self.trace * (phi - phi_next * gamma).transpose();
        self.b = self.b * self.retention + self.trace * f64::from(t.reward);
        let k = self.len % D;
        self.a[(k, k)] += self.ridge * (1.0 - (0..D).fold(1.0, |power, _| power * self.retention));
        self.len += 1;
    }

    fn error(&self, w: &SVector<f32, D>) -> f64 {
        let want = linear_system::solve(self.a, self.b, D, "the LSTD system").unwrap();
        (w.map(f64::from) - want).amax() / want.amax().max(1.0)
    }
}

/// The worst error over a stream, by what `next` says of its transition t.
fn worst(
    retention: f32,
    ridge: f32,
    len: usize,
    mut next: impl FnMut(usize) -> Transition<f32, D>,
) -> f64 {
    let lstd = RecursiveLstd::new(
        RecursiveLstdSettings::new(GAMMA as f32)
            .lambda(LAMBDA as f32)
            .retention(retention)
            .ridge(ridge),
    )
    .unwrap();
    let mut learner: Learner<D, _> = lstd.context();
    let (mut sums, mut worst) = (Sums::new(retention, ridge), 0.0_f64);
    for t in 1..=len {
        let transition = next(t);
        learner.observe_transition(&transition).unwrap();
        sums.add(&transition);
        if t % EVERY == 0 || t == len {
            let error = sums.error(&lstd.value_function(&learner).unwrap().weights);
            assert!(!error.is_nan());
            worst = worst.max(error);
        }
    }
    worst
}

#[test]
fn recursive_lstd_in_f32_does_not_drift_over_a_long_stream() {
    let len = soak();
    for retention in [0.99, 0.999, 0.99999] {
        let mut chain = Stream::new();
        let worst = worst(retention, 0.1, len, |_| chain.next());
        // What remembers h transitions remembers as many roundings of A and b.
        let roundings = (1.0 / 16_777_216.0) / f64::from(1.0 - retention);
        let each = worst / roundings;
        println!("retention {retention}: {worst:.1e}, {each:.2} roundings a transition");
        assert!(worst < 4.0 * roundings, "retention {retention}: {worst:e}");
    }
}

#[test]
fn a_stream_that_stands_still_does_not_wind_recursive_lstd_up() {
    let mut chain = Stream::new();
    // Of every hundred thousand transitions all but ten thousand are from one state to itself, then nothing at all.
    let dull = |phi| Transition { phi, reward: 1.0, phi_next: phi };
    let worst = worst(0.99, 0.1, 1_000_000, |t| match t % 100_000 {
        0..10_000 => chain.next(),
        10_000..60_000 => dull(SVector::from([1.0, -0.5, 0.25, 0.0])),
        _ => dull(SVector::zeros()),
    });
    println!("standing still: {worst:.1e}");
    // There A's condition is about 1000.
    assert!(worst < 3e-3, "{worst:e}");
}
