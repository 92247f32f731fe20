//! `exp2` and `tanh` for `f32` in plain operations and integer bits: branch-free, so that a compiler
//! turns a loop over lanes into vector instructions, and the same bits at every width.

/// 1.5 * 2^23: adding it to a number of magnitude below 2^22 rounds to the nearest integer (ties
/// to even), which is then in the low bits of the sum.
const ROUND: f32 = 12_582_912.0;

/// Returns the correctly rounded square root in plain operations, so that it vectorises: Newton's iteration
/// for 1 / sqrt(x) in `f64`, then one step for the root itself.
///
/// The root's relative error in `f64` is below 2^-52, and no root of an `f32` is nearer than 2^-51 to the middle between two
/// `f32`, so rounding to `f32` is rounding the exact root.
#[cfg(feature = "research")]
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

/// Returns 2^x as 2^k 2^f with |f| <= 1/2 (x - k is exact), then the polynomial of degree 5 that is 1 at 0 and
/// has the smallest relative error there is, 9.2e-8 before rounding. For x <= 127.
#[inline(always)]
pub(super) fn exp2(x: f32) -> f32 {
    // Where 2^k is still a normal number for every f.
    const LOWEST: f32 = -125.0;
    let x = if x < LOWEST { LOWEST } else { x };
    // 127 is the exponent's bias.
    let shifted = x + (ROUND + 127.0);
    let f = x - (shifted - (ROUND + 127.0));
    let p = 0.001_326_465_3;
    let p = p * f + 0.009_671_511;
    let p = p * f + 0.055_507_34;
    let p = p * f + 0.240_222_42;
    #[expect(clippy::approx_constant, reason = "a coefficient near ln 2, not ln 2")]
    let p = p * f + 0.693_147;
    let p = p * f + 1.0;
    // `shifted` holds k + 127, the exponent of 2^k, in its low bits. A multiplication, exact, and not an
    // addition to p's exponent: of NaN only that is NaN, whatever its other bits are.
    p * f32::from_bits(shifted.to_bits() << 23)
}

/// Returns tanh x as 1 - 2 / (e^(2 |x|) + 1) in `f64`, rounded to `f32` at the end. Each step is monotone but for its rounding, which
/// is far less than what neighbouring `f32`s differ by.
#[inline(always)]
pub(super) fn tanh(x: f32) -> f32 {
    /// Adding it rounds to the nearest integer, as [`ROUND`].
    const ROUND: f64 = 1.5 / f64::EPSILON;
    let x = x as f64;
    // From 9.1 on `f32` is 1.
    let size = if x.abs() > 10.0 { 10.0 } else { x.abs() };
    // e^(2 size) = 2^k e^z with |z| <= ln 2 / 2, by the series of e^z.
    let y = (2.0 * core::f64::consts::LOG2_E) * size;
    let shifted = y + ROUND;
    let z = (y - (shifted - ROUND)) * core::f64::consts::LN_2;
    let p = 1.0 / 40_320.0;
    let p = p * z + 1.0 / 5_040.0;
    let p = p * z + 1.0 / 720.0;
    let p = p * z + 1.0 / 120.0;
    let p = p * z + 1.0 / 24.0;
    let p = p * z + 1.0 / 6.0;
    let p = p * z + 0.5;
    let p = p * z + 1.0;
    let p = p * z + 1.0;
    let power = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    let large = 1.0 - 2.0 / (p * power + 1.0);
    // Where that cancels, two terms of tanh's own series are enough.
    let small = size - size * size * size * (1.0 / 3.0);
    let tanh = if size < 1.0 / 4096.0 { small } else { large };
    tanh.copysign(x) as f32
}
