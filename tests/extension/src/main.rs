//! The program `ictd` with a task, a row of `verify` and a figure of another crate: each is one file here, and no line
//! elsewhere. The guide's pages on tasks, algorithms and figures explain them.

mod figure;
mod mask;
mod task;

use ictd::Extensions;
use std::process::ExitCode;

fn main() -> ExitCode {
    ictd::exit::catch_panics();
    let extensions = Extensions {
        tasks: &[&task::RandomWalk],
        verify: &[mask::ROW],
        experiments: &[figure::RANDOM_WALK],
    };
    ExitCode::from(ictd::run_with(extensions, std::env::args_os().collect()))
}
