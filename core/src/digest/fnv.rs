use crate::scalar::Real;
use core::fmt;

/// FNV-1a, 64 bits, over bytes in an order that every platform shares.
///
/// Integers and numbers count as 8 little-endian bytes (whatever the pointer width or endianness),
/// numbers by their bits. Every NaN counts as one NaN, since IEEE 754 leaves its sign and payload to
/// the machine; the two zeros count as different.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Digest(u64);

impl Digest {
    /// The digest of no bytes.
    pub const EMPTY: Digest = Digest(0xcbf2_9ce4_8422_2325);

    /// Returns the digest with this value, as [`Digest::value`] gave it.
    pub const fn from_value(value: u64) -> Self {
        Digest(value)
    }

    /// Returns the 64 bits.
    pub const fn value(self) -> u64 {
        self.0
    }

    /// Appends bytes.
    pub const fn bytes(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let [byte, after @ ..] = rest {
            self.0 = (self.0 ^ *byte as u64).wrapping_mul(0x0000_0100_0000_01b3);
            rest = after;
        }
    }

    /// Appends an integer.
    pub const fn word(&mut self, word: u64) {
        self.bytes(&word.to_le_bytes());
    }

    /// Appends a number.
    pub fn number<R: Real>(&mut self, x: R) {
        // Only NaN differs from itself.
        let is_nan = x.partial_cmp(&x).is_none();
        self.word(if is_nan { u64::MAX } else { x.bits() });
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
