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
    let record = "{\"digests\":{\"files\":{\"old.csv\":\"\"}}}";
    for (name, content) in
        [("run.json", record), ("old.csv", "1"), ("a.csv", "done"), (".ictd-new-b.csv", "new")]
    {
        fs::write(at(name), content).unwrap();
    }
    settle_unclaimed(directory.path()).unwrap();
    assert_eq!(names(directory.path()), [".lock", "a.csv", "b.csv", "run.json"]);
    fs::write(at(".ictd-new-c.csv"), "half").unwrap();
    settle(directory.path()).unwrap();
    assert_eq!(names(directory.path()), [".lock", "a.csv", "b.csv", "run.json"]);
}

#[test]
fn a_change_waits_until_the_record_of_the_old_run_can_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("run.json")).unwrap();
    fs::write(at(JOURNAL), "remove old.csv\nput a.csv\n").unwrap();
    fs::write(at("old.csv"), "1").unwrap();
    fs::write(at(".ictd-new-a.csv"), "new").unwrap();
    let before = names(directory.path());
    assert!(settle(directory.path()).unwrap_err().to_string().contains("run.json"));
    assert_eq!(names(directory.path()), before);
    fs::remove_dir(at("run.json")).unwrap();
    fs::write(at("run.json"), "{\"digests\":{\"files\":{\"old.csv\":\"\"}}}").unwrap();
    settle(directory.path()).unwrap();
    assert_eq!(names(directory.path()), ["a.csv", "run.json"]);
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
