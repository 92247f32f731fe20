//! The readers of files, each on any bytes: none may panic, and what is accepted must hold what its type promises.

use ictd::cli::{command, config_file};
use ictd::experiments::{Catalogue, measurements, plots};
use ictd::figures::Figure;
use ictd::formats::npz::Npz;
use ictd::formats::seed_run::{PartialParams, SeedLog};
use ictd::formats::trajectory::{Features, Trajectory};
use ictd::formats::{Naming, safetensors, tasks};
use ictd::model_file;
use ictd::page::RunPage;
use ictd::run::records::{RunDirectory, RunFiles};
use ictd::run::{config, exchange, info, lock};
use ictd::sweep::plan::Plan;
use ictd::train::checkpoint::Checkpoint;
use ictd::train::level::SimdLevel;
use ictd::train::{Recipe, Train, directory, shapes};
use ictd_core::Predictor;
use std::io::{Cursor, Write};
use std::path::Path;
use tables::{Cells, Clock, Format, Table};

const FILE: &str = "a.file";

/// A reader of bytes.
pub type Target = fn(&[u8]);

/// Options of a config file, which go through the parser of typed ones; of a run that is resumed, which are written
/// as a text that reads as the same; of the runs of a plan, which can be trained.
pub fn toml(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let arguments = vec!["ictd".into(), "--config".into(), FILE.into()];
    let _ = config_file::insert_text(arguments, Path::new(FILE), text);
    let read = |text: &str| Train::of_config(Path::new(FILE), text).ok();
    if let Some((seed, options)) = read(text).filter(|(seed, options)| options.check(*seed).is_ok())
    {
        let again = config::to_text("train", seed, &options).expect("what was read can be written");
        assert_eq!(read(&again), Some((seed, options)));
    }
    if let Ok(plan) = Plan::of_text(text, 0) {
        assert!(plan.runs.iter().all(|run| run.recipe.check().is_ok()));
    }
}

/// With its checksum as it is and as it should be.
pub fn stored_model(bytes: &[u8]) {
    let read = |bytes: &[u8]| {
        let _ = model_file::from_stored_model(Path::new(FILE), bytes);
        let model = ictd_core::Model::<2>::from_bytes(bytes);
        if let Ok(model) = &model {
            let mut buffer = [0; 1024];
            let again = model.write(&mut buffer).expect("what was read fits");
            assert_eq!(ictd_core::Model::<2>::from_bytes(again).as_ref(), Ok(model));
        }
    };
    read(bytes);
    let body = &bytes[..bytes.len().saturating_sub(4)];
    read(&[body, &ictd_core::model::crc32(body).to_le_bytes()].concat());
}

/// A stored predictor as it is and with its checksum as it should be; and as three horizons, then samples,
/// stored and restored between any two of them. Whatever comes, a prediction is a number, and lies in its band.
pub fn predictor(bytes: &[u8]) {
    type Three = Predictor<3>;
    let body = &bytes[..bytes.len().saturating_sub(4)];
    let _ = Three::from_bytes(bytes);
    if let Ok(mut read) =
        Three::from_bytes(&[body, &ictd_core::model::crc32(body).to_le_bytes()].concat())
    {
        for t in 0..20 {
            read.observe(t as f32);
        }
    }
    let numbers: Vec<f32> =
        bytes.chunks_exact(4).map(|x| f32::from_le_bytes([x[0], x[1], x[2], x[3]])).collect();
    let Some((horizons, samples)) = numbers.split_first_chunk::<3>() else { return };
    let Ok(mut predictor) = Three::new(*horizons) else { return };
    for (t, sample) in samples.iter().enumerate() {
        let seen = predictor.observe(*sample);
        for p in seen.predictions {
            assert!(p.mean.is_finite() && p.low <= p.mean && p.mean <= p.high, "{t}: {p:?}");
        }
        assert!((0.0..1.0).contains(&seen.surprise) && seen.depth.is_finite(), "{t}: {seen:?}");
        if t % 64 == 5 {
            let mut page = [0xff; Three::SIZE];
            predictor.write(&mut page).expect("there is room");
            assert_eq!(Three::from_bytes(&page).as_ref(), Ok(&predictor));
        }
    }
}

/// The options of the seed corpus' run.
pub fn small_run() -> Recipe {
    Recipe {
        tasks: 4,
        batches: 2,
        batch_size: 4,
        context_length: 6,
        log_every: 2,
        ..Recipe::default()
    }
}

/// As it is, with the right checksum, and as a trainer's record.
pub fn checkpoint(bytes: &[u8]) {
    let read = |bytes: &[u8]| {
        let checkpoint = Checkpoint::from_bytes(bytes);
        checkpoint.map(|c| restore(&c.record)).is_ok()
    };
    read(bytes);
    if bytes.len() >= 16 {
        let mut sealed = bytes.to_vec();
        let sum = crc32fast::hash(&sealed[16..]);
        sealed[12..16].copy_from_slice(&sum.to_le_bytes());
        read(&sealed);
    }
    restore(bytes);
}

fn restore(record: &[u8]) {
    thread_local! {
        static GROUP: std::cell::RefCell<Box<dyn ictd::train::group::SeedGroup>> =
            shapes::group(SimdLevel::Baseline, &small_run(), &[0]).expect("a compiled shape").into();
    }
    GROUP.with_borrow_mut(|group| {
        if group.restore(&[record.to_vec()]).is_ok() {
            assert_eq!(group.save(0), record, "a record is read and written unchanged");
        }
    });
}

/// As an archive, and as an array whose archive is intact.
pub fn npz(bytes: &[u8]) {
    archive(bytes);
    let options =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let mut stored = zip::ZipWriter::new(Cursor::new(Vec::new()));
    stored.start_file("P.npy", options).expect("memory is writable");
    stored.write_all(bytes).expect("memory is writable");
    archive(&stored.finish().expect("memory is writable").into_inner());
}

/// Every array of an archive, and what is made of them.
fn archive(bytes: &[u8]) {
    let open = || Npz::new(Path::new(FILE), Cursor::new(bytes));
    if let Ok(mut archive) = open() {
        for name in archive.names() {
            if let Ok(array) = archive.array(&name) {
                let count = array.shape.iter().product::<usize>();
                assert_eq!(array.to_f64().len(), count);
            }
        }
    }
    let _ = open().and_then(|mut archive| SeedLog::from_npz(&mut archive));
    let _ = open().and_then(|mut archive| Naming::default().read(&mut archive));
    if let Ok(own) = open().and_then(|mut archive| tasks::read(&mut archive)) {
        let stored = tasks::to_bytes(own.read().expect("it was read")).expect("memory is writable");
        let again = Npz::new(Path::new(FILE), Cursor::new(stored));
        let again = again.and_then(|mut archive| tasks::read(&mut archive)).expect("it is read");
        assert_eq!(again.name(), own.name());
    }
}

pub fn safetensors(bytes: &[u8]) {
    if let Ok(parameters) = safetensors::from_bytes(Path::new(FILE), bytes) {
        let square = parameters.token_size * parameters.token_size;
        assert!(parameters.layers.iter().all(|l| l.p.len() == square && l.q.len() == square));
    }
}

pub fn csv(bytes: &[u8]) {
    if let Ok(trajectory) = Trajectory::from_csv(Path::new(FILE), Cursor::new(bytes.to_vec())) {
        assert_eq!(trajectory.transitions.len(), trajectory.transitions.from.len());
    }
    let _ = Features::from_csv(Path::new(FILE), Cursor::new(bytes.to_vec()));
    signals(bytes);
    let mut numbers = RunFiles::default();
    numbers.put(measurements::FILE, bytes);
    let mut matrices = RunFiles::default();
    matrices.put(measurements::FILE, b"run,seed,metric,x,value\ntrain,0,msve,10,1\n".as_slice());
    matrices.put(measurements::MATRICES, bytes);
    for records in [numbers, matrices] {
        let Ok(record) = measurements::MeasurementTable::read(&records) else { continue };
        let of = record.of("train");
        let panels = plots::comparison(of, "").to_vec();
        let figure = Figure { panels, ..Default::default() };
        for figure in plots::emergence(of).unwrap_or_default().into_iter().chain([figure]) {
            assert!(figure.to_svg().starts_with("<svg"));
        }
    }
}

/// The first column as a signal and the second one as its times: every row that is read is whole, and rows follow each other.
fn signals(bytes: &[u8]) {
    for (separator, has_header) in [(',', true), (';', false)] {
        let source = Box::new(Cursor::new(bytes.to_vec()));
        let format = Format { separator, has_header };
        let Ok(mut table) = Table::open(source, format) else { continue };
        let kinds = [Cells::Numbers, Cells::Times].into_iter().enumerate();
        let columns: Vec<_> = kinds.take(table.names().len()).collect();
        let (mut last, mut clock) = (0, None);
        while let Ok(rows) = table.read(&columns, 7) {
            if rows.is_empty() {
                break;
            }
            assert_eq!(rows.first, last + 1);
            assert!(rows.columns.iter().all(|column| column.len() == rows.len()));
            last += rows.len() as u64;
            let Some(times) = rows.columns.get(1) else { continue };
            clock = clock.or_else(|| Clock::new(times));
            let Some(clock) = &mut clock else { continue };
            times.iter().for_each(|time| _ = clock.missing_before(*time));
        }
        assert!(last <= bytes.len() as u64 + 1);
    }
}

/// Objects; and one printable line of whatever it is.
pub fn json(bytes: &[u8]) {
    let _ = PartialParams::from_json(Path::new(FILE), bytes);
    info::names(bytes);
    let _ = serde_json::from_slice::<Recipe>(bytes).map(|recipe| recipe.check());
    assert!(!lock::holder(bytes).chars().any(char::is_control));
}

/// The files of a run, and what of them comes first in the bytes.
const OF_A_RUN: [&str; 5] = ["config.toml", "run.json", "results.json", ".lock", "records.csv"];

/// A directory whose files are the parts of the bytes between `\n---\n`; the first byte of each says which.
pub fn run_directory(bytes: &[u8]) {
    thread_local! {
        static PLACE: std::path::PathBuf =
            std::env::temp_dir().join(format!("ictd-fuzz-{}", std::process::id()));
        static CATALOGUE: Catalogue = command::catalogue();
    }
    PLACE.with(|place| {
        let _ = std::fs::remove_dir_all(place);
        std::fs::create_dir_all(place).expect("a temporary directory");
        for part in parts(bytes) {
            let Some((which, content)) = part.split_first() else { continue };
            let name = OF_A_RUN[usize::from(*which) % OF_A_RUN.len()];
            std::fs::write(place.join(name), content).expect("a temporary file");
        }
        let _ = exchange::settle(place);
        let _ = directory::read_run(place).map(|(seed, o)| o.check(seed));
        info::is_finished(place);
        let _ = info::files(place);
        CATALOGUE.with(|catalogue| drop(RunPage::read(place, catalogue)));
        let _ = RunDirectory::claim(place.clone());
    });
}

fn parts(bytes: &[u8]) -> Vec<&[u8]> {
    const BETWEEN: &[u8] = b"\n---\n";
    let (mut parts, mut rest) = (Vec::new(), bytes);
    while let Some(at) = rest.windows(BETWEEN.len()).position(|text| text == BETWEEN) {
        parts.push(&rest[..at]);
        rest = &rest[at + BETWEEN.len()..];
    }
    parts.push(rest);
    parts
}

/// Every command's figures from the same bytes as each of its records.
pub fn report(bytes: &[u8]) {
    let mut records = RunFiles::default();
    let names = "records.csv shown.csv elements.csv summary.csv parameters.safetensors config.toml results.json";
    for (name, part) in names.split(' ').zip(parts(bytes).into_iter().cycle()) {
        records.put(name, part);
    }
    for entry in command::catalogue().entries() {
        let _ = entry.frames(&records);
        for (_, figure) in entry.drawn(&records).unwrap_or_default() {
            assert!(figure.to_svg().starts_with("<svg"));
        }
    }
}
