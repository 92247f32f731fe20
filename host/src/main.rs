fn main() -> std::process::ExitCode {
    ictd::exit::catch_panics();
    ictd::run(std::env::args_os().collect())
}
