//! The loss of pretraining at parameters of a known form beside that of trained ones.

use super::demo::Demo;
use super::experiment::{Experiment, ExperimentInputs, ExperimentSpec, run, table};
use super::follow_ups::{MINIMISER, model};
use super::judging::{ClaimSpec, Judgement, all_positive, claim, differences};
use super::measurements::{MeasurementTable, RunMeasurements};
use super::statistics::{mean_interval, median, median_interval};
use crate::error::{Error, WithContext};
use crate::options;
use crate::run::report::Source;
use judge::estimator::{Estimator, Method};
use judge::value_error::{ContextSweep, DIVERGED, ValueErrors, ValuePredictor, errors};

pub const PRETRAINING_LOSS: Experiment = table(
    "pretraining-loss",
    "A follow-up: the loss at Theorem 1's parameters, at preconditioned TD's, and at trained ones",
    ExperimentSpec {
        about: "Follow-up papers prove, in settings of their own, that TD's parameters minimise a pretraining loss. Here \
                are Theorem 1's with the best alpha and preconditioned TD's with the best alpha and beta (fitted on 150 \
                tasks) beside trained ones, on 300 fresh tasks as those of training with contexts of 30. The loss is the \
                mean value error relative to that of predicting 0: the loss of Monte Carlo returns less a constant.",
        runs: &[
            run("linear-l2", "--layers 2", "L = 2", CLAIMS),
            run("linear-l3", "", "L = 3", CLAIMS),
            run("linear-l4", "--layers 4", "L = 4", CLAIMS),
        ],
        own: put_losses,
        ..ExperimentSpec::EMPTY
    },
);

const THEOREM_1: &str = "Theorem 1";
const PRECONDITIONED: &str = "preconditioned TD";
const TRAINED: &str = "trained layers";
const TO_FIT: usize = 150;

/// Returns each task's value error relative to the mean error of predicting 0. (One that is not finite is [`DIVERGED`].)
fn losses(
    sweep: &ContextSweep,
    predictor: &ValuePredictor,
    tasks: &[u64],
) -> Result<Vec<f64>, Error> {
    let (mut found, mut zero) = (Vec::new(), 0.0);
    for task in tasks {
        match errors(sweep, predictor, *task) {
            Ok(ValueErrors { at, zero: of_zero, .. }) => {
                found.extend(at);
                zero += of_zero / tasks.len() as f64;
            }
            Err(ictd_core::Error::NonFinite { .. }) => found.push(DIVERGED),
            Err(error) => return Err(error).context("fresh tasks"),
        }
    }
    Ok(found.into_iter().map(|error| error / zero).collect())
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the numbers of a form with the least loss that a pattern search finds: alpha and, if `preconditioned`, beta.
fn fitted(
    preconditioned: bool,
    loss: impl Fn([f64; 2]) -> Result<Vec<f64>, Error>,
) -> Result<[f64; 2], Error> {
    let (mut best, mut step) = ([1.0, 0.0], 0.4);
    let mut least = mean(&loss(best)?);
    while step > 0.05 {
        let [alpha, beta] = best;
        let along = [[alpha + step, beta], [alpha - step, beta]];
        let across = [[alpha, beta + 0.3 * step], [alpha, beta - 0.3 * step]];
        let found = along.into_iter().chain(across.into_iter().filter(|_| preconditioned));
        let before = least;
        for numbers in found {
            let of_numbers = mean(&loss(numbers)?);
            if of_numbers < least {
                (best, least) = (numbers, of_numbers);
            }
        }
        step *= if least < before { 1.0 } else { 0.5 };
    }
    Ok(best)
}

fn put_losses(work: &ExperimentInputs, long: &mut MeasurementTable) -> Result<(), Error> {
    let demo: Demo = options::parsed("--task boyan --min-states 10 --dim 4 --tasks 450");
    let mut sweep = demo.sweep();
    sweep.lengths = vec![30];
    let tasks = demo.seeds(work.session);
    let (to_fit, tasks) = tasks.split_at(TO_FIT);
    for run in work.runs {
        let layers = run.recipe.layers;
        let loss = |[alpha, beta]: [f64; 2], tasks| {
            let method = Method::PreconditionedTd { alpha, beta };
            let gamma = run.recipe.gamma;
            losses(&sweep, &ValuePredictor::Estimator(Estimator { method, gamma, layers }), tasks)
        };
        for (form, preconditioned) in [(THEOREM_1, false), (PRECONDITIONED, true)] {
            let numbers = fitted(preconditioned, |numbers| loss(numbers, to_fit))?;
            for (name, number) in ["alpha", "beta"].into_iter().zip(numbers) {
                long.put(run.name, None, &format!("{form}, {name}"), 0.0, number);
            }
            for (task, error) in tasks.iter().zip(loss(numbers, tasks)?) {
                long.put(run.name, *task, form, 0.0, error);
            }
        }
        let found = work.session.map(run.name, &run.seeds, |seed| {
            Ok(mean(&losses(&sweep, &model(run, seed, layers), tasks)?))
        })?;
        for (seed, error) in run.seeds.iter().zip(found) {
            long.put(run.name, seed.seed, TRAINED, 0.0, error);
        }
    }
    Ok(())
}

const CLAIMS: &[ClaimSpec] = &[
    claim("Theorem 1's best alpha has a smaller loss than trained layers", MINIMISER, |of| {
        beside_trained(of, THEOREM_1)
    })
    .refuted(),
    claim("preconditioned TD has a smaller loss than trained layers", Source::OWN, |of| {
        beside_trained(of, PRECONDITIONED)
    }),
    claim("preconditioned TD has a smaller loss than Theorem 1's best alpha", Source::OWN, |of| {
        let [theorem_1, preconditioned] = [THEOREM_1, PRECONDITIONED].map(|form| of.values(form));
        let less = mean_interval(&differences(&preconditioned, &theorem_1));
        let [alpha, beta] = ["alpha", "beta"].map(|x| of.median(&format!("{PRECONDITIONED}, {x}")));
        let what = format!(
            "alpha {alpha:.2}, beta {beta:.2}: {:.3} and {:.3}, in the mean less by",
            mean(&preconditioned),
            mean(&theorem_1)
        );
        all_positive(&what, &[less], None)
    }),
];

fn beside_trained(of: RunMeasurements, form: &str) -> Judgement {
    let (trained, own) = (of.values(TRAINED), mean(&of.values(form)));
    let less: Vec<f64> = trained.iter().map(|trained| trained - own).collect();
    let what = format!("{own:.3} and median {:.3}; over seeds less by", median(&trained));
    all_positive(&what, &[median_interval(&less)], None)
}
