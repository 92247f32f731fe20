//! Off-policy algorithms in context, on Baird's counterexample.

use super::experiment::{Experiment, ExperimentInputs, ExperimentSpec, table};
use super::judging::{ClaimSpec, Judgement, claim, of_seeds};
use super::measurements::{MeasurementTable, RunMeasurements};
use super::plots::FigureSpec::Plots;
use super::plots::{PanelSpec, medians};
use super::statistics::{nan_or_larger, spread};
use crate::error::{Error, WithContext};
use crate::run::report::Source;
use figures::Axis;
use judge::off_policy::{LAYERS, errors};
use judge::verify::encodings::Encoding;

/// The algorithms, with the step size of w for a transition and that of u over it: Sutton and Barto's for TD(0) and TDC.
const ALGORITHMS: [(&str, Option<Encoding>, [f64; 2]); 4] = [
    (TD, None, [0.01, 1.0]),
    (EMPHATIC, Some(Encoding::EmphaticTd), [0.001, 1.0]),
    (GTD2, Some(Encoding::Gtd2), [0.005, 10.0]),
    (TDC, Some(Encoding::Tdc), [0.005, 10.0]),
];
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

fn put_errors(work: &ExperimentInputs, long: &mut MeasurementTable) -> Result<(), Error> {
    let seeds = work.session.seeds(work.seeds);
    for (name, algorithm, step_sizes) in ALGORITHMS {
        let found = work.session.map(name, &seeds, |seed| {
            errors(algorithm, step_sizes, *seed).context(format!("{name}, seed {seed}"))
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
