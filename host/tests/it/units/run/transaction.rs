use ictd::files;
use ictd::run::transaction::{JOURNAL, commit, settle, settle_unclaimed};
use std::fs;
use std::path::Path;

fn names(directory: &Path) -> Vec<String> {
    let found = files::list(directory).unwrap().into_iter();
    found.map(|(name, _)| name.into_string().unwrap()).collect()
}

#[test]
fn new_files_come_and_those_of_the_run_before_go() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    for name in ["a.csv", "b.csv", "mine.txt"] {
        fs::write(at(name), "old").unwrap();
    }
    let old = ["a.csv", "b.csv", "../x", ".lock"].map(str::to_owned);
    let new: Vec<(&str, &[u8])> = vec![("run.json", b"{}"), ("b.csv", b"new")];
    let written = commit(directory.path(), new, Vec::new(), &old).unwrap();
    assert_eq!(written, [at("b.csv"), at("run.json")]);
    assert_eq!(names(directory.path()), ["b.csv", "mine.txt", "run.json"]);
    assert_eq!(fs::read(at("b.csv")).unwrap(), b"new");
}

#[test]
fn what_is_left_of_a_change_is_done_and_what_had_not_begun_is_swept() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at(JOURNAL), "remove old.csv\nput a.csv\nput b.csv\n").unwrap();
    for (name, content) in [("old.csv", "1"), ("a.csv", "done"), (".ictd-new-b.csv", "new")] {
        fs::write(at(name), content).unwrap();
    }
    settle_unclaimed(directory.path()).unwrap();
    assert_eq!(names(directory.path()), [".lock", "a.csv", "b.csv"]);
    fs::write(at(".ictd-new-c.csv"), "half").unwrap();
    settle(directory.path()).unwrap();
    assert_eq!(names(directory.path()), [".lock", "a.csv", "b.csv"]);
}

#[test]
fn a_journal_from_elsewhere_reaches_nothing_outside() {
    let outside = tempfile::tempdir().unwrap();
    let directory = outside.path().join("run");
    fs::create_dir(&directory).unwrap();
    fs::write(outside.path().join("mine"), "precious").unwrap();
    for line in ["remove ../mine", "put ../mine", "remove .lock", "remove /etc/passwd", "x"] {
        fs::write(directory.join(JOURNAL), format!("{line}\n")).unwrap();
        assert!(settle(&directory).is_err(), "{line}");
    }
    assert!(outside.path().join("mine").is_file());
}
