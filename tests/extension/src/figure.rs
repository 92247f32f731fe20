//! An experiment with its claim and its figure: what training finds on random walks.

use figures::Axis;
use ictd::experiments::Experiment;
use ictd::experiments::experiment::{ExperimentSpec, run, table};
use ictd::experiments::judging::{ClaimSpec, Threshold, claim, most};
use ictd::experiments::plots::{FigureSpec, PanelSpec, means};
use ictd::run::report::Source;

const RUN: &str = "random-walk-l3";

const IMPROVES: ClaimSpec = claim("P's corner ends above 0", Source::OWN, |of| {
    most(of, [("p_bottom_right", Threshold::Above(0.0))])
});

pub(crate) const RANDOM_WALK: Experiment = table(
    "random-walk",
    "Another crate: training on random walks",
    ExperimentSpec {
        about: "Trains on the random walk of Sutton and Barto, example 6.2, with random features.",
        runs: &[run(RUN, "--task random-walk", "random walks", &[IMPROVES])],
        figures: &[FigureSpec::Plots(
            "random-walk",
            "Training on random walks",
            "mean over seeds with standard error",
            &[PanelSpec {
                title: "",
                x: || Axis::linear("tasks"),
                y: || Axis::linear("MSVE"),
                curves: &[means("three layers", RUN, "msve")],
            }],
            1,
        )],
        ..ExperimentSpec::EMPTY
    },
);
