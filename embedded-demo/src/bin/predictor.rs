//! Predictors on a microcontroller: a recorded accelerometer, three signals with a predictor each, four horizons, twelve
//! predictions with their bands and three surprises with each sample, printed beside the observed returns.
//!
//! On the host it prints the same lines without those about the chip, and with the name of a file it draws them.
//! Exit codes: 0; 1 if the digest is another than every platform's; 2 for an error; 3 over budget.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
#[path = "../chip.rs"]
mod chip;
#[cfg(target_os = "none")]
#[path = "../interrupts.rs"]
mod interrupts;
#[path = "../log.rs"]
mod log;

use ictd_core::Error;
use ictd_core::digest::Digest;
use ictd_core::predictor::Outlook;
use log::{decimals, is_expected, log};

include!(concat!(env!("OUT_DIR"), "/recording.rs"));

const SIGNALS: usize = NAMES.len();
/// In samples: 0.08 to 0.6 seconds.
const HORIZONS: [f32; 4] = [5.0, 10.0, 20.0, 40.0];

/// The digest of all predictions, on every platform.
const EXPECTED: u64 = 0x089f_5213_b2c4_2efc;

/// The samples at the front that are not judged.
const UNJUDGED: usize = 50;
/// Samples that follow later than this count with less than 0.001.
const FUTURE: usize = 273;
/// The number of samples from one judged prediction to the next, and from one line of the log to the next.
const JUDGED: usize = 10;
const SHOWN: usize = 400;

type Predictor = ictd_core::Predictor<{ HORIZONS.len() }>;
type Predictors = [Predictor; SIGNALS];
type Row = [f32; HORIZONS.len()];
type Seen = [Outlook<{ HORIZONS.len() }>; SIGNALS];

/// Returns the return of signal s after sample t, as a mean: (1 - gamma) sum_k gamma^k x_{t+1+k}.
#[inline(never)]
fn followed(future: &[[i16; SIGNALS]], s: usize, horizon: f32) -> f32 {
    let gamma = 1.0 - 1.0 / horizon;
    let values = future.iter().filter_map(|x| x.get(s));
    (1.0 - gamma) * values.rev().fold(0.0, |sum, x| f32::from(*x) + gamma * sum)
}

/// Returns the FUTURE samples after t, or `None` if there are fewer.
fn future(t: usize) -> Option<&'static [[i16; SIGNALS]]> {
    RECORDING.get(t + 1..)?.get(..FUTURE)
}

/// Sums for one signal and horizon.
#[derive(Clone, Copy, Default)]
struct Judged {
    count: f32,
    /// The sums of the returns, and of their squares.
    followed: [f32; 2],
    /// The sums of the squared errors of the predictions, and of the latest sample as a prediction.
    errors: [f32; 2],
    /// The number of returns within the band.
    within: f32,
}

/// Logs two rows.
#[inline(never)]
fn show(head: &str, left: &Row, middle: &str, right: &Row) {
    let ([a, b, c, d], [e, f, g, h]) = (left.map(decimals), right.map(decimals));
    log!("  {}: {} {} {} {}{} {} {} {} {}", head, a, b, c, d, middle, e, f, g, h);
}

/// Gives each predictor its sample.
#[inline(always)]
fn observe(predictors: &mut Predictors, samples: &[f32; SIGNALS]) -> Seen {
    let mut samples = samples.iter();
    predictors.each_mut().map(|predictor| predictor.observe(samples.next().copied()))
}

/// Predicts the whole recording, and returns whether the digest of all answers is the expected one. `observe` gives the
/// predictors their samples.
fn run(mut observe: impl FnMut(&mut Predictors, &[f32; SIGNALS]) -> Seen) -> Result<bool, Error> {
    log!("{}", LICENCE);
    let mut predictors = [Predictor::new(HORIZONS)?; SIGNALS];
    let mut digest = Digest::EMPTY;
    let mut judged = [[Judged::default(); HORIZONS.len()]; SIGNALS];
    for (t, x) in RECORDING.iter().enumerate() {
        let x = x.map(f32::from);
        let seen = observe(&mut predictors, &x);
        for of_signal in &seen {
            for p in of_signal.predictions {
                [p.mean, p.low, p.high].into_iter().for_each(|x| digest.number(x));
            }
            digest.number(of_signal.surprise);
        }
        let (false, Some(future)) = (t < UNJUDGED || t % JUDGED != 0, future(t)) else { continue };
        if t % SHOWN == 0 {
            log!("after sample {}: the mean, in g, of the next 5, 10, 20 and 40", t as u32);
        }
        for s in 0..SIGNALS {
            let (mut means, mut truth) = ([0.0; HORIZONS.len()], [0.0; HORIZONS.len()]);
            for (h, horizon) in HORIZONS.into_iter().enumerate() {
                let (p, followed) = (seen[s].predictions[h], followed(future, s, horizon));
                let judged = &mut judged[s][h];
                judged.count += 1.0;
                judged.followed[0] += followed;
                judged.followed[1] += followed * followed;
                judged.within += if followed >= p.low && followed <= p.high { 1.0 } else { 0.0 };
                for (error, guess) in judged.errors.iter_mut().zip([p.mean, x[s]]) {
                    *error += (guess - followed) * (guess - followed);
                }
                (means[h], truth[h]) = (p.mean / 1000.0, followed / 1000.0);
            }
            if t % SHOWN == 0 {
                show(NAMES[s], &means, ", and what followed:", &truth);
            }
        }
    }
    log!(
        "mean squared error over the variance of what followed, of the predictions and of the latest value:"
    );
    for (name, judged) in NAMES.into_iter().zip(&judged) {
        let variance = |j: &Judged| j.followed[1] - j.followed[0] * j.followed[0] / j.count;
        let error = |of: usize| judged.map(|j| j.errors[of] / variance(&j));
        show(name, &error(0), ";", &error(1));
    }
    log!("what followed lay in the band:");
    for (name, judged) in NAMES.into_iter().zip(&judged) {
        let [a, b, c, d] = judged.map(|j| decimals(j.within / j.count));
        log!("  {}: {} {} {} {}", name, a, b, c, d);
    }
    Ok(is_expected(digest, EXPECTED))
}

#[cfg(not(target_os = "none"))]
fn main() -> Result<std::process::ExitCode, Box<dyn std::error::Error>> {
    let mut all = Vec::new();
    let is_expected = run(|predictors, x| {
        let seen = observe(predictors, x);
        all.push(seen);
        seen
    })?;
    if let Some(file) = std::env::args_os().nth(1) {
        std::fs::write(&file, picture(&all).to_svg())?;
    }
    Ok(std::process::ExitCode::from(u8::from(!is_expected)))
}

/// Draws some seconds of the recording, one panel for each prediction.
#[cfg(not(target_os = "none"))]
fn picture(all: &[Seen]) -> figures::Figure {
    use figures::{Axis, Curve, Curves, Figure, Panel};
    use ictd_core::predictor::Prediction;
    const FROM: usize = 1_400;
    const TO: usize = FROM + 256;
    let seconds = |t: usize| (t - FROM) as f64 / 64.0;
    let x: Vec<f64> = (FROM..TO).map(seconds).collect();
    let curve = |label: &str, y: &dyn Fn(usize) -> f32| {
        Curve::plain(label, x.clone(), (FROM..TO).map(|t| f64::from(y(t)) / 1000.0).collect())
    };
    let band = |at: &dyn Fn(usize) -> Prediction| -> Vec<(f64, f64)> {
        (FROM..TO)
            .map(|t| (f64::from(at(t).low) / 1000.0, f64::from(at(t).high) / 1000.0))
            .collect()
    };
    let mut panels = Vec::new();
    for (h, horizon) in HORIZONS.into_iter().enumerate() {
        for (s, name) in NAMES.into_iter().enumerate() {
            let at = |t: usize| all[t][s].predictions[h];
            panels.push(Panel::Curves(Curves {
                title: format!("{}, the next {horizon} samples", name.replace('_', " ")),
                x: Axis::linear("s"),
                y: Axis::linear("g"),
                curves: vec![
                    Curve { dashed: true, ..curve("the signal", &|t| RECORDING[t][s].into()) },
                    curve("followed", &|t| future(t).map_or(f32::NAN, |x| followed(x, s, horizon))),
                    Curve { band: band(&at), ..curve("predicted", &|t| at(t).mean) },
                ],
            }));
        }
    }
    Figure {
        title: "Twelve predictions at each sample, with their bands".into(),
        subtitle: "Acceleration of a person walking, 64 samples a second; means of what follows, weighted by gamma^k".into(),
        panels,
        columns: 3,
    }
}

#[cfg(target_os = "none")]
#[cortex_m_rt::entry]
fn main() -> ! {
    /// The budget of the Cortex-M4F: instructions of a sample.
    const SAMPLE: u32 = 20_600;
    let Some(mut counter) = chip::Counter::new() else { chip::exit(2) };
    let (mut dearest, mut sum) = (0, 0);
    let result = run(|predictors, x| {
        let (seen, cost) = counter.measure(|| observe(predictors, x));
        (dearest, sum) = (dearest.max(cost), sum + u64::from(cost));
        seen
    });
    let Ok(is_expected) = result else {
        defmt::error!("the predictor failed");
        chip::exit(2)
    };
    let unit = if cfg!(feature = "rtt") { "cycles" } else { "instructions" };
    let mean = (sum / RECORDING.len() as u64) as u32;
    defmt::info!(
        "chip: a sample with {=usize} predictions: {=u32} {=str} in the mean, at most {=u32}",
        SIGNALS * HORIZONS.len(),
        mean,
        unit,
        dearest
    );
    defmt::info!(
        "chip: each predictor {=usize} bytes; stack at most {=u32}",
        size_of::<Predictor>(),
        chip::stack::used(None)
    );
    let is_within = dearest <= SAMPLE;
    if chip::HAS_BUDGETS && !is_within {
        defmt::error!("chip: over budget: {=u32} instructions a sample are allowed", SAMPLE);
    }
    chip::finish(is_expected, is_within)
}
