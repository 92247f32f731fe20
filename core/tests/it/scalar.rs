use super::*;
use ictd_core::scalar::exp_f32;

/// Angles beyond it are reduced by the `f64` next to 2 pi.
const LARGEST_ANGLE: f64 = 1_647_099.0;

/// A prime stride of `f32`s visits every exponent with changing fractions; `f64`s are those next to them.
fn each_is(f32s: [fn(f32) -> f32; 2], f64s: [fn(f64) -> f64; 2], largest: f64) {
    for bits in (0..=u32::MAX).step_by(12_289) {
        let x = f32::from_bits(bits);
        if f64::from(x.abs()) > largest {
            continue;
        }
        let [own, libm] = f32s.map(|f| f(x));
        assert!(own.to_bits() == libm.to_bits() || own.is_nan() && libm.is_nan(), "{x:e}");
        let x = f64::from(x) + f64::from(x) * f64::from(bits) * f64::EPSILON / 4.0;
        let [own, libm] = f64s.map(|f| f(x));
        assert!(own.to_bits() == libm.to_bits() || own.is_nan() && libm.is_nan(), "{x:e}");
    }
}

#[test]
fn the_bits_are_those_of_libm() {
    each_is([exp_f32, libm::expf], [Scalar::exp2, libm::exp2], f64::INFINITY);
    each_is([Real::ln, libm::logf], [Real::ln, libm::log], f64::INFINITY);
    each_is([|x| x; 2], [Scalar::tanh, libm::tanh], f64::INFINITY);
    each_is([Real::sin, libm::sinf], [Real::sin, libm::sin], LARGEST_ANGLE);
    each_is([Real::cos, libm::cosf], [Real::cos, libm::cos], LARGEST_ANGLE);
}

#[test]
fn a_huge_angle_is_a_small_one_and_none_is_not_a_number() {
    for x in [1e9_f64, -3e17, 1e300] {
        let small = x % core::f64::consts::TAU;
        assert_eq!((Real::sin(x), Real::cos(x)), (Real::sin(small), Real::cos(small)));
    }
    assert!(Real::sin(f32::MAX).abs() <= 1.0 && Real::cos(f32::NEG_INFINITY).is_nan());
    assert!(Real::sin(f64::INFINITY).is_nan() && Real::cos(f64::NAN).is_nan());
}

#[test]
fn tanh_is_odd() {
    let tanh = <f32 as Scalar>::tanh;
    for x in (0..=u32::MAX).step_by(12_289).map(f32::from_bits).filter(|x| !x.is_nan()) {
        assert_eq!(tanh(-x).to_bits(), (-tanh(x)).to_bits(), "{x:e}");
    }
}

#[test]
fn exp2_is_exact_of_integers_and_no_number_of_none() {
    let exp2 = <f32 as Scalar>::exp2;
    assert_eq!((exp2(0.0), exp2(-3.0), exp2(-1e30)), (1.0, 0.125, exp2(-125.0)));
    assert!(exp2(-124.5).is_normal() && exp2(-1e30).is_normal());
    // Whatever its payload, also that of erased flash.
    for bits in [0x7fc0_0000, 0x7fc0_007f, 0x7fc0_0080, 0xffc0_0001, u32::MAX] {
        assert!(exp2(f32::from_bits(bits)).is_nan(), "{bits:#x}");
    }
}
