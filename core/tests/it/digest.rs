//! The digest of numbers.

use super::*;

#[test]
fn bytes_give_the_published_values() {
    let of = |bytes: &[u8]| {
        let mut digest = Digest::EMPTY;
        digest.bytes(bytes);
        digest.value()
    };
    assert_eq!(of(b""), 0xcbf2_9ce4_8422_2325);
    assert_eq!(of(b"a"), 0xaf63_dc4c_8601_ec8c);
    assert_eq!(of(b"foobar"), 0x8594_4171_f739_67e8);
}

#[test]
fn every_nan_is_one_nan_and_zeros_differ() {
    let of = |x: f32| {
        let mut digest = Digest::EMPTY;
        digest.number(x);
        digest
    };
    assert_eq!(of(f32::NAN), of(-f32::NAN));
    assert_eq!(of(f32::NAN), of(f32::from_bits(0x7f80_0001)));
    assert_ne!(of(0.0), of(-0.0));
    assert_ne!(of(1.0), of(1.0 + f32::EPSILON));
}
