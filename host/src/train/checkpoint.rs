//! A seed's state, in the middle of its run or at the end, as a file: versioned, checksummed,
//! replaced atomically.
//!
//! | field | bytes |
//! |---|---|
//! | `ictdseed` | 8 |
//! | version (1), little-endian | 4 |
//! | CRC-32 of the rest | 4 |
//! | the [`Checkpoint`] in postcard's format | the rest |

use super::log::SeedRun;
use crate::error::Error;
use serde::{Deserialize, Serialize};
use std::path::Path;

const MAGIC: [u8; 8] = *b"ictdseed";
const VERSION: u32 = 1;

/// A seed's state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The run's `config.toml`: another run's checkpoint is refused.
    pub config: String,
    /// Tasks trained on so far.
    pub tasks_done: u64,
    /// The trainer's record: parameters, optimiser, random stream.
    pub record: Vec<u8>,
    /// The seed, its parameters and its log so far.
    pub run: SeedRun,
}

impl Checkpoint {
    /// The content of the file.
    /// Errors: [`Error::Usage`] if memory ran out.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let body = postcard::to_allocvec(self).map_err(|e| Error::Usage(e.to_string()))?;
        let mut bytes = Vec::with_capacity(16 + body.len());
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
        bytes.extend_from_slice(&body);
        Ok(bytes)
    }

    /// Reads a file's content; `path` is for messages.
    /// Errors: [`Error::File`] for anything but a whole checkpoint of this version.
    pub fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Self, Error> {
        let refuse =
            |reason: &str| Error::file(path, format!("{reason}; accepted is a checkpoint"));
        let Some((head, body)) = bytes.split_at_checked(16) else {
            return Err(refuse("too short"));
        };
        let word =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        if head[..8] != MAGIC {
            return Err(refuse("does not begin with `ictdseed`"));
        }
        if word(8) != VERSION {
            return Err(refuse(&format!("version {}, not {VERSION}", word(8))));
        }
        if word(12) != crc32fast::hash(body) {
            return Err(refuse("damaged (checksum)"));
        }
        let checkpoint: Checkpoint =
            postcard::from_bytes(body).map_err(|e| refuse(&format!("damaged ({e})")))?;
        if !checkpoint.run.has_whole_matrices() {
            return Err(refuse("holds matrices that are not K x K"));
        }
        Ok(checkpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::Point;

    #[test]
    fn every_truncation_and_every_flipped_bit_is_refused() {
        let checkpoint = Checkpoint {
            config: "command = \"train\"".into(),
            tasks_done: 20,
            record: vec![1, 2, 3],
            run: SeedRun {
                seed: 3,
                digest: "0123456789abcdef".into(),
                token_size: 3,
                parameters: vec![1.5, -0.5],
                points: vec![Point {
                    tasks: 10,
                    alpha: 0.5,
                    loss: 0.25,
                    vd: 0.125,
                    iws: 0.5,
                    ss: 0.5,
                    msve: 0.1,
                    layers: Vec::new(),
                }],
            },
        };
        let path = Path::new("seed_3/checkpoint.bin");
        let bytes = checkpoint.to_bytes().unwrap();
        let read = Checkpoint::from_bytes(path, &bytes).unwrap();
        assert_eq!(read, checkpoint);
        for length in 0..bytes.len() {
            let error = Checkpoint::from_bytes(path, &bytes[..length]).unwrap_err();
            assert!(error.to_string().starts_with("seed_3/checkpoint.bin: "), "{error}");
        }
        for bit in 0..8 * bytes.len() {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(Checkpoint::from_bytes(path, &damaged).is_err(), "bit {bit}");
        }
    }
}
