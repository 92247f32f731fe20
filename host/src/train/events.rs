//! The log of each seed as an event file of TensorBoard (`--tensorboard`), beside its other files.
//!
//! | tag | content |
//! |---|---|
//! | `metrics/loss`, ... | each of [`METRICS`] at a log point where it is defined |
//! | `layer_0/p_bottom_right`, ... | each of [`ELEMENTS`] of each stored layer |
//! | `layer_0/P`, `layer_0/Q` | pictures: sign-aligned, divided by the largest absolute entry |
//!
//! Steps are tasks. The events follow from the log alone and bear no time of day: they are the same bytes on any
//! machine, after any interruption, and for a run that had finished before it was asked for them. The file grows
//! with each checkpoint, and TensorBoard follows it.
//!
//! The format is a sequence of TFRecords, which hold messages in Protocol Buffers' encoding, with these fields:
//!
//! ```text
//! Event          { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5; }
//! Summary        { repeated Value value = 1; }
//! Summary.Value  { string tag = 1; float simple_value = 2; Image image = 4; }
//! Summary.Image  { int32 height = 1; int32 width = 2; int32 colorspace = 3; bytes encoded_image_string = 4; }
//! ```

use crate::error::Error;
use crate::files;
use crate::run::records::write_atomic;
use compute::Recipe;
use compute::log::{ELEMENTS, METRICS, Metric, Point, SeedRun};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The name of a seed's event file: TensorBoard looks for `tfevents` in names.
pub const FILE_NAME: &str = "events.out.tfevents.0.ictd";

/// About how many pictures a run has of each matrix.
const PICTURES: u64 = 40;
/// Pixels along the edge of a matrix entry.
const CELL: usize = 16;

/// The event files of a run's seeds.
#[derive(Debug)]
pub struct EventFiles {
    mrps: u64,
    /// Tasks between two pictures.
    picture_every: u64,
    /// The number of log points in each seed's file that this process has written.
    written: Mutex<BTreeMap<u64, usize>>,
}

impl EventFiles {
    /// Returns those of a run of this recipe.
    pub fn new(recipe: &Recipe) -> Self {
        let (mrps, log_every) = (recipe.mrps as u64, recipe.log_every as u64);
        let picture_every = log_every * mrps.div_ceil(log_every).div_ceil(PICTURES);
        EventFiles { mrps, picture_every, written: Mutex::default() }
    }

    /// Brings the event file in a seed's folder up to its log.
    /// Errors: [`Error::Write`].
    pub fn write(&self, folder: &Path, run: &SeedRun) -> Result<(), Error> {
        let path = folder.join(FILE_NAME);
        let append = |bytes| files::append(&path, bytes).map_err(|e| Error::write(&path, e));
        // Other seeds write other files; only the counts are shared.
        let written = || self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let known = written().get(&run.seed).copied();
        let mut events = Vec::new();
        if known.is_none() {
            record(&mut events, &[(1, Double(0.0)), (3, Bytes(b"brain.Event:2"))]);
        }
        for point in run.points.iter().skip(known.unwrap_or(0)) {
            self.point(&mut events, run.token_size, point);
        }
        if known.is_some() {
            append(&events)?;
        } else {
            // A TensorBoard that reads what an earlier process wrote keeps its place; half an event is completed.
            let found = files::read_below(folder, FILE_NAME, files::RECORD).unwrap_or_default();
            match events.strip_prefix(found.as_slice()) {
                Some(rest) if !found.is_empty() => append(rest)?,
                _ => write_atomic(&path, &events)?,
            }
        }
        written().insert(run.seed, run.points.len());
        Ok(())
    }

    fn point(&self, events: &mut Vec<u8>, k: usize, point: &Point) {
        let mut put = |tag: String, value: (u8, Value<'_>)| {
            let value = message(&[(1, Bytes(tag.as_bytes())), value]);
            let summary = message(&[(1, Bytes(&value))]);
            record(events, &[(1, Double(0.0)), (2, Integer(point.tasks)), (5, Bytes(&summary))]);
        };
        for Metric { name, of, .. } in METRICS {
            if !of(point).is_nan() {
                put(format!("metrics/{name}"), (2, Float(of(point) as f32)));
            }
        }
        let pictured = point.tasks.is_multiple_of(self.picture_every) || point.tasks == self.mrps;
        for (layer, matrices) in point.layers.iter().enumerate() {
            for Metric { name, of, .. } in ELEMENTS {
                put(format!("layer_{layer}/{name}"), (2, Float(of(&matrices.element) as f32)));
            }
            for (name, entries) in [("P", &matrices.p), ("Q", &matrices.q)] {
                let image = pictured.then(|| image(k, matrices.element.sign, entries)).flatten();
                if let Some(image) = image {
                    put(format!("layer_{layer}/{name}"), (4, Bytes(&image)));
                }
            }
        }
    }
}

/// Returns a (K, K) matrix as an image, row 0 on top.
fn image(k: usize, sign: f64, entries: &[f32]) -> Option<Vec<u8>> {
    let largest = entries.iter().fold(0.0_f64, |a, x| a.max(f64::from(*x).abs()));
    let scale = if largest > 0.0 { sign / largest } else { 0.0 };
    let edge = CELL * k;
    let mut pixels = Vec::with_capacity(3 * edge * edge);
    for at in 0..edge * edge {
        let (row, column) = (at / edge / CELL, at % edge / CELL);
        pixels.extend(figures::colour(scale * f64::from(*entries.get(row * k + column)?)));
    }
    let png = figures::png(edge as u32, edge as u32, &pixels).ok()?;
    let size = Integer(edge as u64);
    // The colour space is not used to decode the picture.
    Some(message(&[(1, size), (2, size), (3, Integer(4)), (4, Bytes(&png))]))
}

/// The value of a message's field.
#[derive(Clone, Copy)]
enum Value<'a> {
    Integer(u64),
    Double(f64),
    Bytes(&'a [u8]),
    Float(f32),
}
use Value::{Bytes, Double, Float, Integer};

/// Returns a message of fields, whose numbers are below 16: there a key is one byte.
fn message(fields: &[(u8, Value)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let put = |bytes: &mut Vec<u8>, key, mut x: u64| {
        bytes.push(key);
        while x >= 0x80 {
            bytes.push(x as u8 | 0x80);
            x >>= 7;
        }
        bytes.push(x as u8);
    };
    for (number, value) in fields {
        let key = number << 3;
        match value {
            Integer(x) => put(&mut bytes, key, *x),
            Double(x) => {
                bytes.push(key | 1);
                bytes.extend(x.to_le_bytes());
            }
            Bytes(x) => {
                put(&mut bytes, key | 2, x.len() as u64);
                bytes.extend(*x);
            }
            Float(x) => {
                bytes.push(key | 5);
                bytes.extend(x.to_le_bytes());
            }
        }
    }
    bytes
}

/// Appends an event as a TFRecord: its length, the length's checksum, its bytes, their checksum.
fn record(events: &mut Vec<u8>, event: &[(u8, Value)]) {
    let event = message(event);
    for part in [&(event.len() as u64).to_le_bytes(), event.as_slice()] {
        events.extend(part);
        events.extend(masked_crc(part).to_le_bytes());
    }
}

/// Returns TFRecord's checksum: CRC-32C, rotated and offset, because records may hold checksums.
fn masked_crc(bytes: &[u8]) -> u32 {
    let shifted = |crc: u32, _| (crc >> 1) ^ (0x82f6_3b78 * (crc & 1));
    let crc = bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), shifted));
    (!crc).rotate_right(15).wrapping_add(0xa282_ead8)
}
