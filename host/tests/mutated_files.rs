//! Every reader on mutated real files: it must refuse or read them, without a panic, and without
//! asking for more memory than the file can back.
//!
//! Seconds per reader: `ICTD_FUZZ_SECONDS` (default 1). The mutations follow from a seed
//! (`ICTD_FUZZ_SEED`, default 0); a failure prints the bytes that caused it.

use ictd::experiments::Catalogue;
use ictd::experiments::panels::MatrixRecords;
use ictd::figures::Figure;
use ictd::formats::npz::Npz;
use ictd::formats::parameters::Parameters;
use ictd::formats::seed_run::{PartialParams, SeedLog};
use ictd::formats::trajectory::{Features, Trajectory};
use ictd::model_file;
use ictd::page::{Run, RunFiles};
use ictd::run::info;
use ictd::run::records::Records;
use ictd::run::{lock, transaction};
use ictd::train::checkpoint::Checkpoint;
use ictd::train::group::Group;
use ictd::train::{Recipe, SeedRun, Train, shapes};
use ictd_core::rng::Rng;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::io::{Cursor, Write};
use std::panic;
use std::path::Path;
use std::time::{Duration, Instant};

/// Remembers the largest block that each thread asked for.
struct Watching;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

impl Watching {
    fn note(size: usize) {
        LARGEST.with(|largest| largest.set(largest.get().max(size)));
    }
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::note(layout.size());
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Self::note(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Self::note(size);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Watching = Watching;

/// Blocks of fixed size (buffers, a transformer of 16 layers) and a multiple of the file: a byte of
/// a CSV can become a double, and a vector that grows doubles.
fn accepted_block(bytes: usize) -> usize {
    (1 << 20) + 64 * bytes
}

const FILE: &str = "mutated.file";

fn environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Reads mutations of the files for the given time; `seal` makes checksums right again, so that
/// mutations get past them.
fn survives(files: &[&[u8]], seal: impl Fn(Vec<u8>) -> Vec<u8>, read: impl Fn(&[u8]) -> bool) {
    let mut rng = Rng::new(environment("ICTD_FUZZ_SEED", 0));
    for file in files {
        assert!(read(&seal(file.to_vec())), "a real file is refused");
    }
    let end = Instant::now() + Duration::from_secs(environment("ICTD_FUZZ_SECONDS", 1));
    let (mut tried, mut accepted) = (0_u64, 0_u64);
    while Instant::now() < end {
        let bytes = seal(mutate(files, &mut rng));
        LARGEST.with(|largest| largest.set(0));
        let outcome = panic::catch_unwind(panic::AssertUnwindSafe(|| read(&bytes)));
        let largest = LARGEST.with(Cell::get);
        match outcome {
            Ok(read) => accepted += u64::from(read),
            Err(_) => panic!("panicked on {:?}", bytes.escape_ascii().to_string()),
        }
        assert!(
            largest <= accepted_block(bytes.len()),
            "asked for {largest} bytes on {:?}",
            bytes.escape_ascii().to_string()
        );
        tried += 1;
    }
    println!("{tried} mutated files, {accepted} of them read");
    assert!(tried > 50, "too slow to say anything: {tried}");
    assert!(accepted < tried, "nothing was refused");
}

/// One of the files with a few random changes.
fn mutate(files: &[&[u8]], rng: &mut Rng) -> Vec<u8> {
    let mut below = |n: usize| (rng.next_u64() % n.max(1) as u64) as usize;
    let mut bytes = files[below(files.len())].to_vec();
    for _ in 0..=below(6) {
        let at = below(bytes.len());
        let length = below(bytes.len() - at).min(32);
        match below(9) {
            0 if at < bytes.len() => bytes[at] ^= 1 << below(8),
            1 if at < bytes.len() => bytes[at] = below(256) as u8,
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..at + length)),
            4 => {
                let piece = bytes[at..at + length].to_vec();
                bytes.splice(at..at, piece);
            }
            5 => {
                let other = files[below(files.len())];
                let from = below(other.len());
                let to = from + below(other.len() - from).min(64);
                bytes.splice(at..at + length, other[from..to].iter().copied());
            }
            6 => {
                // Sizes and offsets that are too large in one way or another.
                let extreme: [u64; 6] = [0, 1, 0x7fff_ffff, 0xffff_ffff, 1 << 40, u64::MAX];
                let width = [1, 2, 4, 8][below(4)].min(bytes.len() - at);
                let value = extreme[below(6)].to_le_bytes();
                bytes[at..at + width].copy_from_slice(&value[..width]);
            }
            7 => {
                let text: [&[u8]; 12] = [
                    b"(",
                    b")",
                    b"'",
                    b"\"",
                    b",",
                    b"\n",
                    b"999999999999999999999",
                    b"-1",
                    b"nan",
                    b"1e999",
                    b"{",
                    b"\xff\xfe",
                ];
                bytes.splice(at..at, text[below(12)].iter().copied());
            }
            _ => {
                let digit = b"0123456789"[below(10)];
                if let Some(place) = bytes[at..].iter().position(u8::is_ascii_digit) {
                    bytes[at + place] = digit;
                }
            }
        }
    }
    bytes
}

fn unchanged(bytes: Vec<u8>) -> Vec<u8> {
    bytes
}

const NUMPY: &[u8] = include_bytes!("files/numpy.npz");
const NUMPY_COMPRESSED: &[u8] = include_bytes!("files/numpy_compressed.npz");
const TRANSITIONS: &[u8] = include_bytes!("files/numpy_transitions.npz");
const SAFETENSORS: &[u8] = include_bytes!("files/python.safetensors");
const SEQUENTIAL: &[u8] = include_bytes!("files/python_sequential.safetensors");
const PANDAS: &[u8] = include_bytes!("files/pandas.csv");

fn read_log(bytes: &[u8]) -> Result<SeedLog, ictd::formats::FormatError> {
    SeedLog::from_npz(&mut Npz::from_bytes(Path::new(FILE), bytes)?)
}

fn read_transitions(bytes: &[u8]) -> Result<Trajectory, ictd::formats::FormatError> {
    Trajectory::from_npz(&mut Npz::from_bytes(Path::new(FILE), bytes)?)
}

#[test]
fn the_files_of_numpy_and_pandas_are_read() {
    let log = read_log(NUMPY).unwrap();
    assert_eq!((log.points.len(), log.points[1].mrps, log.points[0].alpha), (2, 20, 0.5));
    // Q is P with its log points exchanged, saved in column-major order.
    assert_eq!(log.points[0].layers[0].p, log.points[1].layers[0].q);
    assert_eq!(read_log(NUMPY_COMPRESSED).unwrap(), log);
    let transitions = read_transitions(TRANSITIONS).unwrap();
    assert_eq!((transitions.len(), transitions.reward[0]), (2, 1.0));
    assert_eq!(transitions.query.unwrap().numbers, [1.0, 0.0, 0.0, 1.0]);
    let table = Trajectory::from_csv(Path::new(FILE), PANDAS).unwrap();
    assert_eq!((table.phi.numbers[4], table.reward[0]), (-0.25, 0.001));
    let read = |bytes| Parameters::from_safetensors(Path::new(FILE), bytes).unwrap();
    assert_eq!(read(SAFETENSORS).layers[0].p, log.points[0].layers[0].p);
    assert_eq!((read(SEQUENTIAL).depth, read(SEQUENTIAL).gamma), (Some(2), Some(0.9)));
}

/// Reads every truncation of a file and the file with each of its bits flipped. If damage must be
/// noticed, what is read from a damaged file is what is read from the whole one.
fn every_damage<T: PartialEq + std::fmt::Debug>(
    file: &[u8],
    must_be_noticed: bool,
    read: impl Fn(&[u8]) -> Option<T>,
) {
    let whole = read(file).expect("a real file is refused");
    let mut refused = 0;
    let mut check = |bytes: &[u8], what: &dyn Fn() -> String| {
        LARGEST.with(|largest| largest.set(0));
        let found = panic::catch_unwind(panic::AssertUnwindSafe(|| read(bytes)));
        let largest = LARGEST.with(Cell::get);
        let found = found.unwrap_or_else(|_| panic!("{} panicked", what()));
        assert!(largest <= accepted_block(bytes.len()), "{}: {largest} bytes", what());
        refused += u64::from(found.is_none());
        if must_be_noticed && let Some(found) = found {
            assert_eq!(found, whole, "{} went unnoticed", what());
        }
    };
    for length in 0..file.len() {
        check(&file[..length], &|| format!("truncation to {length}"));
    }
    let mut bytes = file.to_vec();
    for bit in 0..8 * file.len() {
        bytes[bit / 8] ^= 1 << (bit % 8);
        check(&bytes, &|| format!("bit {bit}"));
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    println!("{} damaged files, {refused} refused", 9 * file.len());
    assert!(refused > 0);
}

#[test]
fn damage_to_a_file_with_a_checksum_is_noticed() {
    for file in [NUMPY, NUMPY_COMPRESSED] {
        every_damage(file, true, |bytes| read_log(bytes).ok());
    }
    every_damage(TRANSITIONS, true, |bytes| read_transitions(bytes).ok());
    let model = ictd_core::Model::<2>::td0(0.2, 15, 0.9).unwrap();
    let mut buffer = [0; 512];
    let model = model.write(&mut buffer).unwrap();
    every_damage(model, true, |bytes| {
        model_file::from_stored_model(Path::new(FILE), bytes).ok().map(|m| format!("{m:?}"))
    });
    every_damage(&checkpoint(), true, |bytes| Checkpoint::from_bytes(bytes).ok());
}

#[test]
fn damage_to_a_file_without_a_checksum_is_refused_or_read_as_another_file() {
    for file in [SAFETENSORS, SEQUENTIAL] {
        every_damage(file, false, |bytes| {
            Parameters::from_safetensors(Path::new(FILE), bytes).ok().map(|p| p.layers.len())
        });
    }
    every_damage(PANDAS, false, |bytes| {
        Trajectory::from_csv(Path::new(FILE), bytes).ok().map(|t| t.len())
    });
    every_damage(b"phi_1,phi_0\n1,0\n-2e-1,1\n", false, |bytes| {
        Features::from_csv(Path::new(FILE), bytes).ok().map(|f| f.numbers.len())
    });
    every_damage(PARAMS, false, |bytes| {
        PartialParams::from_json(Path::new(FILE), bytes).is_ok().then_some(())
    });
    every_damage(CONFIG, false, read_config);
    every_damage(MATRICES, false, |bytes| read_matrices(bytes).then_some(()));
    every_damage(RUN_JSON, false, |bytes| Some(info::processes(bytes)).filter(|p| !p.is_empty()));
    let record = Checkpoint::from_bytes(&checkpoint()).unwrap().record;
    let group = RefCell::new(group());
    every_damage(&record, false, |bytes| {
        let mut group = group.borrow_mut();
        group.restore(&[bytes.to_vec()]).ok().map(|()| {
            assert_eq!(group.save(0), bytes, "a record is taken up as it is");
        })
    });
}

fn options() -> Recipe {
    Recipe {
        dim: 2,
        layers: 1,
        context: 4,
        batches: 1,
        batch_size: 4,
        mrps: 2,
        ..Recipe::default()
    }
}

fn group() -> Box<dyn Group> {
    shapes::group(&options(), 1, &[3]).unwrap()
}

/// A real checkpoint, small enough for every bit of it.
fn checkpoint() -> Vec<u8> {
    let mut group = group();
    group.train_task().unwrap();
    let run = SeedRun {
        seed: 3,
        digest: "0123456789abcdef".into(),
        token_size: 5,
        parameters: group.parameters(0),
        points: vec![group.measure(0)],
    };
    let config = ictd::run::config::to_text("train", 3, &options()).unwrap();
    let tasks_done = group.tasks_done();
    Checkpoint { config, tasks_done, record: group.save(0), run }.to_bytes()
}

const PARAMS: &[u8] = br#"{"d": 4, "n": 30, "l": 3, "gamma": 0.9, "activation": "identity"}"#;
const CONFIG: &[u8] = b"command = \"train\"\nseed = 3\nlr = 0.01\nmodel = \"transformer\"\n";
const MATRICES: &[u8] = b"run,tasks,layer,matrix,row,column,value\ntrain,10,0,P,0,0,0.5\n\
                          train,10,0,P,0,1,-1e-3\ntrain,10,0,P,1,0,0\ntrain,10,0,P,1,1,1\n";
const RUN_JSON: &[u8] = br#"{"format": 1, "processes": [{"started": "2026-01-01T00:00:00Z",
    "seconds": 1.5, "outcome": "interrupted"}], "digests": {"seeds": {"0": "0123456789abcdef"}}}"#;

/// The config of a run, read to be resumed and to be repeated.
fn read_config(bytes: &[u8]) -> Option<bool> {
    let text = std::str::from_utf8(bytes).ok()?;
    let resumed = ictd::run::config::run_of_text::<Train>(Path::new(FILE), "train", text);
    let resumed = resumed.is_ok_and(|(seed, options)| options.check(seed).is_ok());
    let arguments = ["ictd", "--config", FILE].map(Into::into);
    let repeated = ictd::cli::config_file::insert_text(arguments.to_vec(), Path::new(FILE), text);
    (resumed || repeated.is_ok()).then_some(resumed)
}

/// Records that a figure is drawn from, and the figure.
fn read_matrices(bytes: &[u8]) -> bool {
    let mut records = Records::new();
    records.put("matrices.csv", bytes);
    let Ok(matrices) = MatrixRecords::read(&records) else { return false };
    let panels = vec![matrices.heatmap("train", "P", 0, 10, true)];
    !Figure { panels, ..Figure::default() }.to_svg().is_empty()
}

#[test]
fn a_record_cannot_ask_for_a_matrix_that_fills_the_memory() {
    let huge = b"run,tasks,layer,matrix,row,column,value\ntrain,10,0,P,999999999999,0,0.5\n";
    LARGEST.with(|largest| largest.set(0));
    assert!(!read_matrices(huge));
    let most = b"run,tasks,layer,matrix,row,column,value\ntrain,10,0,P,18446744073709551615,0,1\n";
    assert!(!read_matrices(most));
    assert!(LARGEST.with(Cell::get) <= accepted_block(huge.len()));
}

#[test]
fn a_checkpoint_with_a_right_checksum_and_wrong_matrices_is_refused() {
    let whole = Checkpoint::from_bytes(&checkpoint()).unwrap();
    for token_size in [0, 4, 6, usize::MAX] {
        let mut wrong = whole.clone();
        wrong.run.token_size = token_size;
        let error = Checkpoint::from_bytes(&wrong.to_bytes()).unwrap_err();
        assert!(error.to_string().contains("not K x K"), "{error}");
    }
    let mut wrong = whole;
    wrong.run.points[0].layers[0].q.pop();
    assert!(Checkpoint::from_bytes(&wrong.to_bytes()).is_err());
}

#[test]
fn checkpoints() {
    let seal = |mut bytes: Vec<u8>| {
        if bytes.len() >= 16 {
            let sum = crc32fast::hash(&bytes[16..]);
            bytes[12..16].copy_from_slice(&sum.to_le_bytes());
        }
        bytes
    };
    let group = RefCell::new(group());
    survives(&[&checkpoint()], seal, |bytes| {
        let read = Checkpoint::from_bytes(bytes);
        read.is_ok_and(|c| group.borrow_mut().restore(&[c.record]).is_ok())
    });
}

#[test]
fn a_checkpoint_without_a_random_stream_is_refused() {
    let mut record = Checkpoint::from_bytes(&checkpoint()).unwrap().record;
    record[28..60].fill(0);
    let mut group = group();
    let before = group.save(0);
    let error = group.restore(&[record]).unwrap_err();
    assert!(error.to_string().contains("not all zeros"), "{error}");
    assert_eq!(group.save(0), before);
}

#[test]
fn records() {
    survives(&[MATRICES], unchanged, read_matrices);
    survives(&[RUN_JSON], unchanged, |bytes| !info::processes(bytes).is_empty());
}

/// A finished run of each command that is quick, in a directory of its own.
fn runs() -> tempfile::TempDir {
    let out = tempfile::tempdir().unwrap();
    let train = "train --mrps 4 --batches 1 --batch-size 4 --context 6 --log-every 2 --tensorboard";
    for arguments in [train, "demo --tasks 2 --max-context 9", "verify --seeds 2 --layers 3"] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_ictd"));
        command.args(arguments.split(' ')).arg("--out").arg(out.path());
        assert!(command.output().unwrap().status.code().is_some_and(|code| code < 2));
    }
    // A run is the same wherever it is.
    let mut folders = std::fs::read_dir(out.path()).unwrap().map(|entry| entry.unwrap().path());
    let run = folders.find(|path| path.file_name().unwrap().to_string_lossy().starts_with("boyan"));
    std::fs::rename(run.unwrap(), out.path().join("train")).unwrap();
    out
}

/// Everything that reads a run's directory.
fn read_run(run: &RunFiles, catalogue: &Catalogue) -> bool {
    let settled = transaction::settle_unclaimed(&run.path).is_ok();
    let Ok(mut records) = Records::open(&run.path) else { return false };
    let shown = Run::read(run, catalogue);
    let _ = info::files(&run.path);
    info::is_finished(&run.path);
    let entries = catalogue.entries().filter(|entry| entry.id == run.name);
    let drawn = entries.map(|entry| entry.pictures(&records).and_then(|p| records.draw(&p)));
    let resumed = ictd::run::config::read_run::<Train>(&run.path, "train");
    let resumed = resumed.is_ok_and(|(_, seed, options)| options.check(seed).is_ok());
    settled
        & shown.is_ok()
        & drawn.into_iter().all(|drawn| drawn.is_ok())
        & (run.name != "train" || resumed)
}

#[test]
fn run_directories() {
    let (out, catalogue) = (runs(), ictd::cli::command::catalogue());
    let mut rng = Rng::new(environment("ICTD_FUZZ_SEED", 0));
    let names = ["demo", "train", "verify"];
    let all = names.map(|name| RunFiles { name: name.into(), path: out.path().join(name) });
    assert!(all.iter().all(|run| read_run(run, &catalogue)), "a real run is refused");
    let read = |name: &str, file: &str| std::fs::read(out.path().join(name).join(file)).unwrap();
    let entries = all.iter().flat_map(|run| std::fs::read_dir(&run.path).unwrap());
    let paths = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    let whole: Vec<_> = paths.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect();
    let of_all = ["config.toml", "run.json", "results.json", ".lock"];
    let records: [&[&str]; 3] = [
        &["msve.csv", "tasks.csv"],
        &["curves.csv", "matrices.csv", "seeds.csv"],
        &["mean_errors.csv"],
    ];
    let end = Instant::now() + Duration::from_secs(environment("ICTD_FUZZ_SECONDS", 1));
    let (mut tried, mut accepted) = (0_u64, 0_u64);
    while Instant::now() < end || tried < 40 {
        let which = (rng.next_u64() % 3) as usize;
        let files: Vec<&str> = of_all.iter().chain(records[which]).copied().collect();
        let file = files[(rng.next_u64() % files.len() as u64) as usize];
        let (run, path) = (&all[which], all[which].path.join(file));
        let intact = read(names[which], file);
        // The journal of a change is made up.
        let journal = b"remove demo.svg\nput msve.csv\nput run.json\n";
        let is_journal = rng.next_u64().is_multiple_of(8);
        let damaged =
            if is_journal { mutate(&[journal], &mut rng) } else { mutate(&[&intact], &mut rng) };
        let target = if is_journal { run.path.join(transaction::JOURNAL) } else { path.clone() };
        std::fs::write(&target, &damaged).unwrap();
        LARGEST.with(|largest| largest.set(0));
        let outcome = panic::catch_unwind(panic::AssertUnwindSafe(|| read_run(run, &catalogue)));
        let largest = LARGEST.with(Cell::get);
        match outcome {
            Ok(read) => accepted += u64::from(read),
            Err(_) => panic!("{file}: panicked on {:?}", damaged.escape_ascii().to_string()),
        }
        // The pixels of a picture, whatever the records.
        let most = 64 << 20;
        let shown = || damaged.escape_ascii().to_string();
        assert!(largest <= most, "{file}: {largest} bytes on {:?}", shown());
        if is_journal {
            let _ = std::fs::remove_file(&target);
            // It may have said that a file goes.
            whole.iter().for_each(|(path, content)| std::fs::write(path, content).unwrap());
        }
        std::fs::write(&path, &intact).unwrap();
        tried += 1;
    }
    println!("{tried} damaged runs, {accepted} of them read");
    assert!(tried > 20 && accepted > 0 && accepted < tried, "{tried} {accepted}");
}

#[test]
fn run_locks() {
    survives(&[b"process 4711"], unchanged, |bytes| {
        let holder = lock::holder(bytes);
        assert!(!holder.is_empty() && !holder.chars().any(char::is_control));
        holder.starts_with("process")
    });
}

#[test]
fn npz_archives() {
    survives(&[NUMPY, NUMPY_COMPRESSED], unchanged, |bytes| read_log(bytes).is_ok());
    survives(&[TRANSITIONS], unchanged, |bytes| read_transitions(bytes).is_ok());
}

#[test]
fn npy_arrays_in_intact_archives() {
    let array = |npz: &[u8], name: &str| {
        let mut bytes = Vec::new();
        let mut archive = zip::ZipArchive::new(Cursor::new(npz)).unwrap();
        std::io::Read::read_to_end(&mut archive.by_name(name).unwrap(), &mut bytes).unwrap();
        bytes
    };
    let arrays = [array(NUMPY, "P.npy"), array(NUMPY, "Q.npy"), array(TRANSITIONS, "phi.npy")];
    let arrays: Vec<&[u8]> = arrays.iter().map(Vec::as_slice).collect();
    let archive = |array: Vec<u8>| {
        let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Stored);
        archive.start_file("P.npy", options).unwrap();
        archive.write_all(&array).unwrap();
        archive.finish().unwrap().into_inner()
    };
    survives(&arrays, archive, |bytes| {
        Npz::from_bytes(Path::new(FILE), bytes).and_then(|mut npz| npz.array("P")).is_ok()
    });
}

#[test]
fn safetensors_files() {
    survives(&[SAFETENSORS, SEQUENTIAL], unchanged, |bytes| {
        Parameters::from_safetensors(Path::new(FILE), bytes).is_ok()
    });
}

#[test]
fn csv_tables() {
    let cycle = b"phi_0;reward\n1;0\n0;1\n1;\n";
    survives(&[PANDAS, cycle], unchanged, |bytes| {
        Trajectory::from_csv(Path::new(FILE), bytes).is_ok()
    });
    survives(&[b"phi_1,phi_0\n1,0\n-2e-1,1\n"], unchanged, |bytes| {
        Features::from_csv(Path::new(FILE), bytes).is_ok()
    });
}

#[test]
fn params_json() {
    let nested = br#"{"d": 4, "n": 30, "l": 3, "gamma": 0.9, "activation": "identity", "s": [{}]}"#;
    survives(&[PARAMS, nested], unchanged, |bytes| {
        PartialParams::from_json(Path::new(FILE), bytes).is_ok()
    });
}

#[test]
fn stored_models() {
    let model = ictd_core::Model::<2>::td0(0.2, 15, 0.9).unwrap();
    let mut buffer = [0; 512];
    let bytes = model.write(&mut buffer).unwrap();
    let read = |bytes: &[u8]| model_file::from_stored_model(Path::new(FILE), bytes).is_ok();
    survives(&[bytes], unchanged, read);
    let seal = |mut bytes: Vec<u8>| {
        bytes.truncate(bytes.len().saturating_sub(4));
        bytes.extend(ictd_core::model::crc32(&bytes).to_le_bytes());
        bytes
    };
    survives(&[bytes], seal, read);
}

#[test]
fn configs() {
    let verify: &[u8] = b"command = \"verify\"\nseed = 3\nlayers = 12\ngamma = 0.5\n";
    let demo: &[u8] = b"# a comment\ncommand = \"demo\"\nseed = 0\ntasks = 3\n";
    survives(&[verify, demo, CONFIG], unchanged, |bytes| read_config(bytes).is_some());
}
