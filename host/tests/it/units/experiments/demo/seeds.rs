use ictd::experiments::demo::{SeedRow, claim_of_seeds};
use ictd::run::report::Verdict;

#[test]
fn the_verdict_goes_with_the_seeds_whose_error_falls_to_below_that_of_predicting_0() {
    let verdict = |end: fn(u64) -> f64| {
        let row = |context_length, seed, msve| SeedRow { seed, context_length, msve, of_zero: 1.0 };
        let of_seed = |seed| [row(1, seed, 2.0), row(39, seed, end(seed))];
        claim_of_seeds("", &(0..30).flat_map(of_seed).collect::<Vec<_>>()).verdict
    };
    assert_eq!(verdict(|_| 0.2), Verdict::Holds);
    assert_eq!(verdict(|seed| if seed < 23 { 0.2 } else { 3.0 }), Verdict::HoldsInPart);
    // It falls in all, to what is worse than nothing.
    assert_eq!(verdict(|_| 1.5), Verdict::DoesNotHold);
    assert_eq!(verdict(|_| f64::NAN), Verdict::DoesNotHold);
}
