//! The log of each seed for TensorBoard (`--tensorboard`), beside its other files.
//!
//! | tag | what |
//! |---|---|
//! | `metrics/loss`, ... | each of [`METRICS`] at a log point where it is defined |
//! | `layer_0/p_bottom_right`, ... | each of [`ELEMENTS`] of each stored layer |
//! | `layer_0/P`, `layer_0/Q` | pictures: sign-aligned, divided by the largest absolute entry |
//!
//! Steps are tasks. A seed's events follow from its log alone: the same bytes for the same config on
//! any machine, after any interruption, and for a run that was finished before it was asked for them.
//! So they bear no time of day. The file grows with each checkpoint, and TensorBoard follows it.

use crate::error::Error;
use crate::files;
use crate::formats::tensorboard::{Events, FILE_NAME};
use crate::run::records::write_atomic;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use trainer::Recipe;
use trainer::log::{ELEMENTS, METRICS, Metric, Point, SeedRun};

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
    /// How many log points each seed's file holds that this process has written.
    written: Mutex<BTreeMap<u64, usize>>,
}

impl EventFiles {
    /// Those of a run of this recipe.
    pub fn new(recipe: &Recipe) -> Self {
        let (mrps, log_every) = (recipe.mrps as u64, recipe.log_every as u64);
        let points = mrps.div_ceil(log_every);
        let picture_every = log_every * points.div_ceil(PICTURES);
        EventFiles { mrps, picture_every, written: Mutex::default() }
    }

    /// Brings the event file in a seed's folder up to its log.
    /// Errors: [`Error::Write`].
    pub fn write(&self, folder: &Path, run: &SeedRun) -> Result<(), Error> {
        let path = folder.join(FILE_NAME);
        // Other seeds write other files; only the counts are shared.
        let written = || self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let known = written().get(&run.seed).copied();
        match known {
            Some(count) => {
                let events = self.of_points(Events::continued(0.0), run, count);
                append(&path, events.as_bytes())?;
            }
            None => {
                let events = self.of_points(Events::new(0.0), run, 0);
                // What an earlier process wrote is kept, so that a TensorBoard that reads it does not
                // lose its place; half an event at its end is completed.
                let found = files::read_below(folder, FILE_NAME, files::RECORD).unwrap_or_default();
                match events.as_bytes().strip_prefix(found.as_slice()) {
                    Some(rest) if !found.is_empty() => append(&path, rest)?,
                    _ => write_atomic(&path, events.as_bytes())?,
                }
            }
        }
        written().insert(run.seed, run.points.len());
        Ok(())
    }

    /// With the events of the log points from a given one on.
    fn of_points(&self, mut events: Events, run: &SeedRun, from: usize) -> Events {
        for point in run.points.iter().skip(from) {
            self.point(&mut events, run.token_size, point);
        }
        events
    }

    fn point(&self, events: &mut Events, k: usize, point: &Point) {
        for Metric { name, of, .. } in METRICS {
            let value = of(point);
            if !value.is_nan() {
                events.scalar(point.tasks, &format!("metrics/{name}"), value as f32);
            }
        }
        let pictured = point.tasks.is_multiple_of(self.picture_every) || point.tasks == self.mrps;
        for (layer, matrices) in point.layers.iter().enumerate() {
            for Metric { name, of, .. } in ELEMENTS {
                let value = of(&matrices.element) as f32;
                events.scalar(point.tasks, &format!("layer_{layer}/{name}"), value);
            }
            for (name, entries) in [("P", &matrices.p), ("Q", &matrices.q)] {
                let png = pictured.then(|| picture(k, matrices.element.sign, entries)).flatten();
                if let Some(png) = png {
                    events.image(point.tasks, &format!("layer_{layer}/{name}"), &png);
                }
            }
        }
    }
}

fn append(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    files::append(path, bytes).map_err(|e| Error::write(path, e))
}

/// A (K, K) matrix as a PNG, row 0 on top.
fn picture(k: usize, sign: f64, entries: &[f32]) -> Option<Vec<u8>> {
    let largest = entries.iter().fold(0.0_f64, |a, x| a.max(f64::from(*x).abs()));
    let scale = if largest > 0.0 { sign / largest } else { 0.0 };
    let edge = CELL * k;
    let mut pixels = Vec::with_capacity(3 * edge * edge);
    for at in 0..edge * edge {
        let (row, column) = (at / edge / CELL, at % edge / CELL);
        pixels.extend(figures::colour(scale * f64::from(*entries.get(row * k + column)?)));
    }
    figures::png(edge as u32, edge as u32, &pixels).ok()
}
