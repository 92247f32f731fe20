use crate::common::*;
use ictd::files::{Kind, list, make_folder, read_below, stage, sweep, temporary};

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

#[test]
fn a_name_below_a_folder_leads_nowhere_else() {
    let folder = Folder::new();
    fs::create_dir(folder.join("in")).unwrap();
    folder.put("in/a", "1");
    let inside = folder.join("in");
    assert_eq!(read_below(&folder, "in/a", 1).unwrap(), b"1");
    for name in ["../in/a", "/etc/hostname", "", ".", "..", "a/../a", "a\0b"] {
        assert!(read_below(&inside, name, 1000).is_err(), "{name}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink(&inside, folder.join("link")).unwrap();
        symlink(inside.join("a"), inside.join("b")).unwrap();
        for name in ["link/a", "in/b"] {
            let error = read_below(&folder, name, 1000).unwrap_err().to_string();
            assert!(error.contains("a link"), "{name}: {error}");
        }
        assert!(make_folder(&folder.join("link")).is_err());
    }
}
