//! In-context TD on a microcontroller: Figure 1 live, what each operation costs, and a digest
//! that must equal the host's. (The program `learner` trains.)
//!
//! `cargo run -p embedded-demo` runs the same on the host and prints the same lines, without those
//! about the chip. Exit codes: 0; 1 if the digest is another; 2 for an error; 3 over budget; 4 if a
//! damaged model was accepted.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
mod chip;
#[cfg(target_os = "none")]
mod costs;
mod demo;
#[cfg(target_os = "none")]
mod interrupts;
mod log;

use demo::{CONSTRUCTED, EXPECTED, TRAINED};
use ictd_core::Error;
use ictd_core::Model;
use ictd_core::digest::Digest;
use log::{is_expected, log};

/// Runs everything that is the same on every platform, and returns the digest of all its numbers.
fn run() -> Result<Digest, Error> {
    let mut digest = Digest::EMPTY;
    let trained = Model::<4>::from_bytes(&TRAINED)?;
    for (name, model) in [("constructed", &CONSTRUCTED), ("trained", &trained)] {
        demo::figure_1(name, model, &mut digest)?;
        demo::mean_msve(name, model, &mut digest)?;
    }
    Ok(digest)
}

/// Says so if this processor computes other bits than all the others.
fn has_ieee_arithmetic() -> bool {
    let found = ictd_core::environment();
    if found.is_err() {
        log!("subnormal numbers are flushed, or results are not rounded to nearest");
    }
    found.is_ok()
}

#[cfg(not(target_os = "none"))]
fn main() -> std::process::ExitCode {
    if !has_ieee_arithmetic() {
        return std::process::ExitCode::from(2);
    }
    let safe = demo::damage();
    match run() {
        Ok(digest) => std::process::ExitCode::from(match (is_expected(digest, EXPECTED), safe) {
            (false, _) => 1,
            (true, false) => 4,
            (true, true) => 0,
        }),
        Err(error) => {
            eprintln!("error: {error}");
            std::process::ExitCode::from(2)
        }
    }
}

#[cfg(target_os = "none")]
#[cortex_m_rt::entry]
fn main() -> ! {
    if !has_ieee_arithmetic() {
        chip::exit(2);
    }
    let safe = demo::damage();
    let (Ok(digest), Some(counter)) = (run(), chip::Counter::new()) else {
        defmt::error!("the demo failed");
        chip::exit(2)
    };
    let equal = is_expected(digest, EXPECTED);
    let Ok(within) = costs::report(counter) else { chip::exit(2) };
    if equal && !safe {
        chip::exit(4)
    }
    chip::finish(equal, within)
}
