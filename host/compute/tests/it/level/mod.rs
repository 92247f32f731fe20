//! The instructions that training is compiled for change its speed, and not one bit; neither do the seeds that a
//! seed shares a register with.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod instructions;

use compute::level::SimdLevel;
use compute::recipe::Recipe;
use compute::shapes;

fn small() -> Recipe {
    Recipe { tasks: 3, batches: 2, batch_size: 6, context_length: 8, ..Recipe::default() }
}

/// Returns the state of each seed after training (parameters, optimiser, random streams, position), and its metrics.
fn checkpoints(level: SimdLevel, recipe: &Recipe, seeds: &[u64]) -> Vec<(Vec<u8>, String)> {
    let trained = |seeds: &[u64]| {
        let mut group = shapes::group(level, recipe, seeds).unwrap();
        (0..recipe.tasks).for_each(|_| group.train_task().unwrap());
        let state = |lane| (group.save(lane), format!("{:?}", group.measure(lane)));
        (0..seeds.len()).map(state).collect::<Vec<_>>()
    };
    seeds.chunks(level.lanes()).flat_map(trained).collect()
}

#[test]
fn every_level_leaves_the_same_checkpoints_and_so_does_a_seed_alone() {
    // Room for 32 features in all lanes takes more stack than a test has.
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(compare).unwrap();
    thread.join().unwrap();
}

fn compare() {
    let seeds: Vec<u64> = (3..3 + SimdLevel::Avx512.lanes() as u64).collect();
    for changed in [
        "",
        "dim=2 layers=1",
        "dim=8 states=20 layers=4",
        "layer-sharing=sequential",
        "attention=softmax",
        "attention=softmax layer-sharing=sequential layers=2",
        "attention=softmax layers=1",
        "network=rnn",
        "network=rnn rnn-input=delayed",
        "task=cartpole",
        "dim=5 layers=6",
        "dim=21 states=30 layers=4",
        "dim=3 trace-decay=0.9",
        "context-range=1..9 gamma-range=0.5..0.95",
    ] {
        let settings = changed.split(' ').filter_map(|setting| setting.split_once('='));
        let recipe = small().with_settings(settings).unwrap();
        let want = checkpoints(SimdLevel::Baseline, &recipe, &seeds);
        for level in SimdLevel::ALL.into_iter().filter(|level| level.is_available()) {
            let name = level.name();
            if level == SimdLevel::OneSeed && shapes::most_alone(&recipe) == 0 {
                assert!(shapes::group(level, &recipe, &seeds[..1]).is_err(), "{name}: {changed}");
                continue;
            }
            let got = checkpoints(level, &recipe, &seeds);
            assert!(got == want, "{name}: {changed}");
            let alone = checkpoints(level, &recipe, &seeds[2..3]);
            assert!(alone[0] == want[2], "{name}, a seed alone: {changed}");
        }
    }
}
