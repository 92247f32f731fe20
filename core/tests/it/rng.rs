//! Random numbers.

use super::*;
use ictd_core::rng::RngStream;

/// Draws, jumps and states, by rand's traits.
#[test]
fn the_numbers_are_those_of_the_crate_rand_xoshiro() {
    use rand_core::{Rng as _, SeedableRng as _};
    use rand_xoshiro::Xoshiro256PlusPlus;
    for seed in [0, 1, u64::MAX] {
        let (mut theirs, mut jumped) = (Xoshiro256PlusPlus::seed_from_u64(seed), [0_u8; 11]);
        for stream in [RngStream::Tasks, RngStream::Parameters, RngStream::Evaluation] {
            let mut ours = Rng::stream(seed, stream);
            let (mut other, mut bytes) = (theirs.clone(), [0_u8; 11]);
            assert_eq!(Rng::from_state(ours.state()).as_ref(), Some(&ours));
            for _ in 0..1000 {
                assert_eq!(ours.next_u64(), other.next_u64());
                assert_eq!(rand_core::Rng::next_u32(&mut ours), other.next_u32());
            }
            ours.fill_bytes(&mut bytes);
            other.fill_bytes(&mut jumped);
            assert!(bytes == jumped && ours.state() == other.state());
            theirs.jump();
        }
    }
}

#[test]
fn streams_of_a_seed_differ_and_repeat() {
    let first = |stream| Rng::stream(7, stream).next_u64();
    assert_eq!(first(RngStream::Tasks), Rng::new(7).next_u64());
    assert_ne!(first(RngStream::Tasks), first(RngStream::Parameters));
    assert_ne!(first(RngStream::Parameters), first(RngStream::Evaluation));
}

#[test]
fn f32_and_f64_see_the_same_uniform_number() {
    let (mut a, mut b) = (Rng::new(1), Rng::new(1));
    for _ in 0..1000 {
        let (x, y) = (a.uniform::<f32>(), b.uniform::<f64>());
        assert!((x as f64 - y).abs() < 1.0 / 16_777_216.0 && (0.0..1.0).contains(&x));
    }
}

#[test]
fn normal_has_mean_0_and_variance_1() {
    let mut rng = Rng::new(2);
    let n = 100_000;
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..n {
        let x: f64 = rng.normal();
        sum += x;
        squares += x * x;
    }
    assert!((sum / n as f64).abs() < 0.01, "mean {}", sum / n as f64);
    assert!((squares / n as f64 - 1.0).abs() < 0.02);
}

#[test]
fn below_and_categorical_hit_every_index_in_proportion() {
    let mut rng = Rng::new(5);
    let (mut uniform, mut weighted) = ([0u32; 3], [0u32; 3]);
    for _ in 0..30_000 {
        uniform[rng.below(3) as usize] += 1;
        weighted[rng.categorical([0.5f32, 0.0, 0.5])] += 1;
    }
    assert!(uniform.iter().all(|&c| (9_500..10_500).contains(&c)), "{uniform:?}");
    assert!(weighted[1] == 0 && weighted[0] > 14_500 && weighted[2] > 14_500);
}
