//! A device that trains a transformer by multi-task TD, a batch at a time, keeps what it has trained in flash over a loss of
//! power, and then uses it.
//!
//! On the host it prints the same lines as on a chip, but for those that begin with `chip: `, and loses its power twice as well.
//! With a file's name it trains from nothing and writes the checkpoint that this program carries. Exit codes: 0; 1 for another
//! digest than the expected one; 2 for an error; 3 over budget.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
mod chip;
mod console;
#[cfg(not(target_os = "none"))]
mod host;
#[cfg(all(target_os = "none", target_arch = "arm"))]
#[path = "../../interrupts.rs"]
mod interrupts;
mod learning;

/// The digest that every platform must print.
const EXPECTED: u64 = match u64::from_str_radix(include_str!("digest.txt").trim_ascii(), 16) {
    Ok(digest) => digest,
    Err(_) => panic!("digest.txt has a number"),
};

#[cfg(not(target_os = "none"))]
fn main() -> std::process::ExitCode {
    host::main()
}
