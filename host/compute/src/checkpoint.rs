//! The file format of a seed's state, during its run or at its end: versioned and checksummed; a damaged file is rejected.
//!
//! | field | bytes |
//! |---|---|
//! | `ictdseed` | 8 |
//! | version (1), little-endian | 4 |
//! | CRC-32 of the rest | 4 |
//! | the [`Checkpoint`] in postcard's format | the rest |

use crate::log::SeedRun;
use serde::{Deserialize, Serialize};

const MAGIC: [u8; 8] = *b"ictdseed";
const VERSION: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The name of its run; other runs reject it.
    pub config: String,
    pub tasks_done: u64,
    /// The trainer's record: parameters, optimiser, random stream.
    pub record: Vec<u8>,
    /// The seed, its parameters and its log so far.
    pub run: SeedRun,
}

impl Checkpoint {
    pub fn to_bytes(&self) -> Vec<u8> {
        let body = postcard::to_allocvec(self).expect("a vector has room");
        let head = [VERSION, crc32fast::hash(&body)].map(u32::to_le_bytes);
        [&MAGIC[..], head.as_flattened(), &body].concat()
    }

    /// Parses a file's content. Returns the reason for anything but a complete checkpoint of this version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let refuse = |reason: &str| format!("{reason}; expected a checkpoint");
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
