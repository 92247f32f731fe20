//! Nexting on a microcontroller: a recorded accelerometer, three signals, four discounts, twelve predictions again with
//! each sample, from one context that forgets; printed against what followed.
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
#[cfg(target_os = "none")]
#[path = "../occupied.rs"]
mod occupied;

use ictd_core::Error;
use ictd_core::digest::Digest;
use ictd_core::nexting::Nexting;
use log::{Hex, decimals, log};

include!(concat!(env!("OUT_DIR"), "/recording.rs"));

const SIGNALS: usize = NAMES.len();
/// Features of each signal. (Three are better, and cost twice the instructions.)
const EACH: usize = 2;
/// About the next 5, 10, 20 and 40 samples: 0.08 to 0.6 seconds.
const DISCOUNTS: [f32; 4] = [0.8, 0.9, 0.95, 0.975];
/// The last 500 samples or so: 8 seconds.
const RETENTION: f32 = 0.998;

/// The digest of all predictions, on every platform.
const EXPECTED: u64 = 0x1de4_755d_c2f4_b977;

/// The samples at the front that are not judged.
const UNJUDGED: usize = 50;
/// Samples that follow later than this count with less than 0.001.
const HORIZON: usize = 273;
/// Every so many samples a prediction is judged, and some are shown.
const JUDGED: usize = 10;
const SHOWN: usize = 400;

type Predictor = Nexting<SIGNALS, { SIGNALS * EACH }, { DISCOUNTS.len() }>;
type Row = [f32; DISCOUNTS.len()];
type Predictions = [Row; SIGNALS];

/// (1 - gamma) sum_k gamma^k x_{t+1+k} of signal s, of the samples from t + 1 on: the mean of what followed.
#[inline(never)]
fn followed(future: &[[i16; SIGNALS]], s: usize, gamma: f32) -> f32 {
    let values = future.iter().filter_map(|x| x.get(s));
    (1.0 - gamma) * values.rev().fold(0.0, |sum, x| f32::from(*x) + gamma * sum)
}

/// Returns the samples after t, as far as they count; none if there are fewer.
fn future(t: usize) -> Option<&'static [[i16; SIGNALS]]> {
    RECORDING.get(t + 1..)?.get(..HORIZON)
}

/// Sums of squares for one signal and discount.
#[derive(Clone, Copy, Default)]
struct Judged {
    followed: f32,
    /// The sums over the predictions' errors, and over those of the value itself.
    errors: [f32; 2],
}

/// Two rows of the log.
#[inline(never)]
fn show(head: &str, left: &Row, middle: &str, right: &Row) {
    let ([a, b, c, d], [e, f, g, h]) = (left.map(decimals), right.map(decimals));
    log!("  {}: {} {} {} {}{} {} {} {} {}", head, a, b, c, d, middle, e, f, g, h);
}

/// Predicts the whole recording; the digest of all predictions. `observe` gives the predictor a sample.
fn run(
    mut observe: impl FnMut(&mut Predictor, &[f32; SIGNALS]) -> Result<Predictions, Error>,
) -> Result<Digest, Error> {
    log!("{}", LICENCE);
    let mut predictor = Predictor::new(DISCOUNTS, RETENTION)?;
    let mut digest = Digest::EMPTY;
    let mut judged = [[Judged::default(); DISCOUNTS.len()]; SIGNALS];
    for (t, x) in RECORDING.iter().enumerate() {
        let x = x.map(f32::from);
        let predictions = observe(&mut predictor, &x)?;
        predictions.as_flattened().iter().for_each(|p| digest.number(*p));
        let (false, Some(future)) = (t < UNJUDGED || t % JUDGED != 0, future(t)) else { continue };
        if t % SHOWN == 0 {
            log!("after sample {}: the mean, in g, of the next 5, 10, 20 and 40", t as u32);
        }
        for s in 0..SIGNALS {
            let (mut means, mut truth) = ([0.0; DISCOUNTS.len()], [0.0; DISCOUNTS.len()]);
            for (g, gamma) in DISCOUNTS.into_iter().enumerate() {
                let (mean, followed) =
                    ((1.0 - gamma) * predictions[s][g], followed(future, s, gamma));
                let judged = &mut judged[s][g];
                judged.followed += followed * followed;
                for (error, guess) in judged.errors.iter_mut().zip([mean, x[s]]) {
                    *error += (guess - followed) * (guess - followed);
                }
                (means[g], truth[g]) = (mean / 1000.0, followed / 1000.0);
            }
            if t % SHOWN == 0 {
                show(NAMES[s], &means, ", and what followed:", &truth);
            }
        }
    }
    log!(
        "mean squared error over that of predicting 0, of the predictions and of the latest value:"
    );
    for (name, judged) in NAMES.into_iter().zip(&judged) {
        let error = |of: usize| judged.map(|j| j.errors[of] / j.followed);
        show(name, &error(0), ";", &error(1));
    }
    let (found, expected) = (Hex(digest.value()), Hex(EXPECTED));
    if digest.value() == EXPECTED {
        log!("digest {}: equal", found);
    } else {
        log!("digest {}: NOT EQUAL, expected is {}", found, expected);
    }
    Ok(digest)
}

#[cfg(not(target_os = "none"))]
fn main() -> Result<std::process::ExitCode, Box<dyn std::error::Error>> {
    let mut all = Vec::new();
    let digest = run(|predictor, x| {
        let predictions = predictor.observe(x)?;
        all.push(predictions);
        Ok(predictions)
    })?;
    if let Some(file) = std::env::args_os().nth(1) {
        std::fs::write(&file, picture(&all).to_png()?)?;
    }
    Ok(std::process::ExitCode::from(u8::from(digest.value() != EXPECTED)))
}

/// Some seconds of the recording, one panel for each prediction.
#[cfg(not(target_os = "none"))]
fn picture(all: &[Predictions]) -> figures::Figure {
    use figures::{Axis, Curve, Curves, Figure, Panel};
    const FROM: usize = 1_400;
    const TO: usize = FROM + 256;
    let seconds = |t: usize| (t - FROM) as f64 / 64.0;
    let x: Vec<f64> = (FROM..TO).map(seconds).collect();
    let curve = |label: &str, y: &dyn Fn(usize) -> f32| {
        Curve::plain(label, x.clone(), (FROM..TO).map(|t| f64::from(y(t)) / 1000.0).collect())
    };
    let mut panels = Vec::new();
    for (g, gamma) in DISCOUNTS.into_iter().enumerate() {
        for (s, name) in NAMES.into_iter().enumerate() {
            let mean = |t: usize| (1.0 - gamma) * all[t][s][g];
            panels.push(Panel::Curves(Curves {
                title: format!(
                    "{}, the next {:.0} samples",
                    name.replace('_', " "),
                    1.0 / (1.0 - gamma)
                ),
                x: Axis::linear("s"),
                y: Axis::linear("g"),
                curves: vec![
                    Curve { dashed: true, ..curve("the signal", &|t| RECORDING[t][s].into()) },
                    curve("followed", &|t| future(t).map_or(f32::NAN, |x| followed(x, s, gamma))),
                    curve("predicted", &mean),
                ],
                ..Curves::default()
            }));
        }
    }
    Figure {
        title: "Twelve predictions at each sample, from one context".into(),
        subtitle: "Acceleration of a person walking, 64 samples a second; means of what follows, weighted by gamma^k".into(),
        panels,
        columns: 3,
    }
}

#[cfg(target_os = "none")]
#[cortex_m_rt::entry]
fn main() -> ! {
    /// The budgets of the Cortex-M4F: instructions of a sample, bytes of flash without the recording.
    const SAMPLE: u32 = 20_000;
    const FLASH: u32 = 32 * 1024;
    let Some(mut counter) = chip::Counter::new() else { chip::exit(2) };
    let (mut dearest, mut sum) = (0, 0);
    let result = run(|predictor, x| {
        let (predictions, cost) = counter.measure(|| predictor.observe(x));
        (dearest, sum) = (dearest.max(cost), sum + u64::from(cost));
        predictions
    });
    let Ok(digest) = result else {
        defmt::error!("the predictor failed");
        chip::exit(2)
    };
    let unit = if cfg!(feature = "rtt") { "cycles" } else { "instructions" };
    let mean = (sum / RECORDING.len() as u64) as u32;
    defmt::info!(
        "chip: a sample with {=usize} predictions: {=u32} {=str} in the mean, at most {=u32}",
        SIGNALS * DISCOUNTS.len(),
        mean,
        unit,
        dearest
    );
    let recording = size_of_val(&RECORDING) as u32;
    let flash = occupied::flash() - recording;
    defmt::info!(
        "chip: the predictor {=usize} bytes; stack at most {=u32}, static RAM {=u32}, flash {=u32}, and {=u32} of recording",
        size_of::<Predictor>(),
        chip::stack_used(None),
        occupied::static_ram(),
        flash,
        recording
    );
    let has_budgets = env!("ICTD_BOARD") == "mps2-an386" && !cfg!(feature = "rtt");
    let within = dearest <= SAMPLE && flash <= FLASH || !has_budgets;
    if !within {
        defmt::error!(
            "chip: over budget: {=u32} instructions a sample and {=u32} bytes of flash are allowed",
            SAMPLE,
            FLASH
        );
    }
    chip::exit(match (digest.value() == EXPECTED, within) {
        (false, _) => 1,
        (true, false) => 3,
        (true, true) => 0,
    })
}
