use figures::Curve;
use ictd::experiments::panels::{lowest_cosine, names};

#[test]
fn an_axis_of_cosines_starts_at_0_unless_a_curve_is_negative() {
    let curve = |y: [f64; 2]| Curve::with_stderr("", vec![0.0, 1.0], y.to_vec(), &[0.1; 2]);
    // A band alone changes nothing.
    assert_eq!(lowest_cosine(&[&curve([0.05, 0.9]), &curve([0.5, f64::NAN])]), 0.0);
    let lowest = lowest_cosine(&[&curve([0.5, 0.9]), &curve([-0.2, 0.9])]);
    assert!((-0.35..-0.3).contains(&lowest), "{lowest}");
    assert_eq!(lowest_cosine(&[&curve([-1.0, 0.0])]), -1.05);
}

#[test]
fn a_record_has_as_many_names_as_a_figure_tells_apart() {
    let runs: Vec<String> = (0..65).map(|i| format!("run {i}")).collect();
    let of = |count: usize| names("a.csv", runs[..count].iter().cycle().take(500).map(|n| &**n));
    assert_eq!(of(64).unwrap(), runs[..64]);
    assert_eq!(of(65).unwrap_err().one_line(), "a.csv: accepted are at most 64 names");
}
