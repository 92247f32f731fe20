//! Off-policy algorithms in context, on Baird's counterexample: Theorem 1's layers on the tokens of
//! [`ictd_core::td::encodings`].

use super::experiment::{Experiment, ExperimentInputs, ExperimentSpec, table};
use super::judging::{ClaimSpec, Judgement, claim, of_seeds};
use super::measurements::{MeasurementTable, RunMeasurements};
use super::plots::FigureSpec::Plots;
use super::plots::{PanelSpec, medians};
use super::statistics::{nan_or_larger, spread};
use crate::error::{Error, WithContext};
use crate::run::report::Source;
use figures::Axis;
use ictd_core::Result as CoreResult;
use ictd_core::linalg::dot;
use ictd_core::rng::Rng;
use ictd_core::td::encodings::{Emphasis, gtd2, starting_from, tdc};
use ictd_core::transition::Transition;
use judge::estimator::{Estimator, Method};
use nalgebra::SVector;

/// The algorithms, with the step size of w for a transition and that of u over it: Sutton and Barto's for TD(0) and TDC.
const ALGORITHMS: [(&str, [f64; 2]); 4] =
    [(TD, [0.01, 1.0]), (EMPHATIC, [0.001, 1.0]), (GTD2, [0.005, 10.0]), (TDC, [0.005, 10.0])];
const TD: &str = "TD(0)";
const EMPHATIC: &str = "emphatic TD(0)";
const GTD2: &str = "GTD2";
const TDC: &str = "TDC";
const ERROR: &str = "error";

pub const OFF_POLICY: Experiment = table(
    "off-policy",
    "Beyond the paper: off-policy algorithms in context, on Baird's counterexample",
    ExperimentSpec {
        about: "Layers with Theorem 1's weights (C = alpha I) run GTD2 and TDC if a transition is written as two tokens \
                of 2 d features, and emphatic TD(0) if tokens are weighted by its emphasis. Here are up to 1,000 layers on \
                contexts of 1,000 transitions of Baird's counterexample (d = 8, 7 states, gamma = 0.99, a behaviour \
                policy that takes the target policy's action once in seven), one context for each seed. The layers \
                start from Sutton and Barto's weights, whose TD error is written into the rewards. The error is the root \
                mean square of the values, which should be 0, relative to that of these weights.",
        own: put_errors,
        claims: &[DIVERGES, GTD2_STAYS, TDC_STAYS],
        figures: &[Plots(
            "off-policy",
            "Baird's counterexample: the value error against the number of layers",
            "relative to the weights to start from; median over contexts with quartiles",
            &[PanelSpec {
                title: "",
                x: || Axis::log("layers"),
                y: || Axis::log("error / error at the start"),
                curves: &[
                    medians(TD, TD, ERROR),
                    medians(EMPHATIC, EMPHATIC, ERROR),
                    medians(GTD2, GTD2, ERROR),
                    medians(TDC, TDC, ERROR).dashed(),
                ],
            }],
            1,
        )],
        ..ExperimentSpec::EMPTY
    },
);

/// The numbers of layers at which errors are measured.
const LAYERS: [usize; 10] = [1, 3, 10, 20, 50, 100, 200, 300, 500, 1000];
const CONTEXT: usize = 1000;
const GAMMA: f64 = 0.99;
const STATES: usize = 7;
const D: usize = 8;
/// The weights that Sutton and Barto start from (2018, Section 11.2).
const START: [f64; D] = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 10.0, 1.0];

fn features(state: usize) -> SVector<f64, D> {
    let last = f64::from(state == STATES - 1);
    SVector::from_fn(|i, _| match i {
        7 => 1.0 + last,
        _ if i == state => 2.0 - last,
        _ => 0.0,
    })
}

/// Returns the root mean square of the values over the states, whose true values are 0, relative to that of the weights to
/// start from, after each of [`LAYERS`].
fn errors(algorithm: &str, [alpha, ratio]: [f64; 2], seed: u64) -> CoreResult<Vec<f64>> {
    // The behaviour policy's solid action, one in seven, leads to the last state, and the dashed one to any other.
    let (mut rng, mut emphasis, start) =
        (Rng::new(seed), Emphasis::default(), SVector::from(START));
    let mut tokens: Vec<(Vec<f64>, f64, Vec<f64>, f64)> = Vec::new();
    let mut state = rng.below(STATES as u32) as usize;
    for _ in 0..CONTEXT {
        let solid = rng.below(7) == 0;
        let next = if solid { STATES - 1 } else { rng.below(6) as usize };
        let [phi, phi_next] = [state, next].map(features);
        state = next;
        let rho = if solid { 7.0 } else { 0.0 };
        let t = starting_from(&start, &Transition { phi, reward: 0.0, phi_next }, GAMMA);
        let weight = emphasis.weight(rho, GAMMA);
        match algorithm {
            GTD2 => tokens.extend(gtd2::<f64, D, 16>(&t, GAMMA, ratio)?.map(|t| listed(&t, rho))),
            TDC => tokens.extend(tdc::<f64, D, 16>(&t, GAMMA, ratio)?.map(|t| listed(&t, rho))),
            EMPHATIC => tokens.push(listed(&t, weight)),
            _ => tokens.push(listed(&t, rho)),
        }
    }
    let size = |w: &SVector<f64, D>| -> f64 {
        (0..STATES).map(|s| dot(w, &features(s))).map(|v| v * v).sum()
    };
    let after = |layers| {
        let alpha = alpha * (tokens.len() / CONTEXT) as f64;
        let method = Method::Constructed { alpha, trace_decay: 0.0 };
        let mut stream =
            Estimator { method, gamma: GAMMA, layers }.stream(tokens[0].0.len(), None)?;
        for (phi, reward, next, weight) in &tokens {
            stream.observe(phi, *reward, Some(next), *weight)?;
        }
        let added = stream.raw(&[])?.0.map(|values| values.weights).unwrap_or_default();
        let w = start + SVector::from_fn(|i, _| added[i]);
        Ok((size(&w) / size(&start)).sqrt())
    };
    LAYERS.into_iter().map(after).collect()
}

fn listed<const E: usize>(t: &Transition<f64, E>, weight: f64) -> (Vec<f64>, f64, Vec<f64>, f64) {
    (t.phi.as_slice().to_vec(), t.reward, t.phi_next.as_slice().to_vec(), weight)
}

fn put_errors(work: &ExperimentInputs, long: &mut MeasurementTable) -> Result<(), Error> {
    let seeds = work.session.seeds(work.seeds);
    for (name, step_sizes) in ALGORITHMS {
        let found = work.session.map(name, &seeds, |seed| {
            errors(name, step_sizes, *seed).context(format!("{name}, seed {seed}"))
        })?;
        for (seed, errors) in seeds.iter().zip(found) {
            for (layers, error) in LAYERS.into_iter().zip(errors) {
                long.put(name, *seed, ERROR, layers as f64, error);
            }
        }
    }
    Ok(())
}

/// Returns each context's error after all layers and the largest after any.
fn errors_of(of: RunMeasurements, name: &'static str) -> Vec<[f64; 2]> {
    let of_layers: Vec<_> =
        LAYERS.iter().map(|l| of.other_run(name).values_at(ERROR, *l as f64)).collect();
    let seeds = of_layers.last().map_or(0, Vec::len);
    let of_seed = |seed: usize| {
        let errors = of_layers.iter().map(|of| of[seed]);
        [errors.clone().next_back().unwrap_or(f64::NAN), errors.fold(0.0, nan_or_larger)]
    };
    (0..seeds).map(of_seed).collect()
}

fn stays(of: RunMeasurements, name: &'static str) -> Judgement {
    let errors = errors_of(of, name);
    let last: Vec<_> = errors.iter().map(|[last, _]| *last).collect();
    let (counted, verdict) = of_seeds(errors.iter().map(|[last, most]| *last < 0.5 && *most < 1.5));
    (
        format!("error at last {}, needs < 0.5, and < 1.5 before, in {counted}", spread(&last)),
        verdict,
    )
}

const DIVERGES: ClaimSpec =
    claim("TD(0) diverges: its error grows more than tenfold", Source::OWN, |of| {
        let last: Vec<_> = errors_of(of, TD).iter().map(|[last, _]| *last).collect();
        let (counted, verdict) = of_seeds(last.iter().map(|error| *error > 10.0));
        (format!("error at last {}, needs > 10 in {counted}", spread(&last)), verdict)
    });
const GTD2_STAYS: ClaimSpec =
    claim("GTD2 does not diverge: its error falls by half", Source::OWN, |of| stays(of, GTD2));
const TDC_STAYS: ClaimSpec =
    claim("TDC does not diverge: its error falls by half", Source::OWN, |of| stays(of, TDC));
