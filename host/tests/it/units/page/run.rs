use ictd::experiments::Catalogue;
use ictd::page::{Run, RunFiles};
use serde_json::json;

#[test]
fn damaged_results_are_refused_in_words_or_shown() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("results.json");
    let intact = json!({
        "command": "digest", "seed": 1, "config": {"seeds": 2, "quiet": true},
        "seeds": [{"seed": 1, "digest": "d", "iws": 0.5, "p": [1.0, null]}], "msve_mean": [1.0],
        "claims": [{"claim": "c", "paper": "p", "measured": "m", "verdict": "holds"}],
    });
    let bytes = intact.to_string().into_bytes();
    let command = clap::Command::new("ictd");
    let catalogue = Catalogue { experiments: &[], others: &[], command };
    let run = RunFiles { name: "r".into(), path: directory.path().to_owned() };
    let mut refused = 0_usize;
    let mut check = |bytes: &[u8]| {
        std::fs::write(&file, bytes).unwrap();
        match Run::read(&run, &catalogue) {
            Ok(run) => drop(ictd::page::numbers::tables(&run.numbers)),
            Err(error) => {
                assert!(error.one_line().contains("results.json: "), "{error}");
                refused += 1;
            }
        }
    };
    for length in 0..bytes.len() {
        check(&bytes[..length]);
    }
    let mut damaged = bytes.clone();
    for byte in 0..bytes.len() {
        for bit in 0..8 {
            damaged[byte] ^= 1 << bit;
            check(&damaged);
            damaged[byte] ^= 1 << bit;
        }
    }
    assert!(refused > bytes.len(), "only {refused} of {} refused", 9 * bytes.len());
}
