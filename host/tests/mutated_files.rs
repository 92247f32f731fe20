//! Every reader on every truncation and every flipped bit of real files: it must refuse or read them, without a panic,
//! and without asking for more memory than the file can back. Mutations of other kinds are `host/fuzz`'s.

use ictd::experiments::{measurements::MeasurementTable, panels};
use ictd::formats::npz::Npz;
use ictd::formats::safetensors;
use ictd::formats::seed_run::{PartialParams, SeedLog};
use ictd::formats::trajectory::{Features, Trajectory};
use ictd::model_file;
use ictd::run::info;
use ictd::run::records::RunFiles;
use ictd::train::checkpoint::Checkpoint;
use ictd::train::group::SeedGroup;
use ictd::train::level::SimdLevel;
use ictd::train::{Recipe, SeedRun, Train, shapes};
use ictd_core::model::ConstructionSettings;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::io::Cursor;
use std::panic;
use std::path::Path;

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

const NUMPY: &[u8] = include_bytes!("files/numpy.npz");
const NUMPY_COMPRESSED: &[u8] = include_bytes!("files/numpy_compressed.npz");
const TRANSITIONS: &[u8] = include_bytes!("files/numpy_transitions.npz");
const SAFETENSORS: &[u8] = include_bytes!("files/python.safetensors");
const SEQUENTIAL: &[u8] = include_bytes!("files/python_sequential.safetensors");
const PANDAS: &[u8] = include_bytes!("files/pandas.csv");

fn read_log(bytes: &[u8]) -> Result<SeedLog, ictd::Error> {
    SeedLog::from_npz(&mut Npz::new(Path::new(FILE), Cursor::new(bytes))?)
}

fn read_transitions(bytes: &[u8]) -> Result<Trajectory, ictd::Error> {
    Trajectory::from_npz(&mut Npz::new(Path::new(FILE), Cursor::new(bytes))?)
}

#[test]
fn the_files_of_numpy_and_pandas_are_read() {
    let log = read_log(NUMPY).unwrap();
    assert_eq!((log.points.len(), log.points[1].tasks, log.points[0].alpha), (2, 20, 0.5));
    // Q is P with its log points exchanged, saved in column-major order.
    assert_eq!(log.points[0].layers[0].p, log.points[1].layers[0].q);
    assert_eq!(read_log(NUMPY_COMPRESSED).unwrap(), log);
    let transitions = read_transitions(TRANSITIONS).unwrap();
    assert_eq!((transitions.transitions.len(), transitions.transitions.reward[0]), (2, 1.0));
    assert_eq!(transitions.query.unwrap().numbers, [1.0, 0.0, 0.0, 1.0]);
    let table = Trajectory::from_csv(Path::new(FILE), PANDAS).unwrap();
    assert_eq!((table.transitions.phi[4], table.transitions.reward[0]), (-0.25, 0.001));
    let read = |bytes| safetensors::from_bytes(Path::new(FILE), bytes).unwrap();
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
    let model =
        ictd_core::Model::<2>::td0(ConstructionSettings { alpha: 0.2, depth: 15, gamma: 0.9 })
            .unwrap();
    let mut buffer = [0; 512];
    let model = model.write(&mut buffer).unwrap();
    every_damage(model, true, |bytes| {
        model_file::from_stored_model(Path::new(FILE), bytes).ok().map(|m| format!("{m:?}"))
    });
    every_damage(&checkpoint(), true, |bytes| Checkpoint::from_bytes(bytes).ok());
    // Its own writer gives the format a checksum.
    let parameters = safetensors::from_bytes(Path::new(FILE), SEQUENTIAL).unwrap();
    every_damage(&safetensors::to_bytes(&parameters), true, |bytes| {
        safetensors::from_bytes(Path::new(FILE), bytes).ok()
    });
}

#[test]
fn damage_to_a_file_without_a_checksum_is_refused_or_read_as_another_file() {
    for file in [SAFETENSORS, SEQUENTIAL] {
        every_damage(file, false, |bytes| {
            safetensors::from_bytes(Path::new(FILE), bytes).ok().map(|p| p.layers.len())
        });
    }
    every_damage(PANDAS, false, |bytes| {
        Trajectory::from_csv(Path::new(FILE), Cursor::new(bytes.to_vec()))
            .ok()
            .map(|t| t.transitions.len())
    });
    every_damage(b"phi_1,phi_0\n1,0\n-2e-1,1\n", false, |bytes| {
        Features::from_csv(Path::new(FILE), Cursor::new(bytes.to_vec()))
            .ok()
            .map(|f| f.numbers.len())
    });
    every_damage(PARAMS, false, |bytes| {
        PartialParams::from_json(Path::new(FILE), bytes).is_ok().then_some(())
    });
    every_damage(CONFIG, false, read_config);
    every_damage(MATRICES, false, |bytes| read_matrices(bytes).then_some(()));
    every_damage(RUN_JSON, false, |bytes| Some(info::names(bytes)).filter(|names| names.len() > 1));
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
        context_length: 4,
        batches: 1,
        batch_size: 4,
        tasks: 2,
        ..Recipe::default()
    }
}

fn group() -> Box<dyn SeedGroup> {
    shapes::group(SimdLevel::Baseline, &options(), &[3]).unwrap()
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
const CONFIG: &[u8] =
    b"command = \"train\"\nseed = 3\nlearning-rate = 0.01\nnetwork = \"transformer\"\n";
const MATRICES: &[u8] = b"run,matrix,layer,row,column,tasks,value\ntrain,P,0,0,0,10,0.5\n\
    train,Q,0,0,0,10,-1e-3\n";
const RUN_JSON: &[u8] = br#"{"format": 2, "started": "2026-01-01T00:00:00Z", "seconds": 1.5,
    "outcome": "interrupted", "digests": {"files": {"records.csv": "0123456789abcdef"}}}"#;

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
    let mut records = RunFiles::new();
    records.put("records.csv", b"run,seed,metric,x,value\ntrain,0,msve,10,1\n");
    records.put("matrices.csv", bytes);
    let Ok(long) = MeasurementTable::read(&records) else { return false };
    let Ok(frames) = panels::emergence(long.of("train")) else { return false };
    frames.iter().all(|frame| !frame.to_svg().is_empty())
}

#[test]
fn a_record_cannot_ask_for_more_pictures_than_a_run_has() {
    let rows = |times: usize| -> String {
        (0..times).map(|tasks| format!("train,P,0,0,0,{tasks},0.5\n")).collect()
    };
    let head = "run,matrix,layer,row,column,tasks,value";
    let read = |times| read_matrices(format!("{head}\n{}", rows(times)).as_bytes());
    assert!(read(64) && !read(65));
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
fn a_checkpoint_without_a_random_stream_is_refused() {
    let mut record = Checkpoint::from_bytes(&checkpoint()).unwrap().record;
    record[28..60].fill(0);
    let mut group = group();
    let before = group.save(0);
    let error = group.restore(&[record]).unwrap_err();
    assert!(error.to_string().contains("not all zeros"), "{error}");
    assert_eq!(group.save(0), before);
}
