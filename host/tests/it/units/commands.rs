use crate::common::*;
use compute::predict::{KNOWN, Returns, Settled};
use ictd::commands::compare::first_difference;

fn difference(name: &str, a: &[u8], b: &[u8]) -> Option<String> {
    let directory = Folder::new();
    let paths = ["a", "b"].map(|side| directory.join(format!("{side}-{name}")));
    fs::write(&paths[0], a).unwrap();
    fs::write(&paths[1], b).unwrap();
    first_difference(&paths[0], &paths[1]).unwrap()
}

#[test]
fn the_first_difference_of_tables_and_results_is_named() {
    let found = difference("t.csv", b"x,y\n1,2\n3,4\n", b"x,y\n1,2\n3,5\n");
    assert_eq!(found.as_deref(), Some("row 2, column `y`: 4 against 5"));
    let found = difference("t.csv", b"x\n1\n", b"x\n1\n2\n");
    assert_eq!(found.as_deref(), Some("line 3: only in B"));
    let found = difference("r.json", b"{\n  \"a\": 2\n}", b"{\n  \"a\": 3\n}");
    assert_eq!(found.as_deref(), Some("line 2: `\"a\": 2` against `\"a\": 3`"));
}

#[test]
fn other_and_damaged_files_are_compared_byte_by_byte() {
    assert_eq!(difference("f.txt", b"abc", b"abd").as_deref(), Some("byte 2: 0x63 against 0x64"));
    assert_eq!(
        difference("f.npz", b"abc", b"ab").as_deref(),
        Some("3 against 2 bytes, equal as far as both go")
    );
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
