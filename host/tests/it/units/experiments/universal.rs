use ictd::experiments::universal::{ErrorRow, Family, Universal};
use ictd::run::report::Verdict;

#[test]
fn the_verdicts_go_with_the_errors() {
    let verdicts = |universal, percentile_99_9, ships| {
        let row = |family: Family| ErrorRow {
            family: family.name().into(),
            dimension: 4,
            transitions: 30,
            universal,
            stderr: 0.01,
            median: universal,
            percentile_99_9,
            lstd_hindsight: 0.5,
            lstd_one_ridge: 0.5,
            td_hindsight: 0.5,
            batch_td_hindsight: 0.5,
            paper: None,
            paper_median: None,
        };
        let claims = Universal::default().claims(&[row(Family::Boyan), row(Family::Mdp)], ships);
        claims.iter().map(|claim| claim.verdict).collect::<Vec<_>>()
    };
    assert_eq!(verdicts(0.4, 2.0, true), [Verdict::Holds; 8]);
    assert_eq!(verdicts(0.6, 9.0, false), [Verdict::DoesNotHold; 8]);
    assert_eq!(verdicts(f64::NAN, f64::NAN, false), [Verdict::DoesNotHold; 8]);
}
