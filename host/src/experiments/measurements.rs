//! The measurements of an experiment: numbers of runs and seeds in `records.csv`, and matrices in `matrices.csv`.

use super::statistics::{InDraws, quartiles};
use crate::error::Error;
use crate::run::records::RunFiles;
use judge::judge::{Measurement, by_draw};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

pub const FILE: &str = "records.csv";
pub const MATRICES: &str = "matrices.csv";

/// The largest number of runs, or of a run's metrics, in a record.
const MOST_NAMES: usize = 400;

/// The columns of `records.csv`. The seed is empty for a number of all seeds together.
const HEAD: [&str; 5] = ["run", "seed", "metric", "x", "value"];
const HEAD_OF_MATRICES: [&str; 7] = ["run", "matrix", "layer", "row", "column", "tasks", "value"];

/// One row of `matrices.csv`: an entry of P or Q, sign-aligned per seed and averaged over the seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatrixEntry {
    pub run: String,
    pub matrix: String,
    /// The stored layer, from 0, as are row and column.
    pub layer: usize,
    pub row: usize,
    pub column: usize,
    pub tasks: u64,
    pub value: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeedMeasurement {
    /// The seed; `None` for a number of all seeds together.
    pub seed: Option<u64>,
    /// The place: a number of tasks, layers or steps; 0 for a metric without a place.
    pub x: f64,
    /// The number; NaN if the seed has none.
    pub value: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasurementTable {
    numbers: BTreeMap<String, BTreeMap<String, Vec<SeedMeasurement>>>,
    pub matrices: Vec<MatrixEntry>,
    /// The first requested metric without a finite number.
    missing: RefCell<Option<String>>,
}

impl MeasurementTable {
    pub fn put(
        &mut self,
        run: &str,
        seed: impl Into<Option<u64>>,
        metric: &str,
        x: f64,
        value: f64,
    ) {
        let run = self.numbers.entry(run.to_owned()).or_default();
        let measurement = SeedMeasurement { seed: seed.into(), x, value };
        run.entry(metric.to_owned()).or_default().push(measurement);
    }

    pub fn extend(&mut self, run: &str, seed: u64, numbers: Vec<Measurement>) {
        for Measurement { metric, at, value } in numbers {
            self.put(run, seed, &metric, at, value);
        }
    }

    pub fn read(records: &RunFiles) -> Result<Self, Error> {
        let mut table = MeasurementTable::default();
        for (run, seed, metric, x, value) in
            records.csv::<(String, Option<u64>, String, f64, f64)>(FILE, &HEAD)?
        {
            table.put(&run, seed, &metric, x, value);
        }
        let names = table.numbers.values().map(BTreeMap::len).chain([table.numbers.len()]).max();
        if names > Some(MOST_NAMES) {
            let reason = format!("expected at most {MOST_NAMES} names");
            return Err(Error::file(Path::new(FILE), reason));
        }
        if records.has(MATRICES) {
            table.matrices = records.csv(MATRICES, &HEAD_OF_MATRICES)?;
        }
        Ok(table)
    }

    pub fn write(&self, records: &mut RunFiles) -> Result<(), Error> {
        let rows = self.numbers.iter().flat_map(|(run, metrics)| {
            metrics.iter().flat_map(move |(metric, measurements)| {
                measurements.iter().map(move |m| (run, m.seed, metric, m.x, m.value))
            })
        });
        records.put_table(FILE, &HEAD, rows)?;
        if self.matrices.is_empty() {
            return Ok(());
        }
        records.put_table(MATRICES, &HEAD_OF_MATRICES, &self.matrices)
    }

    pub fn of<'a>(&'a self, run: &'a str) -> RunMeasurements<'a> {
        RunMeasurements { table: self, run, base: 0 }
    }
}

#[derive(Clone, Copy)]
pub struct RunMeasurements<'a> {
    table: &'a MeasurementTable,
    run: &'a str,
    /// The number that is added to the seeds of the first base.
    base: u64,
}

/// Returns a run's name in the records, for the seeds of a base.
pub fn name_in_base(run: &str, base: u64) -> Cow<'_, str> {
    if base == 0 { run.into() } else { format!("{run} + {base}").into() }
}

impl<'a> RunMeasurements<'a> {
    pub fn other_run(self, run: &'a str) -> Self {
        RunMeasurements { run, ..self }
    }

    pub fn in_base(self, base: u64) -> Self {
        RunMeasurements { base, ..self }
    }

    pub fn samples(self, metric: &str) -> &'a [SeedMeasurement] {
        let run = self.table.numbers.get(&*name_in_base(self.run, self.base));
        run.and_then(|run| run.get(metric)).map_or(&[], Vec::as_slice)
    }

    fn seeds(self, metric: &str) -> impl Iterator<Item = &'a [SeedMeasurement]> {
        self.samples(metric).chunk_by(|a, b| a.seed == b.seed)
    }

    /// Returns the last number of each seed, in the order of the seeds.
    pub fn values(self, metric: &str) -> Vec<f64> {
        let last = self.seeds(metric).filter_map(|of_seed| Some(of_seed.last()?.value));
        self.found(metric, last.collect())
    }

    pub fn values_at(self, metric: &str, x: f64) -> Vec<f64> {
        let here = self.samples(metric).iter().filter(|sample| sample.x == x);
        self.found(metric, here.map(|sample| sample.value).collect())
    }

    /// Returns each seed's numbers by draw; a single column for a metric without draws.
    pub fn in_draws(self, metric: &str) -> InDraws {
        let numbers = |of_seed: &[SeedMeasurement]| of_seed.iter().map(|x| x.value).collect();
        let rows: InDraws = self.seeds(&by_draw(metric)).map(numbers).collect();
        let values = self.values(metric);
        let is_whole =
            rows.len() == values.len() && rows.iter().all(|row| row.len() == rows[0].len());
        if is_whole { rows } else { values.into_iter().map(|x| vec![x]).collect() }
    }

    /// Records a metric without a finite number: claims that depend on it are not measured.
    fn found(self, metric: &str, values: Vec<f64>) -> Vec<f64> {
        if !values.iter().any(|x| x.is_finite()) {
            let name = || [self.run, metric].join(" ").trim().to_owned();
            self.table.missing.borrow_mut().get_or_insert_with(name);
        }
        values
    }

    /// Returns the first metric without a finite number since the last call, with its run.
    pub fn take_missing(self) -> Option<String> {
        self.table.missing.take()
    }

    pub fn places(self, metric: &str) -> Vec<f64> {
        let mut places: Vec<f64> = self.samples(metric).iter().map(|sample| sample.x).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        self.found(metric, places)
    }

    pub fn median(self, metric: &str) -> f64 {
        quartiles(self.values(metric))[1]
    }

    pub fn matrix_times(self) -> BTreeSet<u64> {
        let entries = self.table.matrices.iter().filter(|entry| entry.run == self.run);
        entries.map(|entry| entry.tasks).collect()
    }

    /// Returns a matrix of a run after a number of tasks, row by row; empty rows if it is not square and whole.
    pub fn matrix(self, matrix: &str, layer: usize, tasks: u64) -> Vec<Vec<f64>> {
        let is_here = |e: &&MatrixEntry| {
            e.run == self.run && e.matrix == matrix && e.layer == layer && e.tasks == tasks
        };
        let entries: BTreeMap<_, _> = (self.table.matrices.iter().filter(is_here))
            .map(|entry| ((entry.row, entry.column), entry.value))
            .collect();
        let k = entries.len().isqrt();
        let row = |i| (0..k).map(|j| entries.get(&(i, j)).copied()).collect::<Option<Vec<_>>>();
        (0..k).map(row).collect::<Option<_>>().unwrap_or_default()
    }
}
