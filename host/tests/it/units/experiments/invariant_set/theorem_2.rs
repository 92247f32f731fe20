use ictd::experiments::invariant_set::theorem_2::{Found, claims};
use ictd::run::report::Verdict;

#[test]
fn the_verdicts_go_with_the_departures() {
    let verdicts = |inside, single| {
        let found = Found {
            max_departure: inside,
            min_departure_without_average: single,
            min_departure_outside: 0.1,
        };
        claims(&found, 1, 1).iter().map(|claim| claim.verdict).collect::<Vec<_>>()
    };
    let (yes, no) = (Verdict::Holds, Verdict::DoesNotHold);
    assert_eq!(verdicts(1e-15, 1e-3), [yes, yes]);
    assert_eq!(verdicts(1e-3, 1e-15), [no, no]);
    assert_eq!(verdicts(f64::NAN, f64::NAN), [no, no]);
}
