//! The layout of stored values: numbers in one order, little-endian, and a checksum at the end.

use crate::chip::rolled;
use crate::error::{Result, StoredError};
use crate::scalar::Real;

pub(crate) const CHECKSUM: usize = 4;

/// Computes CRC-32 as in IEEE 802.3, zlib and PNG (polynomial 0x04c11db7, reflected), bit by bit: a table
/// would cost firmware 1 KiB.
pub fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in rolled(8) {
            let divide = (crc & 1).wrapping_neg();
            crc = crc >> 1 ^ 0xedb8_8320 & divide;
        }
    }
    !crc
}

pub(crate) fn count(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}

/// Checks the front of bytes, `len` of them: their header as [`header`] does, that they say `len`, and their checksum. Returns
/// what lies between header and checksum.
pub(crate) fn open<'a>(
    bytes: &'a [u8],
    len: usize,
    kind: &[u8],
    magic: &'static str,
    parts: &[(&'static str, usize)],
) -> Result<Reader<'a>, StoredError> {
    let bytes = bytes.get(..len).unwrap_or(bytes);
    let (stored, found) = header(bytes, kind, magic, parts)?;
    let expected = len as u32;
    for found in [found, count(bytes)] {
        if found != expected {
            return Err(StoredError::Length { found, expected });
        }
    }
    check_crc(bytes)?;
    let content =
        stored.rest.split_last_chunk::<CHECKSUM>().map_or(stored.rest, |(content, _)| content);
    Ok(Reader { rest: content })
}

pub(crate) fn check_crc(bytes: &[u8]) -> Result<(), StoredError> {
    let Some((content, stored)) = bytes.split_last_chunk::<CHECKSUM>() else {
        return Err(StoredError::Length { found: count(bytes), expected: CHECKSUM as u32 });
    };
    let (found, expected) = (crc32(content), u32::from_le_bytes(*stored));
    if found == expected { Ok(()) } else { Err(StoredError::Checksum { found, expected }) }
}

/// Returns the front of a buffer, filled by `write` and closed with its checksum.
pub(crate) fn write(buffer: &mut [u8], len: u64, write: impl FnOnce(&mut Writer)) -> Result<&[u8]> {
    let (found, expected) = (count(buffer), u32::try_from(len).unwrap_or(u32::MAX));
    let bytes =
        buffer.get_mut(..expected as usize).ok_or(StoredError::Length { found, expected })?;
    write(&mut Writer { rest: bytes });
    if let Some((content, checksum)) = bytes.split_last_chunk_mut::<CHECKSUM>() {
        *checksum = crc32(content).to_le_bytes();
    }
    Ok(bytes)
}

/// Checks a header (magic word, a kind whose parts have these names and lengths, total length), and returns the bytes
/// after it, and the total length.
pub(crate) fn header<'a>(
    bytes: &'a [u8],
    kind: &[u8],
    magic: &'static str,
    parts: &[(&'static str, usize)],
) -> Result<(Reader<'a>, u32), StoredError> {
    // (`strip_prefix` splits after it has compared, which the smallest code does not see.)
    let rest = match bytes.split_at_checked(magic.len()) {
        Some((start, rest)) if start == magic.as_bytes() => rest,
        _ => return Err(StoredError::Magic { expected: magic }),
    };
    let expected = magic.len() + kind.len() + 4;
    if bytes.len() < expected {
        return Err(StoredError::Length { found: count(bytes), expected: expected as u32 });
    }
    let (mut stored, mut kind) = (Reader { rest }, Reader { rest: kind });
    for (part, bytes) in parts {
        let (found, expected) = (stored.integer(*bytes) as u32, kind.integer(*bytes) as u32);
        if found != expected {
            return Err(StoredError::Mismatch { part, found, expected });
        }
    }
    let len = stored.integer(4) as u32;
    Ok((stored, len))
}

/// The rest of a buffer, which has room for everything that comes.
pub(crate) struct Writer<'a> {
    pub(crate) rest: &'a mut [u8],
}

impl Writer<'_> {
    pub(crate) fn bytes(&mut self, source: &[u8]) {
        debug_assert!(source.len() <= self.rest.len());
        if let Some((to, rest)) = core::mem::take(&mut self.rest).split_at_mut_checked(source.len())
        {
            // (`copy_from_slice` would check the length again, and could panic.)
            to.iter_mut().zip(source).for_each(|(to, from)| *to = *from);
            self.rest = rest;
        }
    }

    pub(crate) fn number<R: Real>(&mut self, x: R) {
        let all = x.bits().to_le_bytes();
        self.bytes(all.get(..R::BYTES).unwrap_or(&all));
    }
}

/// The bytes that are not read yet; zeros beyond their end.
pub(crate) struct Reader<'a> {
    pub(crate) rest: &'a [u8],
}

impl Reader<'_> {
    pub(crate) fn integer(&mut self, bytes: usize) -> u64 {
        let (taken, rest) = self.rest.split_at_checked(bytes).unwrap_or((&[], &[]));
        self.rest = rest;
        taken.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte))
    }

    pub(crate) fn number<R: Real>(&mut self) -> R {
        R::from_bits(self.integer(R::BYTES))
    }
}
