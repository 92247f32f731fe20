//! The model that ships: its training, and how good it is beside the classical algorithms and the paper's own
//! trained model.

use super::experiment::Entry;
use super::judging::{JudgedClaim, Judgement, claim};
use super::long::{Long, OfRun};
use super::paper::table;
use super::plots::Shown::Plots;
use super::plots::{Plot, Seeds, Series, series};
use super::statistics::nan_or_larger;
use super::table::{Setting, Table, Work, run};
use crate::error::{Doing, Error};
use crate::run::progress;
use crate::run::report::{Source, Verdict, number};
use compute::universal::{Judge, Training, summary};
use figures::Axis;
use ictd_core::UniversalModel;
use ictd_core::layer::UniversalLayer;
use ictd_core::rng::{Rng, Stream};

/// The discount of the fresh tasks.
const GAMMA: f64 = 0.9;
/// The steps that the shipped numbers took.
const STEPS: usize = 100_000;

/// The cells that are judged: the family's number, d, and the name in the record; those of Boyan's chains come first.
const CELLS: [(usize, usize, &str); 7] = [
    (0, 4, "Boyan's chains, d = 4"),
    (0, 2, "Boyan's chains, d = 2"),
    (0, 8, "Boyan's chains, d = 8"),
    (0, 16, "Boyan's chains, d = 16"),
    (1, 4, "representable chains, d = 4"),
    (2, 4, "random MDPs, d = 4"),
    (3, 4, "Loop, d = 4"),
];

/// One model for every feature dimension, context length and unit.
pub const UNIVERSAL: Entry = table(
    "universal",
    "none: one model for any dimension, length and unit",
    Table {
        about: "Trains the model that ships (`--model universal`) from nothing: 100,000 steps of Adam, each on 16 \
                contexts of one task or signal. Four in five are Boyan's chains with random rewards, the others \
                representable chains, random MDPs with representable values and with random rewards, Loop, and \
                random signals; tasks have 2 to 16 features and 1 to 400 transitions, discounts are 0.3 to 0.98. \
                Then it is judged on fresh tasks with discount 0.9, against the number of transitions seen, beside \
                online TD(0.9), batch TD(0) of 15 steps and LSTD(0.9) with the best step size or ridge for each \
                number of transitions in hindsight, LSTD(0.9) with one ridge, and the paper's own trained model \
                (Figure 2's runs; a task is given to one of the seeds).",
        settings: &[
            Setting {
                name: "steps",
                default: "100000",
                accepted: [0, 100_000_000],
                about: "Steps of training; 0 judges the numbers that ship",
            },
            Setting {
                name: "tasks",
                default: "2000",
                accepted: [2, 1_000_000],
                about: "Fresh tasks for each family and dimension",
            },
        ],
        runs: &[run("linear-l3", "", "L = 3", &[])],
        own: put,
        claims: &[
            claim(
                "Boyan's chains: as good as LSTD(0.9) with the best ridge in hindsight",
                Source::OWN,
                |of| ratio(of, &CELLS[..4], "lstd_hindsight"),
            )
            // A ridge for each length is known in hindsight alone: half a per cent is missing.
            .refuted(),
            claim("Boyan's chains: as good as LSTD(0.9) with one ridge", Source::OWN, |of| {
                ratio(of, &CELLS[..4], "lstd_one_ridge")
            }),
            claim(
                "Boyan's chains: as good as TD(0.9) with the best step size in hindsight",
                Source::OWN,
                |of| ratio(of, &CELLS[..4], "td_hindsight"),
            ),
            claim(
                "other families: as good as LSTD(0.9) with the best ridge in hindsight",
                Source::OWN,
                |of| ratio(of, &CELLS[4..], "lstd_hindsight"),
            ),
            claim("other families: as good as LSTD(0.9) with one ridge", Source::OWN, |of| {
                ratio(of, &CELLS[4..], "lstd_one_ridge")
            }),
            claim(
                "other families: as good as TD(0.9) with the best step size in hindsight",
                Source::OWN,
                |of| ratio(of, &CELLS[4..], "td_hindsight"),
            ),
            NOTHING_EXPLODES,
            SAME_BITS,
        ],
        figures: &[Plots(
            "universal",
            "One model for every dimension, context length and unit",
            "mean over fresh tasks; hindsight: the best ridge or step size for each length; the paper's model: \
             d = 4 alone",
            &[
                plot(&curves(CELLS[0].2), CELLS[0].2),
                plot(curves(CELLS[1].2).split_at(5).0, CELLS[1].2),
                plot(curves(CELLS[2].2).split_at(5).0, CELLS[2].2),
                plot(curves(CELLS[3].2).split_at(5).0, CELLS[3].2),
                plot(&curves(CELLS[4].2), CELLS[4].2),
                plot(&curves(CELLS[5].2), CELLS[5].2),
                plot(&curves(CELLS[6].2), CELLS[6].2),
            ],
            4,
        )],
        ..Table::EMPTY
    },
);

const fn plot(curves: &'static [Series], title: &'static str) -> Plot {
    let y = || Axis::fixed("error / error of predicting 0", 0.0, 1.5);
    Plot { title, x: || Axis::log("transitions seen"), y, curves, lines: &[] }
}

const fn curves(cell: &'static str) -> [Series; 6] {
    [
        series("universal", cell, "universal", Seeds::Mean),
        series("LSTD(0.9), hindsight", cell, "lstd_hindsight", Seeds::Mean).dashed(),
        series("LSTD(0.9), one ridge", cell, "lstd_one_ridge", Seeds::Mean).dashed(),
        series("TD(0.9), hindsight", cell, "td_hindsight", Seeds::Mean).dashed(),
        series("batch TD, hindsight", cell, "batch_td_hindsight", Seeds::Mean).dashed(),
        series("the paper's model", cell, "paper", Seeds::Mean),
    ]
}

/// The record's name of the trained numbers.
const LAYERS: &str = "layers";

/// Puts the trained numbers, and their errors in each cell, into the record.
fn put(work: &Work, long: &mut Long) -> Result<(), Error> {
    let ([steps, tasks], [run]) = (work.settings, work.runs) else { return Ok(()) };
    let shipped = UniversalModel::<f32>::universal(GAMMA as f32).doing("the model that ships")?;
    let shipped = shipped.transformer().layers();
    let layers = match *steps {
        0 => shipped.to_vec(),
        steps => work.session.on_threads(1, || train(work, steps as u64))??,
    };
    for (l, layer) in (0..).zip(&layers) {
        for (part, ten) in [("base", layer.base), ("early", layer.early)] {
            for (letter, five) in [("p", ten.p), ("q", ten.q)] {
                for (i, x) in five.into_iter().enumerate() {
                    long.put(LAYERS, l, &format!("{part} {letter}{}", i + 1), 0.0, x.into());
                }
            }
        }
    }
    // Other steps make other numbers.
    let ships = if [0, STEPS].contains(steps) { f64::from(layers == shipped) } else { f64::NAN };
    long.put(LAYERS, 0, "ships", 0.0, ships);
    let judge = Judge::new(&layers, GAMMA, &run.seeds, run.recipe.layers);
    let judge = judge.doing("the trained model")?;
    for (family, d, cell) in CELLS {
        let mut seeds = Rng::stream(work.session.seed ^ (d as u64) << 32, Stream::Evaluation);
        let seeds: Vec<_> = (0..*tasks).map(|i| (i, seeds.next_u64())).collect();
        let errors = work
            .session
            .map(cell, &seeds, |&(i, seed)| judge.errors(family, d, i, seed).doing(cell))?;
        for (metric, n, value) in summary(&errors) {
            long.put(cell, 0, metric, n as f64, value);
        }
    }
    Ok(())
}

/// Returns the layers after training.
fn train(work: &Work, steps: u64) -> Result<Vec<UniversalLayer<f32>>, Error> {
    let mut training = Training::new(steps, work.session.seed).doing("training")?;
    let bar = progress::bar("universal", steps, work.session.quiet);
    for step in 0..steps {
        if progress::interrupted() {
            return Err(Error::Interrupted);
        }
        training.step().doing(format!("step {step}"))?;
        bar.inc(1);
    }
    Ok(training.layers())
}

/// Returns a metric of cells at all lengths.
fn all(of: OfRun, cells: &[(usize, usize, &str)], metric: &str) -> Vec<f64> {
    let of_cell = |(.., cell): &(usize, usize, &str)| {
        let of = of.beside(cell);
        of.places(metric).into_iter().flat_map(|n| of.values_at(metric, n)).collect::<Vec<_>>()
    };
    cells.iter().flat_map(of_cell).collect()
}

/// Judges whether the model's errors are as small as a reference's, in the geometric mean and everywhere.
fn ratio(of: OfRun, cells: &[(usize, usize, &str)], reference: &str) -> Judgement {
    let errors = all(of, cells, "universal").into_iter().zip(all(of, cells, reference));
    let ratios: Vec<f64> = errors.map(|(error, reference)| error / reference).collect();
    let worst = ratios.iter().copied().fold(0.0, nan_or_larger);
    let mean = libm::exp(ratios.iter().map(|x| libm::log(*x)).sum::<f64>() / ratios.len() as f64);
    let measured = format!(
        "error ratio {} in the geometric mean, needs <= 1; at most {} at any length, needs <= 1.05 (in part: the mean)",
        number(mean, 3),
        number(worst, 3)
    );
    (measured, Verdict::graded(mean <= 1.0 && worst <= 1.05, mean <= 1.0))
}

const NOTHING_EXPLODES: JudgedClaim = claim("no context explodes", Source::OWN, |of| {
    let worst = all(of, &CELLS, "percentile_99_9").into_iter().fold(0.0, nan_or_larger);
    let measured =
        format!("99.9th percentile at most {} times predicting 0, needs <= 5", number(worst, 2));
    (measured, Verdict::of(worst <= 5.0))
});
const SAME_BITS: JudgedClaim = claim("the same bits on every machine", Source::OWN, |of| match of
    .beside(LAYERS)
    .median("ships")
{
    1.0 => ("the numbers that ship (seed 0)".into(), Verdict::Holds),
    0.0 => ("other numbers than those that ship".into(), Verdict::DoesNotHold),
    _ => (format!("other steps than {STEPS}"), Verdict::HoldsInPart),
});
