//! The instructions that training is compiled for change its speed, and not one bit.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod instructions;

use std::time::{Duration, Instant};
use trainer::dispatch::{self, Level};
use trainer::group::Group;
use trainer::options::Span;
use trainer::recipe::{Attention, Mode, Model, ParameterSet, Recipe, RnnInput, TaskKind};
use trainer::shapes;

/// How long a level that seems slow is measured again.
const PATIENCE: Duration = Duration::from_secs(20);

/// Room for 32 features in 16 lanes takes more stack than a test has.
fn with_stack(test: fn()) {
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(test).unwrap();
    thread.join().unwrap();
}

fn small() -> Recipe {
    Recipe { mrps: 3, batches: 2, batch_size: 6, context: 8, ..Recipe::default() }
}

/// The state of each seed after training: parameters, optimiser, random streams, position.
fn checkpoints(options: &Recipe, level: Level, lanes: usize, seeds: &[u64]) -> Vec<Vec<u8>> {
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
        Recipe { dim: 2, layers: 1, ..small() },
        Recipe { dim: 8, states: 20, layers: 4, ..small() },
        Recipe { mode: Mode::Sequential, ..small() },
        Recipe { attention: Attention::Softmax, ..small() },
        Recipe { attention: Attention::Softmax, mode: Mode::Sequential, layers: 2, ..small() },
        Recipe { attention: Attention::Softmax, layers: 1, ..small() },
        Recipe { model: Model::Rnn, ..small() },
        Recipe { model: Model::Rnn, rnn_input: RnnInput::Delayed, ..small() },
        Recipe { task: TaskKind::Cartpole.into(), ..small() },
        Recipe { dim: 5, layers: 6, ..small() },
        Recipe { dim: 3, lambda: 0.9, ..small() },
        Recipe { lengths: Some(Span([1, 9])), gammas: Some(Span([0.5, 0.95])), ..small() },
        Recipe { parameters: ParameterSet::Equivariant, lambda: 0.9, ..small() },
        Recipe { dim: 6, normalise: true, ..small() },
        Recipe {
            parameters: ParameterSet::Equivariant,
            normalise: true,
            lengths: Some(Span([1, 9])),
            ..small()
        },
    ];
    for options in configurations {
        let want = checkpoints(&options, Level::Baseline, 4, &seeds);
        for (level, lanes) in dispatch::available() {
            let got = checkpoints(&options, level, lanes, &seeds);
            assert!(got == want, "{} with {lanes} lanes: {options:?}", level.name());
        }
    }
}

/// A group with a seed in each lane of a level's registers.
struct Timed {
    level: Level,
    group: Box<dyn Group>,
    /// The shortest time of a task so far, in seconds per seed.
    shortest: f64,
}

impl Timed {
    fn new(options: &Recipe, level: Level) -> Timed {
        let seeds: Vec<u64> = (0..level.lanes() as u64).collect();
        let group = shapes::group_at(options, level, level.lanes(), &seeds).unwrap();
        Timed { level, group, shortest: f64::INFINITY }
    }

    fn train_task(&mut self) {
        let start = Instant::now();
        self.group.train_task().unwrap();
        let seconds = start.elapsed().as_secs_f64() / self.level.lanes() as f64;
        self.shortest = self.shortest.min(seconds);
    }
}

/// A kernel that lost its vectors on the way takes the baseline's time or more.
#[test]
fn each_level_is_faster_than_the_baseline() {
    with_stack(time_levels);
}

fn time_levels() {
    let softmax = Recipe { attention: Attention::Softmax, batches: 1, ..Recipe::default() };
    let rnn = Recipe { model: Model::Rnn, ..Recipe::default() };
    for (name, options) in [("linear", Recipe::default()), ("softmax", softmax), ("RNN", rnn)] {
        let levels = Level::ALL.into_iter().filter(|level| level.is_available());
        let mut timed: Vec<Timed> = levels.map(|level| Timed::new(&options, level)).collect();
        // The levels take turns, so that what else the machine does meets them all. A level that is
        // slow is given more turns, for it may have been disturbed; a lost kernel is slow in each.
        let start = Instant::now();
        let slow = loop {
            for _ in 0..30 {
                timed.iter_mut().for_each(Timed::train_task);
            }
            // Measured: 0.57 to 0.63 with AVX2, 0.36 to 0.41 with AVX-512.
            let limit = 0.8 * timed[0].shortest;
            let slow = timed[1..].iter().find(|one| one.shortest > limit);
            if slow.is_none() || start.elapsed() > PATIENCE {
                break slow.map(|one| one.level);
            }
        };
        for one in &timed[1..] {
            let ratio = one.shortest / timed[0].shortest;
            println!("{name}: {} takes {ratio:.2} of the baseline's time", one.level.name());
        }
        assert_eq!(slow, None, "{name}: this level is as slow as the baseline");
    }
}

#[test]
fn a_width_without_registers_is_refused() {
    assert!(shapes::group_at(&small(), Level::Baseline, 16, &[1]).is_err());
    assert!(shapes::group_at(&small(), Level::Avx512, 8, &[1]).is_err());
}
