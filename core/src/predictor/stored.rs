//! A predictor as bytes: what survives a deep sleep.

use super::{LATTICES, Predictor, State, check, checked_limits};
use crate::bytes::{CHECKSUM, Reader, open, write};
use crate::entrywise::Entrywise as _;
use crate::error::Error;
use crate::scalar::Real;

const MAGIC: &str = "ICTP";
/// Predictors with a lattice have versions of their own.
const VERSION: u8 = 4 + 128 * LATTICES as u8;
/// Bytes between the magic word and the total length; `HEADER` includes both.
const KIND: usize = 4;
const HEADER: usize = MAGIC.len() + KIND + 4;

impl<const H: usize, S: Real> Predictor<H, S> {
    /// How many bytes the stored predictor takes.
    // (The horizons' lengths are no part of the state.)
    pub const SIZE: usize =
        HEADER + (4 * H + 3 * S::BYTES + 4) + (size_of::<State<H>>() - 4 * (H + 1)) + CHECKSUM;

    fn kind() -> [u8; KIND] {
        let [h0, h1] = (H as u16).to_le_bytes();
        [VERSION, S::BYTES as u8, h0, h1]
    }

    /// Writes the predictor to the front of a buffer, for example before a deep sleep, and returns the bytes written. A
    /// predictor read back continues bit for bit from this state.
    ///
    /// | offset | bytes | content |
    /// |---|---|---|
    /// | 0 | 4 | `ICTP` |
    /// | 4 | 1 | format version: 4, or 132 with the feature `long-memory` |
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
    /// let mut predictor = Predictor::<1>::new([10.0])?;
    /// predictor.observe(20.5);
    /// let mut page = [0xff; Predictor::<1>::SIZE];
    /// predictor.write(&mut page)?;
    /// // Reading works from the start of a longer buffer, too.
    /// assert_eq!(Predictor::from_bytes(&page)?, predictor);
    /// # Ok::<(), ictd_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`StoredError::Length`](crate::StoredError::Length) if the buffer is shorter than [`Predictor::SIZE`].
    pub fn write<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a [u8], Error> {
        write(buffer, Self::SIZE as u64, |writer| {
            writer.bytes(MAGIC.as_bytes());
            writer.bytes(&Self::kind());
            writer.bytes(&(Self::SIZE as u32).to_le_bytes());
            self.state.horizons.iter().for_each(|horizon| writer.number(horizon.length));
            let [low, high] = self.limits;
            [low, high, self.anchor].into_iter().for_each(|x| writer.number(x));
            writer.bytes(&self.turn.to_le_bytes());
            self.state.show(&mut |x| writer.number(x));
            debug_assert_eq!(writer.rest.len(), CHECKSUM);
        })
    }

    /// Reads a stored predictor from the start of bytes. Any damage to at most 32 neighbouring bits, and any truncation, is
    /// sure to be noticed.
    /// Returns [`Error::Stored`] for anything that does not begin with an intact predictor of this type;
    /// [`Error::NonFinite`] or [`Error::OutOfRange`] for an invalid horizon, limit or number of the state.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut predictor = Self::EMPTY;
        predictor.read(bytes)?;
        Ok(predictor)
    }

    /// Replaces the predictor, in its place, by what [`Predictor::from_bytes`] returns, with the same errors. An error leaves it as it was.
    pub fn read(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let parts =
            [("format version", 1), ("sample type (4: f32, 8: f64)", 1), ("number of horizons", 2)];
        let mut stored = open(bytes, Self::SIZE, &Self::kind(), MAGIC, &parts)?;
        let horizons = [(); H].map(|()| stored.number());
        check(&horizons)?;
        let [low, high, anchor] = [(); 3].map(|()| stored.number::<S>());
        let limits = checked_limits(low, high)?;
        let turn = stored.integer(4) as u32 % (2 * Self::TURNS as u32);
        let (mut state, mut finite) = (Reader { rest: stored.rest }, anchor.is_finite());
        while !state.rest.is_empty() {
            finite &= state.number::<f32>().is_finite();
        }
        if !finite {
            return Err(Error::NonFinite { parameter: "state" });
        }
        *self = Self::EMPTY;
        self.set_horizons(&horizons);
        (self.limits, self.anchor, self.turn) = (limits, anchor, turn);
        self.state.numbers(&mut |x| *x = stored.number());
        Ok(())
    }
}
