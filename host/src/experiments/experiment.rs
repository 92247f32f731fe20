//! What an experiment is: known without running it, run, and written into its directory.

use super::claims::JudgedClaim;
use super::fresh::{self, JudgedRun};
use super::learning::{Scale, put_records, trained};
use super::panels::{self, CAPTION, CurveRecords, ERROR_CAPTION, EXPLAINED_CAPTION, MatrixRecords};
use crate::error::Error;
use crate::options;
use crate::run::config;
use crate::run::info::{self, Outcome, RunInfo};
use crate::run::records::{self, Records, RunDirectory};
use crate::run::report::{Claim, Report};
use crate::run::session::Session;
use crate::train::log::MSVE;
use crate::train::options::Mode;
use figures::{Figure, NamedFigures, Picture, Pictures};
use serde::Serialize;
use serde_json::Map;

/// What is known of an experiment without running it.
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
    /// At a scale: numbers of seeds and tasks.
    Scaled(fn(&Scale, &Session) -> Result<Report, Error>),
    /// By training, judging and drawing what is said, at a scale.
    Trained(Training),
}

/// An experiment that is data.
pub struct Training {
    /// What its command's help says beside the figure.
    pub about: &'static str,
    /// The runs.
    pub runs: &'static [TrainingRun],
    /// What the paper claims of all of them together.
    pub claims: &'static [JudgedClaim<[JudgedRun]>],
    /// What is drawn.
    pub figures: &'static [Shown],
    /// The run whose P and Q are shown as they emerge.
    pub emergence: Option<&'static str>,
}

/// A run of an experiment. Those with one name are one run, and have the same options.
pub struct TrainingRun {
    /// Its directory in `runs/`, and its name in the records.
    pub name: &'static str,
    /// Its options as typed after `ictd train`, but for the seeds.
    pub options: &'static str,
    /// What its claims are about.
    subject: &'static str,
    /// What a comparison calls it.
    title: &'static str,
    /// What the paper claims of it.
    pub claims: &'static [JudgedClaim],
}

/// A run with what is claimed of a subject.
pub const fn training_run(
    name: &'static str,
    options: &'static str,
    subject: &'static str,
    claims: &'static [JudgedClaim],
) -> TrainingRun {
    TrainingRun { name, options, subject, title: subject, claims }
}

impl TrainingRun {
    /// With another title than its subject.
    pub const fn titled(self, title: &'static str) -> Self {
        TrainingRun { title, ..self }
    }
}

/// A figure in a file of that name.
pub enum Shown {
    /// P and Q of a run's stored layers, and their elements on the way: file, run, title.
    Parameters(&'static str, &'static str, &'static str),
    /// All runs against batch TD: file, title, subtitle.
    Comparison(&'static str, &'static str, &'static str),
    /// What the classical algorithms explain of each run's function: file, title.
    Explained(&'static str, &'static str),
    /// The value error of a run on the way: file, run, title.
    ValueError(&'static str, &'static str, &'static str),
}

impl Entry {
    /// It trains, so that a scale changes it.
    pub fn trains(&self) -> bool {
        matches!(self.run, Run::Scaled(_) | Run::Trained(_))
    }

    /// Runs it.
    /// Errors: as [`run`]; [`Error::Usage`] for one that its command runs.
    pub fn run(&self, scale: &Scale, session: &Session) -> Result<Report, Error> {
        match &self.run {
            Run::Fixed(run) => run(session),
            Run::Scaled(run) => run(scale, session),
            Run::Trained(training) => training.run(self, scale, session),
            Run::ByCommand => Err(Error::Usage(format!("{}: accepted as a command", self.id))),
        }
    }

    /// What its run shows, from its records alone.
    /// Errors: [`Error::File`] if a record is missing or damaged.
    pub fn pictures(&self, records: &Records) -> Result<Pictures, Error> {
        let mut figures = (self.figures)(records)?;
        let mut moving = None;
        if let Run::Trained(training) = &self.run {
            figures.extend(training.figures(records)?);
            if let Some(run) = training.emergence {
                let frames = MatrixRecords::read(records)?.emergence(run);
                moving = Some(("emergence".to_owned(), Picture::Moving(frames)));
            }
        }
        let still = figures.into_iter().map(|(name, figure)| (name, Picture::Still(figure)));
        Ok(still.chain(moving).collect())
    }
}

impl Training {
    fn run(&self, entry: &Entry, scale: &Scale, session: &Session) -> Result<Report, Error> {
        write(
            entry,
            scale,
            session,
            |records| {
                let (mut found, mut claims) = (Map::new(), Vec::new());
                let mut judged: Vec<JudgedRun> = Vec::new();
                for run in self.runs {
                    let options = scale.apply(options::parsed(run.options));
                    let seeds = trained(run.name, &options, session)?;
                    let key = if self.runs.len() == 1 { "seeds" } else { run.name };
                    let sequential = options.recipe.mode == Mode::Sequential;
                    found
                        .insert(key.into(), seeds.iter().map(|r| r.to_value(sequential)).collect());
                    let fresh = fresh::measure(run.name, &options.recipe, &seeds, session)?;
                    let of = JudgedRun { name: run.name, recipe: options.recipe, seeds, fresh };
                    claims.extend(run.claims.iter().map(|claim| claim.judge(run.subject, &of)));
                    judged.push(of);
                }
                claims.extend(self.claims.iter().map(|claim| claim.judge("", &judged[..])));
                let on_fresh_tasks = fresh::rows(&judged);
                let all: Vec<_> =
                    judged.iter().map(|run| (run.name, run.seeds.as_slice())).collect();
                put_records(&all, on_fresh_tasks, records)?;
                Ok((found, claims))
            },
            |_| String::new(),
        )
    }

    fn figures(&self, records: &Records) -> Result<NamedFigures, Error> {
        let curves = CurveRecords::read(records)?;
        let figure = |shown: &Shown| {
            let (file, title, subtitle, panels, columns) = match shown {
                Shown::Parameters(file, run, title) => {
                    let matrices = MatrixRecords::read(records)?;
                    let layers = 0..curves.layers(run);
                    let panels = layers.flat_map(|l| matrices.layer_row(&curves, run, l)).collect();
                    (file, title, CAPTION, panels, 4)
                }
                Shown::Comparison(file, title, subtitle) => {
                    let of_run = |run: &TrainingRun| curves.comparison(run.name, run.title);
                    let panels = self.runs.iter().flat_map(of_run).collect();
                    (file, title, *subtitle, panels, 2)
                }
                Shown::Explained(file, title) => {
                    let of_run =
                        |run: &TrainingRun| panels::explained(records, run.name, run.title);
                    let panels = self.runs.iter().map(of_run).collect::<Result<_, _>>()?;
                    (file, title, EXPLAINED_CAPTION, panels, 3)
                }
                Shown::ValueError(file, run, title) => {
                    (file, title, ERROR_CAPTION, vec![curves.metric("", run, &MSVE)], 3)
                }
            };
            let (title, subtitle) = (title.to_string(), subtitle.to_string());
            Ok((file.to_string(), Figure { title, subtitle, panels, columns }))
        };
        self.figures.iter().map(figure).collect()
    }
}

/// What is found, and the paper's claims beside it.
pub type Measured<F> = Result<(F, Vec<Claim>), Error>;

/// An experiment with options of its own: the type's fields, each a command line option of that name.
pub trait Experiment: Serialize {
    /// What is known of it without running it.
    const ENTRY: Entry;

    /// What it finds; its fields are results of `--json`, beside command, seed and config.
    type Found: Serialize;

    /// Refuses options that do not fit together, before anything is written.
    /// Errors: [`Error::Option`], naming the option.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Computes, puts the numbers behind the figures into `records`, and judges the paper's claims.
    fn measure(&self, session: &Session, records: &mut Records) -> Measured<Self::Found>;

    /// What is found, for a human; claims and the place of the files follow it.
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

/// What every experiment says with `--json`, and in results.json.
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
