//! One layer: Theorem 2's three numbers, and where they come to rest.

use super::beyond::{DEPARTURES, NEEDS_SYMMETRY, STAYS, put_departures};
use super::experiment::Entry;
use super::judging::{JudgedClaim, Judgement, Needs, claim, every, most};
use super::long::{Long, OfRun};
use super::paper::{P_BY_ITS_MEASURE, P_STRICTLY, app_d2, table};
use super::plots::Shown::{Parameters, Plots};
use super::plots::{Plot, Seeds, Series, series};
use super::statistics::{median, median_interval, over_items, spread};
use super::table::{Setting, Table, Work, run};
use crate::error::{Doing, Error};
use crate::run::report::{Source, Verdict};
use compute::fixed_point::{at_the_end, fixed_point, system};
use figures::Axis;
use ictd_core::metrics::FORM_SHARE;

/// One layer: Theorem 2, and the App. figure's L = 1.
pub const ONE_LAYER: Entry = table(
    "one-layer",
    "Theorem 2 and App. figure: one layer, L = 1",
    Table {
        about: "Expected updates of one layer (d = 3, f64), the mean over all signed permutations of the features: from \
                theta_* they stay in Theorem 2's set; without the average, or from elsewhere, they leave. Trained as \
                in Figure 2, one layer learns the corollary's form (Q's right diagonal gets no gradient, since the \
                weights start at 0, and weight decay empties it), which is in the set.",
        runs: &[run("linear-l1", "--layers 1", "L = 1", TO_COROLLARY_1S_FORM)],
        own: |work, long| {
            put_departures(work, long)?;
            put_trained(work, long);
            Ok(())
        },
        claims: &[STAYS, NEEDS_SYMMETRY],
        figures: &[
            Plots(
                "invariant-set",
                "Theorem 2: the invariant set",
                "median over seeds with quartiles; one layer, d = 3, all 48 signed permutations",
                &[Plot {
                    title: "",
                    x: || Axis::linear("update k"),
                    y: || Axis::log("largest entry off the set's form"),
                    curves: &[
                        series("from θ*, averaged", DEPARTURES, "averaged", Seeds::Quartiles),
                        series("from θ*, one trajectory", DEPARTURES, "single", Seeds::Quartiles),
                        series(
                            "from elsewhere, averaged",
                            DEPARTURES,
                            "elsewhere",
                            Seeds::Quartiles,
                        ),
                    ],
                    lines: &[],
                }],
                1,
            ),
            Parameters("one-layer", "linear-l1"),
        ],
        ..Table::EMPTY
    },
);
const TO_COROLLARY_1: Source = app_d2("converge to the construction in Corollary 1");
const TO_COROLLARY_1S_FORM: &[JudgedClaim] = &[
    P_BY_ITS_MEASURE.stated(TO_COROLLARY_1),
    P_STRICTLY,
    every(
        "Q takes the corollary's form",
        TO_COROLLARY_1,
        "q_form_one_layer_0",
        Needs::AtLeast(FORM_SHARE),
    )
    .beside(&["q_form_0", "q_form_residual_0"]),
    IN_THE_SET,
];
/// The fixed point of Theorem 2's three numbers.
pub const FIXED_POINT: Entry = table(
    "fixed-point",
    "Theorem 2: the fixed point of its three numbers",
    Table {
        about: "One layer, d = 4, n = 30, gamma = 0.9. In Theta_* the expected update vanishes at the solution of a \
                2 x 2 system, which is estimated and solved for three families of tasks, and compared with the \
                layers that training ends with: (eta c, eta c'), and how much of P and Q is outside of Theta_*.",
        settings: &[Setting {
            name: "trajectories",
            default: "30000",
            accepted: [BLOCKS, 100_000_000],
            about: "Trajectories, of 64 windows each, for a system",
        }],
        runs: &[
            // That it ends in the set is judged by `one-layer`.
            run("linear-l1", "--layers 1", "Boyan's chain", &[AT_THE_POINT, IN_THE_SMALLER_SET]),
            run(
                "linear-l1-representable",
                "--layers 1 --task boyan-representable",
                "representable chains",
                OTHER_TASKS,
            ),
            run(
                "linear-l1-dense",
                "--layers 1 --task mdp --states 5",
                "random MDPs of 5 states",
                OTHER_TASKS,
            ),
        ],
        own: put,
        columns: &[
            ("fixed point: eta c", "fixed_eta_c"),
            ("eta c'", "fixed_eta_c_prime"),
            ("c' / c", "fixed_ratio"),
            ("its stderr", "fixed_ratio_stderr"),
            ("trained: eta c", "eta_c"),
            ("eta c'", "eta_c_prime"),
            ("c' / c", "ratio"),
            ("outside", "outside_theta"),
        ],
        figures: &[Plots(
            "fixed-point",
            "Where the three numbers of Theorem 2 rest",
            "one layer; lines: the 2 x 2 system's solution",
            &[
                of_trained("Boyan's chain", &settled("linear-l1"), &rest("linear-l1")),
                of_trained(
                    "representable chains",
                    &settled("linear-l1-representable"),
                    &rest("linear-l1-representable"),
                ),
                of_trained(
                    "random MDPs of 5 states",
                    &settled("linear-l1-dense"),
                    &rest("linear-l1-dense"),
                ),
            ],
            3,
        )],
        ..Table::EMPTY
    },
);

/// Parts of the sample that leave the system's error: it is solved without each of them.
const BLOCKS: usize = 30;

const OTHER_TASKS: &[JudgedClaim] = &[IN_THE_SET, AT_THE_POINT, IN_THE_SMALLER_SET];

const fn settled(run: &'static str) -> [Series; 2] {
    [series("ηc", run, "eta_c", Seeds::Sorted), series("ηc′", run, "eta_c_prime", Seeds::Sorted)]
}

type Line = (&'static str, &'static str, &'static str);

const fn rest(run: &'static str) -> [Line; 2] {
    [("ηc, fixed point", run, "fixed_eta_c"), ("ηc′, fixed point", run, "fixed_eta_c_prime")]
}

const fn of_trained(
    title: &'static str,
    curves: &'static [Series],
    lines: &'static [Line],
) -> Plot {
    Plot { lines, ..Plot::sorted(title, || Axis::linear(""), curves) }
}

/// Puts the systems' solutions, and what the trained seeds have in their place, into the record.
fn put(work: &Work, long: &mut Long) -> Result<(), Error> {
    let [trajectories] = work.settings else { return Ok(()) };
    for run in work.runs {
        let blocks: Vec<u64> = (0..BLOCKS as u64).collect();
        let systems = work.session.map("2 x 2 system", &blocks, |block| {
            let seed = work.session.seed.wrapping_add(*block);
            system(&run.recipe, trajectories / BLOCKS, seed).doing("fixed-point")
        })?;
        let names = ["fixed_eta_c", "fixed_eta_c_prime", "fixed_ratio"];
        for (name, [value, stderr]) in names.into_iter().zip(fixed_point(&systems)) {
            long.put(run.name, 0, name, 0.0, value);
            long.put(run.name, 0, &format!("{name}_stderr"), 0.0, stderr);
        }
    }
    put_trained(work, long);
    Ok(())
}

/// Puts what trained layers have in the place of Theorem 2's three numbers, and beside them, into the record.
pub(super) fn put_trained(work: &Work, long: &mut Long) {
    for run in work.runs {
        for seed in &run.seeds {
            let [eta_c, eta_c_prime, outside] = at_the_end(seed);
            long.put(run.name, seed.seed, "eta_c", 0.0, eta_c);
            long.put(run.name, seed.seed, "eta_c_prime", 0.0, eta_c_prime);
            long.put(run.name, seed.seed, "ratio", 0.0, eta_c_prime / eta_c);
            long.put(run.name, seed.seed, "outside_theta", 0.0, outside);
        }
    }
}

const THEOREM_2: &str = "Section 5, Theorem 2";

/// Less than this share of P's and Q's squares is outside of the set.
pub const OUTSIDE: f64 = 0.05;
/// Whether training ends in the set.
pub const IN_THE_SET: JudgedClaim = claim(
    "training ends in Theorem 2's set",
    Source::paper(THEOREM_2, "a candidate set that the update can possibly converge to"),
    |of| {
        let outside = of.values("outside_theta");
        most("outside of it, of P's and Q's squares,", &outside, Needs::Below(OUTSIDE))
    },
);
/// Whether it ends at the set's fixed point: the distance of the median over seeds, relative to the point's size.
const AT_THE_POINT: JudgedClaim =
    claim("and at its fixed point", Source::OWN, ends_at_the_fixed_point);
/// Whether it ends in the smaller set: neither the fixed point nor the trained seeds have a c'.
const IN_THE_SMALLER_SET: JudgedClaim = claim(
    "in the smaller set with c' = 0",
    Source::paper(THEOREM_2, "or further to Theta_*'"),
    |of| {
        let [ratio, stderr] = ["fixed_ratio", "fixed_ratio_stderr"].map(|name| of.median(name));
        let (error, seeds) = (3.0 * stderr, of.values("ratio"));
        let trained = median_interval(&seeds);
        let point = ratio.abs() < error && error < NEAR_0;
        let settled = -NEAR_0 < trained.low && trained.high < NEAR_0;
        let measured = format!(
            "c' / c is {ratio:.3} ± {stderr:.3} at the fixed point, needs within 3 standard errors of 0, and these \
             < {NEAR_0}; in trained seeds median {trained:.3}, needs within ± {NEAR_0} (in part: one of the two); \
             quartiles {}",
            spread(&seeds)
        );
        (measured, Verdict::graded(point && settled, point || settled))
    },
)
.refuted();

/// Less than this is no c' beside c.
const NEAR_0: f64 = 0.05;

fn ends_at_the_fixed_point(of: OfRun) -> Judgement {
    let number = |name: &str| {
        (of.median(&format!("fixed_{name}")), of.median(&format!("fixed_{name}_stderr")))
    };
    let ((x, x_stderr), (y, y_stderr)) = (number("eta_c"), number("eta_c_prime"));
    let (eta_c, eta_c_prime) = (of.values("eta_c"), of.values("eta_c_prime"));
    let seeds: Vec<_> = eta_c.iter().copied().zip(eta_c_prime.iter().copied()).collect();
    let distance = over_items(&seeds, |seeds| {
        let u = median(&seeds.iter().map(|seed| seed.0).collect::<Vec<_>>());
        let v = median(&seeds.iter().map(|seed| seed.1).collect::<Vec<_>>());
        libm::hypot(u - x, v - y) / libm::hypot(x, y)
    });
    let measured = format!(
        "eta c {} and eta c' {} over seeds; the 2 x 2 system has {x:.3} ± {x_stderr:.3} and {y:.3} ± {y_stderr:.3}: \
         away by a share {distance:.3}, needs < 0.1 (in part < 0.3)",
        spread(&eta_c),
        spread(&eta_c_prime)
    );
    (measured, Verdict::graded(distance.high < 0.1, distance.high < 0.3))
}
