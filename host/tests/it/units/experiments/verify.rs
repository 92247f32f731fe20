use ictd::experiments::verify::{Problem, Verify, iterates, largest, preconditioner, within_bound};
use ictd::options;
use ictd::run::report::Verdict;
use ictd_core::attention::Td0;
use ictd_core::rng::Rng;
use ictd_core::{constructions, td};
use nalgebra::{SMatrix, SVector};

#[test]
fn another_construction_is_no_algorithm_of_these() {
    let verify = Verify { dim: 3, layers: 10, ..options::parsed("") };
    let mut rng = Rng::new(1);
    let problem = Problem::<3>::random(&verify, &mut rng);
    let c: Vec<_> = (0..10).map(|_| preconditioner(0.3, &mut rng)).collect();
    let td = |w: &SVector<f64, 3>, c: &SMatrix<f64, 3, 3>| {
        td::td0::update(w, c, &problem.transitions, 0.9)
    };
    let weights = iterates(&c, &td).unwrap();
    let error = |construction| {
        let [literal, streaming] = problem.outputs::<7, _>(Td0, &c, construction).unwrap();
        let of = |y: Vec<f64>| {
            largest(weights.iter().zip(y).map(|(w, y)| (problem.query.dot(w) + y).abs()))
        };
        within_bound(of(literal), of(streaming))
    };
    assert_eq!(error(constructions::td0), Verdict::Holds);
    assert_eq!(error(constructions::residual_gradient), Verdict::DoesNotHold);
    assert_eq!(within_bound(0.0, largest([0.0, f64::NAN, 0.0].into_iter())), Verdict::DoesNotHold);
    assert_eq!(within_bound(1e-9, 0.0), Verdict::DoesNotHold);
}
