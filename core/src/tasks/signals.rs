//! Random signals: what sensors might show, for training.

use crate::rng::Rng;
use crate::scalar::{Real, Scalar, exp_f32};
use core::f32::consts::TAU;

/// Fills a buffer with a random signal: a sum of one to three parts, noise, an offset, and a sensor that reads it.
///
/// - Parts: oscillators with harmonics whose frequency and amplitude drift; pulses at nearly regular times;
///   autoregressive noise, which decays or oscillates; level shifts; sawtooths. Periods are 3 to 400 samples,
///   amplitudes within a factor of 10.
/// - White noise of up to 0.3 in three signals of five.
/// - The sensor rounds, saturates or rectifies in one signal of six each.
/// - The offset is 0 in one signal of three, else 0.1 to 10.
pub fn random_signal(signal: &mut [f32], rng: &mut Rng) {
    signal.fill(0.0);
    for _ in 0..1 + rng.below(3) {
        let amplitude = rng.log_uniform(0.1, 1.0);
        match rng.below(6) {
            0 => oscillator(signal, amplitude, rng),
            1 => pulses(signal, amplitude, rng),
            2 => decaying_noise(signal, amplitude, rng),
            3 => oscillating_noise(signal, amplitude, rng),
            4 => level_shifts(signal, amplitude, rng),
            _ => sawtooth(signal, amplitude, rng),
        }
    }
    if rng.below(5) >= 2 {
        let noise = rng.log_uniform(0.001, 0.3);
        signal.iter_mut().for_each(|x| *x += noise * rng.normal::<f32>());
    }
    match rng.below(6) {
        0 => {
            let step = rng.log_uniform(0.02, 0.5);
            signal.iter_mut().for_each(|x| *x = libm::roundf(*x / step) * step);
        }
        1 => {
            let largest = rng.uniform_in(0.2, 1.5);
            signal.iter_mut().for_each(|x| *x = x.clamp(-largest, largest));
        }
        2 => signal.iter_mut().for_each(|x| *x = x.abs()),
        _ => (),
    }
    if rng.below(3) > 0 {
        let size = rng.log_uniform(0.1, 10.0);
        let offset = if rng.below(4) == 0 { -size } else { size };
        signal.iter_mut().for_each(|x| *x += offset);
    }
}

fn oscillator(signal: &mut [f32], amplitude: f32, rng: &mut Rng) {
    let mut frequency = 1.0 / rng.log_uniform(4.0, 400.0);
    let drifts = [rng.log_uniform(0.0005, 0.03), rng.log_uniform(0.0005, 0.05)];
    let harmonics = [rng.uniform_in(0.0, 0.8), rng.uniform_in(0.0, 0.5)];
    let [second, third, mut phase] = [(); 3].map(|()| rng.uniform_in(0.0, TAU));
    let mut size = 1.0_f32;
    for x in signal {
        let wave = Real::sin(phase)
            + harmonics[0] * Real::sin(2.0 * phase + second)
            + harmonics[1] * Real::sin(3.0 * phase + third);
        *x += amplitude * size * wave;
        phase += TAU * frequency;
        if phase > TAU {
            phase -= TAU;
        }
        frequency = (frequency * (1.0 + drifts[0] * rng.normal::<f32>())).clamp(0.002, 0.4);
        size = (size + drifts[1] * rng.normal::<f32>()).clamp(0.2, 2.0);
    }
}

fn pulses(signal: &mut [f32], amplitude: f32, rng: &mut Rng) {
    let (period, jitter) = (rng.log_uniform(5.0, 300.0), rng.log_uniform(0.01, 0.5));
    let (width, shape) = (rng.log_uniform(0.5, 6.0), rng.below(3));
    let mut next = rng.uniform_in(0.0, period);
    let (mut begin, mut height) = (-1e3_f32, 1.0);
    for (t, x) in signal.iter_mut().enumerate() {
        let t = t as f32;
        if t >= next {
            begin = next + if shape == 0 { 2.0 * width } else { 0.0 };
            next += (period * (1.0 + jitter * rng.normal::<f32>())).max(1.0);
            height = 1.0 + 0.2 * rng.normal::<f32>();
        }
        let s = (t - begin) / width;
        *x += 2.0
            * amplitude
            * height
            * match shape {
                0 => exp_f32(-0.5 * s * s),
                1 => exp_f32(-s),
                _ if s < 3.0 => 1.0,
                _ => 0.0,
            };
    }
}

fn decaying_noise(signal: &mut [f32], amplitude: f32, rng: &mut Rng) {
    let decay = 1.0 - rng.log_uniform(0.001, 1.0);
    let fresh = Scalar::sqrt(1.0 - decay * decay);
    let mut state = rng.normal::<f32>();
    for x in signal {
        *x += amplitude * state;
        state = decay * state + fresh * rng.normal::<f32>();
    }
}

fn oscillating_noise(signal: &mut [f32], amplitude: f32, rng: &mut Rng) {
    let decay = 1.0 - rng.log_uniform(0.003, 0.4);
    let angle = TAU / rng.log_uniform(3.0, 300.0);
    let (cos, sin) = (decay * Real::cos(angle), decay * Real::sin(angle));
    let fresh = Scalar::sqrt(1.0 - decay * decay);
    let mut state = [rng.normal::<f32>(), rng.normal::<f32>()];
    for x in signal {
        *x += amplitude * state[0];
        let [a, b] = state;
        state = [cos * a - sin * b, sin * a + cos * b].map(|s| s + fresh * rng.normal::<f32>());
    }
}

fn level_shifts(signal: &mut [f32], amplitude: f32, rng: &mut Rng) {
    let probability = 1.0 / rng.log_uniform(5.0, 300.0);
    let has_two_levels = rng.below(2) == 0;
    let levels = [rng.normal::<f32>(), rng.normal::<f32>()];
    let (mut level, mut which) = (levels[0], 0);
    for x in signal {
        if rng.uniform::<f32>() < probability {
            which = 1 - which;
            level = if has_two_levels { levels[which] } else { rng.normal() };
        }
        *x += amplitude * level;
    }
}

fn sawtooth(signal: &mut [f32], amplitude: f32, rng: &mut Rng) {
    let (mean, jitter) = (rng.log_uniform(5.0, 300.0), rng.log_uniform(0.005, 0.3));
    let (rise, mut phase, mut period) = (rng.uniform_in(0.05, 0.95), rng.uniform::<f32>(), mean);
    for x in signal {
        let height = if phase < rise { phase / rise } else { (1.0 - phase) / (1.0 - rise) };
        *x += 2.0 * amplitude * height;
        phase += 1.0 / period;
        if phase >= 1.0 {
            phase -= 1.0;
            period = (mean * (1.0 + jitter * rng.normal::<f32>())).max(3.0);
        }
    }
}
