//! One array in NumPy's `.npy` format, versions 1 to 3.
//!
//! The header is a Python literal; JSON's parser reads its three keys, as a general parser of Python literals would recurse as
//! deep as the file demands.

use super::error::excerpt;
use crate::error::Problem;
use serde::Deserialize;
use std::io::{self, Write};

/// An array in row-major (C) order.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The extent along each axis; empty for a single number.
    pub shape: Vec<usize>,
    /// The elements, the last axis fastest.
    pub data: Data,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    F32(Vec<f32>),
    F64(Vec<f64>),
    /// `int64`, and every other integer and boolean type.
    I64(Vec<i64>),
}

impl Array {
    /// Returns the elements as `f64`; rejects integers that would be rounded.
    pub fn numbers(&self, name: &str) -> Result<Vec<f64>, Problem> {
        let Data::I64(x) = &self.data else { return Ok(self.to_f64()) };
        match x.iter().find(|x| x.unsigned_abs() > 1 << 53) {
            Some(x) => Err(Problem::array(name, format!("the integer {x}"), "integers up to 2^53")),
            None => Ok(self.to_f64()),
        }
    }

    /// Returns the elements as `f64` (integers beyond 2^53 are rounded).
    pub fn to_f64(&self) -> Vec<f64> {
        match &self.data {
            Data::F32(x) => x.iter().map(|&x| x.into()).collect(),
            Data::F64(x) => x.clone(),
            Data::I64(x) => x.iter().map(|&x| x as f64).collect(),
        }
    }

    fn dtype(&self) -> (&'static str, &'static str) {
        match self.data {
            Data::F32(_) => ("float32", "<f4"),
            Data::F64(_) => ("float64", "<f8"),
            Data::I64(_) => ("int64", "<i8"),
        }
    }

    pub fn describe(&self) -> String {
        format!("{} of shape {}", self.dtype().0, tuple(&self.shape))
    }

    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let (descr, shape) = (self.dtype().1, tuple(&self.shape));
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        // Padded with spaces and a newline so that the data start at a multiple of 64.
        let start = MAGIC.len() + 4;
        let width = (start + header.len() + 1).next_multiple_of(64) - start - 1;
        let header = format!("{header:<width$}\n");
        let length = u16::try_from(header.len())
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "too many dimensions"))?;
        let [low, high] = length.to_le_bytes();
        out.write_all(&[MAGIC, &[1, 0, low, high][..], header.as_bytes()].concat())?;
        match &self.data {
            Data::F32(x) => x.iter().try_for_each(|x| out.write_all(&x.to_le_bytes())),
            Data::F64(x) => x.iter().try_for_each(|x| out.write_all(&x.to_le_bytes())),
            Data::I64(x) => x.iter().try_for_each(|x| out.write_all(&x.to_le_bytes())),
        }
    }

    /// Reads an array of at most `most` numbers from the content of a `.npy` file; `name` is for messages.
    pub fn parse(name: &str, bytes: &[u8], most: u64) -> Result<Self, Problem> {
        let malformed = |reason: &str| {
            Problem::array(name, reason, "an array as numpy.save writes it (.npy version 1 to 3)")
        };
        let (header, data) = split(bytes).ok_or_else(|| malformed("no .npy header"))?;
        let header = Header::parse(header).ok_or_else(|| {
            let is_of_records = header.contains("'descr': [");
            let expected = "one number for each element, not records";
            if is_of_records {
                Problem::array(name, "a structured dtype", expected)
            } else {
                malformed("an unreadable .npy header")
            }
        })?;
        let size = size_of(&header.descr).ok_or_else(|| {
            let expected = "a floating-point (float16, float32, float64), integer or boolean dtype";
            Problem::array(name, format!("dtype `{}`", excerpt(&header.descr)), expected)
        })?;
        let needed = header.shape.iter().try_fold(size, |bytes, &n| bytes.checked_mul(n));
        if needed != Some(data.len()) {
            let (there, shape) = (data.len(), tuple(&header.shape));
            return Err(malformed(&format!(
                "{there} bytes of data for {shape} elements of {size} bytes"
            )));
        }
        let numbers = (data.len() / size) as u64;
        if numbers > most {
            let expected = format!("at most {most} in a file of this size");
            return Err(Problem::array(name, format!("{numbers} numbers"), expected));
        }
        let reordered = header.fortran_order.then(|| row_major(&header.shape, size, data));
        let data = decode(&header.descr, size, reordered.as_deref().unwrap_or(data));
        let data = data.ok_or_else(|| {
            Problem::array(name, "an integer above 2^63 - 1", "integers that fit in 64 bits")
        })?;
        Ok(Array { shape: header.shape, data })
    }
}

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The largest number of dimensions, as in NumPy 1.
const MAX_DIMENSIONS: usize = 32;

pub fn tuple(shape: &[usize]) -> String {
    let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
    format!("({}{})", extents.join(", "), if shape.len() == 1 { "," } else { "" })
}

fn split(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (length, rest) = match *rest {
        [1, _, a, b, ..] => (u16::from_le_bytes([a, b]).into(), &rest[4..]),
        [2 | 3, _, a, b, c, d, ..] => (u32::from_le_bytes([a, b, c, d]), &rest[6..]),
        _ => return None,
    };
    let (header, data) = rest.split_at_checked(length.try_into().ok()?)?;
    Some((std::str::from_utf8(header).ok()?, data))
}

/// `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`, the keys in any order.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    descr: String,
    fortran_order: bool,
    shape: Vec<usize>,
}

impl Header {
    /// Parses the Python literal, which differs from JSON in its quotes, brackets, names and last commas; Python 2 wrote long
    /// integers with an L.
    fn parse(text: &str) -> Option<Self> {
        let words: Vec<_> = text.split_whitespace().collect();
        let is_word = |c: char| c.is_ascii_alphanumeric();
        // `(3 1)` is neither a shape nor 31.
        if words.windows(2).any(|two| two[0].ends_with(is_word) && two[1].starts_with(is_word)) {
            return None;
        }
        let mut json = words.concat();
        let replaced = [("'", "\""), ("(", "["), (")", "]"), ("False", "false"), ("True", "true")];
        let dropped = [("L,", ","), ("L]", "]"), (",]", "]"), (",}", "}")];
        for (python, ours) in replaced.into_iter().chain(dropped) {
            json = json.replace(python, ours);
        }
        let header: Header = serde_json::from_str(&json).ok()?;
        (header.shape.len() <= MAX_DIMENSIONS).then_some(header)
    }
}

fn size_of(descr: &str) -> Option<usize> {
    match descr.as_bytes() {
        [b'<' | b'>', b'f' | b'i' | b'u', size @ (b'2' | b'4' | b'8')]
        | [b'|', b'i' | b'u' | b'b', size @ b'1'] => Some(usize::from(size - b'0')),
        _ => None,
    }
}

fn row_major(shape: &[usize], size: usize, data: &[u8]) -> Vec<u8> {
    let count = data.len() / size;
    // The index in `data` of element `i` in row-major order.
    let place = |mut i: usize| {
        let (mut place, mut stride) = (0, count);
        for extent in shape.iter().rev() {
            stride /= extent;
            place += i % extent * stride;
            i /= extent;
        }
        place
    };
    (0..count).flat_map(|i| &data[place(i) * size..][..size]).copied().collect()
}

fn half(bits: u16) -> f32 {
    let [exponent, fraction] = [bits >> 10 & 31, bits & 1023].map(u32::from);
    let size = match exponent {
        // 2^-24, the least one.
        0 => fraction as f32 * f32::from_bits(103 << 23),
        31 => f32::from_bits(255 << 23 | fraction << 13),
        _ => f32::from_bits((exponent + 112) << 23 | fraction << 13),
    };
    if bits >> 15 == 1 { -size } else { size }
}

/// Returns the elements; `None` if an unsigned integer does not fit.
fn decode(descr: &str, size: usize, bytes: &[u8]) -> Option<Data> {
    // The element's bytes, little-endian, in the low end of a word.
    let words = bytes.chunks_exact(size).map(|chunk| {
        let mut word = [0; 8];
        word[..size].copy_from_slice(chunk);
        if descr.starts_with('>') {
            word[..size].reverse();
        }
        u64::from_le_bytes(word)
    });
    let unused_bits = 64 - 8 * size as u32;
    Some(match (&descr[1..2], size) {
        ("f", 2) => Data::F32(words.map(|w| half(w as u16)).collect()),
        ("f", 4) => Data::F32(words.map(|w| f32::from_bits(w as u32)).collect()),
        ("f", _) => Data::F64(words.map(f64::from_bits).collect()),
        // Shifted up and back, the sign bit fills the unused ones.
        ("i", _) => Data::I64(words.map(|w| (w << unused_bits) as i64 >> unused_bits).collect()),
        _ => Data::I64(words.map(|w| i64::try_from(w).ok()).collect::<Option<_>>()?),
    })
}
