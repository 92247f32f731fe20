mod seeds;

use ictd::experiments::demo::{MeanRow, falls};
use ictd::run::report::Verdict;

#[test]
fn the_verdict_goes_with_the_fall_its_spread_and_what_predicting_0_has() {
    let row = |mean, stderr| MeanRow { context_length: 1, mean, stderr };
    for (first, last, of_zero, expected) in [
        (row(1.0, 0.1), row(0.2, 0.1), 0.9, Verdict::Holds),
        (row(1.0, 0.1), row(0.7, 0.1), 0.9, Verdict::HoldsInPart),
        (row(1.0, 0.1), row(0.9, 0.1), 0.95, Verdict::DoesNotHold),
        (row(0.2, 0.1), row(1.0, 0.1), 2.0, Verdict::DoesNotHold),
        // It falls, and is worse than nothing.
        (row(9.0, 0.1), row(2.0, 0.1), 1.0, Verdict::DoesNotHold),
        (row(1.0, 0.1), row(f64::NAN, 0.1), 1.0, Verdict::DoesNotHold),
    ] {
        assert_eq!(falls(&first, &last, of_zero), expected, "{first:?}, {last:?}");
    }
}
