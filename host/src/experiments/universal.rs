//! The model that ships: its training, and how good it is beside the classical algorithms and the paper's own
//! trained model.

use super::experiment::Experiment;
use super::judging::{ClaimSpec, Judgement, claim};
use super::measurements::{MeasurementTable, RunMeasurements};
use super::paper::table;
use super::plots::FigureSpec::Plots;
use super::plots::{CurveSpec, PanelSpec, SeedAggregate, series};
use super::statistics::nan_or_larger;
use super::table::{ExperimentInputs, ExperimentSpec, Setting, run};
use crate::error::{Error, WithContext};
use crate::run::progress;
use crate::run::report::{Source, Verdict, number};
use compute::universal::{
    Benchmark, BenchmarkCell, FAMILIES, OF_LAMBDA, ParameterSearch, Target, summary,
};
use figures::Axis;
use ictd_core::rng::{Rng, RngStream};
use ictd_core::universal::{PRETRAINED, UniversalParameters};
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

/// The steps that the shipped numbers took.
const STEPS: usize = 30;
/// The dimensions and discounts that each family is judged with.
const DIMENSIONS: [usize; 4] = [2, 4, 8, 16];
const DISCOUNTS: [f64; 2] = [0.9, 0.98];

/// The longest context of the comparison by dimension: beyond it both errors may be rounding.
const LONGEST: f64 = 1000.0;

/// Returns the cells that are judged, of some families.
pub fn cells(families: &[usize]) -> Vec<BenchmarkCell> {
    let of = |family: &usize| {
        let family = *family;
        DISCOUNTS
            .into_iter()
            .flat_map(move |gamma| DIMENSIONS.map(|d| BenchmarkCell { family, d, gamma }))
    };
    families.iter().flat_map(of).collect()
}

/// Returns a cell's name in the record.
pub fn cell_name(BenchmarkCell { family, d, gamma }: &BenchmarkCell) -> String {
    format!("{}, d = {d}, gamma = {gamma}", FAMILIES[*family])
}

/// The families whose values the features cannot represent, and those whose they can.
const OTHERS: [usize; 2] = [0, 2];
const REPRESENTABLE: [usize; 2] = [1, 3];

/// One model for every feature dimension, context length and unit.
pub const UNIVERSAL: Experiment = table(
    "universal",
    "none: one model for any dimension, length and unit",
    ExperimentSpec {
        about: "Finds the numbers of the model that ships (`--model universal`), from near where longer searches \
                ended: steps of Adam on the same contexts, whose gradient passes through the solution of TD's equations. Contexts are of Boyan's \
                chains and random MDPs, each with random rewards and with values that the features represent, and of \
                random signals with 4 and 16 features; tasks have 2 to 32 features, 1 to 10,000 transitions and \
                discounts 0 to 0.995; the targets are true values, and returns of signals (or, with --td-errors 1, \
                TD's own: the reward and the discounted value of the next state). Then the model is judged on \
                fresh tasks, against the number of transitions seen, beside LSTD(lambda) and online TD(0.92), each \
                with one setting for all and with the best in hindsight for each family, discount and length (lambda \
                0, 0.92 and 1, six ridges; six step sizes), and the paper's own trained model (Figure 2's runs; a task \
                is given to one of the seeds).",
        settings: &[
            Setting {
                name: "steps",
                default: "30",
                expected: [0, 100_000],
                about: "Steps of training; 0 judges the numbers that ship",
            },
            Setting {
                name: "fresh-tasks",
                default: "2000",
                expected: [2, 1_000_000],
                about: "Fresh tasks for each family, dimension and discount; one in twenty goes on to 5,000 transitions",
            },
            Setting {
                name: "td-errors",
                default: "0",
                expected: [0, 1],
                about: "1: training sees TD errors alone, and no value",
            },
        ],
        runs: &[run("linear-l3", "", "L = 3", &[])],
        own: put,
        claims: &[
            own(
                "values beyond the features: as good as LSTD with the best lambda and ridge in hindsight",
                |of| ratio(of, &OTHERS, "lstd_hindsight"),
            )
            // The best of eighteen settings for each length is known in hindsight alone.
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
            .refuted(),
            own(
                "representable values: as good as LSTD(0.92) with one ridge",
                |of| ratio(of, &REPRESENTABLE, "lstd_one"),
            ),
            own(
                "representable values: as good as TD(0.92) with the best step size in hindsight",
                |of| ratio(of, &REPRESENTABLE, "td_hindsight"),
            ),
            own("no mean error is above that of predicting 0", |of| {
                at_most(of, "universal", "mean error at most", 1.05)
            }),
            // Some contexts have a first system that is next to singular.
            own("no context explodes", |of| {
                at_most(of, "percentile_99_9", "99.9th percentile at most", 5.0)
            })
            .refuted(),
            SAME_BITS,
        ],
        figures: &[Plots(
            "universal",
            "One model for every dimension, context length and unit",
            "mean over fresh tasks; hindsight: the best ridge or step size for each length; the paper's model: \
             d = 4 alone",
            &[
                plot(&curves("Boyan's chains, d = 4, gamma = 0.9"), "Boyan's chains"),
                plot(&curves("representable chains, d = 4, gamma = 0.9"), "representable chains"),
                plot(&curves("random MDPs, d = 4, gamma = 0.9"), "random MDPs"),
                plot(&curves("representable MDPs, d = 4, gamma = 0.9"), "representable MDPs"),
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

/// Returns a claim of this project.
const fn own(words: &'static str, judge: fn(RunMeasurements) -> Judgement) -> ClaimSpec {
    claim(words, Source::OWN, judge)
}

const fn plot(curves: &'static [CurveSpec], title: &'static str) -> PanelSpec {
    let y = || Axis::fixed("error / error of predicting 0", 0.0, 1.5);
    PanelSpec { title, x: || Axis::log("transitions seen"), y, curves }
}

const fn curves(cell: &'static str) -> [CurveSpec; 6] {
    [
        series("universal", cell, "universal", SeedAggregate::Mean),
        series("LSTD, hindsight", cell, "lstd_hindsight", SeedAggregate::Mean).dashed(),
        series("LSTD, one setting", cell, "lstd_one", SeedAggregate::Mean).dashed(),
        series("TD, hindsight", cell, "td_hindsight", SeedAggregate::Mean).dashed(),
        series("TD, one setting", cell, "td_one", SeedAggregate::Mean).dashed(),
        series("the paper's model", cell, "paper", SeedAggregate::Mean),
    ]
}

/// The record's name of the learned numbers.
const NUMBERS: &str = "numbers";

/// Puts the learned numbers, and their errors in each cell, into the record.
fn put(work: &ExperimentInputs, long: &mut MeasurementTable) -> Result<(), Error> {
    let ([steps, tasks, td_errors], [run]) = (work.settings, work.runs) else { return Ok(()) };
    let target = if *td_errors == 1 { Target::TdError } else { Target::Value };
    let numbers = match *steps {
        0 => PRETRAINED,
        steps => train(work, steps as u64, target)?,
    };
    for (i, x) in numbers.iter().enumerate() {
        long.put(NUMBERS, None, "parameter", i as f64, (*x).into());
    }
    // Other steps make other numbers.
    let ships = if *steps == 0 || *steps == STEPS && target == Target::Value {
        f64::from(numbers == PRETRAINED)
    } else {
        f64::NAN
    };
    long.put(NUMBERS, None, "ships", 0.0, ships);
    let judge = Benchmark::new(&numbers, &run.seeds, run.recipe.layers);
    for cell in cells(&[0, 1, 2, 3]) {
        let mut seeds =
            Rng::stream(work.session.seed ^ (cell.d as u64) << 32, RngStream::Evaluation);
        let seeds: Vec<_> = (0..*tasks).map(|i| (i, seeds.next_u64())).collect();
        let name = cell_name(&cell);
        let errors = work
            .session
            .map(&name, &seeds, |&(i, seed)| judge.errors(cell, i, seed).context(name.clone()))?;
        for (metric, n, value) in summary(&errors) {
            long.put(&name, None, metric, n as f64, value);
        }
    }
    for (families, values) in
        [(OTHERS, "values beyond the features"), (REPRESENTABLE, "representable values")]
    {
        for d in DIMENSIONS {
            let of_d: Vec<_> = cells(&families).into_iter().filter(|cell| cell.d == d).collect();
            for reference in OF_LAMBDA.into_iter().chain(["lstd_hindsight"]) {
                let ratio = geometric_mean(&ratios(long.of(""), &of_d, reference, LONGEST));
                long.put(
                    &format!("{values}, d = {d}"),
                    None,
                    &format!("beside {reference}"),
                    0.0,
                    ratio,
                );
            }
        }
    }
    Ok(())
}

/// Returns the numbers after training.
fn train(
    work: &ExperimentInputs,
    steps: u64,
    target: Target,
) -> Result<UniversalParameters<f32>, Error> {
    let seed = work.session.seed;
    let mut training = work
        .session
        .on_threads(1, || ParameterSearch::new(steps, target, seed))?
        .context("training")?;
    let bar = progress::bar("universal", steps, work.session.quiet);
    for _ in 0..steps {
        if progress::interrupted() {
            return Err(Error::Interrupted);
        }
        let losses: Vec<_> = work.session.on_threads(training.groups(), || {
            (0..training.groups()).into_par_iter().map(|group| training.loss(group)).collect()
        })?;
        training.step(&losses);
        bar.inc(1);
    }
    Ok(training.parameters())
}

/// Returns a metric of cells at all lengths up to one.
fn all(of: RunMeasurements, cells: &[BenchmarkCell], metric: &str, longest: f64) -> Vec<f64> {
    let of_cell = |cell: &BenchmarkCell| {
        let name = cell_name(cell);
        let of = of.other_run(&name);
        let places = of.places(metric).into_iter().filter(|n| *n <= longest);
        places.flat_map(|n| of.values_at(metric, n)).collect::<Vec<_>>()
    };
    cells.iter().flat_map(of_cell).collect()
}

/// Returns the model's errors over those of a reference.
fn ratios(of: RunMeasurements, cells: &[BenchmarkCell], reference: &str, longest: f64) -> Vec<f64> {
    let errors = all(of, cells, "universal", longest).into_iter();
    errors.zip(all(of, cells, reference, longest)).map(|(a, b)| a / b).collect()
}

fn geometric_mean(ratios: &[f64]) -> f64 {
    libm::exp(ratios.iter().map(|x| libm::log(*x)).sum::<f64>() / ratios.len() as f64)
}

/// Judges whether the model's errors are as small as a reference's, in the geometric mean and everywhere.
fn ratio(of: RunMeasurements, families: &[usize], reference: &str) -> Judgement {
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

/// Judges whether a metric is below a limit in every cell and at every length.
fn at_most(of: RunMeasurements, metric: &str, says: &str, limit: f64) -> Judgement {
    let values = all(of, &cells(&[0, 1, 2, 3]), metric, f64::INFINITY);
    let worst = values.into_iter().fold(0.0, nan_or_larger);
    let measured = format!("{says} {} times predicting 0, needs <= {limit}", number(worst, 2));
    (measured, Verdict::of(worst <= limit).unless_nan([worst]))
}

const SAME_BITS: ClaimSpec =
    own("the same bits on every machine", |of| match of.other_run(NUMBERS).median("ships") {
        1.0 => ("the numbers that ship (seed 0)".into(), Verdict::Holds),
        _ => ("other numbers than those that ship".into(), Verdict::DoesNotHold),
    });
