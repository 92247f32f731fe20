use judge::predict::{KNOWN, Returns, Settled};

#[test]
fn a_stream_settles_to_what_a_file_in_memory_has() {
    let n = 30_000;
    let values: Vec<f64> = (0..n).map(|t| f64::from(t % 17) - 5.0).collect();
    let gap = 20_000;
    for gamma in [0.0, 0.5, 0.9, 0.99] {
        let (mut returns, mut got) = (Returns::new(gamma, 1), Vec::new());
        let mut show = |s: Settled| {
            assert_eq!((s.row, s.predictions), (got.len() as u64, &[s.row as f32][..]));
            got.push(s.realised_return);
        };
        for (t, x) in values.iter().enumerate() {
            returns.push(t as u64, *x, t > 0 && t != gap, &[t as f32]);
            returns.settle(false, &mut show);
        }
        returns.settle(true, &mut show);
        assert_eq!(got.len(), values.len());
        let (mut sum, mut seen) = (0.0, 0.0);
        for t in (0..values.len()).rev() {
            (sum, seen) = match t + 1 {
                next if next == gap || next == values.len() => (values[t] / (1.0 - gamma), 0.0),
                next => (values[next] + gamma * sum, seen + 1.0),
            };
            let known = libm::pow(gamma, seen) <= KNOWN;
            assert_eq!(got[t], known.then_some(sum as f32), "gamma {gamma}, row {t}");
        }
    }
}
