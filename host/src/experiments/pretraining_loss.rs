//! The loss of pretraining at parameters of a known form beside that of trained ones.

use super::experiment::{Experiment, ExperimentInputs, ExperimentSpec, run, table};
use super::judging::{ClaimSpec, Judgement, all_positive, claim, differences};
use super::measurements::{MeasurementTable, RunMeasurements};
use super::statistics::{median, median_interval};
use crate::error::{Error, WithContext};
use crate::run::report::Source;
use crate::train::directory::final_parameters;
use judge::pretraining_loss::{FreshTasks, LOSSES};

const MINIMISER: Source = Source::paper(
    "arXiv 2605.07333, abstract",
    "we prove that those parameters are a global minimizer of a pretraining loss",
)
.variant();

/// The forms, and whether beta is fitted.
const FORMS: [(&str, bool); 2] = [("Theorem 1", false), ("preconditioned TD", true)];

pub const PRETRAINING_LOSS: Experiment = table(
    "pretraining-loss",
    "A follow-up: the loss at Theorem 1's parameters, at preconditioned TD's, and at trained ones",
    ExperimentSpec {
        about: "Follow-up papers prove that TD's parameters minimise a pretraining loss, in settings of their own. Here \
                Theorem 1's with the best alpha, preconditioned TD's with the best alpha and beta (each fitted to the \
                loss on 1,000 tasks), and trained ones are judged by two losses on 10,000 fresh tasks as those of \
                training: the value error, which is the loss of Monte Carlo returns less a constant, and the squared \
                TD error of the transitions after the context. Both are relative to predicting 0.",
        runs: &[
            run("linear-l2", "--layers 2", "L = 2", CLAIMS),
            run("linear-l3", "", "L = 3", CLAIMS),
            run("linear-l4", "--layers 4", "L = 4", CLAIMS),
        ],
        own: put_losses,
        ..ExperimentSpec::EMPTY
    },
);

fn named(form: &str, loss: &str) -> String {
    format!("{form}, {loss}")
}

fn put_losses(work: &ExperimentInputs, long: &mut MeasurementTable) -> Result<(), Error> {
    let tasks = FreshTasks::draw(work.session.seed).context("fresh tasks")?;
    for run in work.runs {
        let layers = run.recipe.layers;
        for (form, preconditioned) in FORMS {
            for (at, loss) in LOSSES.iter().enumerate() {
                let numbers = tasks.best(layers, at, preconditioned);
                for (name, x) in ["alpha", "beta"].into_iter().zip(numbers) {
                    long.put(run.name, None, &format!("{}, {name}", named(form, loss)), 0.0, x);
                }
                for (draw, losses) in tasks.of_numbers(numbers, layers).iter().enumerate() {
                    long.put(run.name, None, &named(form, loss), draw as f64, losses[at]);
                }
            }
        }
        let found = work.session.map(run.name, &run.seeds, |seed| {
            let parameters = final_parameters(&run.recipe, seed);
            tasks.of_parameters(&parameters, layers).context(run.name)
        })?;
        for (seed, losses) in run.seeds.iter().zip(found) {
            for (name, loss) in LOSSES.into_iter().zip(losses) {
                long.put(run.name, seed.seed, &named("trained", name), 0.0, loss);
            }
        }
    }
    Ok(())
}

const CLAIMS: &[ClaimSpec] = &[
    claim(
        "Theorem 1's best alpha has a smaller value error than most trained layers",
        MINIMISER,
        |of| beside_trained(of, FORMS[0].0, LOSSES[0]),
    ),
    claim("preconditioned TD has a smaller value error than Theorem 1's", Source::OWN, |of| {
        beside_theorem_1(of, LOSSES[0])
    }),
    claim("preconditioned TD has a smaller TD error than Theorem 1's", Source::OWN, |of| {
        beside_theorem_1(of, LOSSES[1])
    }),
    claim(
        "preconditioned TD has a smaller value error than most trained layers",
        Source::OWN,
        |of| beside_trained(of, FORMS[1].0, LOSSES[0]),
    ),
    claim("preconditioned TD has a smaller TD error than most trained layers", Source::OWN, |of| {
        beside_trained(of, FORMS[1].0, LOSSES[1])
    }),
];

fn beside_theorem_1(of: RunMeasurements, loss: &str) -> Judgement {
    let [theorem_1, preconditioned] = FORMS.map(|(form, _)| of.values(&named(form, loss)));
    let less = median_interval(&differences(&preconditioned, &theorem_1));
    let numbers = ["alpha", "beta"]
        .map(|name| format!("{:.2}", of.median(&format!("{}, {name}", named(FORMS[1].0, loss)))));
    let what = format!(
        "alpha {}, beta {}: {:.3} and {:.3}, in a draw less by",
        numbers[0],
        numbers[1],
        median(&preconditioned),
        median(&theorem_1)
    );
    all_positive(&what, &[less], None)
}

fn beside_trained(of: RunMeasurements, form: &str, loss: &str) -> Judgement {
    let (trained, own) = (of.values(&named("trained", loss)), of.values(&named(form, loss)));
    let own = own.iter().sum::<f64>() / own.len() as f64;
    let less: Vec<f64> = trained.iter().map(|trained| trained - own).collect();
    let what = format!("{own:.3} and {:.3}, over seeds less by", median(&trained));
    all_positive(&what, &[median_interval(&less)], None)
}
