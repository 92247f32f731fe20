//! App. "Theoretical Analysis of Linear RNN": a linear RNN's value is a sum of one term for each token, so that what a
//! reward adds to it depends neither on the features beside it nor on the query, as it must for one step of TD.

use super::*;

const D: usize = 2;
const K: usize = 2 * D + 1;
const GAMMA: f64 = 0.9;

type Token = SVector<f64, K>;
type Phi = SVector<f64, D>;

/// Returns W_o a_n, where a_{t+1} = W_ax x_t + W_aa a_t and a_0 = 0.
fn linear_rnn(rng: &mut Rng, tokens: &[Token]) -> f64 {
    const H: usize = 4;
    let w_ax = SMatrix::<f64, H, K>::from_fn(|_, _| rng.normal());
    let w_aa = SMatrix::<f64, H, H>::from_fn(|_, _| rng.normal());
    let w_o = SMatrix::<f64, 1, H>::from_fn(|_, _| rng.normal());
    let a = tokens.iter().fold(SVector::zeros(), |a: SVector<f64, H>, x| w_ax * x + w_aa * a);
    (w_o * a)[0]
}

/// Returns what a reward of 1 adds to the value of a query after two transitions, of which the second has it.
fn added(phi: Phi, query: Phi, value: impl Fn(&[Transition<f64, D>], Phi) -> f64) -> f64 {
    let first = Transition { phi: Phi::new(0.3, -0.2), reward: 0.5, phi_next: phi };
    let of = |reward| value(&[first, Transition { phi, reward, phi_next: query }], query);
    of(1.0) - of(0.0)
}

#[test]
fn a_linear_rnn_adds_a_reward_without_regard_to_features_and_query_and_td_does_not() {
    let (x, y) = (Phi::new(1.0, 0.0), Phi::new(0.6, 0.8));
    for seed in 0..20 {
        let rnn = |context: &[Transition<f64, D>], query: Phi| {
            let token = |t: &Transition<f64, D>| {
                let [p, n] = [t.phi, GAMMA * t.phi_next];
                Token::new(p[0], p[1], n[0], n[1], t.reward)
            };
            let query = Token::new(query[0], query[1], 0.0, 0.0, 0.0);
            let tokens: Vec<_> = context.iter().map(token).chain([query]).collect();
            linear_rnn(&mut Rng::new(seed), &tokens)
        };
        let of_rnn = added(x, x, rnn);
        for (phi, query) in [(x, y), (y, x), (y, y)] {
            assert!((added(phi, query, rnn) - of_rnn).abs() < 1e-9, "seed {seed}");
        }
    }
    let layer: Layer<f64, K> = constructions::td0(&SMatrix::<f64, D, D>::identity());
    let transformer = Transformer::<_, 1>::autoregressive(layer, 1).unwrap();
    for (phi, query) in [(x, x), (x, y), (y, x), (y, y), (x, -y)] {
        let of_td = added(phi, query, |context, query| {
            let prompt = Prompt::<f64, K, 2>::discounted(context, GAMMA, &query).unwrap();
            transformer.value(&prompt, &Linear(Td0)).unwrap()
        });
        // w_1 = sum_j R_j phi_j / n.
        assert!((of_td - phi.dot(&query) / 2.0).abs() < 1e-12);
    }
}
