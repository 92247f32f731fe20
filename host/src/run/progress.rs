//! Progress bars on stderr: silent with `--json` and when stderr is not a terminal.

use crate::error::Error;
use crate::program::printable;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

pub static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Requests that the run stops at the next task; returns true if this was requested before.
pub fn interrupt() -> bool {
    INTERRUPTED.swap(true, Ordering::SeqCst)
}

pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

pub fn check() -> Result<(), Error> {
    if interrupted() { Err(Error::Interrupted) } else { Ok(()) }
}

pub fn note(text: &str, silent: bool) {
    if !silent {
        let _ = writeln!(std::io::stderr(), "{}", printable(text));
    }
}

pub fn bar(label: &str, len: u64, silent: bool) -> ProgressBar {
    // The stderr target draws nothing when stderr is not a terminal.
    let target = if silent { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let template = "{msg:>12} {bar:32.blue} {pos:>5}/{len} {elapsed:>4} (left {eta})";
    // A wrong template falls back to indicatif's default style.
    let style = ProgressStyle::with_template(template).unwrap_or(ProgressStyle::default_bar());
    ProgressBar::with_draw_target(Some(len), target)
        .with_style(style.progress_chars("━╸ "))
        .with_message(label.to_owned())
}
