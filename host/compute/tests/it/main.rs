//! The tests of what computes: one binary, so that what they share is compiled once.

mod algorithm_1;
mod control;
mod drift;
mod explained;
mod judge;
mod level;
mod logged;
mod options;
mod predictor;
mod tasks;
mod universal_search;
mod verify;
