//! The experiments beyond the paper, small: what they find is named, and the same again; two heads and the
//! residual gradient train, and are refused where they do not fit.

use crate::common::{files, ictd, json};
use std::path::Path;

/// Every file of an experiment but `run.json`, which holds times.
fn contents(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let read = |name: String| {
        let content = std::fs::read(directory.join(&name)).unwrap();
        (name, content)
    };
    files(directory).into_iter().filter(|name| !name.ends_with("run.json")).map(read).collect()
}

#[test]
fn experiments_beyond_the_paper_answer_with_the_same_bytes_again() {
    let [one, two] = [0; 2].map(|_| tempfile::tempdir().unwrap());
    for id in ["emergence", "rnn-context"] {
        let line = format!("{id} --seeds 2 --mrps 40 --json");
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
fn two_heads_are_refused_what_they_do_not_have() {
    let out = tempfile::tempdir().unwrap();
    for (options, named) in [
        ("--gamma 0.5", "--gamma"),
        ("--lambda 0.5", "--lambda"),
        ("--attention softmax", "--heads"),
        ("--model rnn", "--heads"),
        ("--loss residual-gradient", "--loss"),
        ("--parameters equivariant", "--parameters"),
        ("--normalise", "--normalise"),
        ("--dim 5", "--dim"),
    ] {
        let output = ictd(out.path(), &format!("train --heads 2 {options}"));
        let line = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{options}");
        assert!(line.contains(named), "{options}: {line}");
    }
}

#[test]
fn two_heads_and_the_residual_gradient_train_to_the_same_bits_on_any_threads() {
    for options in
        ["--heads 2", "--loss residual-gradient", "--loss residual-gradient --optimizer td"]
    {
        let small =
            format!("train {options} --batches 1 --batch-size 8 --context 6 --json --seeds 3");
        let digests = |threads: usize| {
            let out = tempfile::tempdir().unwrap();
            let output = ictd(out.path(), &format!("{small} --mrps 12 --threads {threads}"));
            assert_eq!(output.status.code(), Some(0), "{options}");
            json(&output)["seeds"].as_array().unwrap().iter().map(|s| s["digest"].clone()).collect()
        };
        let one: Vec<_> = digests(1);
        let four: Vec<_> = digests(4);
        assert_eq!((one.len(), &one), (3, &four), "{options}");
        assert!(one[0] != one[1]);
    }
}
