//! The experiments beyond the paper, on a small scale: they name what they find, and repeat it.

use crate::common::{contents, ictd, json};

#[test]
fn experiments_beyond_the_paper_answer_with_the_same_bytes_again() {
    let [one, two] = [0; 2].map(|_| tempfile::tempdir().unwrap());
    for (id, scale) in
        [("emergence", " --tasks 40"), ("rnn-context", " --tasks 40"), ("control", "")]
    {
        let line = format!("{id} --seeds 2{scale} --json");
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
