//! Control: random MDPs, and what learns in them.

use ictd_core::rng::Rng;
use judge::control::{Critic, RandomMdp, shares};
use judge::estimator::{Estimator, Method};

#[test]
fn shares_are_about_0_of_random_policies_and_at_most_1() {
    let largest = |seed| {
        let mdp = RandomMdp::draw(&mut Rng::new(seed)).unwrap();
        let mut rng = Rng::new(1);
        let mut draw = || (0..32).map(|_| rng.uniform()).collect::<Vec<_>>();
        let shares = (0..200).map(|_| mdp.share(&draw()));
        let (sum, most) = shares.fold((0.0, 0.0), |(sum, most), x| (sum + x, f64::max(most, x)));
        // Policies drawn at random are about as good as random actions, and none is better than the best.
        assert!((sum / 200.0).abs() < 0.3, "{sum}");
        most
    };
    assert!((0..10).map(largest).all(|most| most > 0.2 && most <= 1.0 + 1e-9));
}

#[test]
fn online_td_with_the_greedy_action_as_target_is_q_learning() {
    let method = Method::OnlineTd { lambda: 0.0, alpha: 0.3, true_online: false };
    let mut stream = Estimator { method, gamma: 0.9, layers: 1 }.stream(6, None).unwrap();
    // Two actions, three states.
    let one_hot = |s: usize, a: usize| [0, 1, 2, 3, 4, 5].map(|i| f64::from(i == 3 * a + s));
    let (mut q, mut rng) = ([[0.0_f64; 3]; 2], Rng::new(1));
    let mut s = 0;
    for _ in 0..200 {
        let (a, next, r) = (rng.below(2) as usize, rng.below(3) as usize, rng.uniform::<f64>());
        let greedy = usize::from(q[1][next] > q[0][next]);
        stream.observe(&one_hot(s, a), r, Some(&one_hot(next, greedy)), 1.0).unwrap();
        q[a][s] += 0.3 * (r + 0.9 * f64::max(q[0][next], q[1][next]) - q[a][s]);
        s = next;
    }
    for (w, q) in stream.linear().unwrap().unwrap().weights.iter().zip(q.as_flattened()) {
        assert!((w - q).abs() < 1e-12, "{w} {q}");
    }
}

#[test]
fn the_universal_model_as_critic_comes_most_of_the_way_and_a_seed_repeats() {
    let of_seed = |seed| shares(&Critic::universal(), seed).unwrap();
    let ends: Vec<f64> = (0..5).map(|seed| of_seed(seed)[5]).collect();
    assert!(ends.iter().sum::<f64>() / 5.0 > 0.9, "{ends:?}");
    assert_eq!(of_seed(3), of_seed(3));
}
