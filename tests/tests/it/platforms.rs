//! The digests of this build, alone and in lanes, are the expected ones; otherwise the kernels that differ are named.

use super::*;

fn no_digest_differs<S: Scalar<Element = f32>>() {
    let mut rows = digests::rows_on::<S>().unwrap();
    rows.retain(|row| !row.equal);
    let how = "if the change of results is meant: tests/platforms.sh --bless";
    assert!(rows.is_empty(), "{rows:?}; {how}");
}

#[test]
fn the_digests_are_the_expected_ones() {
    no_digest_differs::<f32>();
    let expected = include_str!("../../digests.txt").lines().filter(|line| !line.starts_with('#'));
    assert_eq!(expected.count(), digests::rows().unwrap().len(), "of tests/digests.txt");
}

#[test]
fn lanes_give_the_expected_digests() {
    no_digest_differs::<Lanes8>();
}
