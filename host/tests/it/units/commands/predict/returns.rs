use compute::predict::{KNOWN, Returns, Settled};

/// Rewards, and after which rows an episode is over: cut, or for good.
fn settled(gamma: f64, rewards: &[f64], cut: usize, over: usize) -> Vec<Option<f32>> {
    let mut returns = Returns::new(gamma, 1);
    let mut all = Vec::new();
    let mut show = |s: Settled| {
        assert_eq!((s.row, s.predictions), (all.len() as u64, &[s.row as f32][..]));
        all.push(s.followed);
    };
    for (t, r) in rewards.iter().enumerate() {
        returns.push(t as u64, 0.0, &[t as f32]);
        if t != cut && t + 1 < rewards.len() {
            returns.leave(*r, t == over);
        }
        returns.settle(false, &mut show);
    }
    returns.settle(true, &mut show);
    all
}

#[test]
fn a_stream_settles_to_what_a_file_in_memory_has() {
    let n = 30_000;
    let rewards: Vec<f64> = (0..n).map(|t| f64::from(t % 17) - 5.0).collect();
    let (cut, over) = (20_000, 9_000);
    for gamma in [0.0, 0.5, 0.9, 0.99] {
        let got = settled(gamma, &rewards, cut, over);
        assert_eq!(got.len(), rewards.len());
        let (mut sum, mut seen) = (0.0, 0.0);
        for t in (0..rewards.len()).rev() {
            (sum, seen) = match t {
                _ if t == cut || t + 1 == rewards.len() => (0.0, 0.0),
                _ if t == over => (rewards[t], f64::INFINITY),
                _ => (rewards[t] + gamma * sum, seen + 1.0),
            };
            let known = libm::pow(gamma, seen) <= KNOWN;
            assert_eq!(got[t], known.then_some(sum as f32), "gamma {gamma}, row {t}");
        }
    }
}
