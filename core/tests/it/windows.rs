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
    let long = windows.window(0).unwrap().prompt::<3, 1>().err();
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

#[test]
fn an_index_beyond_the_trajectory_is_refused() {
    let windows = Windows::new(2, &[1.0_f32; 12], &[0.0; 5], 2, 0.9).unwrap();
    let beyond = |parameter, expected| Some(Error::OutOfRange { parameter, expected });
    let window = beyond("t", "a window of the trajectory");
    assert_eq!(windows.count(), 2);
    assert!(windows.phi(5).is_ok() && windows.token::<5>(4).is_ok() && windows.window(2).is_ok());
    assert!(windows.successor(1).is_ok() && windows.td_target(1, 0.0).is_ok());
    assert_eq!(windows.phi(6).err(), beyond("k", "a state of the trajectory"));
    assert_eq!(windows.token::<5>(5).err(), beyond("j", "a transition of the trajectory"));
    assert_eq!(windows.window(3).err(), window);
    assert_eq!(windows.successor(2).err(), window);
    assert_eq!(windows.td_target(2, 0.0).err(), window);
    // Windows that grow have no last one that only bootstraps.
    assert_eq!(windows.growing(&[2, 3]).unwrap().window(2).err(), window);
    let small = Some(Error::CapacityExceeded { parameter: "features", capacity: 1 });
    assert_eq!(windows.token::<3>(0).err(), small);
    assert_eq!(windows.window(0).unwrap().query_token::<3>().err(), small);
    assert_eq!(windows.window(0).unwrap().prompt::<3, 9>().err(), small);
}

#[test]
fn networks_refuse_windows_that_they_do_not_take() {
    fn refused<N: Network<f32>>(network: &mut N, windows: &Windows<f32>) -> Vec<Error> {
        let (mut gradient, first) = (network.parameters().zeros_like(), windows.window(0).unwrap());
        let found = [
            network.value(&first),
            network.value_and_gradient(&first, |v| v, &mut gradient),
            network.batch_gradient(windows, Targets::Bootstrapped, &mut gradient),
            td_errors(network, windows, &mut []).map(|()| 0.0),
            td_update(network, windows, 0, Targets::Bootstrapped, 1.0, &mut gradient),
        ];
        found.into_iter().filter_map(Result::err).collect()
    }
    let (one, two) = ([1.0_f32; 9], [1.0_f32; 12]);
    let long = Windows::new(1, &one, &[0.0; 8], 4, 0.9).unwrap();
    let wide = Windows::new(2, &two, &[0.0; 5], 2, 0.9).unwrap();
    let dim =
        [Error::OutOfRange { parameter: "dim", expected: "as many features as the network has" };
            5];
    let capacity = [Error::CapacityExceeded { parameter: "context", capacity: 3 }; 5];
    let mut linear = LinearNetwork::zeros(LinearShape::new(1, 1, 2), |len| vec![0.0; len]).unwrap();
    let mut softmax = SoftmaxNetwork::<f32, 3, 1, 2, 3>::zeros(1, 2).unwrap();
    let mut rnn = Rnn::<f32, 4, 3, 1, 3>::zeros(LayerInput::Current);
    assert_eq!((refused(&mut linear, &wide), refused(&mut linear, &long)), (dim.to_vec(), vec![]));
    assert_eq!(refused(&mut softmax, &wide), dim);
    assert_eq!(refused(&mut softmax, &long), capacity);
    assert_eq!(refused(&mut rnn, &wide), dim);
    assert_eq!(refused(&mut rnn, &long), capacity);
    let reference = BatchTdReference::<f32, 1>::new(2, 0.0).unwrap();
    let too_many = Err(Error::CapacityExceeded { parameter: "features", capacity: 1 });
    assert_eq!(reference.value(&wide.window(0).unwrap()), too_many);
    assert!(reference.batch_gradient(&wide, Targets::Bootstrapped).is_err());
}
