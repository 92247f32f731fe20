//! `ictd`: in-context temporal-difference learning from the command line.
//!
//! The [`guide`] says what a run leaves behind, what was found about the paper, and how to add a task, an
//! algorithm, a figure, a platform or a board.
//!
//! One file per figure of the paper in [`experiments`]; each run computes, writes its
//! [`records`](run::records), and draws its [`figures`] from those records alone. Results go to stdout, progress
//! and errors to stderr. Exit codes: 0 done, 1 a claim or check failed, 2 wrong use or bad input,
//! 130 interrupted.
// Only the module `dispatch` calls functions by the processor's instructions.
#![deny(unsafe_code)]

pub mod cli;
pub mod commands;
pub mod construction;
pub mod digests;
pub mod dimension;
pub mod dispatch;
pub mod error;
pub mod experiments;
pub mod formats;
pub mod guide;
pub mod options;
pub mod page;
pub mod program;
pub mod run;
pub mod train;

pub use error::Error;
pub use figures;

use cli::command;
use run::{progress, report, session::Session};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// Parses the arguments (the first is the program's name), runs the command, prints its report, and
/// returns the exit code.
pub fn run(arguments: Vec<OsString>) -> ExitCode {
    // Known before parsing, so that errors of parsing are JSON too.
    let mut json = arguments.iter().any(|a| a == "--json");
    let outcome = cli::parse(arguments).and_then(|parsed| match parsed {
        cli::Parsed::Text(text) => {
            print(&text);
            Ok(ExitCode::SUCCESS)
        }
        cli::Parsed::Command(cli) => {
            json = cli.session.json;
            progress::catch_interrupts();
            let session = Session::new(&cli.session)?;
            let report = command::dispatch(cli.command.as_ref(), &session)?;
            print(&if json { report.to_json() } else { report.to_text(report::terminal_width()) });
            Ok(ExitCode::from(if report.holds() { 0 } else { 1 }))
        }
    });
    outcome.unwrap_or_else(|error| {
        if json {
            print(&error.to_json());
        }
        let _ = writeln!(std::io::stderr(), "error: {}", error.one_line());
        ExitCode::from(error.exit_code())
    })
}

/// Prints to stdout; a reader that went away (`ictd | head`) is no error.
fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes());
    if !text.ends_with('\n') {
        let _ = stdout.write_all(b"\n");
    }
    let _ = stdout.flush();
}
