//! Bytes of a stored model: the header, numbers and the checksum.

use super::{AttentionKind, LayerSharing, MAGIC, VERSION};
use crate::bytes::{CHECKSUM, Reader, check_crc, count};
use crate::error::StoredError;
use crate::scalar::Real;

pub(crate) const HEADER: usize = 12;

const ATTENTION: &str = "attention";
const SCALAR: &str = "scalar type";

/// The content of the first 12 bytes of a stored model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Header {
    /// Bytes of a number: 4 (`f32`) or 8 (`f64`).
    pub scalar_bytes: u8,
    /// The attention mechanism.
    pub attention: AttentionKind,
    /// The code of the mask ([`AttentionMechanism::MASK`](super::AttentionMechanism::MASK)).
    pub mask: u8,
    /// One shared layer or layers of their own.
    pub mode: LayerSharing,
    /// d; 0 for any, of a universal model.
    pub feature_dimension: u16,
    /// How many learned numbers a universal model has; 0 for layers.
    pub numbers: u16,
    /// L; 0 of a universal model.
    pub depth: u16,
}

impl Header {
    /// Reads the header of a stored model of any shape and checks length and checksum of the bytes, with the errors of
    /// [`super::Model::from_bytes`]. The numbers are not looked at.
    pub fn parse(bytes: &[u8]) -> Result<Self, StoredError> {
        Self::parse_kind(bytes, bytes.get(MAGIC.len()).is_some_and(|version| *version != 1))
    }

    /// Reads the header of a universal model, or of one that is not, since a firmware reads one kind.
    #[inline(always)]
    pub(crate) fn parse_kind(bytes: &[u8], universal: bool) -> Result<Self, StoredError> {
        let Some((header, _)) = bytes.split_first_chunk::<HEADER>() else {
            // Something shorter that begins with the magic is a truncated model.
            if bytes.len() >= MAGIC.len() && !bytes.starts_with(&MAGIC) {
                return Err(StoredError::Magic { expected: "ICTD" });
            }
            return Err(StoredError::Length { found: count(bytes), expected: HEADER as u32 });
        };
        let [m0, m1, m2, m3, version, scalar, attention, mode, d0, d1, l0, l1] = *header;
        if [m0, m1, m2, m3] != MAGIC {
            return Err(StoredError::Magic { expected: "ICTD" });
        }
        let expected = if universal { VERSION } else { 1 };
        if version != expected {
            let (found, expected) = (version.into(), expected.into());
            return Err(StoredError::Mismatch { part: "format version", found, expected });
        }
        if scalar != 4 && scalar != 8 {
            return Err(StoredError::Unknown { part: SCALAR, found: scalar });
        }
        let header = Header {
            scalar_bytes: scalar,
            attention: match attention & 15 {
                1 => AttentionKind::Linear,
                2 => AttentionKind::Softmax,
                3 => AttentionKind::TwoHead,
                found => return Err(StoredError::Unknown { part: ATTENTION, found }),
            },
            mask: attention >> 4,
            mode: match mode {
                1 => LayerSharing::Autoregressive,
                2 => LayerSharing::Sequential,
                found => return Err(StoredError::Unknown { part: "mode", found }),
            },
            feature_dimension: if universal { 0 } else { u16::from_le_bytes([d0, d1]) },
            numbers: if universal { u16::from_le_bytes([d0, d1]) } else { 0 },
            depth: u16::from_le_bytes([l0, l1]),
        };
        if universal && (header.attention != AttentionKind::Linear || header.depth != 0) {
            return Err(StoredError::Unknown { part: "kind of universal model", found: l0 });
        }
        if !universal && header.feature_dimension == 0 {
            return Err(StoredError::Mismatch { part: "feature dimension", found: 0, expected: 1 });
        }
        if !universal && header.depth == 0 {
            return Err(StoredError::Layers { found: 0, capacity: u16::MAX });
        }
        let expected = header.byte_len();
        if bytes.len() as u64 != expected {
            let expected = u32::try_from(expected).unwrap_or(u32::MAX);
            return Err(StoredError::Length { found: count(bytes), expected });
        }
        check_crc(bytes)?;
        Ok(header)
    }

    /// Returns true for a universal model, which has no feature dimension.
    pub fn is_universal(&self) -> bool {
        self.feature_dimension == 0
    }

    /// Returns the format version that such a model has.
    pub fn version(&self) -> u8 {
        if self.is_universal() { VERSION } else { 1 }
    }

    /// Returns how many layers are stored: 1 if autoregressive, L if sequential.
    pub fn stored_layers(&self) -> u16 {
        match self.mode {
            LayerSharing::Autoregressive => 1,
            LayerSharing::Sequential => self.depth,
        }
    }

    /// Returns K, the token size.
    pub fn token_size(&self) -> u32 {
        let rows = if self.attention == AttentionKind::TwoHead { 2 } else { 1 };
        2 * u32::from(self.feature_dimension) + rows
    }

    /// Returns an error for another attention, mask, scalar type or feature dimension, or more layers than fit.
    #[inline(always)]
    pub(crate) fn expect<R: Real>(
        &self,
        attention: AttentionKind,
        mask: u8,
        dimension: usize,
        layers: usize,
    ) -> Result<(), StoredError> {
        let parts = [
            (ATTENTION, self.attention as u32, attention as u32),
            ("mask", self.mask.into(), mask.into()),
            (SCALAR, self.scalar_bytes.into(), R::BYTES as u32),
            ("feature dimension", self.feature_dimension.into(), dimension as u32),
        ];
        for (part, found, expected) in parts {
            if found != expected {
                return Err(StoredError::Mismatch { part, found, expected });
            }
        }
        if usize::from(self.stored_layers()) > layers {
            let (found, capacity) = (self.stored_layers(), layers as u16);
            return Err(StoredError::Layers { found, capacity });
        }
        Ok(())
    }

    /// Returns how many bytes the whole model takes.
    #[inline(always)]
    pub fn byte_len(&self) -> u64 {
        let k = u64::from(self.token_size());
        let layers = u64::from(self.stored_layers());
        let matrices = if self.attention == AttentionKind::TwoHead { 6 } else { 2 };
        let numbers = if self.is_universal() {
            3 + u64::from(self.numbers)
        } else {
            2 + layers * matrices * k * k
        };
        (HEADER + CHECKSUM) as u64 + numbers * self.scalar_bytes as u64
    }

    /// Returns the first bytes of such a model.
    pub fn to_bytes(self) -> [u8; HEADER] {
        let [m0, m1, m2, m3] = MAGIC;
        let [d0, d1] = (self.feature_dimension + self.numbers).to_le_bytes();
        let [l0, l1] = self.depth.to_le_bytes();
        let (attention, mode) = (self.attention as u8 | self.mask << 4, self.mode as u8);
        [m0, m1, m2, m3, self.version(), self.scalar_bytes, attention, mode, d0, d1, l0, l1]
    }
}

pub(super) fn fill<R: Real, const K: usize>(columns: &mut [R], reader: &mut Reader) {
    // One loop: two would be unrolled, for 1 KiB of flash.
    for at in 0..K * K {
        if let Some(x) = columns.get_mut(at % K * K + at / K) {
            *x = reader.number();
        }
    }
}

pub(super) fn rows<R: Real, const K: usize>(columns: &[R]) -> impl Iterator<Item = R> {
    (0..K).flat_map(move |i| columns.iter().skip(i).step_by(K).copied())
}
