//! One log for both: defmt on a chip, lines on the standard output elsewhere; and numbers in it.

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

use ictd_core::digest::Digest;
pub(crate) use log;

/// Logs whether a digest is the one that every platform must compute, and returns it.
pub(crate) fn is_expected(digest: Digest, expected: u64) -> bool {
    let found = Hex(digest.value());
    if found.0 == expected {
        log!("digest {}: equal", found);
    } else {
        log!("digest {}: NOT EQUAL, expected is {}", found, Hex(expected));
    }
    found.0 == expected
}

/// Returns a number rounded to four decimals, for a log.
pub(crate) fn decimals(x: f32) -> Decimals {
    let scaled = x * 10_000.0 + if x < 0.0 { -0.5 } else { 0.5 };
    Decimals { negative: scaled as i32 <= -1, digits: (scaled as i32).unsigned_abs() }
}

/// A number with four decimals.
#[derive(Clone, Copy)]
pub(crate) struct Decimals {
    negative: bool,
    digits: u32,
}

/// 64 bits in hexadecimal.
#[derive(Clone, Copy)]
pub(crate) struct Hex(pub u64);

#[cfg(target_os = "none")]
impl defmt::Format for Decimals {
    fn format(&self, f: defmt::Formatter) {
        let sign = if self.negative { "-" } else { "" };
        defmt::write!(
            f,
            "{=str}{=u32}.{=u32:04}",
            sign,
            self.digits / 10_000,
            self.digits % 10_000
        );
    }
}

#[cfg(target_os = "none")]
impl defmt::Format for Hex {
    fn format(&self, f: defmt::Formatter) {
        defmt::write!(f, "{=u64:016x}", self.0);
    }
}

#[cfg(not(target_os = "none"))]
impl std::fmt::Display for Decimals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.negative { "-" } else { "" };
        write!(f, "{sign}{}.{:04}", self.digits / 10_000, self.digits % 10_000)
    }
}

#[cfg(not(target_os = "none"))]
impl std::fmt::Display for Hex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
