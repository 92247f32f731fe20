//! The tests of the program and its library: one binary, so that they link once.
//! `cargo test -p host --test it NAME` runs those of a file. Tests that need a process of their own are beside
//! this folder.

mod bench;
mod bounds;
mod browser;
mod command_line;
mod common;
mod dimensions;
mod documented_commands;
mod documented_numbers;
mod emergence;
mod export;
mod floors;
mod forecasts;
mod gait;
mod interchange;
mod live_module;
mod logged;
mod outcomes;
mod own_data;
mod own_tasks;
mod predict;
mod report;
mod report_page;
mod returns;
mod run_directory;
mod runs;
mod shared_options;
#[cfg(unix)]
mod sweep;
mod tables;
#[cfg(unix)]
mod terminal;
mod train;
#[cfg(unix)]
mod transactions;
mod units;
mod untrusted;
