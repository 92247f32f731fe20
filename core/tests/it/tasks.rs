//! Signals, and the tiles of CartPole.

use ictd_core::rng::Rng;
use ictd_core::tasks::cart_pole::{CartPoleState, TileCoding};
use ictd_core::tasks::random_signal;

#[test]
fn signals_are_finite_and_of_many_kinds() {
    let mut rng = Rng::new(0);
    let (mut smooth, mut rough, mut centred) = (0, 0, 0);
    for _ in 0..1000 {
        let mut signal = [0.0; 300];
        random_signal(&mut signal, &mut rng);
        assert!(signal.iter().all(|x| x.abs() < 40.0), "{signal:?}");
        let mean = signal.iter().sum::<f32>() / 300.0;
        let variance = signal.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / 300.0;
        let step = signal.windows(2).map(|x| (x[1] - x[0]) * (x[1] - x[0])).sum::<f32>() / 299.0;
        smooth += u32::from(step < 0.1 * variance);
        rough += u32::from(step > variance);
        centred += u32::from(mean * mean < 0.1 * variance);
    }
    for (count, what) in [(smooth, "smooth"), (rough, "rough"), (centred, "centred")] {
        assert!((100..900).contains(&count), "{what}: {count}");
    }
}

#[test]
fn every_state_lies_in_one_tile_of_each_tiling() {
    let coding = TileCoding::new(4, 2).unwrap();
    assert_eq!(coding.total_tiles(), 324);
    let mut rng = Rng::new(1);
    let mut hits = [0u32; 324];
    for _ in 0..20_000 {
        let mut draw = |r: f32| rng.uniform_in(-1.3 * r, 1.3 * r);
        let state = CartPoleState {
            position: draw(3.0),
            velocity: draw(2.5),
            angle: draw(0.26),
            angular_velocity: draw(2.5),
        };
        let active = coding.active_tiles(&state);
        for (t, tile) in active[..4].iter().enumerate() {
            assert_eq!(*tile as usize / 81, t);
            hits[*tile as usize] += 1;
        }
    }
    // The first tiling is not displaced, so its extra tiles see only states beyond the range.
    assert!(hits.iter().all(|&h| h > 0));
    let nan = CartPoleState { position: f32::NAN, ..CartPoleState::sample(&mut rng) };
    assert!(coding.active_tiles(&nan)[..4].iter().all(|&tile| tile < 324));
}
