//! A predictor as bytes: what survives a deep sleep.

use super::{Predictor, State};
use crate::bytes::{CHECKSUM, Writer, check_crc, count, header, write};
use crate::error::{Error, StoredError};
use crate::scalar::Real;

const MAGIC: &str = "ICTP";
const VERSION: u8 = 1;
/// Bytes between the magic word and the total length; `HEADER` includes both.
const KIND: usize = 4;
const HEADER: usize = MAGIC.len() + KIND + 4;

impl<const H: usize, S: Real> State for Predictor<H, S> {
    /// All but the horizons' lengths, and what is of the type of the samples.
    fn numbers(&mut self, visit: &mut impl FnMut(&mut f32)) {
        let Predictor { gate, signal, td, autoregression, surprise, .. } = self;
        gate.numbers(visit);
        signal.numbers(visit);
        td.numbers(visit);
        autoregression.numbers(visit);
        surprise.numbers(visit);
        self.horizons.iter_mut().for_each(|horizon| horizon.numbers(visit));
        self.next.numbers(visit);
        let Predictor { second, value, seen, taken, missing, .. } = self;
        [second, value, seen, taken, missing].into_iter().for_each(visit);
    }
}

impl<const H: usize, S: Real> Predictor<H, S> {
    /// A buffer of so many bytes takes the stored predictor.
    pub const SIZE: usize = HEADER + size_of::<Self>().next_multiple_of(8) + CHECKSUM;

    fn kind() -> [u8; KIND] {
        let [h0, h1] = (H as u16).to_le_bytes();
        [VERSION, S::BYTES as u8, h0, h1]
    }

    /// Returns how many bytes the stored predictor takes: at most [`Predictor::SIZE`].
    pub fn byte_len(&self) -> usize {
        let (mut copy, mut numbers) = (*self, 0);
        copy.numbers(&mut |_| numbers += 1);
        HEADER + 3 * S::BYTES + size_of::<f32>() * (H + numbers + 1) + CHECKSUM
    }

    /// Writes the predictor to the front of a buffer, for example before a deep sleep, and returns the bytes written;
    /// it takes stack for a copy. A predictor read back continues bit for bit from this state.
    ///
    /// | offset | bytes | content |
    /// |---|---|---|
    /// | 0 | 4 | `ICTP` |
    /// | 4 | 1 | format version: 1 |
    /// | 5 | 1 | B, the bytes of a sample: 4 is `f32`, 8 is `f64` |
    /// | 6 | 2 | H, the horizons |
    /// | 8 | 4 | how many bytes there are in all |
    /// | 12 | 4 H | the horizons |
    /// | 12 + 4 H | 3 B | the limits, and the anchor |
    /// | | 4 | whose turn it is |
    /// | | | the state: numbers of 4 bytes |
    /// | last 4 | 4 | CRC-32 (IEEE 802.3) of all bytes before it |
    ///
    /// Every number is little-endian, whatever the platform; nothing is aligned or padded.
    ///
    /// ```
    /// use ictd_core::Predictor;
    ///
    /// let mut predictor = Predictor::new([10.0])?;
    /// predictor.observe(20.5);
    /// let mut page = [0xff; Predictor::<1>::SIZE];
    /// predictor.write(&mut page)?;
    /// // It reads from the start of a longer buffer, too.
    /// assert_eq!(Predictor::from_bytes(&page)?, predictor);
    /// # Ok::<(), ictd_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`StoredError::Length`] if the buffer is shorter than [`Predictor::byte_len`].
    pub fn write<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a [u8], Error> {
        let len = self.byte_len();
        write(buffer, len as u64, |writer| {
            writer.bytes(MAGIC.as_bytes());
            writer.bytes(&Self::kind());
            writer.bytes(&(len as u32).to_le_bytes());
            self.horizons.iter().for_each(|horizon| writer.number(horizon.length));
            let [low, high] = self.limits;
            [low, high, self.anchor].into_iter().for_each(|x| writer.number(x));
            writer.bytes(&self.turn.to_le_bytes());
            let mut copy = *self;
            copy.numbers(&mut |x| Writer::number(writer, *x));
        })
    }

    /// Reads a stored predictor from the start of bytes. Any damage to at most 32 neighbouring bits, and any truncation, is
    /// sure to be noticed.
    ///
    /// # Errors
    /// [`Error::Stored`] for anything that does not begin with an intact predictor of this type; [`Error::NonFinite`] or
    /// [`Error::OutOfRange`] for a horizon, limits or a number of the state that is none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let parts =
            [("format version", 1), ("sample type (4: f32, 8: f64)", 1), ("number of horizons", 2)];
        let (mut stored, len) = header(bytes, &Self::kind(), MAGIC, &parts)?;
        let missing = StoredError::Length { found: count(bytes), expected: len };
        check_crc(bytes.get(..len as usize).ok_or(missing)?)?;
        let horizons = [(); H].map(|()| stored.number());
        let [low, high, anchor] = [(); 3].map(|()| stored.number::<S>());
        let mut predictor =
            Self::of_samples(horizons, [low, high], anchor)?.with_limits(low, high)?;
        let expected = predictor.byte_len() as u32;
        if len != expected {
            return Err(StoredError::Length { found: len, expected }.into());
        }
        predictor.turn = stored.integer(4) as u32 % (2 * H as u32 + 2);
        let mut finite = anchor.is_finite();
        predictor.numbers(&mut |x| {
            *x = stored.number();
            finite &= x.is_finite();
        });
        if finite { Ok(predictor) } else { Err(Error::NonFinite { parameter: "state" }) }
    }
}
