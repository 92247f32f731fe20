//! One log for both: defmt on a chip, lines on the standard output elsewhere.

/// Logs a line, the same text on the chip and on the host.
#[cfg(target_os = "none")]
macro_rules! log {
    ($($arguments:tt)*) => { defmt::info!($($arguments)*) };
}

/// Logs a line, the same text on the chip and on the host.
#[cfg(not(target_os = "none"))]
macro_rules! log {
    ($($arguments:tt)*) => { println!($($arguments)*) };
}

pub(crate) use log;
