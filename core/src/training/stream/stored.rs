//! A trainer as bytes.

use super::{Counts, StreamTd};
use crate::bytes::{CHECKSUM, Reader, open, write};
use crate::error::{Error, Result, ensure};
use crate::layer::LayerParameters;
use crate::scalar::Real;

/// The stored form begins with this.
const MAGIC: &str = "ICTS";
const VERSION: u8 = 1;

impl<R: Real, const D: usize, const K: usize, const L: usize, const T: usize>
    StreamTd<R, D, K, L, T>
{
    /// The length of the stored trainer in bytes: a header of 12, all numbers, four counts, and a CRC-32.
    pub const SIZE: usize = 12 + (12 * K * K + (D + 1) * T + 9) * R::BYTES + 5 * 4 + CHECKSUM;

    fn kind() -> [u8; 4] {
        [VERSION, R::BYTES as u8, D as u8, T as u8]
    }

    /// Writes the trainer to the front of a buffer of [`StreamTd::SIZE`] bytes or more, and returns the bytes written. The
    /// settings are not stored, apart from the discount.
    pub fn write<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a [u8]> {
        write(buffer, Self::SIZE as u64, |writer| {
            writer.bytes(MAGIC.as_bytes());
            writer.bytes(&Self::kind());
            writer.bytes(&(Self::SIZE as u32).to_le_bytes());
            writer.number(self.settings.gamma);
            let mut copy = self.clone();
            copy.numbers(&mut |x| writer.number(*x));
            let Counts { samples, windows, trial, on_trial } = self.counts;
            for count in [self.newest as u32, samples as u32, windows, trial, on_trial.into()] {
                writer.bytes(&count.to_le_bytes());
            }
        })
    }

    /// Reads a stored trainer from the start of bytes; it then continues like the stored one, with the same bits and this one's
    /// settings.
    /// Returns [`Error::Stored`] for anything that does not begin with an intact trainer of this type, [`Error::Mismatch`]
    /// for another discount, [`Error::NonFinite`] for a number that is not finite. Nothing has changed then.
    pub fn read(&mut self, bytes: &[u8]) -> Result<()> {
        let parts = [("format version", 1), ("scalar type", 1), ("features", 1), ("states", 1)];
        let mut stored = open(bytes, Self::SIZE, &Self::kind(), MAGIC, &parts)?;
        let gamma = stored.number::<R>();
        ensure(gamma == self.settings.gamma, Error::Mismatch { parameter: "gamma" })?;
        let (mut numbers, mut finite) = (Reader { rest: stored.rest }, true);
        self.numbers(&mut |_| finite &= numbers.number::<R>().is_finite());
        ensure(finite, Error::NonFinite { parameter: "state" })?;
        self.numbers(&mut |x| *x = stored.number());
        let mut next = || stored.integer(4) as u32;
        self.newest = (next() as usize).min(T - 1);
        self.counts = Counts {
            samples: (next() as usize).min(T + 1),
            windows: next(),
            trial: next(),
            on_trial: next() != 0,
        };
        Ok(())
    }

    /// Shows every number that training changes, in the order in which they are stored.
    fn numbers(&mut self, visit: &mut impl FnMut(&mut R)) {
        let layers = [
            &mut self.kept,
            &mut self.trained,
            &mut self.mean,
            &mut self.square,
            &mut self.gradient,
            &mut self.slope,
        ];
        for layer in layers {
            layer.matrices_mut().flatten().for_each(&mut *visit);
        }
        for (phi, reward) in &mut self.states {
            phi.iter_mut().chain([reward]).for_each(&mut *visit);
        }
        for pair in [&mut self.corrections, &mut self.values, &mut self.errors, &mut self.squares] {
            pair.iter_mut().for_each(&mut *visit);
        }
    }
}
