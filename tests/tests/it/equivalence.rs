//! The paper's claims in `f64`: a forward pass is an algorithm, a streaming pass is the literal one,
//! and the written equations are what the functions compute.

use ictd_core::attention::{
    Attention, AverageReward, Mask, MeanCentred, SoftmaxAttention, Td0, TdLambda,
};
use ictd_core::context::{AverageRewardContext, Context, Growing, Sliding};
use ictd_core::layer::{Layer, TwoHeadLayer};
use ictd_core::prompt::Prompt;
use ictd_core::rng::Rng;
use ictd_core::statistic::Statistic;
use ictd_core::tasks::{self, Task, boyan_chain, boyan_chain_representable, loop_mrp, random_mdp};
use ictd_core::transformer::Transformer;
use ictd_core::transition::{Transition, query_token};
use ictd_core::value_function::ValueFunction;
use ictd_core::{constructions, linalg, td};
use nalgebra::{SMatrix, SVector};

const D: usize = 3;
/// Discounted tokens.
const K: usize = 7;
/// Average-reward tokens.
const A: usize = 8;
const N: usize = 60;
const MAX_DEPTH: usize = 20;
const GAMMA: f64 = 0.9;

type Phi = SVector<f64, D>;
type C = SMatrix<f64, D, D>;
type Transitions = Vec<Transition<f64, D>>;

/// A trajectory of each task.
fn trajectories(seed: u64) -> Vec<(&'static str, Transitions)> {
    fn from<T: Task<f64, D>>(task: &T, rng: &mut Rng) -> Transitions {
        task.trajectory::<N>(N, rng).unwrap().to_vec()
    }
    let rng = &mut Rng::new(seed);
    let boyan = boyan_chain::<f64, D, 10>(10, rng).unwrap();
    let representable = boyan_chain_representable::<f64, D, 10>(7, GAMMA, rng).unwrap();
    let mdp = random_mdp::<f64, D, 10>(6, 3, GAMMA, rng).unwrap();
    let ring = loop_mrp::<f64, D, 15>(15, 0.8, GAMMA, rng).unwrap();
    let cart_pole = tasks::cart_pole_single_grid::<f64, D, 16>(2, rng).unwrap();
    vec![
        ("Boyan's chain", from(&boyan, rng)),
        ("Boyan's chain, representable", from(&representable, rng)),
        ("random MDP", from(&mdp, rng)),
        ("Loop", from(&ring, rng)),
        ("CartPole", from(&cart_pole, rng)),
    ]
}

fn random<const R: usize, const S: usize>(rng: &mut Rng, size: f64) -> SMatrix<f64, R, S> {
    SMatrix::from_fn(|_, _| rng.uniform_in(-size, size))
}

/// Equal up to rounding: relative to the largest of the numbers and 1.
fn assert_close(got: &[f64], want: &[f64], what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    let largest = want.iter().fold(1.0f64, |m, x| m.max(x.abs()));
    for (g, w) in got.iter().zip(want) {
        assert!((g - w).abs() <= 1e-11 * largest, "{what}: {g} is not {w}");
    }
}

/// Every task, depth 1 to 20, sequential and autoregressive: literal, streaming and classical agree
/// at every layer.
fn forward_pass_is<M: Mask<f64> + Attention<f64, K, Layer = Layer<f64, K>>>(
    mask: M,
    layer: fn(&C) -> Layer<f64, K>,
    update: impl Fn(&Phi, &C, &[Transition<f64, D>]) -> Phi,
) {
    for seed in 0..3 {
        for (task, transitions) in trajectories(seed) {
            let rng = &mut Rng::new(100 + seed);
            let query = random::<D, 1>(rng, 1.0);
            for depth in [1, 2, 3, 7, MAX_DEPTH] {
                for shared in [true, false] {
                    let first: C = random(rng, 0.3);
                    let c: Vec<C> =
                        (0..depth).map(|_| if shared { first } else { random(rng, 0.3) }).collect();
                    let layers: Vec<_> = c.iter().map(layer).collect();
                    let transformer = if shared {
                        Transformer::<_, MAX_DEPTH>::autoregressive(layers[0], depth)
                    } else {
                        Transformer::sequential(&layers)
                    }
                    .unwrap();
                    let what = format!("{task}, depth {depth}, shared {shared}");

                    let (mut w, mut want) = (linalg::zeros(), vec![]);
                    for c_l in &c {
                        w = update(&w, c_l, &transitions);
                        want.push(linalg::dot(&w, &query));
                    }
                    let prompt = Prompt::<f64, K, N>::discounted(&transitions, GAMMA, &query);
                    let (mut prompt, mut literal) = (prompt.unwrap(), vec![]);
                    let statistic = Statistic::of_prompt(&prompt, &mask).unwrap();
                    transformer.forward(&mut prompt, &mask, |z| literal.push(z.output())).unwrap();
                    assert_close(&literal, &want, &what);
                    let mut streaming = vec![];
                    let token = query_token::<_, D, K>(&query);
                    transformer.values_by_layer(&statistic, &token, |v| streaming.push(v));
                    assert_close(&streaming, &want, &what);
                    let mut context = Context::<D, _, _, f64>::with(mask, Growing);
                    for t in &transitions {
                        context.observe_transition(t).unwrap();
                    }
                    let value: ValueFunction<f64, D> = transformer
                        .value_function(&context.statistic::<K>(GAMMA, 0).unwrap())
                        .unwrap();
                    assert_close(value.weights.as_slice(), w.as_slice(), &what);
                }
            }
        }
    }
}

#[test]
fn theorem_1_is_td0_on_every_task_at_every_depth() {
    forward_pass_is(Td0, constructions::td0, |w, c, t| td::td0::update(w, c, t, GAMMA).unwrap());
}

#[test]
fn the_residual_gradient_corollary_holds_on_every_task_at_every_depth() {
    forward_pass_is(Td0, constructions::residual_gradient, |w, c, t| {
        td::residual_gradient::update(w, c, t, GAMMA).unwrap()
    });
}

#[test]
fn the_td_lambda_corollary_holds_on_every_task_at_every_depth() {
    for lambda in [0.0, 0.5, 1.0] {
        forward_pass_is(TdLambda::new(lambda).unwrap(), constructions::td_lambda, |w, c, t| {
            td::td_lambda::update(w, c, t, GAMMA, lambda).unwrap()
        });
    }
}

#[test]
fn the_one_layer_corollary_values_the_query_as_theorem_1_does() {
    for (task, transitions) in trajectories(5) {
        let rng = &mut Rng::new(6);
        let (c, query): (C, Phi) = (random(rng, 1.0), random(rng, 1.0));
        let prompt = Prompt::<f64, K, N>::discounted(&transitions, GAMMA, &query).unwrap();
        let value = |layer, depth| {
            Transformer::<_, 1>::autoregressive(layer, depth).unwrap().value(&prompt, &Td0).unwrap()
        };
        let (corollary, theorem) = (constructions::one_layer(&c), constructions::td0(&c));
        let w = td::td0::update(&linalg::zeros(), &c, &transitions, GAMMA).unwrap();
        assert_close(&[value(corollary, 1)], &[linalg::dot(&w, &query)], task);
        assert_close(&[value(theorem, 1)], &[linalg::dot(&w, &query)], task);
        // A second layer needs the bootstrap term that the corollary leaves out.
        assert!((value(corollary, 2) - value(theorem, 2)).abs() > 1e-6, "{task}");
    }
}

#[test]
fn two_heads_are_average_reward_td_on_every_task_at_every_depth() {
    for (task, transitions) in trajectories(7) {
        let rng = &mut Rng::new(8);
        let query: Phi = random(rng, 1.0);
        for depth in [1, 2, 3, 7, MAX_DEPTH] {
            let c: Vec<C> = (0..depth).map(|_| random(rng, 0.2)).collect();
            let layers: Vec<TwoHeadLayer<f64, A>> =
                c.iter().map(constructions::average_reward).collect();
            let transformer = Transformer::<_, MAX_DEPTH>::sequential(&layers).unwrap();
            let (mut w, mut want) = (linalg::zeros(), vec![]);
            for c_l in &c {
                w = td::average_reward::update(&w, c_l, &transitions).unwrap();
                want.push(linalg::dot(&w, &query));
            }
            let mut prompt = Prompt::<f64, A, N>::average_reward(&transitions, &query).unwrap();
            let mut literal = vec![];
            transformer.forward(&mut prompt, &AverageReward, |z| literal.push(z.output())).unwrap();
            assert_close(&literal, &want, task);
            let mut context = AverageRewardContext::<D, Growing, f64>::new();
            for t in &transitions {
                context.observe(&t.phi, t.reward, &t.phi_next).unwrap();
            }
            let value: ValueFunction<f64, D> =
                transformer.value_function(&context.statistics::<A>().unwrap()).unwrap();
            assert_close(value.weights.as_slice(), w.as_slice(), task);
        }
    }
}

fn random_transformer(rng: &mut Rng, depth: usize) -> Transformer<Layer<f64, K>, MAX_DEPTH> {
    let layers: Vec<_> =
        (0..depth).map(|_| Layer { p: random(rng, 0.3), q: random(rng, 0.3) }).collect();
    Transformer::sequential(&layers).unwrap()
}

/// A context of tokens with every entry random, and a query with every entry random.
fn dense_prompt(rng: &mut Rng, n: usize) -> Prompt<f64, K, N> {
    let columns: Vec<_> = (0..n).map(|_| random(rng, 1.0)).collect();
    Prompt::from_columns(&columns, random(rng, 1.0)).unwrap()
}

fn streaming_equals_literal_under<M: Mask<f64> + Attention<f64, K, Layer = Layer<f64, K>>>(
    mask: M,
) {
    let rng = &mut Rng::new(21);
    for n in [1, 2, 13, N] {
        for depth in [1, 2, 3, 5] {
            let transformer = random_transformer(rng, depth);
            let prompt = dense_prompt(rng, n);
            let mut literal = vec![];
            let mut z = prompt.clone();
            transformer.forward(&mut z, &mask, |z| literal.push(z.output())).unwrap();
            let statistic = Statistic::of_prompt(&prompt, &mask).unwrap();
            let mut streaming = vec![];
            transformer.values_by_layer(&statistic, prompt.query(), |v| streaming.push(v));
            assert_close(&streaming, &literal, "values by layer");
            let readout = transformer.readout(&statistic);
            let value = -linalg::dot(&readout, prompt.query());
            assert_close(&[value], &literal[depth - 1..], "readout");
            // The context's columns go through the same maps, and G_l is Z_l M Z_l^T.
            let (mut columns, mut l) = (prompt.context().to_vec(), 0);
            transformer.column_maps(&statistic, |g, b| {
                let here = Prompt::<f64, K, N>::from_columns(&columns, *prompt.query()).unwrap();
                let direct = Statistic::of_prompt(&here, &mask).unwrap().g;
                assert_close(g.as_slice(), direct.as_slice(), "G");
                columns.iter_mut().for_each(|z| *z = b * *z);
                l += 1;
            });
            assert_eq!(l, depth);
            for (got, want) in columns.iter().zip(z.context()) {
                assert_close(got.as_slice(), want.as_slice(), "columns");
            }
        }
    }
}

#[test]
fn streaming_equals_literal() {
    streaming_equals_literal_under(Td0);
    streaming_equals_literal_under(TdLambda::new(0.7).unwrap());
    streaming_equals_literal_under(MeanCentred);
}

#[test]
fn value_is_linear_in_the_query() {
    fn value<B: Attention<f64, K, Layer = Layer<f64, K>>>(
        attention: &B,
        transformer: &Transformer<Layer<f64, K>, MAX_DEPTH>,
        transitions: &[Transition<f64, D>],
        query: &Phi,
    ) -> f64 {
        let prompt = Prompt::<f64, K, N>::discounted(transitions, GAMMA, query).unwrap();
        transformer.value(&prompt, attention).unwrap()
    }
    let rng = &mut Rng::new(31);
    for (task, transitions) in trajectories(32) {
        for depth in [1, 2, 4] {
            let transformer = random_transformer(rng, depth);
            let (x, y): (Phi, Phi) = (random(rng, 1.0), random(rng, 1.0));
            let (a, b) = (rng.uniform_in(-2.0, 2.0), rng.uniform_in(-2.0, 2.0));
            let mixed = a * x + b * y;
            let v = |query| value(&Td0, &transformer, &transitions, query);
            assert_close(&[v(&mixed)], &[a * v(&x) + b * v(&y)], task);
            let mask = TdLambda::new(0.5).unwrap();
            let v = |query| value(&mask, &transformer, &transitions, query);
            assert_close(&[v(&mixed)], &[a * v(&x) + b * v(&y)], task);
            // Softmax attention is not: the query enters every row's normalisation.
            let v = |query| value(&SoftmaxAttention, &transformer, &transitions, query);
            if depth > 1 {
                assert!((v(&mixed) - (a * v(&x) + b * v(&y))).abs() > 1e-9, "{task}");
            }
        }
    }
}

#[test]
fn lstd_is_the_limit_of_the_iterations() {
    // The transformer of many layers with C = alpha I: w_l - w* shrinks with the slowest mode.
    for lambda in [0.0, 0.6] {
        let rng = &mut Rng::new(41);
        let task = random_mdp::<f64, D, 10>(8, 2, GAMMA, rng).unwrap();
        let transitions = task.trajectory::<N>(N, rng).unwrap();
        let limit = td::lstd::solve(&transitions, GAMMA, lambda).unwrap();
        let mask = TdLambda::new(lambda).unwrap();
        let mut context = Context::<D, _, _, f64>::with(mask, Growing);
        for t in &transitions {
            context.observe_transition(t).unwrap();
        }
        let layer = constructions::td_lambda(&constructions::learning_rate::<f64, D>(0.3));
        let mut distance = f64::INFINITY;
        for depth in [1, 10, 100, 1_000, 10_000] {
            let transformer = Transformer::<_, 1>::autoregressive(layer, depth).unwrap();
            let weights: Phi = transformer
                .value_function(&context.statistic::<K>(GAMMA, 0).unwrap())
                .unwrap()
                .weights;
            let now = (weights - limit).norm();
            assert!(now < distance || now < 1e-9, "depth {depth}: {now} after {distance}");
            distance = now;
        }
        assert!(distance < 1e-9 * limit.norm().max(1.0), "lambda {lambda}: {distance}");
    }
}

#[test]
fn a_sliding_context_is_the_prompt_of_its_last_transitions() {
    fn check(mask: impl Mask<f64>) {
        let mut window = Context::<D, _, _, f64>::with(mask, Sliding::<16>);
        let (_, transitions) = trajectories(51).swap_remove(0);
        for (i, t) in transitions.iter().enumerate() {
            window.observe_transition(t).unwrap();
            let last = &transitions[(i + 1).saturating_sub(16)..=i];
            let prompt = Prompt::<f64, K, 16>::discounted(last, GAMMA, &linalg::zeros()).unwrap();
            let want = Statistic::of_prompt(&prompt, &mask).unwrap();
            let got = window.statistic::<K>(GAMMA, 0).unwrap();
            assert_eq!(got.inverse_len, want.inverse_len);
            assert_close(got.g.as_slice(), want.g.as_slice(), "G");
        }
    }
    check(Td0);
    check(TdLambda::new(0.8).unwrap());
    check(TdLambda::new(1.0).unwrap());
    check(MeanCentred);
}

/// The mask as the (n + 1, n + 1) matrix of the paper, n = 6.
fn mask_matrix<M: Mask<f64>>(mask: &M) -> SMatrix<f64, 7, 7> {
    SMatrix::from_fn(|r, c| mask.entry(r, c, 6))
}

fn z_matrix(prompt: &Prompt<f64, K, N>) -> SMatrix<f64, K, 7> {
    SMatrix::from_fn(|i, c| prompt.column(c)[i])
}

#[test]
fn masks_are_the_papers_matrices() {
    let query_is_no_key = |r: usize, c: usize| r < 6 && c < 6;
    let td0 =
        SMatrix::<f64, 7, 7>::from_fn(
            |r, c| {
                if r == c && query_is_no_key(r, c) { 1.0 } else { 0.0 }
            },
        );
    assert_eq!(mask_matrix(&Td0), td0);
    let lambda: f64 = 0.75;
    let decay = SMatrix::<f64, 7, 7>::from_fn(|r, c| {
        if c <= r && query_is_no_key(r, c) { lambda.powi((r - c) as i32) } else { 0.0 }
    });
    assert_close(
        mask_matrix(&TdLambda::new(lambda).unwrap()).as_slice(),
        decay.as_slice(),
        "TD(lambda)",
    );
    // (I - U diag(1, 1/2, .., 1/(n+1))) M^(2), U upper triangular with ones.
    let u = SMatrix::<f64, 7, 7>::from_fn(|r, c| if r <= c { 1.0 } else { 0.0 });
    let shares =
        SMatrix::<f64, 7, 7>::from_fn(|r, c| if r == c { 1.0 / (r as f64 + 1.0) } else { 0.0 });
    let centred = (SMatrix::<f64, 7, 7>::identity() - u * shares) * td0;
    assert_close(mask_matrix(&MeanCentred).as_slice(), centred.as_slice(), "head 1");
}

#[test]
fn linear_attention_is_the_papers_matrix_expression() {
    fn check<M: Mask<f64> + Attention<f64, K, Layer = Layer<f64, K>>>(mask: M) {
        let rng = &mut Rng::new(61);
        let layer = Layer { p: random(rng, 1.0), q: random(rng, 1.0) };
        let mut prompt = dense_prompt(rng, 6);
        let (z, m) = (z_matrix(&prompt), mask_matrix(&mask));
        // Z + (1/n) P Z M (Z^T Q Z).
        let want = z + layer.p * z * m * (z.transpose() * layer.q * z) / 6.0;
        mask.apply(&layer, &mut prompt).unwrap();
        assert_close(z_matrix(&prompt).as_slice(), want.as_slice(), "Z");
        let statistic = z * m * z.transpose();
        prompt = Prompt::from_columns(
            &(0..6).map(|c| z.column(c).into_owned()).collect::<Vec<_>>(),
            z.column(6).into_owned(),
        )
        .unwrap();
        let g = Statistic::of_prompt(&prompt, &mask).unwrap().g;
        assert_close(g.as_slice(), statistic.as_slice(), "G = Z M Z^T");
    }
    check(Td0);
    check(TdLambda::new(0.75).unwrap());
    check(MeanCentred);
}

#[test]
fn softmax_attention_is_the_papers_matrix_expression() {
    let rng = &mut Rng::new(71);
    let layer = Layer { p: random(rng, 1.0), q: random(rng, 1.0) };
    let mut prompt = dense_prompt(rng, 6);
    let z = z_matrix(&prompt);
    // Z + (1/n) P Z M softmax(Z^T Q Z), each row of the scores normalised.
    let mut weights = (z.transpose() * layer.q * z).map(f64::exp);
    for mut row in weights.row_iter_mut() {
        let total = row.sum();
        row /= total;
    }
    let want = z + layer.p * z * mask_matrix(&Td0) * weights / 6.0;
    SoftmaxAttention.apply(&layer, &mut prompt).unwrap();
    assert_close(z_matrix(&prompt).as_slice(), want.as_slice(), "Z");
}

#[test]
fn a_two_head_layer_is_the_papers_matrix_expression() {
    let rng = &mut Rng::new(81);
    let layer: TwoHeadLayer<f64, K> = TwoHeadLayer {
        p1: random(rng, 0.5),
        q1: random(rng, 0.5),
        w1: random(rng, 0.5),
        p2: random(rng, 0.5),
        q2: random(rng, 0.5),
        w2: random(rng, 0.5),
    };
    let mut prompt = dense_prompt(rng, 6);
    let z = z_matrix(&prompt);
    let head = |p, q, m| p * z * m * (z.transpose() * q * z);
    let mut both = SMatrix::<f64, { 2 * K }, 7>::zeros();
    both.fixed_rows_mut::<K>(0).copy_from(&head(layer.p1, layer.q1, mask_matrix(&MeanCentred)));
    both.fixed_rows_mut::<K>(K).copy_from(&head(layer.p2, layer.q2, mask_matrix(&Td0)));
    let mut w = SMatrix::<f64, K, { 2 * K }>::zeros();
    w.fixed_columns_mut::<K>(0).copy_from(&layer.w1);
    w.fixed_columns_mut::<K>(K).copy_from(&layer.w2);
    let want = z + w * both / 6.0;
    AverageReward.apply(&layer, &mut prompt).unwrap();
    assert_close(z_matrix(&prompt).as_slice(), want.as_slice(), "Z");
}

#[test]
fn kernels_are_nalgebras_products_bit_for_bit() {
    fn check<const R: usize, const M: usize, const S: usize>(rng: &mut Rng) {
        for _ in 0..20 {
            let a: SMatrix<f64, R, M> = random(rng, 2.0);
            let b: SMatrix<f64, M, S> = random(rng, 2.0);
            let (c, d) = (random::<M, R>(rng, 2.0), random::<S, M>(rng, 2.0));
            let (x, y) = (random::<M, 1>(rng, 2.0), random::<R, 1>(rng, 2.0));
            assert_eq!(linalg::mul(&a, &b), a * b);
            assert_eq!(linalg::transpose_mul(&c, &b), c.transpose() * b);
            assert_eq!(linalg::mul_transpose(&a, &d), a * d.transpose());
            assert_eq!(linalg::mul_vector(&a, &x), a * x);
            assert_eq!(linalg::transpose_mul_vector(&a, &y), a.transpose() * y);
            let (a32, b32) = (a.map(|x| x as f32), b.map(|x| x as f32));
            assert_eq!(linalg::mul(&a32, &b32), a32 * b32);
        }
    }
    let rng = &mut Rng::new(91);
    check::<1, 1, 1>(rng);
    check::<3, 3, 3>(rng);
    check::<9, 9, 9>(rng);
    check::<17, 17, 17>(rng);
    check::<4, 9, 2>(rng);
    check::<13, 5, 16>(rng);
}
