//! The digests of this build, alone and in lanes, are the expected ones; otherwise the kernels that differ are named.

use super::*;

fn none_differs(mut rows: Vec<digests::Row>) {
    let expected = include_str!("../../digests.txt").lines().filter(|line| !line.starts_with('#'));
    assert_eq!(expected.count(), rows.len(), "of tests/digests.txt");
    rows.retain(|row| !row.equal);
    let how = "if the change of results is meant: tests/platforms.sh --bless";
    assert!(rows.is_empty(), "{rows:?}; {how}");
}

#[test]
fn the_digests_are_the_expected_ones() {
    none_differs(digests::rows().unwrap());
}

#[test]
fn lanes_give_the_expected_digests() {
    none_differs(digests::rows_on::<Lanes8>().unwrap());
}
