//! `exp` and `tanh` for `f32` in plain operations and integer bits: branch-free, so that a compiler
//! turns a loop over lanes into vector instructions, and the same bits at every width.

/// 1.5 * 2^23: adding it to a number of magnitude below 2^22 rounds to the nearest integer (ties
/// to even), which then stands in the low bits of the sum.
const ROUND: f32 = 12_582_912.0;

/// The correctly rounded square root in plain operations, so that it vectorises: Newton's iteration
/// for 1 / sqrt(x) in `f64`, then one step for the root itself.
///
/// Its relative error in `f64` is below 2^-52, and no root of an `f32` is nearer than 2^-51 to the
/// middle between two `f32` (its square would have to be within 2^-50 of a number of 50 bits that
/// ends in 1), so rounding to `f32` is rounding the exact root.
#[inline(always)]
pub(super) fn sqrt(x: f32) -> f32 {
    let x64 = x as f64;
    let half = 0.5 * x64;
    // Within 3.5 % of 1 / sqrt(x); each step squares that.
    let mut y = f64::from_bits(0x5fe6_eb50_c7b5_37a9_u64.wrapping_sub(x64.to_bits() >> 1));
    y = y * (1.5 - half * y * y);
    y = y * (1.5 - half * y * y);
    y = y * (1.5 - half * y * y);
    y = y * (1.5 - half * y * y);
    let root = x64 * y;
    let root = (root + 0.5 * y * (x64 - root * root)) as f32;
    let root = if x < 0.0 { f32::NAN } else { root };
    // Infinity and NaN are their own roots.
    if x < f32::INFINITY { root } else { x }
}

/// e^x as 2^k e^r with |r| <= ln(2)/2: Cody and Waite's reduction (ln 2 in two parts, the first
/// with its low bits zero so that k times it is exact), then the Taylor polynomial of degree 7.
///
/// Relative error below 1e-7 for x in [-87.3, 88.3]; outside, the value at the nearer end, so that
/// neither a subnormal number nor an infinity arises.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    const LOWEST: f32 = -87.3;
    const HIGHEST: f32 = 88.3;
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let x = if x < LOWEST { LOWEST } else { x };
    let x = if x > HIGHEST { HIGHEST } else { x };
    let shifted = x * core::f32::consts::LOG2_E + ROUND;
    let k = shifted - ROUND;
    let r = (x - k * LN2_HIGH) - k * LN2_LOW;
    let p = 1.0 / 5040.0;
    let p = p * r + 1.0 / 720.0;
    let p = p * r + 1.0 / 120.0;
    let p = p * r + 1.0 / 24.0;
    let p = p * r + 1.0 / 6.0;
    let p = p * r + 0.5;
    let e_r = (p * r * r + r) + 1.0;
    // `shifted` holds k in its low bits: move it to the exponent of 2^k.
    let two_to_k = f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3f80_0000));
    e_r * two_to_k
}

/// tanh x as x P(x^2) / Q(x^2), the rational minimax approximation used by Eigen and XLA, on
/// [-7.9, 7.9], where `f32` reaches 1; outside, the value at the nearer end.
#[inline(always)]
pub(super) fn tanh(x: f32) -> f32 {
    const LIMIT: f32 = 7.905_311;
    const NUMERATOR: [f32; 7] = [
        -2.760_768_5e-16,
        2.000_188e-13,
        -8.604_672e-11,
        5.122_297e-8,
        1.485_722_4e-5,
        6.372_619_3e-4,
        4.893_524_6e-3,
    ];
    const DENOMINATOR: [f32; 4] = [1.198_258_4e-6, 1.185_347_1e-4, 2.268_434_6e-3, 4.893_525e-3];
    let x = if x < -LIMIT { -LIMIT } else { x };
    let x = if x > LIMIT { LIMIT } else { x };
    let x2 = x * x;
    let mut p = NUMERATOR[0];
    for coefficient in &NUMERATOR[1..] {
        p = p * x2 + *coefficient;
    }
    let mut q = DENOMINATOR[0];
    for coefficient in &DENOMINATOR[1..] {
        q = q * x2 + *coefficient;
    }
    x * p / q
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqrt_is_libms_bit_for_bit() {
        let mut bits = 0u32;
        loop {
            let x = f32::from_bits(bits);
            let (got, want) = (sqrt(x), libm::sqrtf(x));
            assert!(got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(), "{x:e}");
            // A prime stride visits every exponent with changing fractions.
            match bits.checked_add(977) {
                Some(next) => bits = next,
                None => break,
            }
        }
        for x in [0.0, -0.0, f32::INFINITY, f32::MIN_POSITIVE, f32::MAX, 1.0, 1e-45] {
            assert_eq!(sqrt(x).to_bits(), libm::sqrtf(x).to_bits(), "{x:e}");
        }
    }

    #[test]
    fn exp_is_within_1e_7_of_f64_exp() {
        let mut x = -87.0f32;
        while x < 88.0 {
            let want = libm::exp(x as f64);
            let err = ((exp(x) as f64 - want) / want).abs();
            assert!(err < 1e-7, "exp({x}): relative error {err:e}");
            x += 0.003_1;
        }
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(-1e30), exp(-87.3));
        assert_eq!(exp(1e30), exp(88.3));
        assert!(exp(-1e30).is_normal() && exp(1e30).is_finite());
    }

    #[test]
    fn tanh_is_within_5e_7_of_f64_tanh() {
        let mut x = -12.0f32;
        while x < 12.0 {
            let err = (tanh(x) as f64 - libm::tanh(x as f64)).abs();
            assert!(err < 5e-7, "tanh({x}): error {err:e}");
            assert_eq!(tanh(-x).to_bits(), (-tanh(x)).to_bits());
            x += 0.000_7;
        }
        assert!(tanh(1e30) <= 1.0 && tanh(1e30) > 0.999_999);
    }
}
