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
    let windows = Windows::new(1, &features, &[0.0; 4], 2, 0.9).unwrap();
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
