use crate::common::*;
use ictd::files::{Kind, list, stage, sweep, temporary};

#[test]
fn what_a_killed_process_left_is_used_or_swept_unless_another_is_at_it() {
    let folder = Folder::new();
    let path = folder.join("a");
    fs::write(temporary(&path), "a longer left-over").unwrap();
    let staged = stage(&path, b"new").unwrap();
    assert_eq!(fs::read(temporary(&path)).unwrap(), b"new");
    assert!(stage(&path, b"other").is_err(), "two at once");
    sweep(&folder).unwrap();
    staged.publish().unwrap();
    fs::write(temporary(&path), "left").unwrap();
    sweep(&folder).unwrap();
    assert_eq!(list(&folder).unwrap(), [("a".into(), Kind::File)]);
}
