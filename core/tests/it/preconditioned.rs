//! The theorem of preconditioned TD, held to the literal layers.

use super::*;
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
    transformer.forward(&mut prompt, &mask, |z| literal.push(z.output())).unwrap();

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
