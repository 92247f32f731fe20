use super::FILE;
use ictd::Error;
use ictd::formats::npz::{self, Npz};
use ictd::formats::parameters::{LayerParameters, Mode};
use ictd::formats::seed_run::{LogPoint, PartialParams, SeedLog};
use ictd::formats::{Array, Data};
use std::path::Path;

fn example() -> SeedLog {
    let layer = |x: f32| LayerParameters { p: vec![x; 9], q: vec![-x; 9] };
    let point = |t: u64| LogPoint {
        mrps: 10 * t,
        alpha: 1.0 / (t + 1) as f64,
        value_difference: 0.25,
        implicit_weight_similarity: 0.5,
        sensitivity_similarity: -0.5,
        layers: vec![layer(t as f32), layer(0.1)],
    };
    SeedLog { token_size: 3, mode: Mode::Sequential, points: vec![point(1), point(2)] }
}

fn read(bytes: &[u8]) -> Result<SeedLog, Error> {
    SeedLog::from_npz(&mut Npz::from_bytes(Path::new(FILE), bytes)?)
}

#[test]
fn what_is_written_is_read_back() {
    assert_eq!(read(&example().to_npz().unwrap()).unwrap(), example());
}

#[test]
fn a_metric_of_another_length_is_named() {
    let p = Array { shape: vec![2, 1, 3, 3], data: Data::F32(vec![1.0; 18]) };
    let xs = Array { shape: vec![3], data: Data::I64(vec![1, 2, 3]) };
    let bytes = npz::to_bytes(&[("P", &p), ("Q", &p), ("xs", &xs)]).unwrap();
    let message = read(&bytes).unwrap_err().to_string();
    assert_eq!(
        message,
        "example.file: array `xs`: int64 of shape (3,); accepted is (2,): one number for each \
         log point of `P`"
    );
}

#[test]
fn p_and_q_alone_are_enough() {
    let p = Array { shape: vec![3, 3], data: Data::F64(vec![0.5; 9]) };
    let log = read(&npz::to_bytes(&[("P", &p), ("Q", &p)]).unwrap()).unwrap();
    assert_eq!((log.points.len(), log.mode), (1, Mode::Autoregressive));
    assert!(log.points[0].alpha.is_nan());
    let settings = PartialParams { l: Some(3), gamma: Some(0.9), ..Default::default() };
    let parameters = log.parameters(&log.points[0], &settings).unwrap();
    assert_eq!((parameters.depth, parameters.attention), (Some(3), None));
}

#[test]
fn settings_that_contradict_the_arrays_are_named() {
    let log = example();
    let refuse = |settings: PartialParams| {
        log.parameters(&log.points[0], &settings).unwrap_err().to_string()
    };
    let message = refuse(PartialParams { d: Some(4), ..Default::default() });
    assert_eq!(message, "`d`: 4; accepted is 1, as P has it");
    let message = refuse(PartialParams { mode: Some("auto".into()), ..Default::default() });
    assert!(message.contains("sequential, since `P` has 2 layers"), "{message}");
    let message = refuse(PartialParams { activation: Some("relu".into()), ..Default::default() });
    assert!(message.contains("linear (or identity) or softmax"), "{message}");
}

#[test]
fn settings_that_are_no_numbers_are_named_by_their_place() {
    let message = PartialParams::from_json(Path::new(FILE), b"{\"d\": -1}").unwrap_err();
    assert!(message.to_string().contains("line 1 column"), "{message}");
}
