//! The search for the universal model's parameters: its gradient, and its way when it is stored and read.

use judge::universal::{Loss, ParameterSearch, Target, start};

/// Runs `f` where numbers with derivatives of 32 features have room.
fn on_a_large_stack(f: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(f).unwrap();
    thread.join().unwrap();
}

#[test]
fn the_gradient_is_that_of_the_loss() {
    on_a_large_stack(|| {
        let loss = Loss::new(Target::Value, 1.0 / 60.0, 0).unwrap();
        // Away from the start every parameter has an effect.
        let at: Vec<f64> =
            start().iter().enumerate().map(|(i, x)| x + 0.05 * (7 * i % 5) as f64 - 0.1).collect();
        let mut effects = vec![0; at.len()];
        for group in (0..loss.groups()).step_by(83) {
            let (_, gradient) = loss.of_group(group, &at);
            for (i, slope) in gradient.iter().enumerate() {
                let of = |step: f64| {
                    let mut moved = at.clone();
                    moved[i] += step;
                    loss.of_group(group, &moved).0
                };
                let expected = (of(1e-5) - of(-1e-5)) / 2e-5;
                let error = (slope - expected).abs();
                assert!(error < 1e-4 * (expected.abs() + 1e-3), "{group} {i}: {slope} {expected}");
                effects[i] += usize::from(*slope != 0.0);
            }
        }
        assert!(effects.iter().all(|count| *count > 1), "{effects:?}");
    });
}

/// A search that is told (x - 1)^2 scaled differently along each parameter, stored and read after each answer or not.
fn searched(stored: bool) -> ParameterSearch {
    let mut search = ParameterSearch::new(Target::Value, 3);
    while search.stage().is_some() {
        let at = search.question();
        let scale = |i: usize| 0.2 + (i % 7) as f64;
        let loss = at.iter().enumerate().map(|(i, x)| 0.5 * scale(i) * (x - 1.0) * (x - 1.0)).sum();
        let gradient = at.iter().enumerate().map(|(i, x)| scale(i) * (x - 1.0)).collect();
        search.tell(&[(loss, gradient)]);
        if stored {
            let text = serde_json::to_vec(&search).unwrap();
            search = serde_json::from_slice(&text).unwrap();
            assert!(search.is_of(Target::Value, 3));
            assert!(!search.is_of(Target::Value, 4) && !search.is_of(Target::TdError, 3));
        }
    }
    search
}

#[test]
fn a_stored_search_goes_on_bit_for_bit_to_the_least_loss() {
    let search = searched(false);
    assert_eq!(search, searched(true));
    for x in search.parameters().iter() {
        // The pull towards the start is weak in the end.
        assert!((x - 1.0).abs() < 0.01, "{x}");
    }
}
