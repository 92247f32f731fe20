//! Theorem 2 and one layer: updates that stay in three numbers, and the set in which training ends.

use super::experiment::Experiment;
use super::judging::{ClaimSpec, Threshold, claim, every, most};
use super::measurements::MeasurementTable;
use super::paper::{P_BY_ITS_MEASURE, P_STRICTLY, app_d2, table};
use super::plots::FigureSpec::{Parameters, Plots};
use super::plots::{PanelSpec, SeedAggregate, series};
use super::statistics::nan_or_larger;
use super::table::{ExperimentInputs, ExperimentSpec, run};
use crate::error::{Error, WithContext};
use crate::run::report::{Source, Verdict};
use compute::invariant::{outside_theta_star, theorem_2};
use figures::Axis;
use ictd_core::metrics::FORM_SHARE;

/// One layer: Theorem 2, and the App. figure's L = 1.
pub const ONE_LAYER: Experiment = table(
    "one-layer",
    "Theorem 2 and App. figure: one layer, L = 1",
    ExperimentSpec {
        about: "Expected updates of one layer (d = 3, f64), the mean over all signed permutations of the features: from \
                theta_* they stay in Theorem 2's set; without the average, or from elsewhere, they leave. Trained as \
                in Figure 2, one layer learns the corollary's form (Q's right diagonal gets no gradient, since the \
                weights start at 0, and weight decay empties it), which is in the set.",
        runs: &[run(
            "linear-l1",
            "--layers 1",
            "L = 1",
            &[
                P_BY_ITS_MEASURE.stated(TO_COROLLARY_1),
                P_STRICTLY,
                Q_IS_THE_COROLLARYS,
                ENDS_IN_THE_SET,
            ],
        )],
        own: put,
        claims: &[STAYS, NEEDS_SYMMETRY],
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
                        series(
                            "from θ*, averaged",
                            DEPARTURES,
                            "averaged",
                            SeedAggregate::Quartiles,
                        ),
                        series(
                            "from θ*, one trajectory",
                            DEPARTURES,
                            "single",
                            SeedAggregate::Quartiles,
                        ),
                        series(
                            "from elsewhere, averaged",
                            DEPARTURES,
                            "elsewhere",
                            SeedAggregate::Quartiles,
                        ),
                    ],
                }],
                1,
            ),
            Parameters("one-layer", "linear-l1"),
        ],
        ..ExperimentSpec::EMPTY
    },
);

/// The place of Theorem 2's updates in the record.
pub const DEPARTURES: &str = "theorem 2";

/// Puts how far updates lead away from Theorem 2's set, and what trained layers have outside of it, into the record.
fn put(work: &ExperimentInputs, long: &mut MeasurementTable) -> Result<(), Error> {
    let starts: Vec<u64> = (0..work.seeds as u64).map(|i| work.session.seed + i).collect();
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
const Q_IS_THE_COROLLARYS: ClaimSpec = every(
    "Q takes the corollary's form",
    TO_COROLLARY_1,
    "q_form_one_layer_0",
    Threshold::AtLeast(FORM_SHARE),
)
.with_medians(&["q_form_0", "q_form_residual_0"]);

/// Less than this share of P's and Q's squares is outside of the set.
pub const OUTSIDE: f64 = 0.05;
const ENDS_IN_THE_SET: ClaimSpec = claim(
    "training ends in Theorem 2's set",
    Source::paper(
        "Section 5, Theorem 2",
        "a candidate set that the update can possibly converge to",
    ),
    |of| {
        let outside = of.values("outside_theta");
        most("outside of it, of P's and Q's squares,", &outside, Threshold::Below(OUTSIDE))
    },
);

/// Expected updates, averaged over the symmetries of the features, stay.
pub const STAYS: ClaimSpec = claim(
    "expected updates stay in Theorem 2's invariant set",
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

/// Those of a single trajectory leave.
const NEEDS_SYMMETRY: ClaimSpec =
    claim("the symmetry of the features is needed for it", Source::OWN, |of| {
        let single = of.other_run(DEPARTURES).values("single");
        let least = single.iter().copied().fold(f64::INFINITY, f64::min);
        (
            format!("one trajectory alone departs by {least:.1e} at least, needs > 1e-6"),
            Verdict::of(least > 1e-6).unless_nan(single),
        )
    });
