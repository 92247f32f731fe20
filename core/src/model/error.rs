use super::AttentionKind;
use crate::error::Error;
use core::fmt;

/// Why bytes are not a stored model that this program can run, or a buffer cannot take one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ModelError {
    /// The first four bytes are not `ICTD`: this is not a stored model.
    Magic,
    /// The format has another version.
    Version {
        /// The version that the bytes name; [`super::VERSION`] is the one that is read.
        found: u8,
    },
    /// The numbers have another type.
    ScalarType {
        /// The code that the bytes name: 4 for `f32`, 8 for `f64`.
        found: u8,
        /// The code of the type asked for.
        expected: u8,
    },
    /// No attention has this code.
    Attention {
        /// The code that the bytes name.
        found: u8,
    },
    /// The model has two heads where one is expected, or one where two are.
    Heads {
        /// The attention of the stored model.
        found: AttentionKind,
    },
    /// No mode has this code.
    Mode {
        /// The code that the bytes name.
        found: u8,
    },
    /// The model has another feature dimension.
    FeatureDimension {
        /// d of the stored model.
        found: u16,
        /// D of the type that reads it.
        expected: u16,
    },
    /// The model has more layers of its own than the type has room for, or none.
    Layers {
        /// How many layers the model stores: 1 if autoregressive, L if sequential.
        found: u16,
        /// C of the type that reads it.
        capacity: u16,
    },
    /// The number of bytes does not fit the header.
    Length {
        /// How many bytes there are.
        found: u32,
        /// How many the header announces (at least the header itself).
        expected: u32,
    },
    /// The bytes were damaged: their CRC-32 is not the stored one.
    Checksum {
        /// The checksum of the bytes.
        found: u32,
        /// The checksum that is stored.
        expected: u32,
    },
    /// A number does not fit although the checksum does: NaN, infinite or out of its range. Also, where a
    /// function returns this error for all it does, any other [`Error`], such as that of an empty context.
    Number(
        /// Which one, and what is accepted.
        Error,
    ),
}

impl From<Error> for ModelError {
    fn from(error: Error) -> Self {
        ModelError::Number(error)
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ModelError::Magic => write!(f, "not a stored model: it does not start with ICTD"),
            ModelError::Version { found } => {
                write!(f, "format version {found}: version {} is read", super::VERSION)
            }
            ModelError::ScalarType { found, expected } => {
                write!(f, "scalar type {found}: {expected} is expected here (4 is f32, 8 is f64)")
            }
            ModelError::Attention { found } => {
                write!(f, "attention {found}: 1 (linear), 2 (softmax) or 3 (two heads) is accepted")
            }
            ModelError::Heads { found: AttentionKind::TwoHead } => {
                write!(
                    f,
                    "a model with the two heads of the average-reward setting: one head is expected here"
                )
            }
            ModelError::Heads { .. } => {
                write!(
                    f,
                    "a model with one head: the two of the average-reward setting are expected here"
                )
            }
            ModelError::Mode { found } => {
                write!(f, "mode {found}: 1 (autoregressive) or 2 (sequential) is accepted")
            }
            ModelError::FeatureDimension { found, expected } => {
                write!(f, "feature dimension {found}: {expected} is expected here")
            }
            ModelError::Layers { found, capacity } => {
                write!(f, "{found} stored layers: 1 to {capacity} are accepted here")
            }
            ModelError::Length { found, expected } => {
                write!(f, "{found} bytes where the header asks for {expected}")
            }
            ModelError::Checksum { found, expected } => write!(
                f,
                "damaged: the bytes have the checksum {found:08x}, stored is {expected:08x}"
            ),
            ModelError::Number(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ModelError {}
