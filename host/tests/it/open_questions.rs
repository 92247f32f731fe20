//! The experiments beyond the paper, on a small scale: they name what they find, and repeat it.

use crate::common::{contents, ictd, json, object};
use serde_json::Value;

#[test]
fn experiments_beyond_the_paper_answer_with_the_same_bytes_again() {
    let [one, two] = [0; 2].map(|_| tempfile::tempdir().unwrap());
    for id in ["emergence", "rnn-context", "control"] {
        let line = format!("{id} --seeds 2 --tasks 40 --json");
        let output = ictd(one.path(), &line);
        // So little training need not make a claim hold.
        assert!(matches!(output.status.code(), Some(0 | 1)), "{id}");
        assert!(!json(&output)["claims"].as_array().unwrap().is_empty(), "{id}");
        let again = ictd(two.path(), &format!("{line} --threads 4"));
        assert_eq!(again.status.code(), output.status.code(), "{id}");
        let expected = contents(&one.path().join(id));
        assert!(expected.iter().any(|(name, _)| name.ends_with(".svg")), "{id}");
        assert!(contents(&two.path().join(id)) == expected, "{id}");
    }
}

#[test]
fn the_residual_gradient_trains_to_the_same_bits_on_any_threads() {
    for options in ["--loss residual-gradient", "--loss residual-gradient --optimizer td"] {
        let digests = |threads: usize| -> Vec<Value> {
            let out = tempfile::tempdir().unwrap();
            let small = "--batches 1 --batch-size 8 --context-length 6 --seeds 3 --tasks 12";
            let trained =
                object(out.path(), 0, &format!("train {options} {small} --threads {threads}"));
            trained["seeds"].as_array().unwrap().iter().map(|s| s["digest"].clone()).collect()
        };
        let one = digests(1);
        assert_eq!((one.len(), &one), (3, &digests(4)), "{options}");
        assert!(one[0] != one[1]);
    }
}
