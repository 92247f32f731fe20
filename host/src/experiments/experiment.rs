//! An experiment: its entry, which is known without running it, its run, and what it writes into its directory.
//!
//! Most experiments are data ([`Table`]); one that is a command with options of its own, such as `demo`, implements
//! [`Experiment`].

use super::learning::Scale;
use super::panels::MatrixRecords;
use super::plots;
pub use super::table::Measured;
use super::table::{Table, TableOptions};
use crate::error::Error;
use crate::run::config;
use crate::run::info::{self, Outcome, RunInfo};
use crate::run::records::{self, Records, RunDirectory};
use crate::run::report::Report;
use crate::run::session::Session;
use figures::{NamedFigures, Picture, Pictures};
use serde::Serialize;

/// The description of an experiment, known without running it.
pub struct Entry {
    /// The command's name, and its directory's.
    pub id: &'static str,
    /// The figure of the paper that it repeats.
    pub figure: &'static str,
    /// The figures that are code, with their file names (without ending), from the records alone.
    pub figures: fn(&Records) -> Result<NamedFigures, Error>,
    /// How `reproduce` runs it.
    pub run: Run,
}

/// How an experiment is run without options of its own.
pub enum Run {
    /// Not at all: a command asks for what it needs.
    ByCommand,
    /// Without training.
    Fixed(fn(&Session) -> Result<Report, Error>),
    /// As a table says, at a scale.
    Table(Table),
}

impl Entry {
    /// It trains, so that a scale changes it.
    pub fn trains(&self) -> bool {
        matches!(self.run, Run::Table(_))
    }

    /// Runs it.
    /// Errors: as [`run`]; [`Error::Usage`] for one that its command runs.
    pub fn run(&self, scale: &Scale, session: &Session) -> Result<Report, Error> {
        match &self.run {
            Run::Fixed(run) => run(session),
            Run::Table(table) => {
                let options = TableOptions { scale: scale.clone(), settings: table.defaults() };
                self.run_table(table, &options, session)
            }
            Run::ByCommand => Err(Error::Usage(format!("{}: accepted as a command", self.id))),
        }
    }

    /// Runs it as a table says, with options.
    /// Errors: as [`Table::measure`], and of its files.
    pub fn run_table(
        &self,
        table: &Table,
        options: &TableOptions,
        session: &Session,
    ) -> Result<Report, Error> {
        let measure = |records: &mut Records| table.measure(options, session, records);
        write(self, options, session, measure, |found| found.text.clone())
    }

    /// Draws what its run shows, from its records alone.
    /// Errors: [`Error::File`] if a record is missing or damaged.
    pub fn pictures(&self, records: &Records) -> Result<Pictures, Error> {
        let mut figures = (self.figures)(records)?;
        let mut moving = None;
        if let Run::Table(table) = &self.run {
            let runs: Vec<_> = table.runs.iter().map(|run| (run.name, run.title)).collect();
            figures.extend(plots::figures(table.figures, &runs, records)?);
            if let Some(run) = table.emergence {
                let frames = MatrixRecords::read(records)?.emergence(run);
                moving = Some(("emergence".to_owned(), Picture::Moving(frames)));
            }
        }
        let still = figures.into_iter().map(|(name, figure)| (name, Picture::Still(figure)));
        Ok(still.chain(moving).collect())
    }
}

/// An experiment with options of its own: the type's fields, each a command line option of that name.
pub trait Experiment: Serialize {
    /// Its description, known without running it.
    const ENTRY: Entry;

    /// Its findings, whose fields are results of `--json`, beside command, seed and config.
    type Found: Serialize;

    /// Refuses options that do not fit together, before anything is written.
    /// Errors: [`Error::Option`], naming the option.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Computes, puts the numbers behind the figures into `records`, and judges the paper's claims.
    fn measure(&self, session: &Session, records: &mut Records) -> Measured<Self::Found>;

    /// Returns the findings for a human; claims and the place of the files follow it.
    fn text(_found: &Self::Found) -> String {
        String::new()
    }
}

/// Runs an experiment and writes its directory: config.toml, results.json, records, figures, run.json.
pub fn run<E: Experiment>(experiment: &E, session: &Session) -> Result<Report, Error> {
    experiment.check()?;
    let measure = |records: &mut Records| experiment.measure(session, records);
    write(&E::ENTRY, experiment, session, measure, E::text)
}

/// The results that every experiment prints with `--json`, and writes into results.json.
#[derive(Serialize)]
struct Results<'a, F> {
    figure: &'a str,
    seed: u64,
    config: toml::Table,
    #[serde(flatten)]
    found: &'a F,
}

/// Measures, and writes the directory.
fn write<O: Serialize, F: Serialize>(
    entry: &Entry,
    options: &O,
    session: &Session,
    measure: impl FnOnce(&mut Records) -> Measured<F>,
    text: impl FnOnce(&F) -> String,
) -> Result<Report, Error> {
    let directory = RunDirectory::claim(records::place(&session.out, entry.id)?)?;
    let mut run_info = RunInfo::new(entry.id, session);
    let started = std::time::Instant::now();
    let mut records = Records::streaming_to(&directory);
    let (found, claims) = measure(&mut records)?;

    let (figure, seed, config) = (entry.figure, session.seed, config::table(options)?);
    let mut report = Report::of(entry.id, &Results { figure, seed, config, found: &found });
    report.text = text(&found);
    report.claims = claims;
    records.put("config.toml", config::to_text(entry.id, seed, options)?);
    // The same bytes for the same config on any machine: no times, no paths.
    records.put("results.json", format!("{:#}\n", report.to_value()));
    records.draw(&entry.pictures(&records)?)?;
    run_info.files(records.files());
    records.streamed().for_each(|(name, digest)| run_info.digest(name, digest));
    run_info.verdicts(&report.claims);
    records.put(info::FILE_NAME, run_info.to_text(Some(&Outcome::Finished)));
    report.files = directory.write_records(records)?;
    report.seconds = Some(started.elapsed().as_secs_f64());
    Ok(report)
}
