use ictd::experiments::demo::{falls, falls_in_seeds};
use ictd::experiments::measurements::MeasurementTable;
use ictd::run::report::Verdict;

#[test]
fn the_verdict_goes_with_the_fall_its_spread_and_what_predicting_0_has() {
    for (first, last, zero, expected) in [
        ((1.0, 0.1), (0.2, 0.1), 0.9, Verdict::Holds),
        ((1.0, 0.1), (0.7, 0.1), 0.9, Verdict::HoldsInPart),
        ((1.0, 0.1), (0.9, 0.1), 0.95, Verdict::DoesNotHold),
        ((0.2, 0.1), (1.0, 0.1), 2.0, Verdict::DoesNotHold),
        // It falls, and is worse than nothing.
        ((9.0, 0.1), (2.0, 0.1), 1.0, Verdict::DoesNotHold),
        // One task has no spread.
        ((1.0, f64::NAN), (0.2, f64::NAN), 0.9, Verdict::Undecided),
        ((1.0, 0.1), (f64::NAN, 0.1), 1.0, Verdict::NotMeasured),
    ] {
        assert_eq!(falls(first, last, zero).1, expected, "{first:?}, {last:?}");
    }
}

#[test]
fn the_verdict_goes_with_the_seeds_whose_error_falls_to_below_that_of_predicting_0() {
    let verdict = |end: fn(u64) -> f64| {
        let mut long = MeasurementTable::default();
        for seed in 0..30 {
            for (n, error) in [(1.0, 2.0), (39.0, end(seed))] {
                long.put("demo", seed, "trained", n, error);
                long.put("demo", seed, "trained zero", n, 1.0);
            }
        }
        falls_in_seeds(long.of("demo")).1
    };
    assert_eq!(verdict(|_| 0.2), Verdict::Holds);
    assert_eq!(verdict(|seed| if seed < 23 { 0.2 } else { 3.0 }), Verdict::HoldsInPart);
    // It falls in all, to what is worse than nothing.
    assert_eq!(verdict(|_| 1.5), Verdict::DoesNotHold);
    assert_eq!(verdict(|_| f64::NAN), Verdict::DoesNotHold);
}
