//! The predictor in `ictd predict`, and what a user would otherwise take, against direct computations.

use crate::common::*;
use crate::predict::{csv, predict, predictions, signal};
use ictd_core::Predictor;
use ictd_core::context::{Context, Forgetting};
use ictd_core::linalg::linear_system;
use ictd_core::mask::TdLambda;
use ictd_core::signal::{FeatureScaler, SignalFeatures, SlowAverage};
use ictd_core::td::{Lstd, LstdSettings, OnlineTd, OnlineTdSettings};
use nalgebra::{SMatrix, SVector};
use std::collections::BTreeMap;

const PERIOD: usize = 21;

/// Returns sum_k gamma^k forecast(k + 1).
fn discounted(gamma: f64, forecast: impl Fn(usize) -> f64) -> f64 {
    (1..4000).rev().fold(0.0, |sum, k| forecast(k) + gamma * sum)
}

/// Returns the discounted sum of the iterated forecasts of an AR(N - 1), by least squares at once over all rows.
fn autoregression<const N: usize>(x: &[f64], gamma: f64) -> f64 {
    let p = N - 1;
    if x.len() <= p {
        return x[x.len() - 1] / (1.0 - gamma);
    }
    let centre = x[..p].iter().sum::<f64>() / p as f64;
    let square = x[..p].iter().map(|x| (x - centre) * (x - centre)).sum::<f64>() / p as f64;
    let mut z: Vec<f64> = x.iter().map(|x| (x - centre) / square.sqrt()).collect();
    let phi = |z: &[f64], t: usize| {
        SVector::<f64, N>::from_fn(|i, _| if i == p { 1.0 } else { z[t - 1 - i] })
    };
    let weight = |t: usize| libm::pow(0.998, (z.len() - t) as f64);
    let ridge = 0.01 * weight(p);
    let (mut a, mut b) = (SMatrix::<f64, N, N>::identity() * ridge, SVector::zeros());
    // The first forecast is the latest value.
    b[0] = ridge;
    for t in p..z.len() {
        // The last row has weight 1.
        let (phi, weight) = (phi(&z, t), weight(t + 1));
        b += phi * (weight * z[t]);
        a += phi * phi.transpose() * weight;
    }
    let weights = linear_system::solve(a, b, N, "least squares").unwrap();
    for _ in 0..4000 {
        z.push(weights.dot(&phi(&z, z.len())));
    }
    discounted(gamma, |k| centre + square.sqrt() * z[x.len() + k - 1])
}

#[test]
fn forecasts_of_a_series_are_those_of_naive_formulas() {
    let here = Folder::new();
    let x: Vec<f64> = signal(300).iter().map(|x| 20.0 + x).collect();
    let content = csv("x", x.iter().map(f64::to_string));
    let arguments = format!("--horizon 10 --gamma 0.5 --period {PERIOD} --json");
    let result = json(&predict(&here, &content, &arguments));
    let gammas = &result["signals"][0]["gammas"];
    assert_eq!([&gammas[0]["gamma"], &gammas[1]["gamma"]], [0.5, 0.9]);
    for gamma in [0.5, 0.9] {
        let lines = predictions(&here.join("out"), "x", gamma);
        let (mut average, mut level, mut trend) = (x[0], x[0], 0.0);
        for (t, (_, _, found)) in lines.iter().enumerate() {
            average = (1.0 - gamma) * x[t] + gamma * average;
            let before = level;
            level = 0.3 * x[t] + 0.7 * (level + trend);
            trend = 0.1 * (level - before) + 0.9 * trend;
            if ![4, 100, 299].contains(&t) {
                continue;
            }
            let season = |k: usize| match t < PERIOD {
                true => x[t],
                false => x[t + k - PERIOD * k.div_ceil(PERIOD)],
            };
            for (name, want) in [
                ("average", discounted(gamma, |_| average)),
                ("holt", discounted(gamma, |k| level + k as f64 * trend)),
                ("seasonal", discounted(gamma, season)),
                ("ar", autoregression::<9>(&x[..=t], gamma)),
                ("ar32", autoregression::<33>(&x[..=t], gamma)),
            ] {
                let error = (found[name] - want).abs() / want.abs();
                assert!(error < 1e-6, "gamma {gamma}, row {}, {name}: {error:e}", t + 1);
            }
        }
    }
}

/// The columns of TD and LSTD at the discount 0.9 in each row, from the core's algorithms; none where a value is not known.
fn of_core<const D: usize>(x: &[f64]) -> Vec<BTreeMap<String, u32>> {
    let gamma = 0.9;
    let (mut signal, mut average) = (SignalFeatures::<D, f64>::new(), SlowAverage::new());
    let mut scale = FeatureScaler::<D, f64>::new(0.999).unwrap();
    let (mut td, mut lstd) = (Vec::new(), Vec::new());
    for lambda in [0.0, 0.5, 0.9] {
        for step_size in [0.01, 0.03, 0.1, 0.3] {
            let settings = OnlineTdSettings::new(gamma).lambda(lambda);
            let algorithm = OnlineTd::new(settings.step_size(step_size / D as f64)).unwrap();
            let column = format!("td step_size={step_size:?} lambda={lambda:?}");
            td.push((column, algorithm.context::<D>()));
        }
    }
    for retention in [0.99, 0.998, 0.9998] {
        for ridge in [0.03, 0.3, 3.0] {
            let algorithm = Lstd::new(LstdSettings::new(gamma).lambda(0.9).ridge(ridge)).unwrap();
            let memory = Forgetting::new(retention).unwrap();
            let context =
                Context::<D, TdLambda<f64>, _, f64>::with_memory(*algorithm.mask(), memory);
            let column = format!("lstd ridge={ridge:?} retention={retention:?}");
            lstd.push((column, algorithm, context));
        }
    }
    let mut sorted = x.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (median, mut before) = (sorted[x.len() / 2], None);
    let rows = x.iter().map(|x| {
        let features = signal.observe(x - median).unwrap().0;
        let (scaled, reward) = (scale.scaled(&features), average.observe(x - median).unwrap());
        if let Some((phi, scaled_phi)) = before.replace((features, scaled)) {
            td.iter_mut().for_each(|(_, td)| td.observe(&scaled_phi, reward, &scaled).unwrap());
            lstd.iter_mut().for_each(|(.., of)| of.observe(&phi, reward, &features).unwrap());
        }
        let of_td = td.iter().map(|(column, td)| {
            let value = || Some(td.value_function().ok()?.at(&scaled));
            (column, if td.is_empty() { Some(0.0) } else { value() })
        });
        let of_lstd = lstd.iter().map(|(column, lstd, context)| {
            let value = || Some(lstd.value_function(context).ok()?.at(&features));
            (column, if context.is_empty() { Some(0.0) } else { value() })
        });
        let written = |value| {
            let sum = average.discounted_sum(gamma, value) as f32;
            ((f64::from(sum) + median / (1.0 - gamma)) as f32).to_bits()
        };
        let known = of_td.chain(of_lstd).filter_map(|(column, x)| Some((column.clone(), x?)));
        known.map(|(column, value)| (column, written(value))).collect()
    });
    rows.collect()
}

#[test]
fn td_and_lstd_are_the_cores_to_the_bit() {
    // At first no feature is seen, and in the end all that was large is forgotten.
    let mut x = signal(400);
    x[..30].fill(0.25);
    x[200..].iter_mut().for_each(|x| *x *= 1e-9);
    let content = csv("x", x.iter().map(f64::to_string));
    for (d, want) in [(1, of_core::<1>(&x)), (4, of_core::<4>(&x)), (6, of_core::<6>(&x))] {
        let here = Folder::new();
        predict(&here, &content, &format!("--gamma 0.9 --dim {d}"));
        for ((row, _, numbers), want) in predictions(&here.join("out"), "x", 0.9).iter().zip(&want)
        {
            let of_grid = |name: &str| name.starts_with("td ") || name.starts_with("lstd ");
            let found = numbers.iter().filter(|(name, _)| of_grid(name));
            let found: BTreeMap<_, _> =
                found.map(|(name, x)| (name.clone(), (*x as f32).to_bits())).collect();
            assert_eq!(found, *want, "d = {d}, row {row}");
        }
    }
}

#[test]
fn an_autoregression_survives_a_constant_and_a_pure_period() {
    let here = Folder::new();
    let rows = (0..30_000).map(|t| format!("{},{}", if t < 100 { t % 7 } else { 3 }, t % 4));
    predict(&here, &csv("x,y", rows), "--gamma 0.5");
    for (column, want) in [("x", 6.0), ("y", 1.0 / 0.9375 * (0.0 + 0.5 + 0.5 + 0.375))] {
        let lines = predictions(&here.join("out"), column, 0.5);
        // Row 30,000 has the value 3.
        assert!((lines[29_999].2["ar"] - want).abs() < 0.01, "{column}: {}", lines[29_999].2["ar"]);
    }
}

#[test]
fn the_predictors_columns_are_the_cores_and_its_report_counts_them() {
    let here = Folder::new();
    let mut x = signal(1200);
    x[700] = 50.0;
    let is_missing = |t: usize| t % 97 == 5;
    let cell = |(t, x): (usize, &f64)| if is_missing(t) { "nan".into() } else { x.to_string() };
    let content = csv("x", x.iter().enumerate().map(cell));
    let result = json(&predict(&here, &content, "--horizon 10 --skip-gaps --json"));
    let found = &result["signals"][0]["gammas"][0];
    let lines = predictions(&here.join("out"), "x", 0.9);
    let mut lines = lines.iter();
    let mut predictor = Predictor::<1, f64>::new([10.0]).unwrap();
    // Everything is computed from the distances to the median.
    let known = x.iter().enumerate().filter(|(t, _)| !is_missing(*t));
    let mut sorted: Vec<f64> = known.map(|(_, x)| *x).collect();
    sorted.sort_by(f64::total_cmp);
    let (median, mut seen) = (sorted[sorted.len() / 2], 0);
    let (mut in_band, mut banded, mut judged, mut surprises) = (0, 0, 0, 0);
    for (t, x) in x.iter().enumerate() {
        if is_missing(t) {
            predictor.observe(None);
            continue;
        }
        let outlook = predictor.observe(*x - median);
        let ([p], surprise) = (outlook.predictions, outlook.surprise);
        let (row, followed, numbers) = lines.next().unwrap();
        assert_eq!(*row, t as u64 + 1);
        let level = median / (1.0 - 0.9);
        let sum = |mean: f64| (f64::from((mean / (1.0 - 0.9)) as f32) + level) as f32;
        let of_core = [sum(p.mean), sum(p.low), sum(p.high), surprise];
        let names = ["predictor", "predictor_low", "predictor_high", "surprise"];
        for (name, want) in names.into_iter().zip(of_core) {
            let written = numbers.get(name).map(|x| (*x as f32).to_bits());
            assert_eq!(written, want.is_finite().then_some(want.to_bits()), "row {row}, {name}");
        }
        surprises += u64::from(surprise > 0.999);
        seen += 1;
        if let Some(followed) = followed.filter(|_| seen > 50) {
            judged += 1;
            let [_, low, high, _] = of_core.map(f64::from);
            banded += u64::from(low.is_finite());
            in_band += u64::from(low.is_finite() && low <= followed && followed <= high);
        }
    }
    assert_eq!((&found["judged_rows"], &found["surprises"]), (&judged.into(), &surprises.into()));
    // A return counts as inside if it is so up to what is known of it.
    let more = found["coverage"].as_f64().unwrap() - in_band as f64 / banded as f64;
    assert!((0.0..0.01).contains(&more), "{more}");
    // The value out of place is one of them, and nearly all of the band holds.
    assert!(surprises >= 1 && in_band * 10 > banded * 7, "{surprises}, {in_band} of {banded}");
    let text = text(&predict(&here, &content, "--horizon 10 --skip-gaps"));
    let line = text.lines().skip_while(|line| !line.contains("in its band")).nth(2);
    assert!(line.is_some_and(|line| line.contains(&format!(" {surprises} "))), "{text}");
    let svg = here.join("out/predict/predictions.svg");
    assert!(fs::read_to_string(svg).unwrap().contains("predictor, 90 % band"));
}
