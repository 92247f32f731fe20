use crate::common::*;
use ictd::commands::compare::first_difference;
use judge::predict::{KNOWN, Returns, Settled};

#[test]
fn the_first_difference_of_tables_and_results_is_named() {
    for (name, a, b, found) in [
        ("t.csv", "x,y\n1,2\n3,4\n", "x,y\n1,2\n3,5\n", "row 2, column `y`: 4 against 5"),
        ("t.csv", "x\n1\n", "x\n1\n2\n", "line 3: only in B"),
        ("r.json", "{\n  \"a\": 2\n}", "{\n  \"a\": 3\n}", "line 2: `\"a\": 2` against `\"a\": 3`"),
        // Other files, and damaged ones.
        ("f.txt", "abc", "abd", "byte 2: 0x63 against 0x64"),
        ("f.npz", "abc", "ab", "3 against 2 bytes, equal as far as both go"),
    ] {
        let place = Folder::new();
        let [a, b] = [("a", a), ("b", b)].map(|(side, content)| {
            place.put(format!("{side}-{name}"), content);
            place.join(format!("{side}-{name}"))
        });
        assert_eq!(first_difference(&a, &b).unwrap().as_deref(), Some(found));
    }
}

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
