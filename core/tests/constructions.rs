//! Each construction's forward pass, literal and streaming, is its classical algorithm.

use ictd_core::attention::{Attention, Mask, Td0, TdLambda};
use ictd_core::constructions;
use ictd_core::context::{Context, Growing};
use ictd_core::layer::Layer;
use ictd_core::linalg;
use ictd_core::prompt::Prompt;
use ictd_core::rng::Rng;
use ictd_core::statistic::Statistic;
use ictd_core::tasks::{Task, random_mdp};
use ictd_core::td;
use ictd_core::transformer::Transformer;
use ictd_core::transition::{Transition, query_token};
use nalgebra::{SMatrix, SVector};

const D: usize = 3;
const K: usize = 7;
const N: usize = 40;
const L: usize = 6;
const GAMMA: f64 = 0.9;

type C = SMatrix<f64, D, D>;

fn data(seed: u64) -> (Vec<Transition<f64, D>>, Vec<C>, SVector<f64, D>) {
    let mut rng = Rng::new(seed);
    let task = random_mdp::<f64, D, 8>(6, 3, GAMMA, &mut rng).unwrap();
    let transitions = task.trajectory::<N>(N, &mut rng).unwrap();
    let c = (0..L).map(|_| C::from_fn(|_, _| rng.uniform_in(-0.5, 0.5))).collect();
    let query = SVector::from_fn(|_, _| rng.uniform_in(-1.0, 1.0));
    (transitions.to_vec(), c, query)
}

fn forward_pass_is<M: Mask<f64> + Attention<f64, K, Layer = Layer<f64, K>>>(
    mask: M,
    layer: fn(&C) -> Layer<f64, K>,
    update: impl Fn(&SVector<f64, D>, &C, &[Transition<f64, D>]) -> SVector<f64, D>,
) {
    for seed in 0..10 {
        let (transitions, c, query) = data(seed);
        let layers: Vec<_> = c.iter().map(layer).collect();
        let transformer = Transformer::<_, L>::sequential(&layers).unwrap();
        let mut want = Vec::new();
        let mut w = linalg::zeros();
        for c_l in &c {
            w = update(&w, c_l, &transitions);
            want.push(linalg::dot(&w, &query));
        }

        let mut prompt = Prompt::<f64, K, N>::discounted(&transitions, GAMMA, &query).unwrap();
        let statistic = Statistic::of_prompt(&prompt, &mask).unwrap();
        let mut literal = Vec::new();
        transformer.forward(&mut prompt, &mask, |z| literal.push(z.output())).unwrap();
        let mut streaming = Vec::new();
        transformer
            .values_by_layer(&statistic, &query_token::<_, D, K>(&query), |v| streaming.push(v));

        let mut context = Context::<D, M, Growing, f64>::with(mask, Growing);
        for t in &transitions {
            context.observe_transition(t).unwrap();
        }
        let statistic = context.statistic::<K>(GAMMA, 0).unwrap();
        let value = transformer.value_function::<D>(&statistic).unwrap();
        for (l, want) in want.iter().enumerate() {
            for got in [literal[l], streaming[l]] {
                assert!((got - want).abs() < 1e-12, "layer {l}: {got} is not {want}");
            }
        }
        assert!((value.at(&query) - want[L - 1]).abs() < 1e-12);
        assert!((value.weights - w).amax() < 1e-12);
    }
}

#[test]
fn theorem_1_is_td0() {
    forward_pass_is(Td0, constructions::td0, |w, c, t| td::td0::update(w, c, t, GAMMA).unwrap());
}

#[test]
fn corollary_is_residual_gradient() {
    forward_pass_is(Td0, constructions::residual_gradient, |w, c, t| {
        td::residual_gradient::update(w, c, t, GAMMA).unwrap()
    });
}

#[test]
fn corollary_is_td_lambda() {
    for lambda in [0.0, 0.5, 0.9, 1.0] {
        forward_pass_is(TdLambda::new(lambda).unwrap(), constructions::td_lambda, |w, c, t| {
            td::td_lambda::update(w, c, t, GAMMA, lambda).unwrap()
        });
    }
}
