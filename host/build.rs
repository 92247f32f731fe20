//! Tells the program the compiler and the target it was built with, for a run's `run.json`.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output().ok();
    let version = version.and_then(|output| String::from_utf8(output.stdout).ok());
    println!("cargo::rustc-env=ICTD_RUSTC={}", version.unwrap_or_default().trim());
    for (name, variable) in [("ICTD_TARGET", "TARGET"), ("ICTD_OPT_LEVEL", "OPT_LEVEL")] {
        println!("cargo::rustc-env={name}={}", env::var(variable).unwrap_or_default());
    }
}
