use ictd::experiments::rnn_context::{MsveRow, claim_of_evaluation, claim_of_trend};
use ictd::run::report::Verdict;

fn row(context_length: usize, mean: f64) -> MsveRow {
    let (estimator, environment) = (String::new(), String::new());
    MsveRow { estimator, environment, context_length, mean, stderr: 0.1 }
}

#[test]
fn an_error_may_rise_fall_or_stay() {
    let verdict = |last| {
        claim_of_trend("", Verdict::Holds, &[row(1, 2.0), row(10, 9.0), row(40, last)]).verdict
    };
    assert_eq!(verdict(3.0), Verdict::Holds);
    assert_eq!(verdict(2.1), Verdict::HoldsInPart);
    assert_eq!(verdict(1.0), Verdict::DoesNotHold);
}

#[test]
fn an_rnn_that_beats_a_sum_of_rewards_evaluates_policies() {
    let verdict = |rnn: [f64; 2]| {
        let of = |mean| (String::new(), vec![row(40, mean)], vec![row(40, 1.0)]);
        claim_of_evaluation("", &rnn.map(of)).verdict
    };
    assert_eq!(verdict([1.3, 0.9]), Verdict::Holds);
    assert_eq!(verdict([1.3, 0.4]), Verdict::HoldsInPart);
    assert_eq!(verdict([0.3, 0.4]), Verdict::DoesNotHold);
}
