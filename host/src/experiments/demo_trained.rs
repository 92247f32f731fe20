//! Figure 1 with trained transformers beside Theorem 1's.

use super::demo::{CAPTION, Demo, MSVE, SOURCE, TRAINED, ZERO, falls_in_seeds, plot};
use super::experiment::Entry;
use super::judging::{JudgedClaim, Judgement, claim};
use super::long::{Long, OfRun};
use super::paper::table;
use super::plots::{Seeds, Series, Shown, series};
use super::table::{Setting, Table, Work, run};
use crate::error::Error;
use crate::formats::parameters;
use crate::options;
use crate::train::directory::final_parameters;
use compute::estimator::{Estimator, Method};
use compute::figure_1::Evaluator;
use compute::recipe::Attention;
use figures::Axis;

/// Figure 1, by the transformers that were trained, not by Theorem 1's.
pub const DEMO_TRAINED: Entry = table(
    "demo-trained",
    "Figure 1, with trained transformers",
    Table {
        about: "The transformers of Figure 2 (L = 3, d = 4, trained with 30 transitions) evaluate the tasks of \
                Figure 1, with values that the features can represent; in three families, of which they were \
                trained on none. Beside them stand Theorem 1's 15 layers, and predicting 0.",
        settings: &[Setting {
            name: "tasks",
            default: "300",
            accepted: [1, 1_000_000],
            about: "Tasks of each family",
        }],
        runs: &[run("linear-l3", "", "L = 3", &[])],
        own: put,
        // On Loops the values blow up; on chains those of some tasks, which are the mean.
        claims: &[
            of_family("trained, random MDPs: value error falls", |of| of_run(of, 0)),
            of_family("trained, Loop: value error falls", |of| of_run(of, 1)).refuted(),
            of_family("trained, Boyan's chain, representable values: value error falls", |of| {
                of_run(of, 2)
            })
            .refuted(),
        ],
        figures: &[Shown::Plots(
            "demo-trained",
            "Policy evaluation in context, by trained transformers",
            CAPTION,
            &[
                plot("Random MDPs", || Axis::log("MSVE"), &curves(FAMILIES[0].1)),
                plot("Loop", || Axis::log("MSVE"), &curves(FAMILIES[1].1)),
                plot(
                    "Boyan's chain, representable values",
                    || Axis::log("MSVE"),
                    &curves(FAMILIES[2].1),
                ),
            ],
            3,
        )],
        ..Table::EMPTY
    },
);

/// The families of tasks: what is typed after `ictd demo` for one, and its name in the record.
const FAMILIES: [(&str, &str); 3] = [
    ("--dim 4 --task mdp", "mdp"),
    ("--dim 4 --task loop --max-states 15", "loop"),
    ("--dim 4 --task boyan --min-states 10", "boyan"),
];

const fn of_family(words: &'static str, judge: fn(OfRun) -> Judgement) -> JudgedClaim {
    claim(words, SOURCE.variant(), judge)
}

fn of_run(of: OfRun, family: usize) -> Judgement {
    falls_in_seeds(of.beside(FAMILIES[family].1))
}

const fn curves(family: &'static str) -> [Series; 3] {
    [
        series("trained, L = 3", family, TRAINED, Seeds::Quartiles),
        series("Theorem 1, 15 layers", family, MSVE, Seeds::Mean),
        series("predicting 0", family, ZERO, Seeds::Quartiles).dashed(),
    ]
}

/// Puts the errors of trained seeds, and of Theorem 1's layers, in each family into the record.
fn put(work: &Work, long: &mut Long) -> Result<(), Error> {
    let ([tasks], [trained]) = (work.settings, work.runs) else { return Ok(()) };
    for (typed, family) in FAMILIES {
        let demo = Demo { tasks: *tasks, ..options::parsed(typed) };
        let seeds = demo.seeds(work.session);
        for seed in &trained.seeds {
            let found = final_parameters(&trained.recipe, seed);
            let evaluator = found.filter(|of| parameters::check(of).is_ok()).map(|parameters| {
                let (parameters, attention) = (Box::new(parameters), Attention::Linear);
                let method = Method::Trained { parameters, attention };
                let (gamma, layers) = (demo.gamma, trained.recipe.layers);
                Evaluator::Estimator(Estimator { method, gamma, layers })
            });
            let names = [family, TRAINED];
            demo.put_seed(names, (seed.seed, evaluator), &seeds, work.session, long)?;
        }
        demo.put_tasks([family, MSVE], &demo.constructed(), work.session, long)?;
    }
    Ok(())
}
