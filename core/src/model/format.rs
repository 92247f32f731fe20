//! Bytes of a stored model: the header, numbers and the checksum.

use super::{AttentionKind, MAGIC, Mode, ModelError, VERSION};
use crate::scalar::Real;

/// Bytes before the first number.
pub(super) const HEADER: usize = 12;
/// Bytes of the checksum at the end.
pub(super) const CHECKSUM: usize = 4;

/// What the first 12 bytes of a stored model say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Header {
    /// Bytes of a number: 4 (`f32`) or 8 (`f64`).
    pub scalar_bytes: u8,
    /// The attention mechanism.
    pub attention: AttentionKind,
    /// One shared layer or layers of their own.
    pub mode: Mode,
    /// d.
    pub feature_dimension: u16,
    /// L.
    pub depth: u16,
}

impl Header {
    /// Reads the header of a stored model of any shape and checks the bytes as a whole: their
    /// length and their checksum. The numbers are not looked at.
    ///
    /// # Errors
    /// As [`super::Model::from_bytes`].
    pub fn of(bytes: &[u8]) -> Result<Self, ModelError> {
        let Some((header, _)) = bytes.split_first_chunk::<HEADER>() else {
            // Something shorter that begins with the magic is a truncated model.
            if bytes.len() >= MAGIC.len() && !bytes.starts_with(&MAGIC) {
                return Err(ModelError::Magic);
            }
            return Err(ModelError::Length { found: count(bytes), expected: HEADER as u32 });
        };
        let [m0, m1, m2, m3, version, scalar, attention, mode, d0, d1, l0, l1] = *header;
        if [m0, m1, m2, m3] != MAGIC {
            return Err(ModelError::Magic);
        }
        if version != VERSION {
            return Err(ModelError::Version { found: version });
        }
        if scalar != 4 && scalar != 8 {
            return Err(ModelError::ScalarType { found: scalar, expected: 4 });
        }
        let header = Header {
            scalar_bytes: scalar,
            attention: AttentionKind::of(attention)?,
            mode: Mode::of(mode)?,
            feature_dimension: u16::from_le_bytes([d0, d1]),
            depth: u16::from_le_bytes([l0, l1]),
        };
        if header.feature_dimension == 0 {
            return Err(ModelError::FeatureDimension { found: 0, expected: 1 });
        }
        if header.depth == 0 {
            return Err(ModelError::Layers { found: 0, capacity: u16::MAX });
        }
        let expected = header.byte_len();
        if bytes.len() as u64 != expected {
            let expected = u32::try_from(expected).unwrap_or(u32::MAX);
            return Err(ModelError::Length { found: count(bytes), expected });
        }
        if let Some((content, stored)) = bytes.split_last_chunk::<CHECKSUM>() {
            let (found, expected) = (crc32(content), u32::from_le_bytes(*stored));
            if found != expected {
                return Err(ModelError::Checksum { found, expected });
            }
        }
        Ok(header)
    }

    /// How many layers are stored: 1 if autoregressive, L if sequential.
    pub fn stored_layers(&self) -> u16 {
        match self.mode {
            Mode::Autoregressive => 1,
            Mode::Sequential => self.depth,
        }
    }

    /// Bytes of the whole model.
    pub fn byte_len(&self) -> u64 {
        let k = 2 * self.feature_dimension as u64 + 1;
        let numbers = 2 + self.stored_layers() as u64 * 2 * k * k;
        (HEADER + CHECKSUM) as u64 + numbers * self.scalar_bytes as u64
    }

    pub(super) fn to_bytes(self) -> [u8; HEADER] {
        let [m0, m1, m2, m3] = MAGIC;
        let [d0, d1] = self.feature_dimension.to_le_bytes();
        let [l0, l1] = self.depth.to_le_bytes();
        let (attention, mode) = (self.attention as u8, self.mode as u8);
        [m0, m1, m2, m3, VERSION, self.scalar_bytes, attention, mode, d0, d1, l0, l1]
    }
}

fn count(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}

/// The numbers between header and checksum, in order.
pub(super) fn numbers<R: Real>(bytes: &[u8]) -> impl Iterator<Item = R> {
    let numbers = bytes.get(HEADER..bytes.len().saturating_sub(CHECKSUM)).unwrap_or(&[]);
    numbers.chunks_exact(R::BYTES).map(|chunk| {
        let bits = chunk.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
        R::from_bits(bits)
    })
}

/// CRC-32 as in IEEE 802.3, zlib and PNG (polynomial 0x04c11db7, reflected), bit by bit: a table
/// would cost firmware 1 KiB.
pub fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            let divide = (crc & 1).wrapping_neg();
            crc = crc >> 1 ^ 0xedb8_8320 & divide;
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_zlib_and_png() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
    }
}
