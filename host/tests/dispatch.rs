//! The instructions that training is compiled for change its speed, and not one bit.

use ictd::dispatch::{self, Level};
use ictd::train::options::{Attention, Mode, Model, RnnInput, TaskKind};
use ictd::train::{Train, shapes};
use std::time::Instant;

/// Softmax attention over 64 columns takes more stack than a test has.
fn with_stack(test: fn()) {
    let thread = std::thread::Builder::new().stack_size(16 << 20).spawn(test).unwrap();
    thread.join().unwrap();
}

fn small() -> Train {
    Train { mrps: 3, batches: 2, batch_size: 6, context: 8, ..Train::default() }
}

/// The state of each seed after training: parameters, optimiser, random streams, position.
fn checkpoints(options: &Train, level: Level, lanes: usize, seeds: &[u64]) -> Vec<Vec<u8>> {
    let of_group = |seeds: &[u64]| -> Vec<Vec<u8>> {
        let mut group = shapes::group_at(options, level, lanes, seeds).unwrap();
        for _ in 0..options.mrps {
            group.train_task().unwrap();
        }
        (0..seeds.len()).map(|lane| group.save(lane)).collect()
    };
    seeds.chunks(lanes).flat_map(of_group).collect()
}

#[test]
fn every_level_and_width_leaves_the_same_checkpoints() {
    with_stack(compare_levels_and_widths);
}

fn compare_levels_and_widths() {
    let seeds: Vec<u64> = (3..20).collect();
    let configurations = [
        small(),
        Train { dim: 2, layers: 1, ..small() },
        Train { dim: 8, states: 20, layers: 4, ..small() },
        Train { mode: Mode::Sequential, ..small() },
        Train { attention: Attention::Softmax, ..small() },
        Train { attention: Attention::Softmax, mode: Mode::Sequential, layers: 2, ..small() },
        Train { attention: Attention::Softmax, layers: 1, ..small() },
        Train { model: Model::Rnn, ..small() },
        Train { model: Model::Rnn, rnn_input: RnnInput::Delayed, ..small() },
        Train { task: TaskKind::Cartpole, ..small() },
    ];
    for options in configurations {
        let want = checkpoints(&options, Level::Baseline, 4, &seeds);
        for (level, lanes) in dispatch::available() {
            let got = checkpoints(&options, level, lanes, &seeds);
            assert!(got == want, "{} with {lanes} lanes: {options:?}", level.name());
        }
    }
}

/// The shortest time of a task per seed, in seconds.
fn seconds_per_seed(options: &Train, level: Level, lanes: usize) -> f64 {
    let seeds: Vec<u64> = (0..lanes as u64).collect();
    let mut group = shapes::group_at(options, level, lanes, &seeds).unwrap();
    let mut task = || {
        let start = Instant::now();
        group.train_task().unwrap();
        start.elapsed().as_secs_f64() / lanes as f64
    };
    (0..30).map(|_| task()).fold(f64::INFINITY, f64::min)
}

/// A kernel that lost its instructions on the way would run at the baseline's speed, and nothing else
/// would show it.
#[test]
fn each_level_is_faster_than_the_one_below() {
    with_stack(time_levels);
}

fn time_levels() {
    // Measured: 0.4 to 0.65. A mistake makes it 1 or more.
    let softmax = Train { attention: Attention::Softmax, batches: 1, ..Train::default() };
    let rnn = Train { model: Model::Rnn, ..Train::default() };
    for (name, options) in [("linear", Train::default()), ("softmax", softmax), ("RNN", rnn)] {
        for (wide, narrow) in
            [((Level::Avx2, 8), (Level::Baseline, 4)), ((Level::Avx512, 16), (Level::Avx2, 8))]
        {
            if !wide.0.is_available() {
                println!("not run: {} is missing on this machine", wide.0.name());
                continue;
            }
            let time = |(level, lanes)| seconds_per_seed(&options, level, lanes);
            let ratio = time(wide) / time(narrow);
            let (wide, narrow) = (wide.0.name(), narrow.0.name());
            println!("{name}: {wide} takes {ratio:.2} of {narrow}'s time");
            assert!(ratio < 0.85, "{name}: {wide} takes {ratio:.2} of {narrow}'s time");
        }
    }
}

#[test]
fn a_width_without_registers_is_refused() {
    assert!(shapes::group_at(&small(), Level::Baseline, 16, &[1]).is_err());
    assert!(shapes::group_at(&small(), Level::Avx512, 8, &[1]).is_err());
}
