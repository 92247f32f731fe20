//! Theorem 2 and one layer: updates that stay in a set of three parameters, and the set where training ends.

use super::experiment::{Experiment, ExperimentInputs, ExperimentSpec, run, table};
use super::judging::{ClaimSpec, Threshold, claim, diagonals, most};
use super::measurements::MeasurementTable;
use super::paper::{P_MATCHES, P_STRICTLY, app_d2};
use super::plots::FigureSpec::{Parameters, Plots};
use super::plots::{PanelSpec, medians};
use super::statistics::nan_or_larger;
use crate::error::{Error, WithContext};
use crate::run::report::{Source, Verdict};
use figures::Axis;
use ictd_core::metrics::FORM_DISTANCE;
use judge::invariant::{outside_theta_star, theorem_2};

pub const ONE_LAYER: Experiment = table(
    "one-layer",
    "Theorem 2 and App. figure: one layer, L = 1",
    ExperimentSpec {
        about: "Expected updates of one layer (d = 3, f64), the mean over all signed permutations of the features, that \
                start inside of Theorem 2's set stay in it; means over the permutations alone, updates of one \
                trajectory, and what starts elsewhere do not. Trained as \
                in Figure 2, one layer learns the corollary's form (Q's right diagonal gets no gradient, since the \
                weights start at 0, and weight decay empties it), which is in the set.",
        runs: &[run(
            "linear-l1",
            "--layers 1",
            "L = 1",
            &[
                P_MATCHES.stated(TO_COROLLARY_1),
                Q_IS_ONE_SIDED,
                P_STRICTLY,
                Q_IS_THE_COROLLARYS,
                ENDS_IN_THE_SET,
            ],
        )],
        own: put,
        claims: &[STAYS, NEEDS_SIGNS],
        figures: &[
            Plots(
                "invariant-set",
                "Theorem 2: the invariant set",
                "median over seeds with quartiles; one layer, d = 3, all 48 signed permutations",
                &[PanelSpec {
                    title: "",
                    x: || Axis::linear("update k"),
                    y: || Axis::log("largest entry off the set's form"),
                    curves: &[
                        medians("from θ*, averaged", DEPARTURES, "averaged"),
                        medians("from θ*, one trajectory", DEPARTURES, "single"),
                        medians("from θ*, permutations without signs", DEPARTURES, "permuted"),
                        medians("from elsewhere, averaged", DEPARTURES, "elsewhere"),
                    ],
                }],
                1,
            ),
            Parameters("one-layer", "linear-l1"),
        ],
        ..ExperimentSpec::EMPTY
    },
);

pub const DEPARTURES: &str = "theorem 2";

fn put(work: &ExperimentInputs, long: &mut MeasurementTable) -> Result<(), Error> {
    let starts = work.session.seeds(work.seeds);
    let found = work.session.map(DEPARTURES, &starts, |seed| {
        theorem_2(*seed, 40).context(format!("{DEPARTURES}, seed {seed}"))
    })?;
    for (seed, numbers) in starts.iter().zip(found) {
        long.extend(DEPARTURES, *seed, numbers);
    }
    for (run, seed) in
        work.runs.iter().flat_map(|run| run.seeds.iter().map(move |seed| (run, seed)))
    {
        long.put(run.name, seed.seed, "outside_theta", 0.0, outside_theta_star(seed));
    }
    Ok(())
}

const TO_COROLLARY_1: Source = app_d2("converge to the construction in Corollary 1");
const Q_IS_ONE_SIDED: ClaimSpec =
    claim("Q's right diagonal vanishes beside the left one", TO_COROLLARY_1, |of| {
        diagonals(of, [-0.1, 0.1], [-0.3, 0.3])
    });
const Q_IS_THE_COROLLARYS: ClaimSpec = claim(
    "in a seed, Q's blocks are nearest to the corollary's form: within 0.5 of it",
    TO_COROLLARY_1.variant(),
    |of| most(of, [("q_distance_one_layer_0", Threshold::AtMost(FORM_DISTANCE))]),
)
.with_medians(&["q_distance_0", "q_distance_residual_0"]);

/// The largest share of P's and Q's squares outside the set.
pub const OUTSIDE: f64 = 0.05;
const ENDS_IN_THE_SET: ClaimSpec = claim(
    "in a seed, training, which starts outside, ends in Theorem 2's set, but for 0.05 of P's and Q's squares",
    Source::paper(
        "Section 5, Theorem 2",
        "a candidate set that the update can possibly converge to",
    )
    .variant(),
    |of| most(of, [("outside_theta", Threshold::Below(OUTSIDE))]),
);

pub const STAYS: ClaimSpec = claim(
    "expected updates that start in Theorem 2's set stay in it",
    Source::paper("Section 5", "it can never leave"),
    |of| {
        let of = of.other_run(DEPARTURES);
        let all = of.places("averaged").into_iter().flat_map(|at| of.values_at("averaged", at));
        let largest = all.fold(0.0, nan_or_larger);
        let elsewhere = of.values("elsewhere").into_iter().fold(f64::INFINITY, f64::min);
        let measured = format!(
            "largest departure {largest:.1e}, needs < 1e-12 (from elsewhere it ends at {elsewhere:.1e} at least)"
        );
        (measured, Verdict::of(largest < 1e-12).unless_nan([largest]))
    },
);

/// The theorem assumes that features in another order, and with other signs, are equally likely. Updates of sizes up to 1 leave
/// the set by at least a hundredth if the signs are not averaged over.
const NEEDS_SIGNS: ClaimSpec = claim(
    "in a seed, means over the permutations of features without their signs leave it",
    Source::own("Theorem 2 assumes permutations and signs (Assumption \"symmetry\")"),
    |of| {
        let (departures, needs) = (of.other_run(DEPARTURES), Threshold::AtLeast(0.01));
        most(departures, [("permuted", needs)])
    },
);
