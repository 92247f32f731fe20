//! `ictd`: in-context temporal-difference learning from the command line.
//!
//! The [`guide`] has a page for everything that people do with it, and for the findings about the paper.
//!
//! [`commands`] are the program's commands, and [`experiments`] those of the paper, most of which are tables of data. A run
//! computes in the crate `compute`, writes its [`records`](run::records), and draws its [`figures`] only from those records.
//! Results go to stdout, progress and errors to stderr. [`guide::commands`] has the exit codes.
#![forbid(unsafe_code)]

pub mod cli;
pub mod commands;
pub mod encoder;
pub mod error;
pub mod exit;
pub mod experiments;
pub mod files;
pub mod formats;
pub mod guide;
pub mod model_file;
pub mod options;
pub mod page;
pub mod program;
pub mod returns;
pub mod run;
pub mod sweep;
pub mod train;

pub use error::Error;
pub use experiments::Extensions;
pub use figures;

use cli::command;
use run::report;
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Parses the arguments (the first is the program's name), runs the command, prints its report, and returns the exit code.
pub fn run(arguments: Vec<OsString>) -> u8 {
    run_with(Extensions::default(), arguments)
}

/// Runs the program like [`run()`], with tasks, rows of `verify` and experiments of another crate ([`guide::task`],
/// [`guide::algorithm`], [`guide::figure`]).
pub fn run_with(extensions: Extensions, arguments: Vec<OsString>) -> u8 {
    // Known before parsing, so that errors of parsing are JSON too.
    exit::begin(arguments.iter().any(|a| a == "--json"));
    let ended = catch_unwind(AssertUnwindSafe(|| {
        command::extend(extensions)?;
        command(arguments)
    }));
    match ended.unwrap_or_else(|panic| Err(exit::panicked(&*panic))) {
        Ok(code) => code,
        Err(error) => exit::fail(&error),
    }
}

fn command(arguments: Vec<OsString>) -> Result<u8, Error> {
    let cli = match cli::parse(arguments)? {
        cli::Parsed::Text(text) => return Ok(exit::answer_text(&text)),
        cli::Parsed::Command(cli) => cli,
    };
    exit::begin(cli.session.json);
    exit::catch_interrupts();
    let report = command::dispatch(cli.command.as_ref(), &cli.session)?;
    let text = if cli.session.json {
        report.to_value().to_string()
    } else {
        report.to_text(report::terminal_width())
    };
    Ok(exit::answer(&text, if report.holds() { 0 } else { 1 }))
}
