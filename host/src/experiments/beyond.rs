//! A question that the paper leaves open, as data: which algorithms emerge.

use super::experiment::{EvaluationPlan, Experiment, ExperimentSpec, TrainingRun, run, table};
use super::judging::{ClaimSpec, Threshold, claim, most};
use super::paper::EXPLAINED;
use super::plots::FigureSpec::Explained;
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
.with_medians(&["explained by preconditioned TD", "form_distance", "lost"]);
