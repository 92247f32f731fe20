//! A context as bytes: what survives a deep sleep.

use super::{Context, Memory, MemorySums};
use crate::bytes::{CHECKSUM, Reader, Writer, check_crc, count, header, write};
use crate::error::{Error, StoredError};
use crate::mask::Mask;
use crate::scalar::{Real, check_lanes};

const MAGIC: &str = "ICTC";
const VERSION: u8 = 2;
/// Bytes between the magic word and the total length; `HEADER` includes both.
const KIND: usize = 12;
const HEADER: usize = MAGIC.len() + KIND + 4;

/// A field of a context, which is stored or read.
pub enum StoredField<'a, S> {
    /// A number.
    Number(&'a mut S),
    /// A count of at most so many.
    Count(&'a mut u64, u64),
}

impl<const D: usize, M: Mask<R>, W: Memory<R>, R: Real, const C: usize> Context<D, M, W, R, C> {
    fn kind() -> [u8; KIND] {
        const {
            assert!(D <= u16::MAX as usize && C <= u16::MAX as usize);
        }
        let ([d0, d1], [c0, c1]) = ((D as u16).to_le_bytes(), (C as u16).to_le_bytes());
        let [n0, n1, n2, n3] = W::CAPACITY.to_le_bytes();
        let (scalar, window, mask) = (R::BYTES as u8, W::CODE, M::CODE);
        [VERSION, scalar, window, mask, d0, d1, c0, c1, n0, n1, n2, n3]
    }

    /// Returns how many bytes the stored context takes at the moment.
    pub fn byte_len(&self) -> usize {
        HEADER + CHECKSUM + 4 * R::BYTES + self.fields_len()
    }

    pub(crate) fn fields_len(&self) -> usize {
        let mut bytes = 0;
        self.sums.clone().fields(&mut |field| {
            bytes += if matches!(field, StoredField::Number(_)) { R::BYTES } else { 8 };
        });
        bytes
    }

    pub(crate) fn write_fields(&self, writer: &mut Writer) {
        self.sums.clone().fields(&mut |field| match field {
            StoredField::Number(x) => writer.number(*x),
            StoredField::Count(n, _) => writer.bytes(&n.to_le_bytes()),
        });
    }

    /// Reads what [`Context::write_fields`] wrote; refuses the first count that is too large.
    pub(crate) fn read_fields(&mut self, mut reader: Reader) -> Result<(), StoredError> {
        let mut refused = None;
        self.sums.fields(&mut |field| match field {
            StoredField::Number(x) => *x = reader.number(),
            StoredField::Count(n, most) => {
                *n = reader.integer(8);
                if *n > most {
                    let (found, expected) = (*n as u32, most as u32);
                    refused.get_or_insert(StoredError::Mismatch { part: "count", found, expected });
                    *n = most;
                }
            }
        });
        refused.map_or(Ok(()), Err)
    }

    /// Writes the context to the front of a buffer, for example before a deep sleep, and returns the bytes written; it
    /// takes stack for a copy. A context read back continues bit for bit from this state.
    ///
    /// | offset | bytes | content |
    /// |---|---|---|
    /// | 0 | 4 | `ICTC` |
    /// | 4 | 1 | format version: 2 |
    /// | 5 | 1 | scalar type by its size b: 4 is `f32`, 8 is `f64` |
    /// | 6 | 1 | window: 1 growing, 2 forgetting, 3 sliding |
    /// | 7 | 1 | mask: 1 TD(0), 2 TD(lambda), 3 mean-centred (head 1 of average reward), 4 two traces |
    /// | 8 | 2 | d |
    /// | 10 | 2 | C, the cumulants |
    /// | 12 | 4 | the window's capacity, 0 without one |
    /// | 16 | 4 | how many bytes there are in all |
    /// | 20 | 4 b | two trace decays (0: none), retention, limit (0: none) |
    /// | 20 + 4 b | | the sums: numbers of b bytes, counts of 8 |
    /// | last 4 | 4 | CRC-32 (IEEE 802.3) of all bytes before it |
    ///
    /// Every number is little-endian, whatever the platform; nothing is aligned or padded.
    ///
    /// A buffer shorter than [`Context::byte_len`] is refused.
    pub fn write<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a [u8], Error> {
        let len = self.byte_len();
        write(buffer, len as u64, |writer| {
            writer.bytes(MAGIC.as_bytes());
            writer.bytes(&Self::kind());
            writer.bytes(&(len as u32).to_le_bytes());
            let [low, high] = self.mask.trace_decays();
            for x in [low, high, self.memory.retention(), self.limit] {
                writer.number(x);
            }
            self.write_fields(writer);
        })
    }

    /// Reads a stored context. Any damage to at most 32 neighbouring bits, and any truncation, is sure to be noticed.
    ///
    /// # Errors
    /// [`Error::Stored`] for anything that is not an intact context of this type; [`Error::NonFinite`] or
    /// [`Error::OutOfRange`] for a lambda, retention or limit that is none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let parts = [
            ("format version", 1),
            ("scalar type (4: f32, 8: f64)", 1),
            ("window (1: growing, 2: forgetting, 3: sliding)", 1),
            ("mask (1: TD(0), 2: TD(lambda), 3: mean-centred, 4: two traces)", 1),
            ("feature dimension", 2),
            ("number of cumulants", 2),
            ("capacity of the window", 4),
        ];
        let (mut stored, expected) = header(bytes, &Self::kind(), MAGIC, &parts)?;
        let len = count(bytes);
        if len != expected {
            return Err(StoredError::Length { found: len, expected }.into());
        }
        check_crc(bytes)?;
        let decays = [stored.number(), stored.number()];
        let (retention, limit) = (stored.number(), stored.number());
        let mut context =
            Self::with_memory(M::from_trace_decays(decays)?, W::from_retention(retention)?);
        context.limit = check_lanes(limit, "limit", |x| x >= R::ZERO, "0 (none) or above")?;
        context.read_fields(stored)?;
        let expected = context.byte_len() as u32;
        if expected != len {
            return Err(StoredError::Length { found: len, expected }.into());
        }
        Ok(context)
    }
}
