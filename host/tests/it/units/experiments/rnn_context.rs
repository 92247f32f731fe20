use ictd::experiments::long::Long;
use ictd::experiments::rnn_context::{no_evaluation, rise};
use ictd::run::report::Verdict;

/// The record of means at two lengths with a standard error of about 0.1, in two environments; other estimates have 1.
fn record(last: [f64; 2]) -> Long {
    let mut long = Long::default();
    for (name, last) in ["loop", "boyan"].into_iter().zip(last) {
        for (metric, ends) in [("", [2.0, last]), (" zero", [9.0; 2]), (" rewards", [1.0; 2])] {
            for (seed, noise) in [(0, -0.2), (1, 0.0), (2, 0.0), (3, 0.2)] {
                for (n, mean) in [1.0, 40.0].into_iter().zip(ends) {
                    long.put("rnn", seed, &format!("{name}{metric}"), n, mean + noise);
                }
            }
        }
    }
    long
}

#[test]
fn an_error_may_rise_fall_or_stay() {
    let verdict = |last| rise(record([last; 2]).of("rnn"), "boyan").1;
    assert_eq!(verdict(3.0), Verdict::Holds);
    assert_eq!(verdict(2.1), Verdict::HoldsInPart);
    assert_eq!(verdict(1.0), Verdict::DoesNotHold);
}

#[test]
fn an_rnn_that_beats_a_sum_of_rewards_evaluates_policies() {
    let verdict = |last| no_evaluation(record(last).of("rnn")).1;
    assert_eq!(verdict([1.3, 0.9]), Verdict::Holds);
    assert_eq!(verdict([1.3, 0.4]), Verdict::HoldsInPart);
    assert_eq!(verdict([0.3, 0.4]), Verdict::DoesNotHold);
}
