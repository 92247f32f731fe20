//! Signals, and the tiles of CartPole.

use super::*;
use ictd_core::tasks::cart_pole::{CartPoleState, TileCoding};
use ictd_core::tasks::{Task as _, random_signal};

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
fn an_episode_ends_without_value_and_begins_again() {
    // 0 <- 1 <-> 2 -> 3: both ends are terminal, and leaving 2 pays 1/2.
    let p = SMatrix::<f64, 4, 4>::from_fn(|s, t| match s {
        0 | 3 => f64::from(u8::from(s == t)),
        _ => 0.5 * f64::from(u8::from(s.abs_diff(t) == 1)),
    });
    let (start, reward) =
        (SVector::from([0.0, 1.0, 0.0, 0.0]), SVector::from([7.0, 0.0, 0.5, 7.0]));
    let phi = SMatrix::<f64, 1, 4>::repeat(1.0);
    let mrp = Mrp::<f64, 1, 4>::new(4, &start, &p, &reward, &phi).unwrap();
    let mrp = mrp.with_terminal(&[true, false, false, true]).unwrap();
    // v_1 = v_2 g / 2 and v_2 = 1/2 + v_1 g / 2.
    let (v, g) = (mrp.true_value(0.9).unwrap(), 0.45);
    let expected = 0.5 / (1.0 - g * g);
    assert!((v - SVector::from([0.0, g * expected, expected, 0.0])).amax() < 1e-12, "{v}");
    // Two visits of 1 for one of 2: half of the walks go on from 1, and half of these come back.
    let d = mrp.stationary_distribution().unwrap();
    assert!((d - SVector::from([0.0, 2.0 / 3.0, 1.0 / 3.0, 0.0])).amax() < 1e-12, "{d}");
    let mut rng = Rng::new(1);
    for s in [0, 3] {
        assert!(mrp.is_terminal(s));
        assert_eq!((mrp.step(s, &mut rng), mrp.features(s)[0]), ((0.0, 1), 0.0));
    }
    assert!(mrp.with_terminal(&[false, true, false, false]).is_err());
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
