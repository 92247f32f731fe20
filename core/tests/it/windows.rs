use super::*;
use ictd_core::training::*;

#[test]
fn a_trajectory_without_a_complete_window_is_refused() {
    let features = [1.0_f32; 5];
    let windows = |len: usize, rewards: &[f32], n| {
        Windows::new(1, &features[..len], rewards, n, 0.9).map(|w| w.count())
    };
    assert_eq!(windows(5, &[0.0; 4], 2), Ok(1));
    assert_eq!(windows(4, &[0.0; 3], 2), Err(Error::Empty { parameter: "windows" }));
    assert_eq!(windows(5, &[0.0; 4], 0), Err(Error::Empty { parameter: "context" }));
    assert!(matches!(windows(5, &[0.0; 5], 2), Err(Error::OutOfRange { .. })));
}

#[test]
fn a_window_is_a_prompt_and_its_target_comes_after_the_query() {
    let features: [f64; 6] = core::array::from_fn(|k| k as f64);
    let rewards = [1.0, 2.0, 3.0, 4.0, 5.0];
    let windows = Windows::new(1, &features, &rewards, 2, 0.5).unwrap();
    assert_eq!(windows.count(), 2);
    // Z_0 by hand: columns (phi; gamma phi'; R), and the query three states on.
    let prompts = [
        [[0.0, 0.5, 1.0], [1.0, 1.0, 2.0], [3.0, 0.0, 0.0]],
        [[1.0, 1.0, 2.0], [2.0, 1.5, 3.0], [4.0, 0.0, 0.0]],
        [[2.0, 1.5, 3.0], [3.0, 2.0, 4.0], [5.0, 0.0, 0.0]],
    ];
    for (t, columns) in prompts.iter().enumerate() {
        let prompt = windows.window(t).prompt::<3, 2>().unwrap();
        for (c, column) in columns.iter().enumerate() {
            assert_eq!(prompt.column(c), &SVector::from(*column), "window {t}, column {c}");
        }
    }
    assert_eq!([0, 1].map(|t| windows.td_target(t, 100.0)), [54.0, 55.0]);
    let long = windows.window(0).prompt::<3, 1>().err();
    assert_eq!(long, Some(Error::CapacityExceeded { parameter: "context", capacity: 1 }));
}

#[test]
fn what_is_not_finite_is_named() {
    let windows = |phi: f32, reward: f32, gamma: f32| {
        let features = [1.0, 1.0, 1.0, 1.0, phi];
        Windows::new(1, &features, &[0.0, 0.0, 0.0, reward], 2, gamma).map(|_| ())
    };
    assert_eq!(windows(1.0, 1.0, 0.9), Ok(()));
    for bad in [f32::NAN, f32::INFINITY] {
        assert_eq!(windows(bad, 1.0, 0.9), Err(Error::NonFinite { parameter: "features" }));
        assert_eq!(windows(1.0, bad, 0.9), Err(Error::NonFinite { parameter: "rewards" }));
        assert_eq!(windows(1.0, 1.0, bad), Err(Error::NonFinite { parameter: "gamma" }));
    }
    assert!(matches!(windows(1.0, 1.0, 7.0), Err(Error::OutOfRange { .. })));
}
