//! `ictd train`.

use crate::config;
use crate::error::Error;
use crate::experiments::learning::{CAPTION, CurveRecords, MatrixRecords, put_records};
use crate::figures::{self, Figure};
use crate::progress;
use crate::records::Records;
use crate::report::{Report, table};
use crate::session::Session;
use crate::train::directory::{Found, RESULTS, TrainDirectory};
use crate::train::log::SeedRun;
use crate::train::options::{Mode, Train};
use crate::train::run::{Trained, train};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;

/// The run's name in its records, and its figure's.
const RUN: &str = "train";

/// Trains, or goes on with a run.
///
/// # Errors
/// Those of the options, the training and the files.
pub fn run(options: &Train, session: &Session) -> Result<Report, Error> {
    let (options, seed, directory) = match &options.resume {
        Some(path) => resume(options, path, session)?,
        None => (options.clone(), session.seed, begin(options, session)?),
    };
    let trained = train(&options, seed, session, "train", Some(&directory))?;
    let sequential = options.mode == Mode::Sequential;
    let seeds: Vec<_> = trained.runs.iter().map(|r| r.to_value(sequential)).collect();

    let mut report = Report::new("train");
    report.results.insert("seed".into(), json!(seed));
    report.results.insert("config".into(), json!(options));
    report.results.insert("seeds".into(), json!(seeds));
    report.failures = diverged(&trained.runs);
    // The same bytes for the same config on any machine and after any interruption.
    let mut records = Records::new();
    records.put(RESULTS, format!("{:#}\n", report.to_value()));
    report.results.insert("seconds".into(), json!(trained.seconds));
    report.results.insert("cpu_seconds".into(), json!(trained.cpu_seconds));
    report.text = summary(&options, &trained);
    put_records(&[(RUN, trained.runs)], &mut records)?;
    draw(&mut records)?;
    report.files = directory.write(&records)?;
    Ok(report)
}

/// The directory of a run, which may stand there already.
fn begin(options: &Train, session: &Session) -> Result<TrainDirectory, Error> {
    options.check(session.seed)?;
    let config = config::to_text("train", session.seed, options)?;
    let path = session.out.join("train");
    let mut directory = TrainDirectory::create(path, config, session.overwrite)?;
    if directory.found() == Found::Finished {
        if session.overwrite {
            directory.clear()?;
        } else {
            let path = directory.path().display();
            let text = format!("{path}: finished before; --overwrite trains its seeds again");
            progress::note(&text, session.quiet);
        }
    }
    directory.note_unfinished(session);
    Ok(directory.with_events(options))
}

/// A line for the seeds that diverged by the same task.
fn diverged(runs: &[SeedRun]) -> Vec<String> {
    let mut by_task = BTreeMap::<u64, Vec<String>>::new();
    for run in runs {
        if let Some(tasks) = run.diverged() {
            by_task.entry(tasks).or_default().push(run.seed.to_string());
        }
    }
    let line = |(tasks, seeds): (u64, Vec<String>)| {
        let seeds = seeds.join(", ");
        format!(
            "seed {seeds}: parameters are NaN or infinite (diverged by task {tasks}): lower --lr"
        )
    };
    by_task.into_iter().map(line).collect()
}

/// The run's figure, from `curves.csv` and `matrices.csv`.
///
/// # Errors
/// [`Error::File`] if a record is missing or damaged.
pub(crate) fn draw(records: &mut Records) -> Result<(), Error> {
    let curves = CurveRecords::read(records)?;
    let mut panels = Vec::new();
    let layers = curves.layers(RUN);
    if layers > 0 {
        let matrices = MatrixRecords::read(records)?;
        for l in 0..layers {
            panels.extend(matrices.layer_row(&curves, RUN, l));
        }
    }
    panels.extend(curves.comparison(RUN, "Layers"));
    let figure = Figure {
        title: "Training by multi-task TD".into(),
        subtitle: CAPTION.into(),
        panels,
        columns: if layers > 0 { 4 } else { 2 },
    };
    figures::put(records, RUN, &figure)
}

/// The options and the directory of a run that was begun.
fn resume(
    typed: &Train,
    path: &Path,
    session: &Session,
) -> Result<(Train, u64, TrainDirectory), Error> {
    if session.overwrite {
        let reason = "goes on with a run; accepted without --overwrite";
        return Err(Error::Option { option: "--resume", reason: reason.into() });
    }
    let plain = Train {
        resume: typed.resume.clone(),
        checkpoint_every: typed.checkpoint_every,
        tensorboard: typed.tensorboard,
        ..Train::default()
    };
    if *typed != plain {
        let reason = "takes all options from the run's config.toml; accepted beside it are \
                      --threads, --checkpoint-every, --tensorboard and --json";
        return Err(Error::Option { option: "--resume", reason: reason.into() });
    }
    let (text, seed, options) = config::read_run::<Train>(path, "train")?;
    options.check(seed)?;
    let Train { checkpoint_every, tensorboard, .. } = *typed;
    let options = Train { checkpoint_every, tensorboard, ..options };
    let directory = TrainDirectory::create(path.to_owned(), text, false)?.with_events(&options);
    Ok((options, seed, directory))
}

/// A table of the seeds' final metrics.
fn summary(options: &Train, trained: &Trained) -> String {
    let head = ["seed", "digest", "P[-1,-1]", "tr Q[:d,:d]", "tr Q[:d,d:2d]", "VD", "IWS", "SS"];
    let mut rows = vec![head.map(str::to_owned)];
    let number = |x: f64| if x.is_nan() { "-".to_owned() } else { format!("{x:.4}") };
    let row = |run: &SeedRun| {
        let last = |metric: fn(&crate::train::Point) -> f64| run.last().map_or(f64::NAN, metric);
        [
            run.seed.to_string(),
            run.digest.clone(),
            number(run.element(0, |e| e.p_bottom_right)),
            number(run.element(0, |e| e.q_trace_upper_left)),
            number(run.element(0, |e| e.q_trace_upper_right)),
            number(last(|p| p.vd)),
            number(last(|p| p.iws)),
            number(last(|p| p.ss)),
        ]
    };
    rows.extend(trained.runs.iter().map(row));
    let mut text = table(&rows);
    if options.mode == Mode::Sequential {
        text.push_str("(P and Q of layer 0; all layers are in the records)\n");
    }
    let (seconds, cpu) = (trained.seconds, trained.cpu_seconds);
    text.push_str(&format!("\n{seconds:.2} s, {cpu:.2} CPU s\n"));
    text
}
