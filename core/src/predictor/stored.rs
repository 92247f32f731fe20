//! A predictor as bytes: what survives a deep sleep.

use super::{Channel, Predictor, State};
use crate::bytes::{CHECKSUM, Writer, check_crc, count, header, write};
use crate::error::{Error, StoredError};

const MAGIC: &str = "ICTP";
const VERSION: u8 = 1;
/// Bytes between the magic word and the total length; `HEADER` includes both.
const KIND: usize = 8;
const HEADER: usize = MAGIC.len() + KIND + 4;

impl<const D: usize, const H: usize> State for Channel<D, H> {
    fn numbers(&mut self, visit: &mut impl FnMut(&mut f32)) {
        let Channel { gate, signal, value, taken, missing, horizons, next, expected, surprise } =
            self;
        gate.numbers(visit);
        signal.numbers(visit);
        [value, taken, missing, expected].into_iter().chain(next).for_each(&mut *visit);
        horizons.iter_mut().for_each(|horizon| horizon.numbers(visit));
        surprise.numbers(visit);
    }
}

impl<const N: usize, const D: usize, const H: usize> State for Predictor<N, D, H> {
    /// All but what the context keeps.
    fn numbers(&mut self, visit: &mut impl FnMut(&mut f32)) {
        self.phi.iter_mut().chain(&mut self.reach).for_each(&mut *visit);
        self.channels.iter_mut().for_each(|channel| channel.numbers(visit));
    }
}

impl<const N: usize, const D: usize, const H: usize> Predictor<N, D, H> {
    /// A buffer of so many bytes takes the stored predictor.
    pub const SIZE: usize = HEADER + size_of::<Self>().next_multiple_of(8) + CHECKSUM;

    fn kind() -> [u8; KIND] {
        const {
            assert!(N <= u16::MAX as usize && D <= u16::MAX as usize && H <= u16::MAX as usize);
        }
        let [[n0, n1], [d0, d1], [h0, h1]] = [N, D, H].map(|x| (x as u16).to_le_bytes());
        [VERSION, size_of::<f32>() as u8, n0, n1, d0, d1, h0, h1]
    }

    /// Returns how many bytes the stored predictor takes: at most [`Predictor::SIZE`].
    pub fn byte_len(&self) -> usize {
        let (mut copy, mut numbers) = (*self, 0);
        copy.numbers(&mut |_| numbers += 1);
        HEADER + size_of::<f32>() * (H + numbers + 1) + self.context.fields_len() + CHECKSUM
    }

    /// Writes the predictor to the front of a buffer, for example before a deep sleep, and returns the bytes written;
    /// it takes stack for a copy. A predictor read back continues bit for bit from this state.
    ///
    /// | offset | bytes | content |
    /// |---|---|---|
    /// | 0 | 4 | `ICTP` |
    /// | 4 | 1 | format version: 1 |
    /// | 5 | 1 | scalar type by its size: 4 is `f32` |
    /// | 6 | 2 | N, the signals |
    /// | 8 | 2 | D, the features in all |
    /// | 10 | 2 | H, the horizons |
    /// | 12 | 4 | how many bytes there are in all |
    /// | 16 | 4 H | the horizons |
    /// | 16 + 4 H | | the state: numbers of 4 bytes, a count of 8 |
    /// | last 4 | 4 | CRC-32 (IEEE 802.3) of all bytes before it |
    ///
    /// Every number is little-endian, whatever the platform; nothing is aligned or padded.
    ///
    /// ```
    /// use ictd_core::Predictor;
    ///
    /// let mut predictor = Predictor::new([10.0])?;
    /// predictor.observe(20.5);
    /// let mut page = [0xff; Predictor::<1, 4, 1>::SIZE];
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
            self.horizons.iter().for_each(|horizon| writer.number(*horizon));
            writer.bytes(&self.turn.to_le_bytes());
            let mut copy = *self;
            copy.numbers(&mut |x| Writer::number(writer, *x));
            self.context.write_fields(writer);
        })
    }

    /// Reads a stored predictor from the start of bytes. Any damage to at most 32 neighbouring bits, and any truncation, is
    /// sure to be noticed.
    ///
    /// # Errors
    /// [`Error::Stored`] for anything that does not begin with an intact predictor of this type; [`Error::NonFinite`] or
    /// [`Error::OutOfRange`] for a horizon that is none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let parts = [
            ("format version", 1),
            ("scalar type (4: f32)", 1),
            ("number of signals", 2),
            ("number of features in all", 2),
            ("number of horizons", 2),
        ];
        let (mut stored, len) = header(bytes, &Self::kind(), MAGIC, &parts)?;
        let missing = StoredError::Length { found: count(bytes), expected: len };
        check_crc(bytes.get(..len as usize).ok_or(missing)?)?;
        let mut predictor = Self::of_signals([(); H].map(|()| stored.number()))?;
        let expected = predictor.byte_len() as u32;
        if len != expected {
            return Err(StoredError::Length { found: len, expected }.into());
        }
        predictor.turn = stored.integer(4) as u32;
        predictor.numbers(&mut |x| *x = stored.number());
        predictor.context.read_fields(stored)?;
        Ok(predictor)
    }
}
