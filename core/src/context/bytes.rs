//! A context as bytes: what survives a deep sleep.

use super::{Context, Memory, MemorySums};
use crate::bytes::{CHECKSUM, Reader, check_crc, count, header, write};
use crate::chip::unknown_on_host;
use crate::error::{Error, Result, StoredError, ensure};
use crate::mask::Mask;
use crate::scalar::{Real, check_lanes};

const MAGIC: &str = "ICTC";
const VERSION: u8 = 2;
/// Bytes between the magic word and the total length; `HEADER` includes both.
const KIND: usize = 12;
const HEADER: usize = MAGIC.len() + KIND + 4;

// Fields are visited through `dyn`: one copy of the loops over them for each type of sums, not one for each visitor, with
// the visitor in every loop.

/// A field of a context: a number, or a count, which is read with the largest that is accepted.
pub enum Field<N, C> {
    /// A number.
    Number(N),
    /// A count.
    Count(C),
}

type FieldToRead<'a, 'b, R> = Field<&'a mut R, (&'b mut u64, u64)>;

impl<const D: usize, M: Mask<R>, Mem: Memory<R>, R: Real, const C: usize> Context<D, M, Mem, R, C> {
    fn kind() -> [u8; KIND] {
        const {
            assert!(D <= u16::MAX as usize && C <= u16::MAX as usize);
        }
        let ([d0, d1], [c0, c1]) = ((D as u16).to_le_bytes(), (C as u16).to_le_bytes());
        let [n0, n1, n2, n3] = Mem::CAPACITY.to_le_bytes();
        let (scalar, memory, mask) = (R::BYTES as u8, Mem::CODE, M::CODE);
        [VERSION, scalar, memory, mask, d0, d1, c0, c1, n0, n1, n2, n3]
    }

    /// Returns how many bytes the stored context takes at the moment.
    pub fn byte_len(&self) -> usize {
        let mut bytes = HEADER + CHECKSUM + 4 * R::BYTES;
        let mut visit: &mut dyn FnMut(Field<R, u64>) = &mut |field| {
            bytes = unknown_on_host(bytes);
            bytes += if matches!(field, Field::Number(_)) { R::BYTES } else { 8 };
        };
        self.sums.show(&mut visit);
        bytes
    }

    /// Reads the fields, or only refuses the first count that is too large.
    fn read_fields(&mut self, mut reader: Reader, only_check: bool) -> Result<(), StoredError> {
        let mut refused = None;
        let mut visit: &mut dyn FnMut(FieldToRead<R>) = &mut |field| match field {
            Field::Number(x) => {
                let read = reader.number();
                *x = if only_check { *x } else { read };
            }
            Field::Count((n, most)) => {
                let read = reader.integer(8);
                if read > most {
                    let (found, expected) = (read as u32, most as u32);
                    refused.get_or_insert(StoredError::Mismatch { part: "count", found, expected });
                }
                *n = if only_check { *n } else { read.min(most) };
            }
        };
        self.sums.fields(&mut visit);
        refused.map_or(Ok(()), Err)
    }

    /// Writes the context to the front of a buffer, for example before a deep sleep, and returns the bytes written. A
    /// context read back continues bit for bit from this state.
    ///
    /// | offset | bytes | content |
    /// |---|---|---|
    /// | 0 | 4 | `ICTC` |
    /// | 4 | 1 | format version: 2 |
    /// | 5 | 1 | scalar type by its size b: 4 is `f32`, 8 is `f64` |
    /// | 6 | 1 | memory: 1 growing, 2 forgetting, 3 sliding |
    /// | 7 | 1 | mask: 1 TD(0), 2 TD(lambda), 3 mean-centred (head 1 of average reward), 6 TD(0) with a trace |
    /// | 8 | 2 | d |
    /// | 10 | 2 | C, the cumulants |
    /// | 12 | 4 | the capacity of a sliding memory, 0 of another |
    /// | 16 | 4 | the total number of bytes |
    /// | 20 | 4 b | two trace decays (0: no trace), retention, limit (0: no limit) |
    /// | 20 + 4 b | | the sums: numbers of b bytes, counts of 8 |
    /// | last 4 | 4 | CRC-32 (IEEE 802.3) of all bytes before it |
    ///
    /// Every number is little-endian, whatever the platform; nothing is aligned or padded.
    ///
    /// A buffer shorter than [`Context::byte_len`] is refused.
    pub fn write<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a [u8]> {
        let len = self.byte_len();
        write(buffer, len as u64, |writer| {
            writer.bytes(MAGIC.as_bytes());
            writer.bytes(&Self::kind());
            writer.bytes(&(len as u32).to_le_bytes());
            let [low, high] = self.mask.trace_decays();
            for x in [low, high, self.memory.retention(), self.limit] {
                writer.number(x);
            }
            let mut visit: &mut dyn FnMut(Field<R, u64>) = &mut |field| match field {
                Field::Number(x) => writer.number(x),
                Field::Count(n) => writer.bytes(&n.to_le_bytes()),
            };
            self.sums.show(&mut visit);
        })
    }

    /// Reads a stored context. Any damage to at most 32 neighbouring bits, and any truncation, is sure to be noticed.
    /// Returns [`Error::Stored`] for anything that is not an intact context of this type; [`Error::NonFinite`] or
    /// [`Error::OutOfRange`] for an invalid lambda, retention or limit.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (mask, memory, limit, stored) = Self::settings(bytes)?;
        let mut context = Self::with_memory(mask, memory);
        context.limit = limit;
        context.read_fields(stored, false)?;
        context.check_len(bytes)?;
        Ok(context)
    }

    /// Replaces the context, in its place, by a stored one of the same mask and memory; an error leaves it as it was. (A sliding
    /// context is read by [`Context::from_bytes`].)
    /// Returns the errors of [`Context::from_bytes`], and [`Error::Mismatch`] for another mask or memory.
    pub fn read(&mut self, bytes: &[u8]) -> Result<()> {
        const { assert!(Mem::CAPACITY == 0, "what a sliding context stores depends on its length") }
        let (mask, memory, limit, stored) = Self::settings(bytes)?;
        let parameter = "mask or memory of context and bytes";
        ensure(mask == self.mask && memory == self.memory, Error::Mismatch { parameter })?;
        self.check_len(bytes)?;
        self.read_fields(Reader { rest: stored.rest }, true)?;
        self.limit = limit;
        Ok(self.read_fields(stored, false)?)
    }

    fn check_len(&self, bytes: &[u8]) -> Result<(), StoredError> {
        let (found, expected) = (count(bytes), self.byte_len() as u32);
        if found == expected { Ok(()) } else { Err(StoredError::Length { found, expected }) }
    }

    /// Checks a stored context up to its sums, and returns its settings and a reader of the sums.
    fn settings(bytes: &[u8]) -> Result<(M, Mem, R, Reader<'_>)> {
        let parts = [
            ("format version", 1),
            ("scalar type (4: f32, 8: f64)", 1),
            ("memory (1: growing, 2: forgetting, 3: sliding)", 1),
            ("mask (1: TD(0), 2: TD(lambda), 3: mean-centred, 6: TD(0) with a trace)", 1),
            ("feature dimension", 2),
            ("number of cumulants", 2),
            ("capacity of the memory", 4),
        ];
        let (mut stored, expected) = header(bytes, &Self::kind(), MAGIC, &parts)?;
        let len = count(bytes);
        if len != expected {
            return Err(StoredError::Length { found: len, expected }.into());
        }
        check_crc(bytes)?;
        let decays = [stored.number(), stored.number()];
        let (retention, limit) = (stored.number(), stored.number());
        let limit = check_lanes(limit, "limit", |x| x >= R::ZERO, "0 (none) or above")?;
        Ok((M::from_trace_decays(decays)?, Mem::from_retention(retention)?, limit, stored))
    }
}
