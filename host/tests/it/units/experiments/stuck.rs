use ictd::experiments::stuck::{CHANGES, SeedRow, Seeds, decided_early, frees};
use ictd::run::report::Verdict;

fn seeds(form_and_early: &[(f64, f64)]) -> Seeds {
    let row = |(i, (form_q, early)): (usize, &(f64, f64))| SeedRow {
        run: String::new(),
        seed: i as u64,
        form_q: *form_q,
        explained: 0.0,
        early: *early,
    };
    let rows = form_and_early.iter().enumerate().map(row).collect();
    Seeds { run: "", runs: Vec::new(), rows }
}

#[test]
fn an_overlap_separates_or_not() {
    let rows = |early: fn(usize) -> f64| {
        let row = |i| (if i < 20 { 0.95 } else { 0.1 }, early(i));
        seeds(&(0..30).map(row).collect::<Vec<_>>())
    };
    let apart = rows(|i| if i < 20 { 0.3 } else { 0.1 });
    let mixed = rows(|i| if i % 3 > 0 { 0.3 } else { 0.1 + i as f64 / 200.0 });
    let not = rows(|i| if i < 20 { 0.1 } else { 0.3 });
    assert_eq!((apart.separation().estimate, not.separation().estimate), (1.0, 0.0));
    let verdict = |held_out| decided_early(&apart, held_out).verdict;
    assert_eq!([&apart, &mixed, &not].map(verdict)[0], Verdict::Holds);
    assert_eq!([&mixed, &not].map(verdict), [Verdict::DoesNotHold; 2]);
    let in_part = rows(|i| if i < 20 { (i % 4) as f64 } else { (i % 2) as f64 });
    assert_eq!(verdict(&in_part), Verdict::HoldsInPart, "{}", in_part.separation());
    // Without a stuck seed there is nothing to be shown.
    assert_eq!(verdict(&seeds(&[(0.95, 0.3)])), Verdict::DoesNotHold);
}

#[test]
fn a_change_frees_all_or_some_or_none() {
    let before = |i| (if i < 20 { 0.95 } else { 0.1 }, 0.0);
    let first = seeds(&(0..30).map(before).collect::<Vec<_>>());
    let verdict = |td: fn(usize) -> bool| {
        let after = |i| (if td(i) { 0.95 } else { 0.1 }, 0.0);
        let after = seeds(&(0..30).map(after).collect::<Vec<_>>());
        frees(&CHANGES[0], &first, &after).1.verdict
    };
    assert_eq!(verdict(|_| true), Verdict::Holds);
    assert_eq!(verdict(|i| i < 25), Verdict::HoldsInPart);
    // As many are lost as are freed, and none.
    assert_eq!(verdict(|i| i >= 10), Verdict::DoesNotHold);
    assert_eq!(verdict(|i| i < 20), Verdict::DoesNotHold);
}
