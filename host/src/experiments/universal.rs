//! The universal model's errors, compared with those of classical algorithms and of the paper's trained model.

use super::experiment::{Experiment, ExperimentInputs, ExperimentSpec, run, table};
use super::judging::{ClaimSpec, Judgement, claim};
use super::measurements::{MeasurementTable, RunMeasurements};
use super::plots::FigureSpec::Plots;
use super::plots::{CurveSpec, PanelSpec, means};
use super::statistics::nan_or_larger;
use crate::error::{Error, WithContext};
use crate::run::report::{Source, Verdict, number};
use crate::run::session::Session;
use compute::words::Word as _;
use figures::Axis;
use ictd_core::rng::{Rng, RngStream};
use judge::universal::{Benchmark, BenchmarkCell, Family, OF_LAMBDA, summary};

const DISCOUNTS: [f64; 2] = [0.9, 0.98];

/// The longest context of the comparison by dimension: beyond it both errors may be rounding.
pub const LONGEST: f64 = 1000.0;

/// Returns the tested dimensions of a family; those of tabular families are larger.
fn dimensions(family: Family) -> &'static [usize] {
    match family {
        Family::Aggregated => &[4, 10, 16],
        Family::Walk | Family::Cycle | Family::Rare => &[4, 10, 20],
        Family::Binary | Family::Noise | Family::Ratios | Family::Level => &[4, 16],
        _ => &[2, 4, 8, 16],
    }
}

pub fn cells(families: &[Family]) -> Vec<BenchmarkCell> {
    let of = |family: &Family| {
        let family = *family;
        DISCOUNTS.into_iter().flat_map(move |gamma| {
            dimensions(family).iter().map(move |d| BenchmarkCell { family, d: *d, gamma })
        })
    };
    families.iter().flat_map(of).collect()
}

pub fn cell_name(BenchmarkCell { family, d, gamma }: &BenchmarkCell) -> String {
    format!("{}, d = {d}, gamma = {gamma}", family.word())
}

/// Families whose values the features cannot represent, families whose values they can, families with a feature for each state,
/// and families with states that share a feature, noise, large ratios or a level.
const OTHERS: [Family; 3] = [Family::Boyan, Family::Mdp, Family::Binary];
const REPRESENTABLE: [Family; 2] = [Family::BoyanRepresentable, Family::MdpRepresentable];
const TABULAR: [Family; 3] = [Family::Walk, Family::Cycle, Family::Rare];
const KEPT: [Family; 4] = [Family::Aggregated, Family::Noise, Family::Ratios, Family::Level];
/// The families whose features do not distinguish states. (Otherwise the rewards of a task may cancel, and any error is a large
/// multiple of that of predicting 0.)
const DENSE: [Family; 5] = [
    Family::Boyan,
    Family::BoyanRepresentable,
    Family::Mdp,
    Family::MdpRepresentable,
    Family::Binary,
];

pub const UNIVERSAL: Experiment = table(
    "universal",
    "none: one model for any dimension, length and scale",
    ExperimentSpec {
        about: "Judges the model that ships (`--model universal`) on fresh tasks, against the number of transitions seen. \
                Tasks are Boyan's chains and random MDPs, each with random rewards and with values that the features \
                represent; random walks, cycles and walks with rare states, each state with a feature of its own; features \
                that are 0 or 1; random walks in which two neighbours \
                share a feature; and random MDPs whose rewards have noise of 0.3 to 3 deviations or a level of 1 to 10, or that \
                are seen under another policy with importance ratios of up to 10. \
                Each family, dimension and discount has --fresh-tasks tasks, a quarter of that where features tell states \
                apart; one in five goes on to 1,000 transitions, one in forty to 5,000. \
                Beside it stand LSTD(lambda) and online TD(0.92) with the model's own bounds on features and values, each \
                with one setting for all and with the best in hindsight for each family, discount and length (lambda 0, 0.92 \
                and 1, six ridges; six step sizes), and the paper's own trained model (Figure 2's runs; a task is given to \
                one of the seeds).",
        fresh_tasks: Some(2000),
        runs: &[run("linear-l3", "", "L = 3", &[])],
        own: put,
        claims: &[
            own(
                "values beyond the features: as good as LSTD with the best lambda and ridge in hindsight",
                |of| ratio(of, &OTHERS, "lstd_hindsight"),
            )
            // The best of eighteen settings for each length is known only in hindsight.
            .refuted(),
            own(
                "values beyond the features: as good as LSTD(0.92) with one ridge",
                |of| ratio(of, &OTHERS, "lstd_one"),
            ),
            own(
                "values beyond the features: as good as TD(0.92) with the best step size in hindsight",
                |of| ratio(of, &OTHERS, "td_hindsight"),
            ),
            own(
                "representable values: as good as LSTD with the best lambda and ridge in hindsight",
                |of| ratio(of, &REPRESENTABLE, "lstd_hindsight"),
            )
            // The level is one parameter more, which such features do not need.
            .refuted(),
            own(
                "representable values: as good as LSTD(0) with one ridge",
                |of| ratio(of, &REPRESENTABLE, "lstd_0_one"),
            )
            .refuted(),
            own(
                "representable values: as good as TD(0.92) with the best step size in hindsight",
                |of| ratio(of, &REPRESENTABLE, "td_hindsight"),
            ),
            own(
                "a feature for each state: as good as LSTD(0) with one ridge",
                |of| ratio(of, &TABULAR, "lstd_0_one"),
            ),
            own(
                "shared features, noise, ratios, a level: as good as LSTD(0) with one ridge",
                |of| ratio(of, &KEPT, "lstd_0_one"),
            ),
            own(
                "shared features, noise, ratios, a level: as good as LSTD(0.92) with one ridge",
                |of| ratio(of, &KEPT, "lstd_one"),
            ),
            own("features that tell no states apart: no mean error is above that of predicting 0", |of| {
                at_most(of, "universal", "mean error at most", 1.05)
            }),
            // Some contexts have a first system that is next to singular.
            own("features that tell no states apart: no context explodes", |of| {
                at_most(of, "percentile_99_9", "99.9th percentile at most", 5.0)
            })
            .refuted(),
        ],
        figures: &[Plots(
            "universal",
            "One model for every dimension, context length and scale",
            "mean over fresh tasks; hindsight: the best ridge or step size for each length; the paper's model: \
             d = 4 alone",
            &[
                plot(&curves("Boyan's chains, d = 4, gamma = 0.9"), "Boyan's chains"),
                plot(&curves("representable chains, d = 4, gamma = 0.9"), "representable chains"),
                plot(&curves("random MDPs, d = 4, gamma = 0.9"), "random MDPs"),
                plot(&curves("representable MDPs, d = 4, gamma = 0.9"), "representable MDPs"),
                plot(&curves("random walks, d = 10, gamma = 0.9"), "random walks, d = 10"),
                plot(&curves("aggregated walks, d = 10, gamma = 0.9"), "aggregated walks, d = 10"),
                plot(
                    &curves("Boyan's chains, d = 16, gamma = 0.98"),
                    "Boyan's chains, d = 16, gamma = 0.98",
                ),
                plot(
                    &curves("representable chains, d = 16, gamma = 0.98"),
                    "representable chains, d = 16, gamma = 0.98",
                ),
            ],
            4,
        )],
        ..ExperimentSpec::EMPTY
    },
);

const fn own(words: &'static str, judge: fn(RunMeasurements) -> Judgement) -> ClaimSpec {
    claim(words, Source::OWN, judge)
}

const fn plot(curves: &'static [CurveSpec], title: &'static str) -> PanelSpec {
    let y = || Axis::fixed("error / error of predicting 0", 0.0, 1.5);
    PanelSpec { title, x: || Axis::log("transitions seen"), y, curves }
}

const fn curves(cell: &'static str) -> [CurveSpec; 7] {
    [
        means("universal", cell, "universal"),
        means("LSTD, hindsight", cell, "lstd_hindsight").dashed(),
        means("LSTD(0.92), one ridge", cell, "lstd_one").dashed(),
        means("LSTD(0), one ridge", cell, "lstd_0_one").dashed(),
        means("TD, hindsight", cell, "td_hindsight").dashed(),
        means("TD, one setting", cell, "td_one").dashed(),
        means("the paper's model", cell, "paper"),
    ]
}

fn put(work: &ExperimentInputs, long: &mut MeasurementTable) -> Result<(), Error> {
    let (Some(tasks), [run]) = (work.fresh_tasks, work.runs) else { return Ok(()) };
    let judge = Benchmark::new(&run.seeds, run.recipe.layers);
    put_errors(&judge, tasks, work.session, long)?;
    for (families, values) in [
        (&OTHERS[..], "values beyond the features"),
        (&REPRESENTABLE, "representable values"),
        (&TABULAR, "a feature for each state"),
    ] {
        let of_families = cells(families);
        let mut of_d: Vec<usize> = of_families.iter().map(|cell| cell.d).collect();
        of_d.sort_unstable();
        of_d.dedup();
        for d in of_d {
            let of_d: Vec<_> = of_families.iter().copied().filter(|cell| cell.d == d).collect();
            for reference in OF_LAMBDA.into_iter().chain(["lstd_hindsight"]) {
                let ratio = geometric_mean(&ratios(long.of(""), &of_d, reference, LONGEST));
                let (name, metric) = (format!("{values}, d = {d}"), format!("beside {reference}"));
                long.put(&name, None, &metric, 0.0, ratio);
            }
        }
    }
    Ok(())
}

pub fn put_errors(
    judge: &Benchmark,
    tasks: usize,
    session: &Session,
    long: &mut MeasurementTable,
) -> Result<(), Error> {
    for cell in cells(Family::ALL) {
        let mut seeds = Rng::stream(session.seed ^ (cell.d as u64) << 32, RngStream::Evaluation);
        // More features cost more, and tables vary less.
        let tasks = if cell.family.is_tabular() { tasks.div_ceil(4) } else { tasks };
        let seeds: Vec<_> = (0..tasks).map(|i| (i, seeds.next_u64())).collect();
        let name = cell_name(&cell);
        let errors = session
            .map(&name, &seeds, |&(i, seed)| judge.errors(cell, i, seed).context(name.clone()))?;
        for (metric, n, value) in summary(&errors) {
            long.put(&name, None, metric, n as f64, value);
        }
    }
    Ok(())
}

pub fn all(of: RunMeasurements, cells: &[BenchmarkCell], metric: &str, longest: f64) -> Vec<f64> {
    let of_cell = |cell: &BenchmarkCell| {
        let name = cell_name(cell);
        let of = of.other_run(&name);
        let places = of.places(metric).into_iter().filter(|n| *n <= longest);
        places.flat_map(|n| of.values_at(metric, n)).collect::<Vec<_>>()
    };
    cells.iter().flat_map(of_cell).collect()
}

fn ratios(of: RunMeasurements, cells: &[BenchmarkCell], reference: &str, longest: f64) -> Vec<f64> {
    let errors = all(of, cells, "universal", longest).into_iter();
    errors.zip(all(of, cells, reference, longest)).map(|(a, b)| a / b).collect()
}

pub fn geometric_mean(ratios: &[f64]) -> f64 {
    libm::exp(ratios.iter().map(|x| libm::log(*x)).sum::<f64>() / ratios.len() as f64)
}

/// Tests whether the model's errors are as small as a reference's, in the geometric mean and everywhere.
fn ratio(of: RunMeasurements, families: &[Family], reference: &str) -> Judgement {
    let ratios = ratios(of, &cells(families), reference, f64::INFINITY);
    let worst = ratios.iter().copied().fold(0.0, nan_or_larger);
    let mean = geometric_mean(&ratios);
    let measured = format!(
        "error ratio {} in the geometric mean, needs <= 1; at most {} at any length, needs <= 1.05 (in part: the mean)",
        number(mean, 3),
        number(worst, 3)
    );
    let verdict = Verdict::graded(mean <= 1.0 && worst <= 1.05, mean <= 1.0);
    (measured, verdict.unless_nan([mean, worst]))
}

/// Tests whether a metric is below a limit at every length in every cell of the dense families.
fn at_most(of: RunMeasurements, metric: &str, says: &str, limit: f64) -> Judgement {
    let values = all(of, &cells(&DENSE), metric, f64::INFINITY);
    let worst = values.into_iter().fold(0.0, nan_or_larger);
    let measured = format!("{says} {} times predicting 0, needs <= {limit}", number(worst, 2));
    (measured, Verdict::of(worst <= limit).unless_nan([worst]))
}
