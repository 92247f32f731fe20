use super::*;
use ictd::formats::npz;
use ictd::formats::parameters::LayerSharing;
use ictd::formats::seed_run::{PartialParams, SeedLog, to_npz};
use ictd::train::Recipe;
use ictd::train::directory::seed_params;
use ictd::train::log::{Element, LogPoint, Matrices, SeedRun};

/// A seed with a log, whose P after t tasks is `p(t)`, a matrix for each layer, and Q its negative.
pub(crate) fn seed(seed: u64, tasks: &[u64], p: impl Fn(u64) -> Vec<Vec<f32>>) -> SeedRun {
    let layer = |p: Vec<f32>| {
        let q = p.iter().map(|x| -x).collect();
        Matrices { p, q, element: Element::default() }
    };
    let point = |t: &u64| LogPoint {
        tasks: *t,
        alpha: 1.0 / *t as f64,
        loss: f64::NAN,
        vd: 0.25,
        iws: 0.5,
        ss: -0.5,
        msve: f64::NAN,
        layers: p(*t).into_iter().map(layer).collect(),
    };
    let points: Vec<_> = tasks.iter().map(point).collect();
    let token_size = points[0].layers[0].p.len().isqrt();
    SeedRun { seed, digest: String::new(), token_size, parameters: Vec::new(), points }
}

fn example() -> SeedLog {
    let run = seed(0, &[10, 20], |t| vec![vec![t as f32; 9], vec![0.1; 9]]);
    read(&to_npz(&run).unwrap()).unwrap()
}

fn read(bytes: &[u8]) -> Result<SeedLog, Error> {
    SeedLog::from_npz(&mut Npz::new(Path::new(FILE), Cursor::new(bytes))?)
}

#[test]
fn what_is_written_is_read_back() {
    let log = example();
    assert_eq!((log.token_size, log.points.len()), (3, 2));
    assert_eq!(log.layer_sharing, LayerSharing::Sequential);
    let point = &log.points[1];
    assert_eq!((point.tasks, point.alpha, point.layers.len()), (20, 0.05, 2));
    for (layer, x) in point.layers.iter().zip([20.0, 0.1]) {
        assert_eq!((&layer.p, &layer.q), (&vec![x; 9], &vec![-x; 9]));
    }
}

#[test]
fn a_metric_of_another_length_is_named() {
    let p = Array { shape: vec![2, 1, 3, 3], data: Data::F32(vec![1.0; 18]) };
    let xs = Array { shape: vec![3], data: Data::I64(vec![1, 2, 3]) };
    let bytes = npz::to_bytes(&[("P", &p), ("Q", &p), ("xs", &xs)]).unwrap();
    let message = read(&bytes).unwrap_err().to_string();
    let reason = "array `xs`: int64 of shape (3,); expected (2,): one number for each log point";
    assert!(message.contains(reason), "{message}");
}

#[test]
fn p_and_q_alone_are_enough() {
    let p = Array { shape: vec![3, 3], data: Data::F64(vec![0.5; 9]) };
    let log = read(&npz::to_bytes(&[("P", &p), ("Q", &p)]).unwrap()).unwrap();
    assert_eq!((log.points.len(), log.layer_sharing), (1, LayerSharing::Autoregressive));
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
    let default = PartialParams::default;
    for (settings, expected) in [
        (PartialParams { d: Some(4), ..default() }, "`d`: 4; expected 1, as P has it"),
        (PartialParams { mode: Some("auto".into()), ..default() }, "since `P` has 2 layers"),
        (PartialParams { activation: Some("relu".into()), ..default() }, "identity) or softmax"),
    ] {
        let message = refuse(settings);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn params_have_the_names_of_the_authors_code_in_their_order() {
    let json = seed_params(&Recipe::default(), 1).to_string();
    assert!(json.starts_with(r#"{"d":4,"s":10,"n":30,"l":3,"gamma":0.9,"activation":"#));
    let read = PartialParams::from_json(Path::new(FILE), json.as_bytes()).unwrap();
    assert_eq!((read.l, read.mode.as_deref()), (Some(3), Some("auto")));
}
