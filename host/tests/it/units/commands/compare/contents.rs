use ictd::commands::compare::contents::first_difference;

fn difference(name: &str, a: &[u8], b: &[u8]) -> Option<String> {
    let directory = tempfile::tempdir().unwrap();
    let paths = ["a", "b"].map(|side| directory.path().join(format!("{side}-{name}")));
    std::fs::write(&paths[0], a).unwrap();
    std::fs::write(&paths[1], b).unwrap();
    first_difference(&paths[0], &paths[1]).unwrap()
}

#[test]
fn the_first_difference_of_tables_and_results_is_named() {
    let found = difference("t.csv", b"x,y\n1,2\n3,4\n", b"x,y\n1,2\n3,5\n");
    assert_eq!(found.as_deref(), Some("row 2, column `y`: 4 against 5"));
    let found = difference("t.csv", b"x\n1\n", b"x\n1\n2\n");
    assert_eq!(found.as_deref(), Some("line 3: only in B"));
    let found = difference("r.json", b"{\n  \"a\": 2\n}", b"{\n  \"a\": 3\n}");
    assert_eq!(found.as_deref(), Some("line 2: `\"a\": 2` against `\"a\": 3`"));
}

#[test]
fn other_and_damaged_files_are_compared_byte_by_byte() {
    assert_eq!(difference("f.txt", b"abc", b"abd").as_deref(), Some("byte 2: 0x63 against 0x64"));
    assert_eq!(
        difference("f.npz", b"abc", b"ab").as_deref(),
        Some("3 against 2 bytes, equal as far as both go")
    );
}
