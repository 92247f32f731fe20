//! The golden sets, the equivalences and the platforms: one binary, so that core's shapes are compiled once.
//! `cargo test -p tests --test it NAME` runs the tests of a file.

mod bad_input;
mod contexts;
mod equivalence;
mod golden_cartpole;
mod golden_classical;
mod golden_coverage;
mod golden_gradients;
mod golden_invariant_set;
mod golden_linear_forward;
mod golden_metrics;
mod golden_mrp;
mod golden_rnn;
mod golden_theory;
mod golden_training_trace;
mod linear_rnn;
mod platforms;

// What nearly every test names.
use ictd_core::attention::{Attention, AverageReward, Linear, SoftmaxAttention};
use ictd_core::context::{Forgetting, Growing, Memory, Sliding};
use ictd_core::layer::{Layer, TwoHeadLayer};
use ictd_core::mask::{Mask, MeanCentred, Td0, TdLambda};
use ictd_core::metrics::EvaluationStates;
use ictd_core::prompt::Prompt;
use ictd_core::rng::Rng;
use ictd_core::scalar::{Lanes8, Real, Scalar};
use ictd_core::statistic::Statistic;
use ictd_core::tasks::Mrp;
use ictd_core::training::{
    LinearNetwork, LinearShape, Network, Parameters, SoftmaxNetwork, Targets, Windows,
};
use ictd_core::transformer::Transformer;
use ictd_core::transition::Transition;
use ictd_core::{Context, Error, Model, ValueFunction, constructions, linalg, td};
use nalgebra::{SMatrix, SVector};
use tests::{Case, MAX_CONTEXT, MAX_LAYERS, OWN_FAMILY, Outputs, check_family, golden};
