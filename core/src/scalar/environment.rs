//! Checks, by computation, that this thread's arithmetic is the one that results rely on.

use core::fmt;
use core::hint::black_box;

/// A property of a thread's arithmetic that makes results differ from those of other machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ArithmeticError {
    /// Subnormal numbers are flushed to zero.
    FlushesSubnormals,
    /// Results are not rounded to nearest.
    Rounding,
    /// a * b + c is rounded once instead of twice.
    Contracts,
}

impl fmt::Display for ArithmeticError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ArithmeticError::FlushesSubnormals => "flushes subnormal numbers to zero",
            ArithmeticError::Rounding => "does not round to nearest",
            ArithmeticError::Contracts => "rounds a product and a sum once instead of twice",
        })
    }
}

impl core::error::Error for ArithmeticError {}

/// Checks that this thread computes as IEEE 754 says by default: it rounds to nearest, keeps subnormal numbers, and rounds after
/// each operation. Other results would not be the same bits as elsewhere. Libraries of the same process may have changed it
/// (`-ffast-math`, FPSCR's FZ bit). It takes some dozen operations: a program calls it once, when it starts.
///
/// ```
/// assert_eq!(ictd_core::environment(), Ok(()));
/// ```
///
/// # Errors
/// The first of [`ArithmeticError`] that is found.
pub fn environment() -> Result<(), ArithmeticError> {
    let [least_normal, least] = [f32::MIN_POSITIVE, f32::from_bits(1)].map(black_box);
    if least_normal * black_box(0.5) == 0.0 || least * black_box(2.0) == 0.0 {
        return Err(ArithmeticError::FlushesSubnormals);
    }
    let [one, quarter] = [1.0, f32::EPSILON / 4.0].map(black_box);
    if !(one + quarter == 1.0 && -one - quarter == -1.0 && one + 3.0 * quarter > 1.0) {
        return Err(ArithmeticError::Rounding);
    }
    // Its square is half a unit in the last place above `square`.
    let [x, square] = [1.0_f32 + 1.0 / 4096.0, 1.0 + 1.0 / 2048.0].map(black_box);
    if x * x - square != 0.0 { Err(ArithmeticError::Contracts) } else { Ok(()) }
}
