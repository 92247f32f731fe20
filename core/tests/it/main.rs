//! Tests of the crate by its public interface, a module for each of its folders.

mod context;
mod digest;
mod invariant_set;
mod level;
mod linalg;
mod metrics;
mod model;
mod networks;
mod preconditioned;
mod predictor;
mod rng;
mod scalar;
mod signal;
mod softmax_training;
mod stream;
mod tasks;
mod td;
mod training;
mod universal;
mod weights;
mod windows;

// What nearly every test names.
use ictd_core::constructions::scaled_identity;
use ictd_core::context::{Forgetting, Growing, Memory, Sliding};
use ictd_core::digest::Digest;
use ictd_core::layer::{Layer, LayerParameters};
use ictd_core::linalg::{dot, mul, mul_transpose, transpose};
use ictd_core::mask::{Mask, Td0, TdLambda};
use ictd_core::model::crc32;
use ictd_core::prompt::Prompt;
use ictd_core::rng::Rng;
use ictd_core::scalar::{Real, Scalar};
use ictd_core::tasks::{Mrp, boyan_chain};
use ictd_core::training::{
    Adam, AdamSettings, LinearNetwork, LinearShape, Network, Parameters, Windows,
};
use ictd_core::transformer::Transformer;
use ictd_core::transition::Transition;
use ictd_core::value_function::Gvf;
use ictd_core::{Context, Error, StoredError, UniversalModel, constructions};
use nalgebra::{SMatrix, SVector};

/// Returns stored bytes, changed, with the checksum that fits, so that the error behind it shows.
fn resealed(bytes: &[u8], change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    change(&mut bytes);
    let (body, checksum) = bytes.split_last_chunk_mut::<4>().unwrap();
    *checksum = crc32(body).to_le_bytes();
    bytes
}

/// Asserts that no bit of stored bytes can be another, and that bytes which are missing are named: from the header of
/// so many, or from all; from a magic word, if it is given, as that.
fn every_damage_is_found<T: core::fmt::Debug>(
    bytes: &[u8],
    magic: Option<&'static str>,
    header: usize,
    mut read: impl FnMut(&[u8]) -> Result<T, Error>,
) {
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.to_vec();
            damaged[at] ^= 1 << bit;
            assert!(read(&damaged).is_err(), "byte {at}, bit {bit}");
        }
        let expected = if at < header { header } else { bytes.len() } as u32;
        let error = match magic.filter(|_| at < 4) {
            Some(expected) => StoredError::Magic { expected },
            None => StoredError::Length { found: at as u32, expected },
        };
        assert_eq!(read(&bytes[..at]).unwrap_err(), error.into(), "{at} bytes");
    }
}
