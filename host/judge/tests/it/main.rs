//! The tests of what estimates and judges: one binary, so that what they share is compiled once.

mod algorithm_1;
mod contexts;
mod control;
mod drift;
mod explained;
mod judging;
mod logged;
mod predictor;
mod verify;
