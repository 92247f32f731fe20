use ictd::experiments::verify::{BOUND, error, within_bound};
use ictd::run::report::Verdict;
use judge::construction::Construction;
use judge::verify::{Successors, VerifySettings, values};

fn setting(c_norm: f64) -> VerifySettings {
    let successors = Successors::Independent;
    VerifySettings {
        layers: 10,
        dim: 3,
        context: 100,
        gamma: 0.9,
        trace_decay: 0.5,
        c_norm,
        successors,
    }
}

#[test]
fn another_construction_is_no_algorithm_of_these() {
    let verdict = |pair, c_norm| {
        // Layers by the hundred need a stack as the program's threads have it.
        let thread = std::thread::Builder::new().stack_size(64 << 20);
        let found = thread.spawn(move || values(&setting(c_norm), &[pair], 1).unwrap());
        let values = found.unwrap().join().unwrap();
        within_bound(error(values[0].iter()), BOUND)
    };
    for c_norm in [0.3, 10.0] {
        use Construction::{ResidualGradient, Td0};
        assert_eq!(verdict((Td0, Td0), c_norm), Verdict::Holds);
        assert_eq!(verdict((ResidualGradient, Td0), c_norm), Verdict::DoesNotHold);
    }
    for errors in [[0.0, f64::NAN], [f64::NAN, 0.0], [1e-9, 0.0], [0.0, 1e-9]] {
        assert_eq!(within_bound(errors, BOUND), Verdict::DoesNotHold);
    }
}
