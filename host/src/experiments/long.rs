//! The record of an experiment: numbers of runs and seeds, in one long table.

use super::statistics::quartiles;
use crate::error::Error;
use crate::run::records::Records;
use compute::judge::Number;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The file of the record.
pub const FILE: &str = "records.csv";

/// The most names of runs, or of a run's metrics, that a record is read with.
const MOST_NAMES: usize = 400;

/// One row of `records.csv`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The run.
    pub run: String,
    /// The seed; or the number of a sample, a task or an entry.
    pub seed: u64,
    /// The metric.
    pub metric: String,
    /// The place: a number of tasks, layers or steps; 0 for a metric without a place.
    pub at: f64,
    /// The number; NaN where the seed has none.
    pub value: f64,
}

/// A number of a seed: seed, place, value.
pub type Sample = (u64, f64, f64);

/// All numbers of an experiment, by run and metric, each in the order in which they were measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Long(BTreeMap<String, BTreeMap<String, Vec<Sample>>>);

impl Long {
    /// Adds a number.
    pub fn put(&mut self, run: &str, seed: u64, metric: &str, at: f64, value: f64) {
        let run = self.0.entry(run.to_owned()).or_default();
        run.entry(metric.to_owned()).or_default().push((seed, at, value));
    }

    /// Adds numbers of a seed.
    pub fn extend(&mut self, run: &str, seed: u64, numbers: Vec<Number>) {
        for Number { metric, at, value } in numbers {
            self.put(run, seed, &metric, at, value);
        }
    }

    /// Reads the record of a finished run.
    /// Errors: [`Error::File`].
    pub fn read(records: &Records) -> Result<Self, Error> {
        let mut long = Long::default();
        for Row { run, seed, metric, at, value } in records.csv::<Row>(FILE)? {
            long.put(&run, seed, &metric, at, value);
        }
        let names = long.0.values().map(BTreeMap::len).chain([long.0.len()]).max();
        if names > Some(MOST_NAMES) {
            let reason = format!("accepted are at most {MOST_NAMES} names");
            return Err(Error::file(Path::new(FILE), reason));
        }
        Ok(long)
    }

    /// Writes the record.
    /// Errors: as [`Records::put_table`].
    pub fn write(&self, records: &mut Records) -> Result<(), Error> {
        let rows = self.0.iter().flat_map(|(run, metrics)| {
            metrics.iter().flat_map(move |(metric, samples)| {
                samples.iter().map(move |(seed, at, value)| (run, seed, metric, at, value))
            })
        });
        let head = ["run", "seed", "metric", "at", "value"];
        records.put_table(FILE, &head, &rows.collect::<Vec<_>>())
    }

    /// Returns the numbers of one run.
    pub fn of<'a>(&'a self, run: &'a str) -> OfRun<'a> {
        OfRun { long: self, run }
    }
}

/// The numbers of one run, beside those of the others.
#[derive(Clone, Copy)]
pub struct OfRun<'a> {
    long: &'a Long,
    run: &'a str,
}

impl<'a> OfRun<'a> {
    /// Returns another run of the same experiment.
    pub fn beside(self, run: &'a str) -> Self {
        OfRun { run, ..self }
    }

    /// Returns all numbers of a metric.
    pub fn samples(self, metric: &str) -> &'a [Sample] {
        self.long.0.get(self.run).and_then(|run| run.get(metric)).map_or(&[], Vec::as_slice)
    }

    /// Returns the last number of each seed, in the order of the seeds.
    pub fn values(self, metric: &str) -> Vec<f64> {
        let mut values: Vec<(u64, f64)> = Vec::new();
        for (seed, _, value) in self.samples(metric) {
            match values.last_mut() {
                Some(last) if last.0 == *seed => last.1 = *value,
                _ => values.push((*seed, *value)),
            }
        }
        values.into_iter().map(|(_, value)| value).collect()
    }

    /// Returns the numbers at a place.
    pub fn values_at(self, metric: &str, at: f64) -> Vec<f64> {
        self.samples(metric).iter().filter(|s| s.1 == at).map(|s| s.2).collect()
    }

    /// Returns the places, each once, in ascending order.
    pub fn places(self, metric: &str) -> Vec<f64> {
        let mut places: Vec<f64> = self.samples(metric).iter().map(|s| s.1).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        places
    }

    /// Returns the median over seeds of what is finite.
    pub fn median(self, metric: &str) -> f64 {
        quartiles(self.values(metric))[1]
    }
}
