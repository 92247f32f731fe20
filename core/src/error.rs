//! What can go wrong, as values: no function of this crate panics or allocates.

use core::fmt;

/// Why an operation refused its input. Names the parameter and says what is accepted.
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
        /// The parameter.
        parameter: &'static str,
        /// The accepted range, in words.
        accepted: &'static str,
    },
    /// A fixed capacity is full.
    CapacityExceeded {
        /// What was to be stored.
        parameter: &'static str,
        /// How many fit.
        capacity: usize,
    },
    /// Something that needs at least one element has none, for example a context before its first
    /// transition.
    Empty {
        /// What is empty.
        parameter: &'static str,
    },
    /// A linear system has no unique solution.
    Singular {
        /// The system.
        system: &'static str,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Error::NonFinite { parameter } => {
                write!(f, "{parameter} is NaN or infinite: a finite number is needed")
            }
            Error::OutOfRange { parameter, accepted } => {
                write!(f, "{parameter} is out of range: accepted is {accepted}")
            }
            Error::CapacityExceeded { parameter, capacity } => {
                write!(f, "{parameter} exceeds its capacity of {capacity}")
            }
            Error::Empty { parameter } => write!(f, "{parameter} is empty: one element is needed"),
            Error::Singular { system } => write!(f, "{system} has no unique solution"),
        }
    }
}

impl core::error::Error for Error {}
