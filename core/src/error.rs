//! Errors are values: no function of this crate allocates.

use core::fmt;

/// The result of an operation that may refuse its input.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// The reason why an operation refused its input. It names the parameter and the expected values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Error {
    /// A number is NaN or infinite.
    NonFinite {
        /// The observation or parameter that holds it.
        parameter: &'static str,
    },
    /// A parameter lies outside its range.
    OutOfRange {
        /// The name of the parameter.
        parameter: &'static str,
        /// The expected range, in words.
        expected: &'static str,
    },
    /// A fixed capacity is full.
    CapacityExceeded {
        /// The thing that was to be stored.
        parameter: &'static str,
        /// How many fit.
        capacity: usize,
    },
    /// Something that needs at least one element has none, such as a context before its first transition.
    Empty {
        /// The thing that is empty.
        parameter: &'static str,
    },
    /// A linear system has no unique solution.
    Singular {
        /// The name of the system of equations.
        system: &'static str,
    },
    /// Two things that must have the same parameter have different ones, such as the trace decays of a model and a context.
    Mismatch {
        /// The name of the parameter.
        parameter: &'static str,
    },
    /// The layers of a model do not converge on a context: the step size is too large for the scale of the features.
    Diverges,
    /// Bytes are not what this program stored, or a buffer cannot take it.
    Stored(StoredError),
}

/// Why bytes are not a stored object that this program can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum StoredError {
    /// The first four bytes are not the magic word of the expected type.
    Magic {
        /// The expected magic word.
        expected: &'static str,
    },
    /// The code is unknown.
    Unknown {
        /// The meaning of the code.
        part: &'static str,
        /// The code that was found.
        found: u8,
    },
    /// The bytes were stored by another type than the one that reads them.
    Mismatch {
        /// The part that differs.
        part: &'static str,
        /// The stored value.
        found: u32,
        /// The expected value.
        expected: u32,
    },
    /// The model has more layers of its own than the type has room for, or none.
    Layers {
        /// How many layers the model stores: 1 if autoregressive, L if sequential.
        found: u16,
        /// C of the type that reads it.
        capacity: u16,
    },
    /// The number of bytes differs from the header's, or the buffer is too short.
    Length {
        /// How many bytes there are.
        found: u32,
        /// How many are expected (at least the header itself).
        expected: u32,
    },
    /// The bytes were damaged: their CRC-32 is not the stored one.
    Checksum {
        /// The checksum of the bytes.
        found: u32,
        /// The checksum that is stored.
        expected: u32,
    },
}

#[inline(always)]
pub(crate) fn ensure(holds: bool, error: Error) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(error) }
}

#[inline(always)]
pub(crate) const fn out_of_range(parameter: &'static str, expected: &'static str) -> Error {
    Error::OutOfRange { parameter, expected }
}

impl Error {
    #[inline(always)]
    pub(crate) const fn capacity(parameter: &'static str, capacity: usize) -> Self {
        Error::CapacityExceeded { parameter, capacity }
    }
}

impl From<StoredError> for Error {
    fn from(error: StoredError) -> Self {
        Error::Stored(error)
    }
}

impl fmt::Display for StoredError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            StoredError::Magic { expected } => {
                write!(f, "wrong format: it does not start with {expected}")
            }
            StoredError::Unknown { part, found } => write!(f, "{part} {found} is not known"),
            StoredError::Mismatch { part, found, expected } => {
                write!(f, "{part} {found}: {expected} is expected here")
            }
            StoredError::Layers { found, capacity } => {
                write!(f, "{found} stored layers: 1 to {capacity} are expected here")
            }
            StoredError::Length { found, expected } => {
                write!(f, "{found} bytes where the header asks for {expected}")
            }
            StoredError::Checksum { found, expected } => {
                write!(f, "damaged: computed checksum {found:08x}, stored checksum {expected:08x}")
            }
        }
    }
}

impl core::error::Error for StoredError {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Error::NonFinite { parameter } => {
                write!(f, "{parameter} is NaN or infinite: a finite number is needed")
            }
            Error::OutOfRange { parameter, expected } => {
                write!(f, "{parameter} is out of range: expected {expected}")
            }
            Error::CapacityExceeded { parameter, capacity } => {
                write!(f, "{parameter} exceeds its capacity of {capacity}")
            }
            Error::Empty { parameter } => write!(f, "{parameter} is empty: one element is needed"),
            Error::Singular { system } => write!(f, "{system} has no unique solution"),
            Error::Mismatch { parameter } => {
                write!(f, "{parameter} differs between the two: it must be the same")
            }
            Error::Diverges => write!(
                f,
                "the layers diverge on this context: take a smaller step size, or smaller features"
            ),
            Error::Stored(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for Error {}
