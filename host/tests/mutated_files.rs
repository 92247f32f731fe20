//! Every reader on every truncation and every flipped bit of real files: it must refuse or read them, without a panic,
//! and without asking for more memory than the file can back. Mutations of other kinds are `host/fuzz`'s.

#[path = "../fuzz/src/bounds.rs"]
#[allow(dead_code, unreachable_pub)]
mod bounds;
#[path = "../fuzz/src/targets.rs"]
#[allow(dead_code, unreachable_pub)]
mod targets;

use ictd::experiments::{measurements::MeasurementTable, plots};
use ictd::formats::npz::Npz;
use ictd::formats::seed_run::SeedLog;
use ictd::formats::trajectory::Trajectory;
use ictd::formats::{Naming, safetensors};
use ictd::model_file;
use ictd::run::records::RunFiles;
use ictd::train::checkpoint::Checkpoint;
use ictd::train::level::SimdLevel;
use ictd::train::{SeedRun, shapes};
use ictd_core::model::ConstructionSettings;
use std::cell::Cell;
use std::fmt::Debug;
use std::io::Cursor;
use std::panic;
use std::path::Path;

/// The memory that a reader may hold at once: what is of fixed size (buffers, a transformer of 16 layers) and a
/// multiple of the file, as a byte of a CSV can become a double, and a vector that grows doubles.
fn accepted(bytes: usize) -> usize {
    (1 << 20) + 64 * bytes
}

const FILE: &str = "mutated.file";

const NUMPY: &[u8] = include_bytes!("files/numpy.npz");
const NUMPY_COMPRESSED: &[u8] = include_bytes!("files/numpy_compressed.npz");
const TRANSITIONS: &[u8] = include_bytes!("files/numpy_transitions.npz");
const SAFETENSORS: &[u8] = include_bytes!("files/python.safetensors");
const SEQUENTIAL: &[u8] = include_bytes!("files/python_sequential.safetensors");
const PANDAS: &[u8] = include_bytes!("files/pandas.csv");

/// The log, in which 0 stands for what the file does not say: NaN is not equal to itself.
fn read_log(bytes: &[u8]) -> Result<Vec<ictd::train::LogPoint>, ictd::Error> {
    let log = SeedLog::from_npz(&mut Npz::new(Path::new(FILE), Cursor::new(bytes))?)?;
    let [loss, vd, iws, ss, msve] = [0.0; 5];
    let known = |point| ictd::train::LogPoint { loss, vd, iws, ss, msve, ..point };
    Ok(log.points.into_iter().map(known).collect())
}

fn read_transitions(bytes: &[u8]) -> Result<Trajectory, ictd::Error> {
    Ok(Naming::default().read(&mut Npz::new(Path::new(FILE), Cursor::new(bytes))?)?.0)
}

#[test]
fn the_files_of_numpy_and_pandas_are_read() {
    let log = read_log(NUMPY).unwrap();
    assert_eq!((log.len(), log[1].tasks, log[0].alpha), (2, 20, 0.5));
    // Q is P with its log points exchanged, saved in column-major order.
    assert_eq!(log[0].layers[0].p, log[1].layers[0].q);
    assert_eq!(read_log(NUMPY_COMPRESSED).unwrap(), log);
    let transitions = read_transitions(TRANSITIONS).unwrap();
    assert_eq!((transitions.transitions.len(), transitions.transitions.reward[0]), (2, 1.0));
    assert_eq!(transitions.query.unwrap().numbers, [1.0, 0.0, 0.0, 1.0]);
    let table = Trajectory::from_csv(Path::new(FILE), PANDAS).unwrap();
    assert_eq!((table.transitions.phi[4], table.transitions.reward[0]), (-0.25, 0.001));
    let read = |bytes| safetensors::from_bytes(Path::new(FILE), bytes).unwrap();
    assert_eq!(read(SAFETENSORS).layers[0].p, log[0].layers[0].p);
    assert_eq!((read(SEQUENTIAL).depth, read(SEQUENTIAL).gamma), (Some(2), Some(0.9)));
}

/// Reads every truncation of a file and the file with each of its bits flipped.
fn every_damage(file: &[u8], read: impl Fn(&[u8])) {
    let check = |bytes: &[u8], what: &dyn Fn() -> String| {
        let read = || bounds::most(|| read(bytes));
        let most = panic::catch_unwind(panic::AssertUnwindSafe(read));
        let most = most.unwrap_or_else(|_| panic!("{} panicked", what()));
        assert!(most <= accepted(bytes.len()), "{}: {most} bytes", what());
    };
    check(file, &|| "the file itself".to_owned());
    for length in 0..file.len() {
        check(&file[..length], &|| format!("truncation to {length}"));
    }
    let mut bytes = file.to_vec();
    for bit in 0..8 * file.len() {
        bytes[bit / 8] ^= 1 << (bit % 8);
        check(&bytes, &|| format!("bit {bit}"));
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
}

/// As [`every_damage`]; what is read from a damaged file is what is read from the whole one, and something is refused.
fn every_damage_is_noticed<T: PartialEq + Debug, E: Debug>(
    file: &[u8],
    read: impl Fn(&[u8]) -> Result<T, E>,
) {
    let (whole, refused) = (read(file).unwrap(), Cell::new(0));
    every_damage(file, |bytes| match read(bytes) {
        Ok(found) => assert_eq!(found, whole, "it went unnoticed"),
        Err(_) => refused.set(refused.get() + 1),
    });
    assert!(refused.get() > 0);
}

#[test]
fn damage_to_a_file_with_a_checksum_is_noticed() {
    for file in [NUMPY, NUMPY_COMPRESSED] {
        every_damage_is_noticed(file, read_log);
    }
    every_damage_is_noticed(TRANSITIONS, read_transitions);
    let model = ictd_core::Model::<2>::td0(ConstructionSettings::new(0.9).step_size(0.2).depth(15))
        .unwrap();
    let mut buffer = [0; 512];
    every_damage_is_noticed(model.write(&mut buffer).unwrap(), |bytes| {
        model_file::from_stored_model(Path::new(FILE), bytes).map(|model| format!("{model:?}"))
    });
    every_damage_is_noticed(&checkpoint(), Checkpoint::from_bytes);
    // Its own writer gives the format a checksum.
    let read = |bytes: &[u8]| safetensors::from_bytes(Path::new(FILE), bytes);
    every_damage_is_noticed(&safetensors::to_bytes(&read(SEQUENTIAL).unwrap()), read);
}

#[test]
fn damage_to_a_file_without_a_checksum_is_refused_or_read_as_another_file() {
    let record = Checkpoint::from_bytes(&checkpoint()).unwrap().record;
    let files: [(targets::Target, &[u8]); 9] = [
        (targets::safetensors, SAFETENSORS),
        (targets::safetensors, SEQUENTIAL),
        (targets::csv, PANDAS),
        (targets::csv, b"phi_1,phi_0\n1,0\n\"-2e-1\",1\n"),
        (targets::csv, MATRICES),
        (targets::json, PARAMS),
        (targets::json, RUN_JSON),
        (targets::toml, CONFIG),
        (targets::checkpoint, &record),
    ];
    for (target, file) in files {
        every_damage(file, target);
    }
}

/// A real checkpoint, small enough for every bit of it.
fn checkpoint() -> Vec<u8> {
    let mut group = shapes::group(SimdLevel::Baseline, &targets::small_run(), &[3]).unwrap();
    group.train_task().unwrap();
    let run = SeedRun {
        seed: 3,
        digest: "0123456789abcdef".into(),
        token_size: 9,
        parameters: group.parameters(0),
        points: vec![group.measure(0)],
    };
    let config = ictd::run::config::to_text("train", 3, &targets::small_run()).unwrap();
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

#[test]
fn a_record_cannot_ask_for_more_pictures_than_a_run_has() {
    let rows = |times: usize| -> String {
        (0..times).map(|tasks| format!("train,P,0,0,0,{tasks},0.5\n")).collect()
    };
    let head = "run,matrix,layer,row,column,tasks,value";
    let read = |times| {
        let mut records = RunFiles::default();
        records.put("records.csv", b"run,seed,metric,x,value\ntrain,0,msve,10,1\n");
        records.put("matrices.csv", format!("{head}\n{}", rows(times)));
        MeasurementTable::read(&records).and_then(|long| plots::emergence(long.of("train"))).is_ok()
    };
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
