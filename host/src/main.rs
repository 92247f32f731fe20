use std::process::ExitCode;

fn main() -> ExitCode {
    ictd::exit::catch_panics();
    ExitCode::from(ictd::run(std::env::args_os().collect()))
}
