//! The paper's experiments: one file per figure, with its defaults field by field, its seeds, and
//! what it shows.

pub mod autoregressive;
pub mod cart_pole;
pub mod comparison;
pub mod demo;
pub mod figure_2;
pub mod invariant_set;
pub mod learning;
pub mod rnn_context;
pub mod rnn_learning;
pub mod sequential;
pub mod softmax;
pub mod verify;

use crate::error::Error;
use crate::figures::{Figure, NamedFigures, Picture, Pictures};
use crate::run::config;
use crate::run::info::{self, Outcome, RunInfo};
use crate::run::records::{Records, RunDirectory};
use crate::run::report::{Claim, Report};
use crate::run::session::Session;
use learning::Scale;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// An experiment: its options are the type's fields, each a command line option of that name.
pub trait Experiment: Serialize {
    /// The command's name, and its directory's.
    const ID: &'static str;
    /// The figure of the paper that it repeats.
    const FIGURE: &'static str;

    /// Refuses options that do not fit together, before anything is written.
    ///
    /// # Errors
    /// [`Error::Option`], naming the option.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Computes, and puts the numbers behind the figures into `records`.
    ///
    /// # Errors
    /// Those of the computation.
    fn measure(&self, session: &Session, records: &mut Records) -> Result<Findings, Error>;

    /// The figures with their file names (without ending), from the records alone.
    ///
    /// # Errors
    /// [`Error::File`] if a record is missing or damaged.
    fn figures(records: &Records) -> Result<NamedFigures, Error>;

    /// The moving pictures with their file names (without ending), from the records alone.
    ///
    /// # Errors
    /// [`Error::File`] if a record is missing or damaged.
    fn animations(_records: &Records) -> Result<Animations, Error> {
        Ok(Vec::new())
    }
}

/// Moving pictures: their file names, without ending, and frames.
pub type Animations = Vec<(String, Vec<Figure>)>;

/// What an experiment's run shows, from its records alone.
fn pictures<E: Experiment>(records: &Records) -> Result<Pictures, Error> {
    let still = E::figures(records)?.into_iter().map(|(name, f)| (name, Picture::Still(f)));
    let moving = E::animations(records)?.into_iter().map(|(name, f)| (name, Picture::Moving(f)));
    Ok(still.chain(moving).collect())
}

/// Runs an experiment at a scale.
pub type RunAtScale = fn(&Scale, &Session) -> Result<Report, Error>;

/// What is known of an experiment without running it.
pub struct Entry {
    /// [`Experiment::ID`].
    pub id: &'static str,
    /// [`Experiment::FIGURE`].
    pub figure: &'static str,
    /// [`Experiment::figures`] and [`Experiment::animations`], from its records.
    pub pictures: fn(&Records) -> Result<Pictures, Error>,
    /// Runs it at a scale (numbers of seeds and tasks), if `reproduce` does.
    pub run: Option<RunAtScale>,
    /// It trains, so that a scale changes it.
    pub trains: bool,
}

impl Entry {
    /// One that `reproduce` runs.
    const fn at_scale<E: Experiment + AtScale>() -> Self {
        let run = |scale: &Scale, session: &Session| run(&E::at_scale(scale), session);
        Entry { run: Some(run), trains: E::TRAINS, ..Entry::of::<E>() }
    }

    pub(crate) const fn of<E: Experiment>() -> Self {
        Entry { id: E::ID, figure: E::FIGURE, pictures: pictures::<E>, run: None, trains: false }
    }
}

/// The commands whose runs have figures, and how they are typed: handed down by the command line to what
/// shows runs.
pub struct Catalogue {
    /// The experiments, in the paper's order.
    pub experiments: &'static [Entry],
    /// Other commands.
    pub others: &'static [Entry],
    /// The command line.
    pub command: clap::Command,
}

impl Catalogue {
    /// All commands whose runs have figures.
    pub fn entries(&self) -> impl Iterator<Item = &'static Entry> + Clone {
        self.experiments.iter().chain(self.others)
    }
}

/// Every experiment, in the paper's order.
pub const ALL: &[Entry] = &[
    Entry::at_scale::<demo::Demo>(),
    Entry::at_scale::<figure_2::Figure2>(),
    Entry::at_scale::<invariant_set::InvariantSet>(),
    Entry::at_scale::<autoregressive::Autoregressive>(),
    Entry::at_scale::<comparison::Comparison>(),
    Entry::at_scale::<sequential::Sequential>(),
    Entry::at_scale::<softmax::Softmax>(),
    Entry::at_scale::<cart_pole::CartPole>(),
    Entry::at_scale::<rnn_learning::RnnLearning>(),
    Entry::at_scale::<rnn_context::RnnContext>(),
    Entry::at_scale::<verify::Verify>(),
];

/// An experiment with its defaults, except for how much it trains.
pub trait AtScale {
    /// It trains, so that a scale changes it.
    const TRAINS: bool;

    /// At a scale; what does not train has its defaults.
    fn at_scale(scale: &Scale) -> Self;
}

macro_rules! at_scale {
    ($($experiment:ty),*) => {$(
        impl AtScale for $experiment {
            const TRAINS: bool = true;

            fn at_scale(scale: &Scale) -> Self {
                #[allow(clippy::needless_update)]
                Self { scale: scale.clone(), ..Default::default() }
            }
        }
    )*};
}

at_scale!(
    figure_2::Figure2,
    autoregressive::Autoregressive,
    comparison::Comparison,
    sequential::Sequential,
    softmax::Softmax,
    cart_pole::CartPole,
    rnn_learning::RnnLearning,
    rnn_context::RnnContext
);

macro_rules! fixed_scale {
    ($($experiment:ty),*) => {$(
        impl AtScale for $experiment {
            const TRAINS: bool = false;

            fn at_scale(_scale: &Scale) -> Self {
                Self::default()
            }
        }
    )*};
}

fixed_scale!(demo::Demo, verify::Verify, invariant_set::InvariantSet);

/// What an experiment found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// The results of `--json`, beside command, seed and config.
    pub results: Map<String, Value>,
    /// The paper's claims beside the measured numbers.
    pub claims: Vec<Claim>,
}

/// Runs an experiment and writes its directory: config.toml, results.json, records, figures, run.json.
///
/// # Errors
/// Those of the options, of the computation and of writing.
pub fn run<E: Experiment>(experiment: &E, session: &Session) -> Result<Report, Error> {
    experiment.check()?;
    let directory = RunDirectory::claim(session.out.join(E::ID))?;
    let mut info = RunInfo::new(E::ID, session);
    let started = std::time::Instant::now();
    let mut records = Records::new();
    let findings = experiment.measure(session, &mut records)?;

    let mut report = Report::new(E::ID);
    report.results.insert("figure".into(), json!(E::FIGURE));
    report.results.insert("seed".into(), json!(session.seed));
    report.results.insert("config".into(), json!(experiment));
    report.results.extend(findings.results);
    report.claims = findings.claims;
    records.put("config.toml", config::to_text(E::ID, session.seed, experiment)?);
    // The same bytes for the same config on any machine: no times, no paths.
    records.put("results.json", format!("{:#}\n", report.to_value()));
    records.draw(&pictures::<E>(&records)?)?;
    info.files(records.files());
    info.verdicts(&report.claims);
    records.put(info::FILE_NAME, info.to_text(Some(&Outcome::Finished)));
    report.files = directory.write(records.files())?;
    report.results.insert("seconds".into(), json!(started.elapsed().as_secs_f64()));
    Ok(report)
}

/// The mean and its standard error, std(ddof = 0) / sqrt(count), summed in order.
pub fn mean_and_stderr(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let (mut count, mut sum) = (0.0, 0.0);
    for x in values.clone() {
        count += 1.0;
        sum += x;
    }
    let mean = sum / count;
    let mut squares = 0.0;
    for x in values {
        squares += (x - mean) * (x - mean);
    }
    (mean, (squares / count).sqrt() / count.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command;

    #[test]
    fn standard_error_is_that_of_the_mean_with_ddof_0() {
        let (mean, stderr) = mean_and_stderr([1.0, 2.0, 3.0, 6.0].into_iter());
        assert_eq!((mean, stderr), (3.0, (3.5f64).sqrt() / 2.0));
        assert!(mean_and_stderr([1.0, f64::NAN].into_iter()).0.is_nan());
    }

    #[test]
    fn the_options_defaults_are_those_of_the_help() {
        let parse = |arguments: &[&str]| {
            let arguments: Vec<_> = arguments.iter().map(Into::into).collect();
            command::try_parse(&arguments).expect("no option is required").command
        };
        let same = |typed: String, default: String| assert_eq!(typed, default);
        let Some(command::Command::Demo(demo)) = parse(&["ictd", "demo"]) else { panic!() };
        same(format!("{demo:?}"), format!("{:?}", demo::Demo::default()));
        let Some(command::Command::Verify(verify)) = parse(&["ictd", "verify"]) else { panic!() };
        same(format!("{verify:?}"), format!("{:?}", verify::Verify::default()));
    }
}
