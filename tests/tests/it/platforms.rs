//! The digests of this build, alone and in lanes, are the expected ones; otherwise the kernels that differ are named.

use ictd_core::digest::{Digest, combine, kernels};
use ictd_core::scalar::{Lanes8, Scalar};
use std::collections::BTreeMap;

/// Kernel and digest, as tests/digests.txt has them.
fn expected() -> BTreeMap<&'static str, &'static str> {
    include_str!("../../digests.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(' '))
        .map(|(name, digest)| (name, digest.trim()))
        .collect()
}

/// The kernels whose digests on scalars S are not the expected ones.
fn differing<S: Scalar<Element = f32>>() -> Vec<&'static str> {
    let expected = expected();
    let (mut all, mut names) = (Digest::EMPTY, Vec::new());
    for kernel in kernels::<S>() {
        let digest = kernel.digest().unwrap();
        if expected.get(kernel.name).copied() != Some(digest.to_string().as_str()) {
            names.push(kernel.name);
        }
        all = combine([all, digest]);
    }
    if expected.get("all").copied() != Some(all.to_string().as_str()) {
        names.push("all");
    }
    names
}

const HOW: &str = "if the change of results is meant: tests/platforms.sh --bless";

#[test]
fn the_digests_are_the_expected_ones() {
    assert_eq!(differing::<f32>(), [""; 0], "{HOW}");
    let rows = expected().len();
    assert_eq!(rows, kernels::<f32>().len() + 1, "tests/digests.txt has other rows; {HOW}");
}

#[test]
fn lanes_give_the_expected_digests() {
    assert_eq!(differing::<Lanes8>(), [""; 0], "8 lanes; {HOW}");
}
