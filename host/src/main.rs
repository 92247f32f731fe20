fn main() -> std::process::ExitCode {
    ictd::run(std::env::args_os().collect())
}
