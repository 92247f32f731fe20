//! `--tensorboard`: event files that hold a run's log, read here by the format's description.

use crate::common::{files, ictd, json, trained};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const RUN: &str = "train --mrps 30 --batches 2 --batch-size 8 --context 10 --seeds 2 --json";
const FILE: &str = "events.out.tfevents.0.ictd";

/// CRC-32C, from the highest bit down as polynomials are written.
fn crc32c(bytes: &[u8]) -> u32 {
    let mut remainder = u32::MAX;
    for byte in bytes {
        remainder ^= u32::from(byte.reverse_bits()) << 24;
        for _ in 0..8 {
            let divides = remainder >> 31 == 1;
            remainder = (remainder << 1) ^ if divides { 0x1edc_6f41 } else { 0 };
        }
    }
    !remainder.reverse_bits()
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let last = bytes.iter().position(|byte| byte & 0x80 == 0).unwrap();
    let varint = bytes.split_off(..=last).unwrap();
    varint.iter().rev().fold(0, |x, byte| x << 7 | u64::from(byte & 0x7f))
}

/// The fields of a message by number: a varint as little-endian bytes, and all others as they are.
fn fields(mut message: &[u8]) -> BTreeMap<u64, Vec<u8>> {
    let mut found = BTreeMap::new();
    while !message.is_empty() {
        let key = varint(&mut message);
        let value = match key & 7 {
            0 => varint(&mut message).to_le_bytes().to_vec(),
            1 => message.split_off(..8).unwrap().to_vec(),
            5 => message.split_off(..4).unwrap().to_vec(),
            _ => {
                let length = varint(&mut message) as usize;
                message.split_off(..length).unwrap().to_vec()
            }
        };
        found.insert(key >> 3, value);
    }
    found
}

/// The events of a file: each tag's steps, with a number's four bytes or an image message.
fn read(path: &Path) -> BTreeMap<String, Vec<(u64, Vec<u8>)>> {
    let content = fs::read(path).unwrap();
    let (mut rest, mut events) = (content.as_slice(), Vec::new());
    let masked = |bytes: &[u8]| crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8);
    while !rest.is_empty() {
        let length = u64::from_le_bytes(rest[..8].try_into().unwrap()) as usize;
        let event = &rest[12..12 + length];
        assert_eq!(rest[8..12], masked(&rest[..8]).to_le_bytes());
        assert_eq!(rest[12 + length..16 + length], masked(event).to_le_bytes());
        events.push(fields(event));
        rest = &rest[16 + length..];
    }
    assert_eq!(events.remove(0)[&3], b"brain.Event:2");
    let mut log = BTreeMap::<_, Vec<_>>::new();
    for event in events {
        let mut value = fields(&fields(&event[&5])[&1]);
        let step = u64::from_le_bytes(event[&2].as_slice().try_into().unwrap());
        let tag = String::from_utf8(value.remove(&1).unwrap()).unwrap();
        log.entry(tag).or_default().push((step, value.pop_first().unwrap().1));
    }
    log
}

#[test]
fn event_files_hold_the_log_and_are_the_same_bytes_whenever_they_are_asked_for() {
    assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    let (first, later) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    json(&ictd(first.path(), &format!("{RUN} --tensorboard --checkpoint-every 0")));
    let seed = |out: &tempfile::TempDir| trained(out.path()).join("seed_1");
    let folder = seed(&first);
    let log = read(&folder.join(FILE));
    for (table, group) in [("metrics.csv", "metrics"), ("elements.csv", "layer_0")] {
        let mut table = csv::Reader::from_path(folder.join(table)).unwrap();
        let rows = table.deserialize().collect::<Result<Vec<BTreeMap<String, f64>>, _>>().unwrap();
        for name in rows[0].keys().filter(|name| !["tasks", "layer", "sign"].contains(&&***name)) {
            let logged = &log[&format!("{group}/{name}")];
            assert_eq!((rows.len(), logged.len()), (3, 3));
            for (row, (step, bytes)) in rows.iter().zip(logged) {
                assert_eq!(*step, row["tasks"] as u64);
                assert_eq!(*bytes, (row[name] as f32).to_le_bytes(), "{name}");
            }
        }
    }
    for tag in ["layer_0/P", "layer_0/Q"] {
        assert!(log[tag].iter().map(|(step, _)| *step).eq([10, 20, 30]));
        let image = fields(&log[tag][2].1);
        assert_eq!([image[&1][0], image[&2][0]], [144, 144], "16 pixels for each of 9 entries");
        assert!(image[&4].starts_with(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x90\0\0\0\x90"));
    }

    json(&ictd(later.path(), RUN));
    assert!(!files(later.path()).iter().any(|name| name.contains("tfevents")));
    let resume = format!("train --json --tensorboard --resume {}", trained(later.path()).display());
    let (event_file, whole) = (seed(&later).join(FILE), fs::read(folder.join(FILE)).unwrap());
    // None yet; half an event, another's, or nothing, which a killed process left.
    for left in [None, Some(&whole[..whole.len() / 2]), Some(b"no event"), Some(b"")] {
        left.into_iter().for_each(|left| fs::write(&event_file, left).unwrap());
        json(&ictd(later.path(), &resume));
        assert!(fs::read(&event_file).unwrap() == whole);
    }
}
