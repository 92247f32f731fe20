//! What training costs: each kernel of the inner loop, a whole batch and a whole run, per kind of
//! number and token size, against the core's peak measured in the same run.
//!
//! `cargo bench -p host --bench training` prints one row per kernel: nanoseconds per call and lane,
//! 10^9 multiply-adds per second, and the share of the peak (independent multiplications and
//! additions in full registers, without memory). Times are the best of several repetitions.
//! Words after `--` choose rows: `-- batch "1, avx2"`.

use ictd_core::attention::Td0;
use ictd_core::context::{Context, Growing};
use ictd_core::gradient::linear::value_and_gradient;
use ictd_core::layer::Layer;
use ictd_core::prompt::Prompt;
use ictd_core::rng::Rng;
use ictd_core::scalar::{Kernel, Scalar};
use ictd_core::statistic::Statistic;
use ictd_core::tasks::{FiniteTask, FiniteTasks, Mrp, Task, boyan_chain};
use ictd_core::training::{
    Adam, AdamSettings, Autoregressive, BatchTd, MultiTaskTd, Network, Parameters, Settings,
    SoftmaxNetwork, Targets, Trajectory,
};
use ictd_core::transformer::Transformer;
use nalgebra::{SMatrix, SVector};
use std::hint::black_box;
use std::time::Instant;
use trainer::dispatch::{Level, WithScalar, available, with_scalar};

/// L, the number of layers.
const DEPTH: usize = 3;
/// W, the number of windows in a batch.
const WINDOWS: usize = 64;
/// Capacity for a trajectory.
const T: usize = 60 + WINDOWS + 2;

/// Something to repeat.
trait Repeated {
    fn call(&mut self);
}

/// The shortest time of a call in seconds.
fn seconds(repeated: &mut impl Repeated) -> f64 {
    let mut time = |calls: u32| {
        let start = Instant::now();
        for _ in 0..calls {
            repeated.call();
        }
        start.elapsed().as_secs_f64() / f64::from(calls)
    };
    let mut calls = 1;
    while time(calls) * f64::from(calls) < 2e-3 && calls < 1 << 24 {
        calls *= 2;
    }
    (0..25).map(|_| time(calls)).fold(f64::INFINITY, f64::min)
}

/// Multiply-adds of a call of the peak loop, per lane.
const PEAK_MACS: usize = 9 * 1000;

/// x <- x s + s for nine independent x, in registers.
struct Peak<S>([S; 9], S);

impl<S: Scalar> Kernel for Peak<S> {
    type Output = [S; 9];

    #[inline(always)]
    fn run(self) -> [S; 9] {
        let s = self.1;
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h, mut i] = self.0;
        for _ in 0..1000 {
            a = a * s + s;
            b = b * s + s;
            c = c * s + s;
            d = d * s + s;
            e = e * s + s;
            f = f * s + s;
            g = g * s + s;
            h = h * s + s;
            i = i * s + s;
        }
        [a, b, c, d, e, f, g, h, i]
    }
}

struct PeakCalls<S>([S; 9], S);

impl<S: Scalar> Repeated for PeakCalls<S> {
    fn call(&mut self) {
        self.0 = black_box(S::run(Peak(black_box(self.0), self.1)));
    }
}

/// 10^9 multiply-adds per second with full registers.
struct PeakOf;

impl WithScalar for PeakOf {
    type Output = f64;

    fn run<S: Scalar<Element = f32>>(self) -> f64 {
        let mut peak = PeakCalls([S::ONE; 9], black_box(S::from_f64(0.999)));
        (PEAK_MACS * S::LANES) as f64 / seconds(&mut peak) / 1e9
    }
}

struct Observe<S: Scalar, const D: usize> {
    context: Context<D, Td0, Growing, S>,
    phi: [SVector<S, D>; 2],
}

impl<S: Scalar, const D: usize> Repeated for Observe<S, D> {
    fn call(&mut self) {
        black_box(self.context.observe(&self.phi[0], S::ONE, &self.phi[1])).ok();
    }
}

struct Forward<S: Scalar, const K: usize>(Transformer<Layer<S, K>, 1>, Statistic<S, K>);

impl<S: Scalar, const K: usize> Repeated for Forward<S, K> {
    fn call(&mut self) {
        black_box(self.0.readout(black_box(&self.1)));
    }
}

struct Backward<S: Scalar, const K: usize>(Transformer<Layer<S, K>, 1>, Prompt<S, K, 60>);

impl<S: Scalar, const K: usize> Repeated for Backward<S, K> {
    fn call(&mut self) {
        black_box(value_and_gradient::<S, K, 1, DEPTH, 60>(&self.0, black_box(&self.1))).ok();
    }
}

/// All columns, every layer: the forward pass as the paper writes it.
struct Literal<const K: usize>(Transformer<Layer<f32, K>, 1>, Prompt<f32, K, 60>);

impl<const K: usize> Repeated for Literal<K> {
    fn call(&mut self) {
        black_box(self.0.value(black_box(&self.1), &Td0)).ok();
    }
}

struct AdamStep<S: Scalar, const K: usize> {
    adam: Adam<Transformer<Layer<S, K>, 1>>,
    parameters: Transformer<Layer<S, K>, 1>,
    gradient: Transformer<Layer<S, K>, 1>,
}

impl<S: Scalar, const K: usize> Repeated for AdamStep<S, K> {
    fn call(&mut self) {
        self.adam.step(&mut self.parameters, black_box(&self.gradient));
    }
}

struct Environment<const D: usize, const M: usize>(Mrp<f32, D, M>, usize, Rng);

impl<const D: usize, const M: usize> Repeated for Environment<D, M> {
    fn call(&mut self) {
        self.1 = black_box(self.0.step(self.1, &mut self.2)).1;
    }
}

/// The gradient of a batch for a network N.
struct Batch<S: Scalar, N: Network<S, D>, const D: usize> {
    network: N,
    trajectory: Trajectory<S, D, T>,
    context_len: usize,
    gradient: N::Parameters,
}

impl<S: Scalar, N: Network<S, D>, const D: usize> Repeated for Batch<S, N, D> {
    fn call(&mut self) {
        let gamma = S::from_f64(0.9);
        if let Ok(windows) = self.trajectory.windows(self.context_len, WINDOWS, gamma) {
            let targets = Targets::Bootstrapped;
            black_box(self.network.batch_gradient(&windows, targets, &mut self.gradient));
        }
    }
}

/// Multiply-adds of a batch's window for L = 3: matrix products A G, V A^T (upper triangle), H V;
/// 20 products with a vector in the last two layers and their reverse, 8 for what slides; 23 outer ones.
fn window_macs(k: f64) -> f64 {
    2.5 * k * k * k + (20.0 + 8.0) * k * k + (2.0 + 2.0 + 4.0 + 6.0 + 8.0 + 1.0) * k * k
}

/// The same for softmax attention over n columns, per pair of columns: 3 vector operations in the first
/// layer, 6 in the second, 3 in the last, and two exponentials of 8; per column, 6 products with a vector
/// and 3 outer ones. (What the windows share is not counted.)
fn softmax_window_macs(k: f64, n: f64) -> f64 {
    n * (n + 1.0) * (12.0 * k + 16.0) + n * 9.0 * k * k
}

/// Three layers of softmax attention with shared weights, contexts of up to 60 columns.
type Softmax<S, const D: usize, const K: usize> = SoftmaxNetwork<S, D, K, 1, DEPTH, 60>;

struct Report {
    scalar: &'static str,
    peak: f64,
}

/// True if every word of the command line is part of the row's kernel, kind of number or K.
fn wanted(name: &str, scalar: &str, k: usize) -> bool {
    let row = format!("{name} {scalar} {k}");
    std::env::args().skip(1).all(|word| word.starts_with('-') || row.contains(&word))
}

impl Report {
    /// Times a kernel of so many multiply-adds per lane, and prints its row.
    fn row(&self, name: &str, k: usize, lanes: usize, repeated: &mut impl Repeated, macs: f64) {
        if !wanted(name, self.scalar, k) {
            return;
        }
        let seconds = seconds(repeated);
        let nanoseconds = seconds / lanes as f64 * 1e9;
        let rate = macs * lanes as f64 / seconds / 1e9;
        let share = 100.0 * rate / self.peak;
        let scalar = self.scalar;
        if macs > 0.0 {
            println!("{name:12} {scalar:12} {k:3} {nanoseconds:12.1} {rate:10.2} {share:9.0} %");
        } else {
            println!("{name:12} {scalar:12} {k:3} {nanoseconds:12.1}");
        }
    }

    fn kernels<S: Scalar<Element = f32>, const D: usize, const K: usize, const M: usize>(
        &self,
        context_len: usize,
    ) {
        let mut rng = Rng::new(1);
        let rng = &mut rng;
        let kf = K as f64;
        let n = context_len as f64;
        let draw = |rng: &mut Rng, s: f32| S::splat(rng.uniform_in(-s, s));
        let matrix = |rng: &mut Rng| SMatrix::<S, K, K>::from_fn(|_, _| draw(rng, 0.1));
        let layer = Layer { p: matrix(rng), q: matrix(rng) };
        let Ok(transformer) = Transformer::<_, 1>::autoregressive(layer, DEPTH) else { return };
        let parameters = transformer.clone();

        let context = Context::<D, Td0, Growing, S>::new();
        let phi = [(); 2].map(|()| SVector::from_fn(|_, _| draw(rng, 1.0)));
        let mut observe = Observe::<S, D> { context, phi };
        self.row("observe", K, S::LANES, &mut observe, kf * (kf + 1.0) / 2.0);

        let columns: Vec<SVector<S, K>> =
            (0..context_len).map(|_| SVector::from_fn(|_, _| draw(rng, 1.0))).collect();
        let query = SVector::from_fn(|_, _| draw(rng, 1.0));
        let Ok(prompt) = Prompt::<S, K, 60>::from_columns(&columns, query) else { return };
        let Ok(statistic) = Statistic::of_prompt(&prompt, &Td0) else { return };
        let mut forward = Forward(transformer.clone(), statistic);
        self.row("forward", K, S::LANES, &mut forward, 4.0 * kf * kf * kf + 11.0 * kf * kf);

        let mut backward = Backward(transformer, prompt);
        let macs = DEPTH as f64 * 17.0 * kf * kf * kf + 2.0 * n * kf * kf;
        self.row("backward", K, S::LANES, &mut backward, macs);

        let mut trajectory = Trajectory::<S, D, T>::new();
        for k in 0..context_len + WINDOWS + 2 {
            trajectory.features[k] = SVector::from_fn(|_, _| draw(rng, 1.0));
            trajectory.rewards[k] = draw(rng, 1.0);
        }
        let Ok(network) = Autoregressive::<S, D, K, DEPTH>::new(parameters.clone()) else {
            return;
        };
        let gradient = parameters.zeros_like();
        let mut batch =
            Box::new(Batch { network, trajectory: trajectory.clone(), context_len, gradient });
        self.row("batch", K, S::LANES, &mut *batch, WINDOWS as f64 * window_macs(kf));
        let Ok(network) = Softmax::<S, D, K>::new(parameters.clone()) else {
            return;
        };
        let gradient = parameters.zeros_like();
        let mut batch =
            Box::new(Batch { network, trajectory: trajectory.clone(), context_len, gradient });
        self.row("softmax", K, S::LANES, &mut *batch, WINDOWS as f64 * softmax_window_macs(kf, n));
        if wanted("softmax", self.scalar, K) {
            let bytes = Softmax::<S, D, K>::BATCH_BYTES / S::LANES;
            println!("{:12} {:12} {K:3} {bytes} bytes of stack per seed and lane", "", self.scalar);
        }
        let reference = BatchTd::<S, D>::new(DEPTH);
        let mut batch =
            Box::new(Batch { network: reference, trajectory, context_len, gradient: [S::ZERO] });
        self.row("reference", K, S::LANES, &mut *batch, 0.0);

        let Ok(adam) = Adam::new(AdamSettings::default(), &parameters) else { return };
        let gradient = parameters.clone();
        let mut adam = AdamStep { adam, parameters, gradient };
        self.row("adam", K, S::LANES, &mut adam, 0.0);

        if !wanted("whole run", self.scalar, K) {
            return;
        }
        let tasks = FiniteTasks::<M> { kind: FiniteTask::BoyanChain, states: M };
        let Ok(network) = Autoregressive::<S, D, K, DEPTH>::autoregressive(DEPTH) else { return };
        let seeds: Vec<u64> = (1..=S::LANES as u64).collect();
        let settings = Settings { context_len, ..Settings::default() };
        let Ok(trainer) = MultiTaskTd::<S, _, _, D, T>::new(settings, tasks, network, &seeds)
        else {
            return;
        };
        let mut trainer = Box::new(trainer);
        let mut best = f64::INFINITY;
        for _ in 0..20 {
            let start = Instant::now();
            if (0..5).any(|_| trainer.train_task().is_err()) {
                return;
            }
            best = best.min(start.elapsed().as_secs_f64() / 5.0);
        }
        let run = best * 4000.0 / S::LANES as f64;
        let bytes = size_of_val(&*trainer) / S::LANES;
        println!(
            "{:12} {:12} {K:3} {run:10.3} s per seed for 4000 tasks of 5 batches of 64 windows, \
             {bytes} bytes of state per seed and lane",
            "whole run", self.scalar
        );
    }
}

impl WithScalar for Report {
    type Output = ();

    fn run<S: Scalar<Element = f32>>(self) {
        println!("{:12} {:12}     {:23.2}", "peak", self.scalar, self.peak);
        self.kernels::<S, 4, 9, 10>(30);
        self.kernels::<S, 8, 17, 20>(60);
    }
}

/// The forward pass as the paper writes it, for every window of a run.
fn literal<const K: usize>(context_len: usize) {
    if !wanted("literal", "f32", K) {
        return;
    }
    let rng = &mut Rng::new(2);
    let matrix = |rng: &mut Rng| SMatrix::<f32, K, K>::from_fn(|_, _| rng.uniform_in(-0.1, 0.1));
    let layer = Layer { p: matrix(rng), q: matrix(rng) };
    let Ok(transformer) = Transformer::autoregressive(layer, DEPTH) else { return };
    let mut column = || SVector::from_fn(|_, _| rng.uniform_in(-1.0, 1.0));
    let columns: Vec<SVector<f32, K>> = (0..context_len).map(|_| column()).collect();
    let Ok(prompt) = Prompt::from_columns(&columns, column()) else { return };
    let time = seconds(&mut Literal(transformer, prompt));
    println!("{:12} {:12} {K:3} {:12.1}", "all columns", "f32", time * 1e9);
    println!(
        "{:12} {:12} {K:3} {:10.3} s per seed for the forward passes alone of such a run, written \
         literally",
        "literal run",
        "f32",
        time * 4000.0 * 5.0 * WINDOWS as f64
    );
}

fn environment<const D: usize, const M: usize>() {
    if !wanted("environment", "f32", 2 * D + 1) {
        return;
    }
    let mut rng = Rng::new(3);
    let Ok(chain) = boyan_chain::<f32, D, M>(M, &mut rng) else { return };
    let time = seconds(&mut Environment(chain, 0, rng));
    println!("{:12} {:12} {:3} {:12.1}  ({M} states)", "environment", "f32", 2 * D + 1, time * 1e9);
}

fn main() {
    // `cargo test --benches` passes `--test`: it only needs to see that this starts.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    println!(
        "{:12} {:12} {:>3} {:>12} {:>10} {:>11}",
        "kernel", "numbers", "K", "ns/lane", "GMAC/s", "of peak"
    );
    environment::<4, 10>();
    environment::<8, 20>();
    literal::<9>(30);
    literal::<17>(60);
    for (level, lanes) in available() {
        let Some(peak) = with_scalar(level, level.lanes(), PeakOf) else { continue };
        let scalar = match (level, lanes) {
            (Level::Avx512, _) => "16, avx512",
            (Level::Avx2, 1) => "1, avx2",
            (Level::Avx2, _) => "8, avx2",
            (Level::Baseline, 1) => "1, baseline",
            (Level::Baseline, _) => "4, baseline",
        };
        with_scalar(level, lanes, Report { scalar, peak });
    }
}
