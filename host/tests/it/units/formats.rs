//! What every reader must survive: each truncation and each single-bit flip of a real file.

mod npy;
mod npz;
mod safetensors;
mod seed_run;
mod signal_table;
mod tensorboard;
mod trajectory;

use ictd::formats::FormatError;
use std::fmt::Debug;

/// The path that readers of bytes are told in tests.
pub(crate) const FILE: &str = "example.file";

/// Of a format with a checksum: each corruption is refused, or gives what the whole file gives.
pub(crate) fn assert_survives_corruption<T: Debug + PartialEq>(
    bytes: &[u8],
    read: impl Fn(&[u8]) -> Result<T, FormatError>,
) {
    let whole = read(bytes).unwrap();
    corrupt(bytes, read, |value, what| {
        assert_eq!(value, whole, "{what} changed the value unnoticed");
    });
}

/// Of a format without one: each corruption is refused or read. (A panic fails the test by itself.)
pub(crate) fn assert_never_panics<T: Debug>(
    bytes: &[u8],
    read: impl Fn(&[u8]) -> Result<T, FormatError>,
) {
    read(bytes).unwrap();
    corrupt(bytes, read, |_, _| ());
}

/// Reads every truncation and every single-bit flip; a refusal names the file, in one line.
fn corrupt<T>(
    bytes: &[u8],
    read: impl Fn(&[u8]) -> Result<T, FormatError>,
    accept: impl Fn(T, &str),
) {
    let mut refused = 0_usize;
    let mut check = |corrupt: &[u8], what: String| match read(corrupt) {
        Ok(value) => accept(value, &what),
        Err(error) => {
            let message = error.to_string();
            assert!(message.starts_with(FILE), "{what}: {message}");
            assert!(!message.contains('\n'), "{what}: {message}");
            refused += 1;
        }
    };
    for length in 0..bytes.len() {
        check(&bytes[..length], format!("truncation to {length} bytes"));
    }
    let mut corrupt = bytes.to_vec();
    for byte in 0..bytes.len() {
        for bit in 0..8 {
            corrupt[byte] ^= 1 << bit;
            check(&corrupt, format!("bit {bit} of byte {byte}"));
            corrupt[byte] ^= 1 << bit;
        }
    }
    // A reader that looks at nothing would refuse nothing.
    assert!(refused > bytes.len(), "only {refused} corruptions of {} bytes refused", bytes.len());
}
