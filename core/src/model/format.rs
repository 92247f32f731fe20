//! Bytes of a stored model: the header, numbers and the checksum.

use super::{AttentionKind, MAGIC, Mode, ModelError, VERSION};
use crate::scalar::Real;
use nalgebra::SMatrix;

/// Bytes before the first number.
pub(super) const HEADER: usize = 12;
/// Bytes of the checksum at the end.
pub(super) const CHECKSUM: usize = 4;

/// What the first 12 bytes of a stored model say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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

    /// K, the token size.
    pub fn token_size(&self) -> u32 {
        2 * u32::from(self.feature_dimension)
            + match self.attention {
                AttentionKind::Linear | AttentionKind::Softmax => 1,
                AttentionKind::TwoHead => 2,
            }
    }

    /// How many (K, K) matrices a stored layer has.
    pub fn matrices_per_layer(&self) -> u16 {
        match self.attention {
            AttentionKind::Linear | AttentionKind::Softmax => 2,
            AttentionKind::TwoHead => 6,
        }
    }

    /// Refuses a model of another scalar or feature dimension, or with more layers than fit.
    pub(super) fn expect<R: Real>(
        &self,
        dimension: usize,
        layers: usize,
    ) -> Result<(), ModelError> {
        if usize::from(self.scalar_bytes) != R::BYTES {
            let (found, expected) = (self.scalar_bytes, R::BYTES as u8);
            return Err(ModelError::ScalarType { found, expected });
        }
        if usize::from(self.feature_dimension) != dimension {
            let (found, expected) = (self.feature_dimension, dimension as u16);
            return Err(ModelError::FeatureDimension { found, expected });
        }
        if usize::from(self.stored_layers()) > layers {
            let (found, capacity) = (self.stored_layers(), layers as u16);
            return Err(ModelError::Layers { found, capacity });
        }
        Ok(())
    }

    /// Bytes of the whole model.
    pub fn byte_len(&self) -> u64 {
        let k = u64::from(self.token_size());
        let matrices = u64::from(self.stored_layers()) * u64::from(self.matrices_per_layer());
        let numbers = 2 + matrices * k * k;
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

/// Reads a matrix, row by row.
pub(super) fn fill<R: Real, const K: usize>(m: &mut SMatrix<R, K, K>, mut next: impl FnMut() -> R) {
    // One loop: two would be unrolled, for 1 KiB of flash.
    for at in 0..K * K {
        m.data.0[at % K][at / K] = next();
    }
}

/// The numbers of a matrix, row by row.
pub(super) fn rows<R: Real, const K: usize>(m: &SMatrix<R, K, K>) -> impl Iterator<Item = R> {
    (0..K).flat_map(move |i| (0..K).map(move |j| m.data.0[j][i]))
}

/// Writes a stored model to the front of a buffer; `numbers` are as many as the header announces.
pub(super) fn write<R: Real>(
    buffer: &mut [u8],
    header: Header,
    numbers: impl Iterator<Item = R>,
) -> Result<&[u8], ModelError> {
    let found = count(buffer);
    let expected = u32::try_from(header.byte_len()).unwrap_or(u32::MAX);
    let bytes =
        buffer.get_mut(..expected as usize).ok_or(ModelError::Length { found, expected })?;
    let mut rest = &mut *bytes;
    let mut put = |source: &[u8]| {
        // `bytes` has room for all that follows.
        if let Some((to, after)) = core::mem::take(&mut rest).split_at_mut_checked(source.len()) {
            to.copy_from_slice(source);
            rest = after;
        }
    };
    put(&header.to_bytes());
    for x in numbers {
        let all = x.bits().to_le_bytes();
        put(all.get(..R::BYTES).unwrap_or(&all));
    }
    if let Some((content, checksum)) = bytes.split_last_chunk_mut::<CHECKSUM>() {
        *checksum = crc32(content).to_le_bytes();
    }
    Ok(bytes)
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
