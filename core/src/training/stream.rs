//! TD on the one stream that a device sees, without simulated tasks.

use super::settings::refuse_unless;
use crate::bytes::{CHECKSUM, Reader, check_crc, count, header, write};
use crate::error::{Error, Result, StoredError, ensure};
use crate::layer::{Layer, LayerParameters};
use crate::linalg::{
    add_identity, add_outer, add_scaled, mul, mul_transpose, mul_vector, transpose,
    transpose_mul_vector, zeros,
};
use crate::scalar::Real;
use crate::statistic::Statistic;
use crate::transformer::Transformer;
use crate::value_function::{ValueFunction, clamp};
use nalgebra::{SMatrix, SVector};

/// The settings of a [`StreamTd`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StreamTdSettings<R> {
    /// The discount, in \[0, 1).
    pub gamma: R,
    /// W: the windows of an update, at least 1.
    pub windows: u32,
    /// Adam's step size, above 0.
    pub step_size: R,
    /// The largest norm of a window's gradient, above 0.
    pub largest_norm: R,
    /// The samples of a time of training and of the trial after it, at least 1: with 1,024 the weights of a walking person's
    /// recording that won trials were worse on the rest of it.
    pub trial: u32,
}

impl<R: Real> Default for StreamTdSettings<R> {
    /// Returns a discount of 0.9, 8 windows, steps of 1e-3, a norm of 0.1, and trials of 4,096 samples.
    fn default() -> Self {
        StreamTdSettings {
            gamma: R::from_f64(0.9),
            windows: 8,
            step_size: R::from_f64(1e-3),
            largest_norm: R::from_f64(0.1),
            trial: 4096,
        }
    }
}

/// Semi-gradient TD on a stream: L layers that share P and Q learn to value its states from their last transitions.
///
/// D is the number of features, K = 2 D + 1, and T = n + 2 for contexts of n transitions. With each sample the newest window is
/// valued, v = TF_L, with its gradient: one pass forward and one back, however many windows an update has. The layers read G over
/// its trace, not over n ([`StreamTd::value_function`]): layers that are right for small numbers would explode on large ones.
/// Features and rewards are to be of about the same size. The size of a `StreamTd` is its RAM, and no call allocates. Three things keep it stable:
///
/// - **A ring** has the last T states; nothing moves.
/// - **A limit** of the norm of each window's gradient.
/// - **A guard.** Times of training and trials take turns. In a trial the weights that are kept and those that were trained value the
///   same windows. z_t = gamma z_{t-1} + delta_t of the TD errors of either has the mean square of what its values missed the
///   returns by. The trained weights are kept if they missed less; if they missed much more, training begins again
///   from those that are kept.
///
/// On a noisy damped oscillator (2 features, n = 16, 10,000 updates, ten seeds) the squared error of what is kept, over that of predicting 0,
/// against the returns of another stream, falls from 0.90 to 0.26 in the median; the universal model has 0.27. On the last third
/// of recordings, after many passes over the rest: a gyroscope .81 to .09 (universal .09), air temperature .82 to .20 (.17),
/// wind .86 to .44 (.41), electricity .87 to .84 (.70), two of a person walking .91 and .94 unchanged (.86 and .93).
#[derive(Clone, Debug, PartialEq)]
pub struct StreamTd<R: Real, const D: usize, const K: usize, const L: usize, const T: usize> {
    settings: StreamTdSettings<R>,
    kept: Layer<R, K>,
    trained: Layer<R, K>,
    /// Adam's means of gradients and of their squares, and 1 - beta^k of either.
    mean: Layer<R, K>,
    square: Layer<R, K>,
    corrections: [R; 2],
    /// The gradient of the windows since the last update, and that of the last window's value.
    gradient: Layer<R, K>,
    slope: Layer<R, K>,
    /// The ring: the features of T states and the reward on the way to each; `newest` is the place of the last one.
    states: [([R; D], R); T],
    newest: usize,
    /// The values of the last window by the weights in training and by those kept, the z of either, and the sum of its squares
    /// in this trial.
    values: [R; 2],
    errors: [R; 2],
    squares: [R; 2],
    counts: Counts,
}

/// What was counted: samples up to T + 1, windows of the update, samples of the trial.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counts {
    samples: usize,
    windows: u32,
    trial: u32,
    on_trial: bool,
}

/// Adam's constants, as 1 - beta, and its epsilon.
const REST: [f64; 2] = [0.1, 0.001];
const EPSILON: f64 = 1e-8;
/// The weights in training are kept if their squares are this share of those kept; they are given up beyond the other.
const BETTER: f64 = 0.99;
const WORSE: f64 = 1.5;

impl<R: Real, const D: usize, const K: usize, const L: usize, const T: usize>
    StreamTd<R, D, K, L, T>
{
    /// Returns a trainer that begins with these weights.
    /// Returns [`Error::OutOfRange`], naming the setting; [`Error::NonFinite`] for weights that are not finite.
    pub fn new(settings: StreamTdSettings<R>, layer: Layer<R, K>) -> Result<Self> {
        const {
            assert!(K == 2 * D + 1 && L > 0 && T > 2, "K is 2 D + 1, T at least 3");
        }
        let StreamTdSettings { gamma, windows, step_size, largest_norm, trial } = settings;
        refuse_unless([
            (gamma >= R::ZERO && gamma < R::ONE, "gamma", "[0, 1)"),
            (windows > 0, "windows", "at least 1"),
            (step_size > R::ZERO && step_size.is_finite(), "step_size", "a positive number"),
            (largest_norm > R::ZERO, "largest_norm", "above 0"),
            (trial > 0, "trial", "at least 1"),
        ])?;
        layer.check()?;
        Ok(StreamTd {
            settings,
            kept: layer,
            trained: layer,
            mean: Layer::ZERO,
            square: Layer::ZERO,
            corrections: [R::ZERO; 2],
            gradient: Layer::ZERO,
            slope: Layer::ZERO,
            states: [([R::ZERO; D], R::ZERO); T],
            newest: 0,
            values: [R::ZERO; 2],
            errors: [R::ZERO; 2],
            squares: [R::ZERO; 2],
            counts: Counts::default(),
        })
    }

    /// Returns the weights that are kept: P and Q of each of the L layers.
    pub fn layer(&self) -> &Layer<R, K> {
        &self.kept
    }

    /// Returns the value function that layers of these weights compute from the statistic of a context, with G over its trace.
    /// Returns [`Error::NonFinite`] if they blow up.
    pub fn value_function(
        layer: Layer<R, K>,
        mut statistic: Statistic<R, K>,
    ) -> Result<ValueFunction<R, D>> {
        let mut trace = R::ZERO;
        for i in 0..K {
            trace += statistic.g.data.0[i][i];
        }
        statistic.inverse_len = if trace > R::ZERO { R::ONE / trace } else { R::ZERO };
        Transformer::<_, 1>::autoregressive(layer, L)?.value_function(&statistic)
    }

    /// Takes the next state's features, and the reward on the way to it (of the first state it is ignored), and trains.
    /// Returns [`Error::NonFinite`] for a number that is not finite; nothing has changed then.
    pub fn observe(&mut self, phi: &[R; D], reward: R) -> Result<()> {
        let finite = phi.iter().all(|x| x.is_finite()) && reward.is_finite();
        ensure(finite, Error::NonFinite { parameter: "phi or reward" })?;
        self.newest = if self.newest + 1 < T { self.newest + 1 } else { 0 };
        if let Some(state) = self.states.get_mut(self.newest) {
            *state = (*phi, reward);
        }
        self.counts.samples = (self.counts.samples + 1).min(T + 1);
        if self.counts.samples >= T {
            self.learn(reward);
        }
        Ok(())
    }

    /// Values the newest window, and learns that its value followed `reward` and the value before.
    fn learn(&mut self, reward: R) {
        let (g, trace) = self.statistic();
        let mut tape = Tape::<R, K, L>::new(&g, self.query());
        let value = tape.forward(&self.trained);
        let of_kept = Tape::<R, K, L>::new(&g, self.query()).forward(&self.kept);
        let largest = self.largest_value();
        let values = [value, of_kept].map(|v| clamp(v, largest));
        let before = core::mem::replace(&mut self.values, values);
        if self.counts.samples > T {
            let mut deltas = [R::ZERO; 2];
            for i in 0..2 {
                deltas[i] = reward + self.settings.gamma * values[i] - before[i];
                self.errors[i] = self.settings.gamma * self.errors[i] + deltas[i];
                self.squares[i] += self.errors[i] * self.errors[i];
            }
            if !self.counts.on_trial {
                self.add_gradient(deltas[0]);
            }
            self.counts.trial += 1;
            if self.counts.trial >= self.settings.trial {
                self.judge();
            }
        }
        if !self.counts.on_trial {
            self.slope = Layer::ZERO;
            // A loss without units has this gradient.
            tape.backward(
                &self.trained,
                if trace > R::ZERO { R::ONE / trace } else { R::ZERO },
                &mut self.slope,
            );
        }
    }

    /// Returns what the largest reward of the window adds up to, max |r| / (1 - gamma).
    fn largest_value(&self) -> R {
        let largest = self.states.iter().fold(R::ZERO, |largest, (_, r)| largest.max(r.abs()));
        largest / (R::ONE - self.settings.gamma)
    }

    /// Returns G of the newest window's context over its trace, and the trace: n transitions, all but the last one of the ring.
    fn statistic(&self) -> (SMatrix<R, K, K>, R) {
        let (mut g, mut z) = (zeros(), zeros::<R, K, 1>());
        let (newer, older) = self.states.split_at_checked(self.newest + 1).unwrap_or_default();
        let mut states = older.iter().chain(newer);
        let Some(&(mut phi, _)) = states.next() else { return (g, R::ZERO) };
        for (next, reward) in states.take(T - 2) {
            let token = &mut z.data.0[0];
            for i in 0..D {
                token[i] = phi[i];
                token[D + i] = self.settings.gamma * next[i];
            }
            token[2 * D] = *reward;
            add_outer(&mut g, &z, &z);
            phi = *next;
        }
        let mut trace = R::ZERO;
        for i in 0..K {
            trace += g.data.0[i][i];
        }
        if trace > R::ZERO {
            let inverse = R::ONE / trace;
            g.data.0.as_flattened_mut().iter_mut().for_each(|x| *x *= inverse);
        }
        (g, trace)
    }

    /// Returns the query's column (phi; 0; 0).
    fn query(&self) -> SVector<R, K> {
        let mut z = zeros::<R, K, 1>();
        let phi = self.states.get(self.newest).map(|(phi, _)| phi).into_iter().flatten();
        z.iter_mut().zip(phi).for_each(|(to, x)| *to = *x);
        z
    }

    /// Adds -delta grad v of the window before, no longer than the limit; W of them are an update.
    fn add_gradient(&mut self, delta: R) {
        let square = [&self.slope.p, &self.slope.q]
            .map(|m| m.data.0.as_flattened().iter().fold(R::ZERO, |sum, x| sum + *x * *x));
        let norm = (square[0] + square[1]).sqrt() * delta.abs();
        let limit = self.settings.largest_norm;
        // Not a number where it has overflowed.
        let step = if norm <= limit { delta } else { delta * (limit / norm) };
        if step.is_finite() && norm.is_finite() {
            add_scaled(&mut self.gradient.p, -step, &self.slope.p);
            add_scaled(&mut self.gradient.q, -step, &self.slope.q);
        }
        self.counts.windows += 1;
        if self.counts.windows >= self.settings.windows {
            self.update();
        }
    }

    /// Takes a step of Adam.
    fn update(&mut self) {
        let scale = R::ONE / R::from_count(self.counts.windows.into());
        let rest = REST.map(R::from_f64);
        for i in 0..2 {
            self.corrections[i] += rest[i] * (R::ONE - self.corrections[i]);
        }
        let [of_mean, of_square] = self.corrections;
        let (step, root) = (self.settings.step_size / of_mean, of_square.sqrt());
        let numbers =
            self.trained.matrices_mut().flatten().zip(self.gradient.matrices_mut().flatten());
        let moments = self.mean.matrices_mut().flatten().zip(self.square.matrices_mut().flatten());
        for ((theta, g), (mean, square)) in numbers.zip(moments) {
            let of_batch = scale * core::mem::replace(g, R::ZERO);
            *mean += rest[0] * (of_batch - *mean);
            *square += rest[1] * (of_batch * of_batch - *square);
            *theta -= step * *mean / (square.sqrt() / root + R::from_f64(EPSILON));
        }
        self.counts.windows = 0;
    }

    /// Ends a time of training, or the trial that follows it.
    fn judge(&mut self) {
        let [trained, kept] = core::mem::replace(&mut self.squares, [R::ZERO; 2]);
        (self.counts.trial, self.counts.windows) = (0, 0);
        self.slope = Layer::ZERO;
        self.gradient = Layer::ZERO;
        self.counts.on_trial = !self.counts.on_trial;
        if self.counts.on_trial {
            return;
        }
        if trained < R::from_f64(BETTER) * kept {
            self.kept = self.trained;
        } else if !(trained <= R::from_f64(WORSE) * kept) {
            self.trained = self.kept;
            [self.mean, self.square] = [Layer::ZERO; 2];
            self.corrections = [R::ZERO; 2];
            (self.values[0], self.errors[0]) = (self.values[1], self.errors[1]);
        }
    }
}

/// A pass through the layers: with G_0 symmetric and over its trace,
/// `B_l = I + P G_l Q, G_{l+1} = B_l G_l B_l^T, z_{l+1} = B_l z_l, TF_L = -z_L[K]`.
struct Tape<R: Real, const K: usize, const L: usize> {
    g: [SMatrix<R, K, K>; L],
    b: [SMatrix<R, K, K>; L],
    z: [SVector<R, K>; L],
}

impl<R: Real, const K: usize, const L: usize> Tape<R, K, L> {
    fn new(g: &SMatrix<R, K, K>, z: SVector<R, K>) -> Self {
        Tape { g: [*g; L], b: [zeros(); L], z: [z; L] }
    }

    /// Returns TF_L.
    fn forward(&mut self, Layer { p, q }: &Layer<R, K>) -> R {
        let (mut g, mut z) = (self.g[0], self.z[0]);
        for l in 0..L {
            (self.g[l], self.z[l]) = (g, z);
            let b = &mut self.b[l];
            *b = mul(&mul(p, &g), q);
            add_identity(b);
            z = mul_vector(b, &z);
            if l + 1 < L {
                g = mul_transpose(&mul(b, &g), b);
            }
        }
        -z.data.0[0][K - 1]
    }

    /// Adds the gradient of TF_L times a scale, with z-bar_L = -scale e_K and H = G-bar + G-bar^T = 0 behind the last layer:
    ///
    /// ```text
    /// B-bar = z-bar z^T + H B G       P-bar += B-bar (G Q)^T       Q-bar += (P G)^T B-bar
    /// M = P^T B-bar Q^T               H <- B^T H B + M + M^T       z-bar <- B^T z-bar
    /// ```
    fn backward(&self, Layer { p, q }: &Layer<R, K>, scale: R, gradient: &mut Layer<R, K>) {
        let (mut h, mut z_bar) = (zeros::<R, K, K>(), zeros::<R, K, 1>());
        z_bar.data.0[0][K - 1] = -scale;
        for l in (0..L).rev() {
            let (g, b) = (&self.g[l], &self.b[l]);
            let mut b_bar = mul(&mul(&h, b), g);
            add_outer(&mut b_bar, &z_bar, &self.z[l]);
            add_scaled(&mut gradient.p, R::ONE, &mul_transpose(&b_bar, &mul(g, q)));
            let p_b = mul(&transpose(p), &b_bar);
            add_scaled(&mut gradient.q, R::ONE, &mul(g, &p_b));
            if l > 0 {
                let m = mul_transpose(&p_b, q);
                h = mul(&mul(&transpose(b), &h), b);
                add_scaled(&mut h, R::ONE, &m);
                add_scaled(&mut h, R::ONE, &transpose(&m));
                z_bar = transpose_mul_vector(b, &z_bar);
            }
        }
    }
}

/// The stored form begins with this.
const MAGIC: &str = "ICTS";
const VERSION: u8 = 1;

impl<R: Real, const D: usize, const K: usize, const L: usize, const T: usize>
    StreamTd<R, D, K, L, T>
{
    /// The length of the stored trainer in bytes: a header of 12, all numbers, four counts, and a CRC-32.
    pub const SIZE: usize = 12 + (12 * K * K + (D + 1) * T + 9) * R::BYTES + 5 * 4 + CHECKSUM;

    fn kind() -> [u8; 4] {
        [VERSION, R::BYTES as u8, D as u8, T as u8]
    }

    /// Writes the trainer to the front of a buffer of [`StreamTd::SIZE`] bytes or more, and returns the bytes written. The
    /// settings are not stored, apart from the discount.
    pub fn write<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a [u8]> {
        write(buffer, Self::SIZE as u64, |writer| {
            writer.bytes(MAGIC.as_bytes());
            writer.bytes(&Self::kind());
            writer.bytes(&(Self::SIZE as u32).to_le_bytes());
            writer.number(self.settings.gamma);
            let mut copy = self.clone();
            copy.numbers(&mut |x| writer.number(*x));
            let Counts { samples, windows, trial, on_trial } = self.counts;
            for count in [self.newest as u32, samples as u32, windows, trial, on_trial.into()] {
                writer.bytes(&count.to_le_bytes());
            }
        })
    }

    /// Reads a stored trainer from the start of bytes; it then continues like the stored one, with the same bits and this one's
    /// settings.
    /// Returns [`Error::Stored`] for anything that does not begin with an intact trainer of this type, [`Error::Mismatch`]
    /// for another discount, [`Error::NonFinite`] for a number that is not finite. Nothing has changed then.
    pub fn read(&mut self, bytes: &[u8]) -> Result<()> {
        let parts = [("format version", 1), ("scalar type", 1), ("features", 1), ("states", 1)];
        let bytes = bytes.get(..Self::SIZE).unwrap_or(bytes);
        let (mut stored, found) = header(bytes, &Self::kind(), MAGIC, &parts)?;
        let expected = Self::SIZE as u32;
        for found in [found, count(bytes)] {
            if found != expected {
                return Err(StoredError::Length { found, expected }.into());
            }
        }
        check_crc(bytes)?;
        let gamma = stored.number::<R>();
        ensure(gamma == self.settings.gamma, Error::Mismatch { parameter: "gamma" })?;
        let (mut numbers, mut finite) = (Reader { rest: stored.rest }, true);
        self.numbers(&mut |_| finite &= numbers.number::<R>().is_finite());
        ensure(finite, Error::NonFinite { parameter: "state" })?;
        self.numbers(&mut |x| *x = stored.number());
        let mut next = || stored.integer(4) as u32;
        self.newest = (next() as usize).min(T - 1);
        self.counts = Counts {
            samples: (next() as usize).min(T + 1),
            windows: next(),
            trial: next(),
            on_trial: next() != 0,
        };
        Ok(())
    }

    /// Shows every number that training changes, in the order in which they are stored.
    fn numbers(&mut self, visit: &mut impl FnMut(&mut R)) {
        let layers = [
            &mut self.kept,
            &mut self.trained,
            &mut self.mean,
            &mut self.square,
            &mut self.gradient,
            &mut self.slope,
        ];
        for layer in layers {
            layer.matrices_mut().flatten().for_each(&mut *visit);
        }
        for (phi, reward) in &mut self.states {
            phi.iter_mut().chain([reward]).for_each(&mut *visit);
        }
        for pair in [&mut self.corrections, &mut self.values, &mut self.errors, &mut self.squares] {
            pair.iter_mut().for_each(&mut *visit);
        }
    }
}
