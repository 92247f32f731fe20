//! The cost of training's kernels, beside the peak of the core measured in the same run.
//!
//! `cargo bench -p host --bench training` prints one row per kernel, level and token size: nanoseconds per call and
//! lane, 10^9 multiply-adds per second, and the share of the peak (independent multiplications and additions in full
//! registers, without memory). Times are the best of several repetitions. Words after `--` choose rows:
//! `-- linear avx2`.

use compute::level::{Level, WithScalar, with_scalar};
use ictd_core::rng::Rng;
use ictd_core::scalar::{Kernel, Scalar};
use ictd_core::training::{
    Adam, AdamSettings, BatchTd, LinearNetwork, LinearShape, Network, Parameters, SoftmaxNetwork,
    Targets, Trajectory,
};
use std::hint::black_box;
use std::time::Instant;

/// L, the number of layers.
const DEPTH: usize = 3;
/// W, the number of windows in a batch.
const WINDOWS: usize = 64;
/// Capacity for a trajectory.
const T: usize = 60 + WINDOWS + 2;

/// Returns the shortest time of a call in seconds.
fn seconds(mut call: impl FnMut()) -> f64 {
    let mut time = |calls: u32| {
        let start = Instant::now();
        (0..calls).for_each(|_| call());
        start.elapsed().as_secs_f64() / f64::from(calls)
    };
    let mut calls = 1;
    while time(calls) * f64::from(calls) < 2e-3 && calls < 1 << 24 {
        calls *= 2;
    }
    (0..25).map(|_| time(calls)).fold(f64::INFINITY, f64::min)
}

/// x <- x s + s for nine independent x, in registers.
struct Peak<S>([S; 9], S);

impl<S: Scalar> Kernel for Peak<S> {
    type Output = [S; 9];

    #[inline(always)]
    fn run(self) -> [S; 9] {
        let Peak([mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h, mut i], s) = self;
        for _ in 0..1000 {
            (a, b, c) = (a * s + s, b * s + s, c * s + s);
            (d, e, f) = (d * s + s, e * s + s, f * s + s);
            (g, h, i) = (g * s + s, h * s + s, i * s + s);
        }
        [a, b, c, d, e, f, g, h, i]
    }
}

/// Returns the multiply-adds of a batch's window for L = 3: matrix products A G, V A^T (upper triangle), H V; 28
/// products with a vector; 23 outer ones.
fn linear_macs(k: f64) -> f64 {
    2.5 * k * k * k + (28.0 + 23.0) * k * k
}

/// Returns the same for softmax attention over n columns, per pair of columns: 3 vector operations in the first
/// layer, 6 in the second, 3 in the last, and two exponentials of 8; per column, 6 products with a vector and 3 outer
/// ones. (Work that the windows share is not counted.)
fn softmax_macs(k: f64, n: f64) -> f64 {
    n * (n + 1.0) * (12.0 * k + 16.0) + n * 9.0 * k * k
}

/// The rows of a level.
struct Rows(Level);

impl Rows {
    /// Times a kernel of so many multiply-adds per lane, and prints its row.
    fn row<S: Scalar>(&self, name: &str, k: usize, peak: f64, macs: f64, call: impl FnMut()) {
        let row = format!("{name} {} {k}", self.0.name());
        if !std::env::args().skip(1).all(|word| word.starts_with('-') || row.contains(&word)) {
            return;
        }
        let seconds = seconds(call);
        let nanoseconds = seconds / S::LANES as f64 * 1e9;
        let rate = macs * S::LANES as f64 / seconds / 1e9;
        let share = 100.0 * rate / peak;
        let level = self.0.name();
        println!("{name:10} {level:10} {k:3} {nanoseconds:12.1} {rate:10.2} {share:9.0} %");
    }

    fn kernels<S: Scalar<Element = f32>, const D: usize, const K: usize>(
        &self,
        n: usize,
        peak: f64,
    ) -> Result<(), ictd_core::Error> {
        let mut rng = Rng::new(1);
        let mut trajectory = Box::new(Trajectory::<S, D, T>::new(D));
        for j in 0..n + WINDOWS + 2 {
            trajectory.rewards[j] = S::splat(rng.uniform_in(-1.0, 1.0));
            trajectory.phi_mut(j).fill_with(|| S::splat(rng.uniform_in(-1.0, 1.0)));
        }
        let windows = trajectory.windows(n, WINDOWS, S::from_f64(0.9))?;
        let (k, count) = (K as f64, WINDOWS as f64);

        let zeros = |len| vec![S::ZERO; len];
        let linear = LinearNetwork::<S, Vec<S>>::zeros(LinearShape::new(D, 1, DEPTH)?, zeros)?;
        self.batch("linear", K, peak, count * linear_macs(k), linear, &windows);
        let softmax = SoftmaxNetwork::<S, K, 1, DEPTH, 60>::zeros(1, DEPTH)?;
        self.batch("softmax", K, peak, count * softmax_macs(k, n as f64), softmax, &windows);
        self.batch("batch TD", K, peak, 0.0, BatchTd::<S, D>::new(DEPTH), &windows);

        let mut parameters = [S::ONE; 256];
        let gradient = parameters;
        let mut adam = Adam::new(AdamSettings::default(), &parameters)?;
        self.row::<S>("Adam, 256", K, peak, 0.0, || {
            adam.step(&mut parameters, black_box(&gradient));
        });
        Ok(())
    }

    fn batch<S: Scalar<Element = f32>>(
        &self,
        name: &str,
        k: usize,
        peak: f64,
        macs: f64,
        mut network: impl Network<S>,
        windows: &ictd_core::training::Windows<S>,
    ) {
        for lane in 0..S::LANES {
            network.initialise_lane(lane, &mut Rng::new(lane as u64));
        }
        let mut gradient = network.parameters().zeros_like();
        self.row::<S>(name, k, peak, macs, || {
            black_box(network.batch_gradient(windows, Targets::Bootstrapped, &mut gradient));
        });
    }
}

impl WithScalar for Rows {
    type Output = Result<(), ictd_core::Error>;

    fn run<S: Scalar<Element = f32>>(self) -> Self::Output {
        let (mut x, s) = ([S::ONE; 9], black_box(S::from_f64(0.999)));
        let time = seconds(|| x = black_box(S::run(Peak(black_box(x), s))));
        let peak = (9 * 1000 * S::LANES) as f64 / time / 1e9;
        println!("{:10} {:10}     {peak:23.2}", "peak", self.0.name());
        self.kernels::<S, 4, 9>(30, peak)?;
        self.kernels::<S, 8, 17>(60, peak)
    }
}

fn main() -> Result<(), ictd_core::Error> {
    // `cargo test --benches` passes `--test`: it only needs to see that this starts.
    if std::env::args().any(|argument| argument == "--test") {
        return Ok(());
    }
    let columns = ["kernel", "level", "K", "ns/lane", "GMAC/s", "of peak"];
    let [kernel, level, k, time, rate, share] = columns;
    println!("{kernel:10} {level:10} {k:>3} {time:>12} {rate:>10} {share:>11}");
    Level::ALL.into_iter().filter_map(|level| with_scalar(level, Rows(level))).collect()
}
