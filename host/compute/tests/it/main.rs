//! The tests of what trains: one binary, so that what they share is compiled once.

mod level;
mod options;
mod tasks;
