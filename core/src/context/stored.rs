//! A context as bytes: what survives a deep sleep.

use super::{Context, Sums, Window};
use crate::error::{Error, StoredError};
use crate::mask::Mask;
use crate::scalar::{Real, check_lanes};
use crate::stored::{CHECKSUM, Reader, Writer, check_crc, count, header, write};

const MAGIC: &str = "ICTC";
const VERSION: u8 = 2;
/// Between the magic word and the length of the whole, and with both.
const KIND: usize = 12;
const HEADER: usize = MAGIC.len() + KIND + 4;

/// A visitor of the fields of a context, which stores or reads them.
pub trait Visit<S> {
    /// A number.
    fn number(&mut self, x: &mut S);

    /// A count of at most `most`.
    fn count(&mut self, n: &mut u64, most: u64);
}

struct Size(u64);

impl<R: Real> Visit<R> for Size {
    fn number(&mut self, _: &mut R) {
        self.0 += R::BYTES as u64;
    }
    fn count(&mut self, _: &mut u64, _: u64) {
        self.0 += 8;
    }
}

impl<R: Real> Visit<R> for Writer<'_> {
    fn number(&mut self, x: &mut R) {
        Writer::number(self, *x);
    }
    fn count(&mut self, n: &mut u64, _: u64) {
        self.bytes(&n.to_le_bytes());
    }
}

/// Reads fields; remembers the first count that is too large.
pub(crate) struct Fields<'a> {
    reader: Reader<'a>,
    refused: Option<StoredError>,
}

impl<'a> Fields<'a> {
    pub(crate) fn read(
        reader: Reader<'a>,
        visit: impl FnOnce(&mut Self),
    ) -> Result<(), StoredError> {
        let mut fields = Fields { reader, refused: None };
        visit(&mut fields);
        fields.refused.map_or(Ok(()), Err)
    }
}

impl<R: Real> Visit<R> for Fields<'_> {
    fn number(&mut self, x: &mut R) {
        *x = self.reader.number();
    }
    fn count(&mut self, n: &mut u64, most: u64) {
        *n = self.reader.integer(8);
        if *n > most {
            let (found, expected) = (*n as u32, most as u32);
            let error = StoredError::Mismatch { part: "count", found, expected };
            self.refused.get_or_insert(error);
            *n = most;
        }
    }
}

impl<const D: usize, M: Mask<R>, W: Window<R>, R: Real, const C: usize> Context<D, M, W, R, C> {
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

    pub(crate) fn fields(&mut self, visit: &mut impl Visit<R>) {
        self.sums.fields(visit);
    }

    pub(crate) fn fields_len(&self) -> usize {
        let mut size = Size(0);
        self.sums.clone().fields(&mut size);
        size.0 as usize
    }

    /// Writes the context to the front of a buffer, for example before a deep sleep, and returns the bytes
    /// written; it takes stack for a copy. What is read goes on bit for bit where this one stands.
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
    /// ```
    /// use ictd_core::Context;
    ///
    /// let mut context = Context::<2>::new();
    /// context.observe(&[1.0, 0.5], 0.25, &[0.5, -1.0])?;
    /// let mut bytes = [0; 512];
    /// let bytes = context.write(&mut bytes)?;
    /// assert_eq!(Context::<2>::from_bytes(bytes)?, context);
    /// assert!(Context::<3>::from_bytes(bytes).is_err());
    /// # Ok::<(), ictd_core::Error>(())
    /// ```
    ///
    /// A buffer shorter than [`Context::byte_len`] is refused.
    pub fn write<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a [u8], Error> {
        let len = self.byte_len();
        write(buffer, len as u64, |writer| {
            writer.bytes(MAGIC.as_bytes());
            writer.bytes(&Self::kind());
            writer.bytes(&(len as u32).to_le_bytes());
            let [low, high] = self.mask.decays();
            for x in [low, high, self.window.retention(), self.limit] {
                writer.number(x);
            }
            self.sums.clone().fields(writer);
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
        let mut context = Self::with(M::of_decays(decays)?, W::of_retention(retention)?);
        context.limit = check_lanes(limit, "limit", |x| x >= R::ZERO, "0 (none) or above")?;
        Fields::read(stored, |fields| context.fields(fields))?;
        let expected = context.byte_len() as u32;
        if expected != len {
            return Err(StoredError::Length { found: len, expected }.into());
        }
        Ok(context)
    }
}
