//! The theorem of preconditioned TD, held to the literal layers.

use super::*;
use ictd_core::Model;
use ictd_core::attention::Linear;
use ictd_core::model::ConstructionSettings;
use ictd_core::td::PreconditionedTd;
use ictd_core::transition::{query_token, token};

const LAYERS: usize = 40;

/// A random problem: transitions whose largest |phi|^2 is about 1, a query, and (alpha, beta, gamma).
fn problem<const D: usize>(rng: &mut Rng) -> (Vec<Transition<f64, D>>, SVector<f64, D>, [f64; 3]) {
    let n = 1 + (rng.uniform::<f64>() * 30.0) as usize;
    let scale = 1.0 / (D as f64).sqrt();
    let vector = |rng: &mut Rng| SVector::from_fn(|_, _| scale * rng.uniform_in(-1.0, 1.0));
    let transition = |rng: &mut Rng| Transition {
        phi: vector(rng),
        reward: rng.uniform_in(-1.0, 1.0),
        phi_next: vector(rng),
    };
    let transitions = (0..n).map(|_| transition(rng)).collect();
    let numbers = [rng.uniform_in(0.1, 0.5), rng.uniform_in(-0.1, 0.5), rng.uniform_in(0.0, 1.0)];
    (transitions, vector(rng), numbers)
}

/// Returns the largest relative difference between the layers of the construction and preconditioned TD, from transitions and
/// from G.
fn largest_difference<const D: usize, const K: usize>(rng: &mut Rng, lambda: f64) -> f64 {
    let (transitions, query, [alpha, beta, gamma]) = problem::<D>(rng);
    let mask = TdLambda::new(lambda).unwrap();
    let layer = constructions::preconditioned_td::<f64, D, K>(alpha, beta);
    let transformer = Transformer::<_, 1>::autoregressive(layer, LAYERS).unwrap();
    let columns: Vec<_> = transitions.iter().map(|t| token(t, gamma)).collect();
    let mut prompt = Prompt::<f64, K, 30>::from_columns(&columns, query_token(&query)).unwrap();
    let mut literal = Vec::new();
    transformer.forward(&mut prompt, &Linear(mask), |z| literal.push(z.output())).unwrap();

    let mut context = Context::<D, TdLambda<f64>, Growing, f64>::with_memory(mask, Growing);
    transitions.iter().for_each(|t| context.observe_transition(t).unwrap());
    let streamed = PreconditionedTd::from_statistic(&context.statistic::<K>(gamma, 0).unwrap());
    let exact = PreconditionedTd::from_transitions(&transitions, gamma, lambda).unwrap();
    let differences = literal.iter().enumerate().flat_map(|(l, literal)| {
        [streamed, exact].map(|means| {
            let w = means.weights(alpha, beta, l + 1);
            (dot(&w, &query) - literal).abs() / (w.norm() * query.norm()).max(1.0)
        })
    });
    differences.fold(0.0, f64::max)
}

#[test]
fn the_layers_are_preconditioned_td() {
    let mut rng = Rng::new(5);
    for _ in 0..5 {
        for lambda in [0.0, 0.6] {
            let differences = [
                largest_difference::<1, 3>(&mut rng, lambda),
                largest_difference::<2, 5>(&mut rng, lambda),
                largest_difference::<5, 11>(&mut rng, lambda),
                largest_difference::<8, 17>(&mut rng, lambda),
            ];
            assert!(differences.iter().all(|x| *x <= 1e-13), "{lambda}: {differences:?}");
        }
    }
}

#[test]
fn a_model_of_it_is_iterated_and_stored_and_runs_for_every_discount() {
    let settings = ConstructionSettings::new(0.8).step_size(0.5).depth(9);
    let model = Model::<3>::preconditioned_td(settings, 0.3).unwrap();
    let mut buffer = [0; 512];
    let bytes = model.write(&mut buffer).unwrap();
    assert_eq!(Model::<3>::from_bytes(bytes).unwrap(), model);

    let layer = constructions::preconditioned_td::<f32, 3, 7>(0.5, 0.3);
    assert_eq!(model.transformer().layers(), [layer]);
    // Sequential layers are multiplied.
    let dense = Transformer::<Layer<f32, 7>, 9>::sequential(&[layer; 9]).unwrap();
    let (mut rng, mut context) = (Rng::new(3), Context::<3>::new());
    for _ in 0..20 {
        let [phi, phi_next] = [(); 2].map(|()| [(); 3].map(|()| rng.uniform_in(-1.0, 1.0)));
        context.observe(&phi, rng.uniform_in(-1.0, 1.0), &phi_next).unwrap();
    }
    for gamma in [0.8, 0.3] {
        let multiplied = dense.value_function::<3>(&context.statistic(gamma, 0).unwrap()).unwrap();
        let read = model.value_function_for(&context, Gvf { cumulant: 0, gamma }).unwrap();
        assert!((read.weights - multiplied.weights).amax() < 1e-5, "{gamma}");
    }
    // Without beta, or with so many layers that whole layers are multiplied, it is the same algorithm.
    let td0 = Model::<3>::td0(settings).unwrap();
    assert_eq!(Model::<3>::preconditioned_td(settings, 0.0).unwrap(), td0);
    let deep = [144, 145].map(|depth| {
        let settings = settings.depth(depth);
        let model = Model::<3>::preconditioned_td(settings, 0.3).unwrap();
        model.value_function(&context).unwrap().weights
    });
    assert!((deep[0] - deep[1]).amax() < 1e-5);
    let refused = |alpha, beta| {
        let settings = settings.step_size(alpha);
        Model::<3>::preconditioned_td(settings, beta).unwrap_err()
    };
    assert_eq!(refused(0.5, f32::NAN), Error::NonFinite { parameter: "beta" });
    assert_eq!(refused(1e-30, 1e30), Error::NonFinite { parameter: "beta" });
    assert!(matches!(refused(-1.0, 0.1), Error::OutOfRange { parameter: "step_size", .. }));
}
