//! No golden file is left unread.

use super::*;
use std::path::Path;
use tests::FAMILIES;

#[test]
fn golden_files_are_exactly_the_tested_families() {
    let mut files: Vec<String> = std::fs::read_dir(tests::folder())
        .unwrap_or_else(|e| panic!("{}: {e}", tests::folder().display()))
        .filter_map(|entry| {
            let name = entry.expect("a readable folder").file_name().into_string().expect("UTF-8");
            name.strip_suffix(".json").map(String::from)
        })
        .collect();
    files.retain(|file| file != OWN_FAMILY);
    files.sort();
    assert_eq!(files.join(" "), FAMILIES, "{}", tests::folder().display());
    for family in FAMILIES.split(' ').chain([OWN_FAMILY]) {
        let test = format!("tests/it/golden_{family}.rs");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(&test);
        assert!(path.is_file(), "no {test} for the family {family}");
    }
}
