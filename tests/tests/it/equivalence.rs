//! The paper's claims in `f64`, where the golden data has no case: a streaming pass is the literal one on any numbers, and
//! the written equations are what the functions compute.

use super::*;

const K: usize = 7;
const N: usize = 60;
const MAX_DEPTH: usize = 5;

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

fn random_transformer(rng: &mut Rng, depth: usize) -> Transformer<Layer<f64, K>, MAX_DEPTH> {
    let mut layer = |_| Layer { p: random(rng, 0.3), q: random(rng, 0.3) };
    Transformer::sequential(&(0..depth).map(&mut layer).collect::<Vec<_>>()).unwrap()
}

/// A context of tokens with every entry random, and a query with every entry random.
fn dense_prompt(rng: &mut Rng, n: usize) -> Prompt<f64, K, N> {
    let columns: Vec<_> = (0..n).map(|_| random(rng, 1.0)).collect();
    Prompt::from_columns(&columns, random(rng, 1.0)).unwrap()
}

#[test]
fn streaming_equals_literal() {
    fn check<M: Mask<f64>>(mask: M) {
        let rng = &mut Rng::new(21);
        for (n, depth) in [(1, 5), (2, 2), (13, 3), (13, 1), (N, 5)] {
            let transformer = random_transformer(rng, depth);
            let prompt = dense_prompt(rng, n);
            let (mut z, mut literal) = (prompt.clone(), vec![]);
            transformer.forward(&mut z, &Linear(mask), |z| literal.push(z.output())).unwrap();
            let statistic = Statistic::from_prompt(&prompt, &mask).unwrap();
            let mut streaming = vec![];
            transformer.values_by_layer(&statistic, &prompt.query, |v| streaming.push(v));
            assert_close(&streaming, &literal, "values by layer");
            let value = -linalg::dot(&transformer.readout(&statistic), &prompt.query);
            assert_close(&[value], &literal[depth - 1..], "readout");
            // The context's columns go through the same maps, and G_l is Z_l M Z_l^T.
            let mut columns = prompt.context().to_vec();
            transformer.column_maps(&statistic, |g, b| {
                let direct = Statistic::from_columns(columns.iter().copied(), &mask).unwrap().g;
                assert_close(g.as_slice(), direct.as_slice(), "G");
                columns.iter_mut().for_each(|z| *z = b * *z);
            });
            for (got, want) in columns.iter().zip(z.context()) {
                assert_close(got.as_slice(), want.as_slice(), "columns");
            }
        }
    }
    check(Td0);
    check(TdLambda::new(0.7).unwrap());
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
fn attention_is_the_papers_matrix_expression() {
    let rng = &mut Rng::new(61);
    // P Z M (Z^T Q Z).
    let head = |z: &SMatrix<f64, K, 7>, p: &SMatrix<f64, K, K>, q, mask| {
        p * z * mask * (z.transpose() * q * z)
    };
    fn check<A: Attention<f64, K>>(
        attention: A,
        layer: &A::Layer,
        mut prompt: Prompt<f64, K, N>,
        update: SMatrix<f64, K, 7>,
    ) {
        let want = z_matrix(&prompt) + update / 6.0;
        attention.apply(layer, &mut prompt).unwrap();
        assert_close(z_matrix(&prompt).as_slice(), want.as_slice(), "Z");
    }
    let prompt = dense_prompt(rng, 6);
    let z = z_matrix(&prompt);
    let layer = Layer { p: random(rng, 1.0), q: random(rng, 1.0) };
    let lambda = TdLambda::new(0.75).unwrap();
    let of = |mask| head(&z, &layer.p, layer.q, mask);
    check(Linear(Td0), &layer, prompt.clone(), of(mask_matrix(&Td0)));
    check(Linear(lambda), &layer, prompt.clone(), of(mask_matrix(&lambda)));
    check(Linear(MeanCentred), &layer, prompt.clone(), of(mask_matrix(&MeanCentred)));
    // Z M softmax(Z^T Q Z), each row of the scores normalised.
    let mut weights = (z.transpose() * layer.q * z).map(f64::exp);
    weights.row_iter_mut().for_each(|mut row| row /= row.sum());
    let update = layer.p * z * mask_matrix(&Td0) * weights;
    check(SoftmaxAttention, &layer, prompt.clone(), update);
    // W (head 1; head 2).
    let mut draw = || random(rng, 0.5);
    let [p1, q1, w1, p2, q2, w2] = [(); 6].map(|()| draw());
    let of_heads = w1 * head(&z, &p1, q1, mask_matrix(&MeanCentred))
        + w2 * head(&z, &p2, q2, mask_matrix(&Td0));
    check(AverageReward, &TwoHeadLayer { p1, q1, w1, p2, q2, w2 }, prompt, of_heads);
}
