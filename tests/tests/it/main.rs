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
