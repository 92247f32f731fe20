use ictd::files;
use ictd::run::transaction::{JOURNAL, settle};
use std::fs;
use std::path::Path;

fn names(directory: &Path) -> Vec<String> {
    let found = files::list(directory).unwrap().into_iter();
    found.map(|(name, _)| name.into_string().unwrap()).collect()
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
