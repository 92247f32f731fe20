use ictd::experiments::invariant_set::updates::{Network, claims};
use ictd::experiments::statistics::Interval;
use ictd::run::report::Verdict;

#[test]
fn the_verdicts_go_with_distances_and_exponents() {
    let verdicts = |td, adam, single, exponent: f64| {
        let exponent = Interval { estimate: exponent, low: exponent - 0.05, high: exponent + 0.05 };
        let network = Network { attention: "linear", layers: "1", td, adam, single, exponent };
        claims(&[network]).iter().map(|claim| claim.verdict).collect::<Vec<_>>()
    };
    let (yes, part, no) = (Verdict::Holds, Verdict::HoldsInPart, Verdict::DoesNotHold);
    assert_eq!(verdicts(1e-14, 1e-14, 0.1, -0.5), [yes, yes]);
    assert_eq!(verdicts(1e-3, 1e-14, 0.1, -0.7), [no, part]);
    assert_eq!(verdicts(1e-14, 1e-3, 0.1, 0.0), [no, no]);
    // What nothing moves shows nothing.
    assert_eq!(verdicts(1e-14, 1e-14, 1e-9, -1.0), [no, no]);
    assert_eq!(verdicts(f64::NAN, 1e-14, 0.1, f64::NAN), [no, no]);
}
