use ictd::files;
use ictd::run::lock::{FILE_NAME, RunLock};
use std::{fs, process};

#[test]
fn the_second_claim_is_refused_and_names_the_first() {
    let directory = tempfile::tempdir().unwrap();
    let first = RunLock::acquire(directory.path()).unwrap();
    let refusal = RunLock::acquire(directory.path()).unwrap_err();
    let message = refusal.to_string();
    assert!(refusal.is_in_use(), "{message}");
    let holder = format!("in use by process {} on {}", process::id(), files::host());
    assert!(message.contains(&holder), "{message}");
    drop(first);
    RunLock::acquire(directory.path()).unwrap();
}

#[test]
fn a_lock_file_that_a_killed_process_left_does_not_block() {
    let directory = tempfile::tempdir().unwrap();
    let of_this_host = format!("ictd\nprocess 1 on {}\n", files::host());
    for left in ["process 1", "ictd\n", "", &of_this_host] {
        fs::write(directory.path().join(FILE_NAME), left).unwrap();
        RunLock::acquire(directory.path()).unwrap();
    }
}

#[test]
fn a_lock_of_another_machine_is_named_with_the_way_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(FILE_NAME);
    fs::write(&path, "ictd\nprocess 4711 on node-17\n").unwrap();
    let message = RunLock::acquire(directory.path()).unwrap_err().to_string();
    assert!(message.contains("in use by process 4711 on node-17"), "{message}");
    assert!(message.contains(&format!("remove {}", path.display())), "{message}");
    fs::remove_file(path).unwrap();
    RunLock::acquire(directory.path()).unwrap();
}
