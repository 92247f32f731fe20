//! Questions that the paper leaves open, as data: which algorithms emerge, and the part of trained layers outside the
//! parameters of Theorem 2.

use super::appendices::{CART_POLE_OPTIONS, CART_POLE_RUN};
use super::experiment::{EvaluationPlan, Experiment, ExperimentSpec, TrainingRun, run, table};
use super::judging::{ClaimSpec, Threshold, below, claim, most};
use super::paper::{D_8, EXPLAINED};
use super::plots::FigureSpec::Explained;
use super::statistics::{finite_median, two_way};
use crate::run::report::Source;

pub const EMERGENCE: Experiment = table(
    "emergence",
    "Beyond the paper: which algorithms emerge",
    ExperimentSpec {
        about: "The paper leaves open whether TD(lambda) and the residual gradient emerge as TD(0) does. Here are \
                trained, with L = 1 to 4: TD(lambda)'s mask, TD(0)'s mask by the residual gradient, and TD(0) itself. Each seed is judged by its function on \
                fresh tasks (which algorithm, with one step size fitted on others, explains how much of |v|^2, and how much preconditioned TD does), by the form of its parameters, and by what projecting them on ten numbers a layer \
                loses.",
        runs: &[
            emerges("linear-l1", "--layers 1"),
            emerges("linear-l2", "--layers 2"),
            emerges("linear-l3", "--layers 3"),
            emerges("linear-l4", "--layers 4"),
            emerges("lambda-0.3-l1", "--trace-decay 0.3 --layers 1"),
            emerges("lambda-0.3-l2", "--trace-decay 0.3 --layers 2"),
            emerges("lambda-0.3-l3", "--trace-decay 0.3 --layers 3"),
            emerges("lambda-0.3-l4", "--trace-decay 0.3 --layers 4"),
            emerges("lambda-0.6-l1", "--trace-decay 0.6 --layers 1"),
            emerges("lambda-0.6-l2", "--trace-decay 0.6 --layers 2"),
            emerges("lambda-0.6-l3", "--trace-decay 0.6 --layers 3"),
            is_left("lambda-0.6-l4", "--trace-decay 0.6 --layers 4"),
            emerges("lambda-0.9-l1", "--trace-decay 0.9 --layers 1"),
            is_left("lambda-0.9-l2", "--trace-decay 0.9 --layers 2"),
            is_left("lambda-0.9-l3", "--trace-decay 0.9 --layers 3"),
            is_left("lambda-0.9-l4", "--trace-decay 0.9 --layers 4"),
            emerges("residual-gradient-l1", "--loss residual-gradient --layers 1"),
            emerges("residual-gradient-l2", "--loss residual-gradient --layers 2"),
            emerges("residual-gradient-l3", "--loss residual-gradient --layers 3"),
            emerges("residual-gradient-l4", "--loss residual-gradient --layers 4"),
        ],
        evaluation: EvaluationPlan { formulas: true, lost: true, ..EvaluationPlan::NOTHING },
        figures: &[Explained("emergence", "Which algorithms emerge", 4)],
        ..ExperimentSpec::EMPTY
    },
);

const fn emerges(name: &'static str, options: &'static str) -> TrainingRun {
    run(name, options, name, &[EMERGES])
}

const fn is_left(name: &'static str, options: &'static str) -> TrainingRun {
    run(name, options, name, LEFT)
}

/// With a long trace more layers leave the algorithm.
const LEFT: &[ClaimSpec] = &[EMERGES.refuted()];
const EMERGES: ClaimSpec = claim(
    "in a seed, the algorithm that is asked for explains at least 0.9 of v_TF, and no other of the five explains more",
    Source::OWN,
    |of| most(of, [("share", Threshold::AtLeast(EXPLAINED)), ("lead", Threshold::AtLeast(0.0))]),
)
.with_medians(&["explained by preconditioned TD", "form", "lost"]);

pub const INVARIANT_SET: Experiment = table(
    "invariant-set",
    "Beyond the paper: the invariant set of any depth",
    ExperimentSpec {
        about: "Trained parameters (the linear transformers of the paper's experiments): how much of P and Q is \
                outside of ten numbers a layer, the set for any depth, and what share of |v|^2 is lost, on fresh \
                tasks, when P and Q are projected on it.",
        runs: &[
            kept("linear-l1", "--layers 1"),
            kept("linear-l2", "--layers 2"),
            kept("linear-l3", ""),
            kept("linear-l4", "--layers 4"),
            kept("linear-l3-d8", D_8),
            kept("sequential-l2", "--layer-sharing sequential --layers 2"),
            kept("sequential-l3", "--layer-sharing sequential --layers 3"),
            kept("sequential-l4", "--layer-sharing sequential --layers 4"),
            kept(CART_POLE_RUN, CART_POLE_OPTIONS),
        ],
        evaluation: EvaluationPlan { lost: true, ..EvaluationPlan::NOTHING },
        ..ExperimentSpec::EMPTY
    },
);

const fn kept(name: &'static str, options: &'static str) -> TrainingRun {
    run(name, options, name, &[LOSES_LITTLE])
}

const LOSES_LITTLE: ClaimSpec =
    claim("ten numbers a layer are most of the function", Source::OWN, |of| {
        // A seed that has diverged loses all.
        let mut draws = of.in_draws("lost");
        draws.iter_mut().flatten().filter(|x| !x.is_finite()).for_each(|x| *x = 1.0);
        let lost = two_way([&draws], |[values]| finite_median(values));
        let measured = format!("lost of |v|^2: median {lost}, needs < 0.05 (in part < 0.5)");
        (measured, below(lost, 0.05, 0.5))
    })
    .with_medians(&["outside_p", "outside_q", "explained by ten numbers"]);
