use ictd::experiments::invariant_set::trained::{SeedRow, claim};
use ictd::run::report::Verdict;

#[test]
fn the_verdict_goes_with_the_share_that_is_lost() {
    let verdict = |lost: fn(usize) -> f64| {
        let row = |i| SeedRow {
            run: String::new(),
            seed: 0,
            outside_p: 0.0,
            outside_q: 0.0,
            ten_numbers: lost(i),
            theorem_1: 1.0,
            random: 1.0,
        };
        claim("run", &(0..30).map(row).collect::<Vec<_>>()).verdict
    };
    assert_eq!(verdict(|_| 0.02), Verdict::Holds);
    // Sixteen of thirty are below: the median is, its interval is not.
    assert_eq!(verdict(|i| if i < 16 { 0.04 } else { 0.2 }), Verdict::HoldsInPart);
    assert_eq!(verdict(|_| 0.9), Verdict::DoesNotHold);
    assert_eq!(verdict(|_| f64::NAN), Verdict::DoesNotHold);
}
