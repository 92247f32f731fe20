//! IWS and SS of linear value functions.

use ictd_core::layer::Layer;
use ictd_core::mask::Td0;
use ictd_core::metrics::comparison::cosine;
use ictd_core::metrics::{EvaluationStates, batch_td};
use ictd_core::prompt::Prompt;
use ictd_core::rng::Rng;
use ictd_core::statistic::Statistic;
use ictd_core::tasks::{Mrp, Task, boyan_chain};
use ictd_core::transformer::Transformer;
use ictd_core::value_function::ValueFunction;
use nalgebra::{SMatrix, SVector};

fn setting(seed: u64) -> (EvaluationStates<f64, 4, 10>, Statistic<f64, 9>) {
    let mut rng = Rng::new(seed);
    let chain: Mrp<f64, 4, 10> = boyan_chain(10, 4, &mut rng).unwrap();
    let transitions = chain.trajectory::<30>(30, &mut rng).unwrap();
    let query = chain.feature_map()[0];
    let prompt = Prompt::<f64, 9, 30>::discounted(&transitions, 0.9, &query).unwrap();
    (EvaluationStates::of(&chain).unwrap(), Statistic::of_prompt(&prompt, &Td0).unwrap())
}

#[test]
fn iws_is_ss_for_linear_attention() {
    let mut rng = Rng::new(9);
    for seed in 0..50 {
        let (states, statistic) = setting(seed);
        let mut draw = || SMatrix::<f64, 9, 9>::from_fn(|_, _| rng.uniform_in(-0.5, 0.5));
        let layer = Layer { p: draw(), q: draw() };
        let transformer = Transformer::<_, 1>::autoregressive(layer, 3).unwrap();
        let v_tf = transformer.value_function(&statistic).unwrap();
        let v_td = batch_td(&statistic, 0.5, 3).unwrap();
        let exact = states.compare_linear(&v_tf, &v_td);
        // The paper's definition, by least squares on the states' values, finds the same weights.
        let fitted = states.compare(&states.sample_linear(&v_tf), &v_td).unwrap();
        assert!((exact.iws - exact.ss).abs() < 1e-14, "{exact:?}");
        assert!((fitted.iws - exact.iws).abs() < 1e-9, "{fitted:?} {exact:?}");
        assert_eq!((fitted.vd, fitted.ss), (exact.vd, exact.ss));
        // Of itself it is all alike, and of its negative nothing.
        let [same, negated] = [v_td, ValueFunction { weights: -v_td.weights }]
            .map(|v| states.compare_linear(&v, &v_td));
        assert!(same.vd == 0.0 && (same.iws - 1.0).abs() < 1e-14, "{same:?}");
        assert!((negated.iws + 1.0).abs() < 1e-14, "{negated:?}");
    }
}

#[test]
fn the_cosine_neither_overflows_nor_vanishes() {
    let x = SVector::<f32, 2>::new(3e30, 4e30);
    assert!((cosine(&x, &(x * 1e-38)) - 1.0).abs() < 1e-6);
    assert_eq!(cosine(&x, &SVector::zeros()), 0.0);
}
