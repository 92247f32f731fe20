use ictd::files;
use ictd::run::lock::{FILE_NAME, RunLock};
use std::fs;

#[test]
fn a_lock_file_that_a_killed_process_left_does_not_block() {
    let directory = tempfile::tempdir().unwrap();
    let of_this_host = format!("ictd\nprocess 1 on {}\n", files::host());
    for left in ["process 1", "ictd\n", "", &of_this_host] {
        fs::write(directory.path().join(FILE_NAME), left).unwrap();
        RunLock::acquire(directory.path()).unwrap();
    }
}
