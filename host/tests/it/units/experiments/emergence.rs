use super::function::run_of;
use ictd::experiments::emergence::{FAMILIES, Family, Trained, judge};
use ictd::experiments::function::Function;
use ictd::run::report::Verdict;
use ictd_core::constructions::{learning_rate, one_layer, residual_gradient, td0};
use ictd_core::layer::Layer;
use ictd_core::metrics::FORM_SHARE;

type OneHead = Layer<f64, 9>;

/// Of 30 seeds so many are TD(0.3), have its form, and lose this.
fn trained(is_it: usize, has_form: usize, lost: f64) -> Trained {
    let explained = |i| if i < is_it { vec![0.8, 0.95] } else { vec![0.95, 0.94] };
    let function = |i| Function { explained: explained(i), outside: 0.0, lost };
    Trained {
        layers: 2,
        functions: (0..30).map(function).collect(),
        forms: (0..30).map(|i| [if i < has_form { 0.95 } else { 0.5 }, 0.95]).collect(),
    }
}

#[test]
fn verdicts_go_either_way() {
    let verdicts = |runs: &[Trained]| judge(&FAMILIES[1], runs).map(|claim| claim.verdict);
    use Verdict::{DoesNotHold, Holds, HoldsInPart};
    assert_eq!(verdicts(&[trained(28, 28, 0.01), trained(29, 30, 0.02)]), [Holds; 3]);
    assert_eq!(verdicts(&[trained(28, 2, 0.01), trained(2, 30, 0.2)]), [HoldsInPart; 3]);
    assert_eq!(verdicts(&[trained(18, 2, 0.1), trained(2, 0, 0.2)]), [DoesNotHold; 3]);
    assert_eq!(verdicts(&[trained(28, 28, f64::NAN)])[2], DoesNotHold);
}

#[test]
fn forms_are_told_apart() {
    let c = learning_rate::<f64, 4>(0.3);
    let [td, rg] = [&FAMILIES[1], &FAMILIES[5]];
    let has = |family: &Family, depth, layer: &OneHead| {
        family.form(depth, &run_of(layer)).iter().all(|share| *share >= FORM_SHARE)
    };
    assert!(has(td, 3, &td0(&c)) && !has(rg, 3, &td0(&c)));
    assert!(has(rg, 3, &residual_gradient(&c)) && !has(td, 3, &residual_gradient(&c)));
    assert!(has(td, 1, &one_layer(&c)) && !has(td, 3, &one_layer(&c)));
    let mut other: OneHead = td0(&c);
    other.p = -other.p;
    assert!(!has(td, 3, &other));
}
