//! `--tensorboard`: event files that hold a run's log, read here by the format's description and by
//! the `tensorboard` package where `python3` has it (another Python: `ICTD_PYTHON`).

use crate::common::{files, ictd, json, trained};
use ictd::formats::npz::Npz;
use ictd::formats::seed_run::SeedLog;
use std::collections::BTreeMap;
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::Command;

const RUN: &str = "train --mrps 30 --batches 2 --batch-size 8 --context 10 --seeds 2 --json";
const FILE: &str = "events.out.tfevents.0.ictd";

fn event_file(out: &Path, seed: u64) -> PathBuf {
    trained(out).join(format!("seed_{seed}")).join(FILE)
}

/// The fields of a message: number, and a number's bits or bytes.
fn fields(mut message: &[u8]) -> Vec<(u64, u64, &[u8])> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let (first, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            value |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                break;
            }
        }
        value
    }
    let mut found = Vec::new();
    while !message.is_empty() {
        let key = varint(&mut message);
        let length = match key & 7 {
            0 => {
                found.push((key >> 3, varint(&mut message), &message[..0]));
                continue;
            }
            1 => 8,
            5 => 4,
            2 => varint(&mut message) as usize,
            wire => panic!("wire type {wire}"),
        };
        let (bytes, rest) = message.split_at(length);
        message = rest;
        found.push((key >> 3, 0, bytes));
    }
    found
}

/// Scalars and pictures of an event file by tag, with their steps.
#[derive(Debug, Default)]
struct Log {
    scalars: BTreeMap<String, Vec<(u64, f32)>>,
    pictures: BTreeMap<String, Vec<(u64, Vec<u8>)>>,
}

fn read(path: &Path) -> Log {
    let content = fs::read(path).unwrap();
    let mut rest = content.as_slice();
    let mut log = Log::default();
    let masked = |bytes: &[u8]| {
        crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
    };
    for index in 0.. {
        if rest.is_empty() {
            break;
        }
        let length = u64::from_le_bytes(rest[..8].try_into().unwrap()) as usize;
        assert_eq!(rest[8..12], masked(&rest[..8]));
        let event = &rest[12..12 + length];
        assert_eq!(rest[12 + length..16 + length], masked(event));
        rest = &rest[16 + length..];
        let event = fields(event);
        if index == 0 {
            assert!(event.iter().any(|f| f.0 == 3 && f.2 == b"brain.Event:2"));
            continue;
        }
        let step = event.iter().find(|f| f.0 == 2).unwrap().1;
        let summary = fields(event.iter().find(|f| f.0 == 5).unwrap().2);
        let value = fields(summary[0].2);
        let tag = String::from_utf8(value.iter().find(|f| f.0 == 1).unwrap().2.to_vec()).unwrap();
        if let Some(scalar) = value.iter().find(|f| f.0 == 2) {
            let number = f32::from_le_bytes(scalar.2.try_into().unwrap());
            log.scalars.entry(tag).or_default().push((step, number));
        } else {
            let image = fields(value.iter().find(|f| f.0 == 4).unwrap().2);
            let png = image.iter().find(|f| f.0 == 4).unwrap().2.to_vec();
            log.pictures.entry(tag).or_default().push((step, png));
        }
    }
    log
}

#[test]
fn event_files_hold_the_metrics_and_the_matrices_of_the_log() {
    let out = tempfile::tempdir().unwrap();
    json(&ictd(out.path(), &format!("{RUN} --tensorboard")));
    for seed in [0, 1] {
        let log = read(&event_file(out.path(), seed));
        let folder = trained(out.path()).join(format!("seed_{seed}"));
        let mut metrics = csv::Reader::from_path(folder.join("metrics.csv")).unwrap();
        let rows: Vec<BTreeMap<String, f64>> =
            metrics.deserialize().collect::<Result<_, _>>().unwrap();
        assert_eq!(rows.len(), 3);
        for metric in ["loss", "vd", "iws", "ss", "msve", "alpha"] {
            let expected: Vec<_> =
                rows.iter().map(|r| (r["tasks"] as u64, r[metric] as f32)).collect();
            assert_eq!(log.scalars[&format!("metrics/{metric}")], expected);
        }
        let mut elements = csv::Reader::from_path(folder.join("elements.csv")).unwrap();
        let rows: Vec<BTreeMap<String, f64>> =
            elements.deserialize().collect::<Result<_, _>>().unwrap();
        let expected: Vec<_> =
            rows.iter().map(|r| (r["tasks"] as u64, r["q_trace_upper_left"] as f32)).collect();
        assert_eq!(log.scalars["layer_0/q_trace_upper_left"], expected);

        let npz = folder.join("data.npz");
        let points =
            SeedLog::from_npz(&mut Npz::from_bytes(&npz, &fs::read(&npz).unwrap()).unwrap());
        for (point, row) in points.unwrap().points.iter().zip(&rows) {
            let layer = &point.layers[0];
            for (tag, entries) in [("layer_0/P", &layer.p), ("layer_0/Q", &layer.q)] {
                let (_, png) =
                    log.pictures[tag].iter().find(|(step, _)| *step == point.mrps).unwrap();
                let mut reader = png::Decoder::new(Cursor::new(png)).read_info().unwrap();
                let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
                let picture = reader.next_frame(&mut pixels).unwrap();
                let (edge, k) = (picture.width as usize, 9);
                assert_eq!((edge % k, picture.height as usize), (0, edge));
                let largest = entries.iter().fold(0.0_f64, |a, x| a.max(f64::from(*x).abs()));
                for at in 0..k * k {
                    let middle = |index: usize| index * edge / k + edge / k / 2;
                    let pixel = 3 * (middle(at / k) * edge + middle(at % k));
                    let value = row["sign"] / largest * f64::from(entries[at]);
                    let colour = figures::colour(value);
                    assert_eq!(pixels[pixel..pixel + 3], colour, "{tag} {at}");
                }
            }
        }
    }
}

#[test]
fn event_files_are_the_same_bytes_when_asked_for_after_the_end() {
    let (first, later) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    json(&ictd(first.path(), &format!("{RUN} --tensorboard --checkpoint-every 0")));
    json(&ictd(later.path(), RUN));
    assert!(!files(later.path()).iter().any(|name| name.contains("tfevents")));
    let run = trained(later.path());
    let resume = format!("train --json --tensorboard --resume {}", run.display());
    json(&ictd(later.path(), &resume));
    for seed in [0, 1] {
        let [a, b] = [&first, &later].map(|out| fs::read(event_file(out.path(), seed)).unwrap());
        assert!(!a.is_empty() && a == b);
    }
    // Half an event, or another run's, at the end of a killed process.
    let path = event_file(later.path(), 1);
    let whole = fs::read(&path).unwrap();
    for damaged in [&whole[..whole.len() / 2], b"no event", b""] {
        fs::write(&path, damaged).unwrap();
        json(&ictd(later.path(), &resume));
        assert!(fs::read(&path).unwrap() == whole);
    }
}

#[test]
fn the_tensorboard_package_reads_them() {
    let python = || Command::new(std::env::var_os("ICTD_PYTHON").unwrap_or("python3".into()));
    let module = "tensorboard.backend.event_processing.event_accumulator";
    let import = format!("from {module} import EventAccumulator");
    if !python().args(["-c", &import]).output().is_ok_and(|o| o.status.success()) {
        eprintln!("skipped: no python3 with tensorboard (ICTD_PYTHON names one)");
        return;
    }
    let out = tempfile::tempdir().unwrap();
    json(&ictd(out.path(), &format!("{RUN} --tensorboard")));
    let script = format!(
        "{import}\nimport json, sys\nlog = EventAccumulator(sys.argv[1])\nlog.Reload()\n\
         vd = [[e.step, e.value] for e in log.Scalars('metrics/vd')]\n\
         pictures = [[e.step, e.width, e.height] for e in log.Images('layer_0/Q')]\n\
         print(json.dumps([vd, pictures, log.Tags()['scalars']]))"
    );
    let path = event_file(out.path(), 1);
    let output = python().args(["-c", &script]).arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read_there: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let log = read(&path);
    let vd: Vec<_> = log.scalars["metrics/vd"]
        .iter()
        .map(|(step, x)| serde_json::json!([step, f64::from(*x)]))
        .collect();
    assert_eq!(read_there[0], serde_json::Value::Array(vd));
    assert_eq!(read_there[1], serde_json::json!([[10, 144, 144], [20, 144, 144], [30, 144, 144]]));
    assert_eq!(read_there[2].as_array().unwrap().len(), log.scalars.len());
}
