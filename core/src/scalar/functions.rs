//! `exp`, `ln`, `sin`, `cos`, and for `f64` `exp2` and `tanh`: functions that no standard rounds, so that their bits
//! are this crate's own and no update of another crate changes them.
//!
//! Algorithms, coefficients and bits are those of FreeBSD's msun ("Copyright (C) 1993, 2004 by Sun Microsystems, Inc.
//! Permission to use, copy, modify, and distribute this software is freely granted, provided that this notice is
//! preserved"; `exp2` is David Schultz's, 2005). Errors are below 1 unit in the last place, of `tanh` below 2.

use super::exp2_table::{EPSILON, POWERS};
use crate::chip::once_on_chip;

/// Adding and subtracting it rounds a number of size below 2^51 to the nearest integer.
const ROUND: f64 = 1.5 / f64::EPSILON;
/// Angles up to here are reduced to less than pi / 4 with their last bits intact.
const LARGEST_ANGLE: f64 = 1_647_099.0;

/// Returns 2^k for -1022 <= k <= 1023.
#[inline]
fn power_of_two(k: i32) -> f64 {
    f64::from_bits(((1023 + k) as u64) << 52)
}

/// Returns e^x.
#[cfg(feature = "research")]
#[inline]
pub fn exp_f32(x: f32) -> f32 {
    const LN2: [f32; 2] = [0.693_145_75, 1.428_606_8e-6];
    if x.is_nan() || x.abs() <= 1.0 / 8192.0 {
        return 1.0 + x;
    }
    if x >= 88.722_84 {
        return f32::INFINITY;
    }
    if x <= -103.972_084 {
        return 0.0;
    }
    let k = match x.abs() {
        size if size <= 0.346_573_6 => 0,
        size if size <= 1.039_720_8 => 1.0_f32.copysign(x) as i32,
        _ => (core::f32::consts::LOG2_E * x + 0.5_f32.copysign(x)) as i32,
    };
    let (high, low) = (x - k as f32 * LN2[0], k as f32 * LN2[1]);
    let x = high - low;
    let xx = x * x;
    let c = x - xx * (0.166_666_25 - xx * 0.002_766_733_3);
    let y = 1.0 + (x * c / (2.0 - c) - low + high);
    // Exact in f64, so that a subnormal result is rounded once.
    (f64::from(y) * power_of_two(k)) as f32
}

#[inline]
fn ln_of_non_positive(x: f64) -> f64 {
    match x {
        0.0 => f64::NEG_INFINITY,
        f64::INFINITY => x,
        _ => f64::NAN,
    }
}

once_on_chip! {
    pub(super) fn ln_f32(x: f32) -> f32 {
        if !(x > 0.0 && x < f32::INFINITY) {
            return ln_of_non_positive(x.into()) as f32;
        }
        let (x, shift) = if x < f32::MIN_POSITIVE { (x * 33_554_432.0, 25) } else { (x, 0) };
        // x = 2^k (1 + f) with 1 + f between the roots of 1/2 and 2.
        const ROOT: u32 = core::f32::consts::FRAC_1_SQRT_2.to_bits();
        let bits = x.to_bits() + (0x3f80_0000 - ROOT);
        let k = ((bits >> 23) as i32 - 127 - shift) as f32;
        let f = f32::from_bits((bits & 0x007f_ffff) + ROOT) - 1.0;
        let s = f / (2.0 + f);
        let z = s * s;
        let w = z * z;
        let even = w * (0.400_009_72 + w * 0.242_790_79);
        let odd = z * (0.666_666_6 + w * 0.284_987_87);
        let half_square = 0.5 * f * f;
        s * (half_square + (odd + even)) + k * 9.058_001e-6 - half_square + f + k * 0.693_138_1
    }
}

#[inline]
pub(super) fn ln_f64(x: f64) -> f64 {
    if !(x > 0.0 && x < f64::INFINITY) {
        return ln_of_non_positive(x);
    }
    let (x, shift) =
        if x < f64::MIN_POSITIVE { (x * 18_014_398_509_481_984.0, 54) } else { (x, 0) };
    // The high half of the root of 1/2.
    const ROOT: u64 = 0x3fe6_a09e_0000_0000;
    let bits = x.to_bits() + (0x3ff0_0000_0000_0000 - ROOT);
    let k = ((bits >> 52) as i32 - 1023 - shift) as f64;
    let f = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) + ROOT) - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let even = w
        * (0.399_999_999_994_094_2 + w * (0.222_221_984_321_497_84 + w * 0.153_138_376_992_093_73));
    let odd = z
        * (0.666_666_666_666_673_5
            + w * (0.285_714_287_436_623_9
                + w * (0.181_835_721_616_180_5 + w * 0.147_981_986_051_165_86)));
    let half_square = 0.5 * f * f;
    s * (half_square + (odd + even)) + k * 1.908_214_929_270_587_7e-10 - half_square
        + f
        + k * 0.693_147_180_369_123_8
}

#[inline]
pub(super) fn exp2_f64(x: f64) -> f64 {
    // Adding it rounds to a multiple of 1/256, which is then in the low bits.
    const ROUND_256: f64 = 6_755_399_441_055_744.0 / 256.0;
    if x.is_nan() || x.abs() < f64::EPSILON / 4.0 {
        return 1.0 + x;
    }
    if x >= 1024.0 {
        return f64::INFINITY;
    }
    if x <= -1075.0 {
        return 0.0;
    }
    let shifted = x + ROUND_256;
    let index = (shifted.to_bits() as u32).wrapping_add(128);
    let (k, j) = (index as i32 >> 8, (index & 255) as usize);
    let (power, epsilon) = (f64::from_bits(POWERS[j]), f64::from(EPSILON[j]));
    let z = x - (shifted - ROUND_256) - epsilon * power_of_two(-61);
    let z5 = 0.001_333_355_916_463_022_3;
    let z4 = 0.009_618_129_842_126_066 + z * z5;
    let z3 = 0.055_504_108_664_821_4 + z * z4;
    let z2 = 0.240_226_506_959_1 + z * z3;
    let y = power + power * z * (core::f64::consts::LN_2 + z * z2);
    // Two factors, so that a subnormal result is rounded once.
    let first = if k > 1023 {
        1023
    } else if k < -1022 {
        -969
    } else {
        k
    };
    y * power_of_two(first) * power_of_two(k - first)
}

/// Returns the upper half of |x|'s bits.
#[inline]
fn high_word(x: f64) -> u32 {
    (x.to_bits() >> 32) as u32 & 0x7fff_ffff
}

/// Returns e^x - 1 for -0.51 <= x <= 40.
#[inline]
fn exp_minus_1(x: f64) -> f64 {
    if x.abs() < f64::EPSILON / 4.0 {
        return x;
    }
    let k = match high_word(x) {
        ..=0x3fd6_2e42 => 0,
        0x3fd6_2e43..0x3ff0_a2b2 => 1.0_f64.copysign(x) as i32,
        _ => (core::f64::consts::LOG2_E * x + 0.5) as i32,
    };
    let high = x - k as f64 * 0.693_147_180_369_123_8;
    let low = k as f64 * 1.908_214_929_270_587_7e-10;
    let x = high - low;
    let c = (high - x) - low;
    let half = 0.5 * x;
    let z = x * half;
    let r = z * (4.008_217_827_329_362e-6 - z * 2.010_992_181_836_243_7e-7);
    let r = z * (0.001_587_301_587_254_814_6 + z * (-7.936_507_578_674_88e-5 + r));
    let r = 1.0 + z * (-0.033_333_333_333_333_13 + r);
    let t = 3.0 - r * half;
    let e = z * ((r - t) / (6.0 - x * t));
    if k == 0 {
        return x - (x * e - z);
    }
    let e = x * (e - c) - c - z;
    match k {
        -1 => 0.5 * (x - e) - 0.5,
        1 if x < -0.25 => -2.0 * (e - (x + 0.5)),
        1 => 1.0 + 2.0 * (x - e),
        2..20 => (x - e + (1.0 - power_of_two(-k))) * power_of_two(k),
        _ => (x - (e + power_of_two(-k)) + 1.0) * power_of_two(k),
    }
}

#[inline]
pub(super) fn tanh_f64(x: f64) -> f64 {
    let (size, high) = (x.abs(), high_word(x));
    let tanh = if size > 20.0 {
        1.0
    } else if high > 0x3fe1_93ea {
        1.0 - 2.0 / (exp_minus_1(2.0 * size) + 2.0)
    } else if high > 0x3fd0_58ae {
        let t = exp_minus_1(2.0 * size);
        t / (t + 2.0)
    } else {
        let t = exp_minus_1(-2.0 * size);
        -t / (t + 2.0)
    };
    if x.is_nan() { x } else { tanh.copysign(x) }
}

/// Brings an angle that is too large for a reduction of all its bits into [-2 pi, 2 pi], by the `f64` next to 2 pi.
#[inline]
fn bounded(x: f64) -> f64 {
    if x.abs() < LARGEST_ANGLE { x } else { x % core::f64::consts::TAU }
}

/// Returns n and y with x = n pi / 2 + y, |y| <= pi / 4, for an `f32`.
#[inline]
fn reduced_f32(x: f32) -> (i32, f64) {
    let x = bounded(f64::from(x));
    let n = x * core::f64::consts::FRAC_2_PI + ROUND - ROUND;
    if n.abs() <= 4.0 {
        return (n as i32, x - n * core::f64::consts::FRAC_PI_2);
    }
    (n as i32, x - n * 1.570_796_310_901_641_8 - n * 1.589_325_477_352_819_7e-8)
}

#[inline]
fn sin_of_small_f32(x: f64) -> f32 {
    let z = x * x;
    let tail = -0.000_198_393_348_360_966_32 + z * 2.718_311_493_989_822e-6;
    let cube = z * x;
    let head = -0.166_666_666_416_265_24 + z * 0.008_333_329_385_889_463;
    ((x + cube * head) + cube * (z * z) * tail) as f32
}

#[inline]
fn cos_of_small_f32(x: f64) -> f32 {
    let z = x * x;
    let w = z * z;
    let tail = -0.001_388_676_377_460_993 + z * 2.439_044_879_627_741e-5;
    (((1.0 + z * -0.499_999_997_251_031) + w * 0.041_666_623_323_739_06) + (w * z) * tail) as f32
}

#[inline]
fn sin_of_quadrant_f32(n: i32, y: f64) -> f32 {
    match n & 3 {
        0 => sin_of_small_f32(y),
        1 => cos_of_small_f32(y),
        2 => sin_of_small_f32(-y),
        _ => -cos_of_small_f32(y),
    }
}

#[inline]
pub(super) fn sin_f32(x: f32) -> f32 {
    if x.abs() < 1.0 / 4096.0 {
        return x;
    }
    let (n, y) = reduced_f32(x);
    sin_of_quadrant_f32(n, y)
}

#[inline]
pub(super) fn cos_f32(x: f32) -> f32 {
    let (n, y) = reduced_f32(x);
    sin_of_quadrant_f32(n + 1, y)
}

/// Returns n and y, in two parts, with x = n pi / 2 + y, |y| <= pi / 4 or little more.
#[inline]
fn reduced_f64(x: f64) -> (i32, f64, f64) {
    /// pi / 2 in pieces of 33 bits, each with its remainder.
    const PIECES: [[f64; 2]; 3] = [
        [1.570_796_326_734_125_6, 6.077_100_506_506_192e-11],
        [6.077_100_506_303_966e-11, 2.022_266_248_795_950_6e-21],
        [2.022_266_248_711_166_5e-21, 8.478_427_660_368_9e-32],
    ];
    let x = bounded(x);
    let high = high_word(x);
    // A few quarters of a turn by comparisons, unless x is next to a multiple.
    let few = match high {
        ..=0x3fe9_21fb => Some(0.0),
        0x3ff9_21fb | 0x4009_21fb | 0x4012_d97c | 0x4019_21fb => None,
        0x3fe9_21fc..=0x4002_d97c => Some(1.0_f64),
        0x4002_d97d..=0x400f_6a7a => Some(2.0),
        0x400f_6a7b..=0x4015_fdbc => Some(3.0),
        0x4015_fdbd..=0x401c_463b => Some(4.0),
        _ => None,
    };
    let n = few.map_or(x * core::f64::consts::FRAC_2_PI + ROUND - ROUND, |n| n.copysign(x));
    let [[first, tail], ..] = PIECES;
    let (mut rest, mut w) = (x - n * first, n * tail);
    // The next pieces, if that cancelled more bits than the pieces before have.
    for ([piece, tail], bits) in PIECES.into_iter().skip(1).zip([16, 49]) {
        let exponent = ((rest - w).to_bits() >> 52) as i32 & 0x7ff;
        if few.is_some() || (high >> 20) as i32 - exponent <= bits {
            break;
        }
        let before = rest;
        w = n * piece;
        rest = before - w;
        w = n * tail - ((before - rest) - w);
    }
    let y = rest - w;
    (n as i32, y, (rest - y) - w)
}

/// Returns the sine of x + tail; without a tail in the order that needs none.
#[inline]
fn sin_of_small_f64(x: f64, tail: Option<f64>) -> f64 {
    const FIRST: f64 = -0.166_666_666_666_666_32;
    let z = x * x;
    let r = 0.008_333_333_333_322_49
        + z * (-0.000_198_412_698_298_579_5 + z * 2.755_731_370_707_006_8e-6)
        + z * (z * z) * (-2.505_076_025_340_686_3e-8 + z * 1.589_690_995_211_55e-10);
    let cube = z * x;
    match tail {
        None => x + cube * (FIRST + z * r),
        Some(tail) => x - ((z * (0.5 * tail - cube * r) - tail) - cube * FIRST),
    }
}

#[inline]
fn cos_of_small_f64(x: f64, tail: f64) -> f64 {
    let z = x * x;
    let w = z * z;
    let r = z
        * (0.041_666_666_666_666_6
            + z * (-0.001_388_888_888_887_411 + z * 2.480_158_728_947_673e-5))
        + w * w
            * (-2.755_731_435_139_066_3e-7
                + z * (2.087_572_321_298_175e-9 + z * -1.135_964_755_778_819_5e-11));
    let half = 0.5 * z;
    let w = 1.0 - half;
    w + (((1.0 - w) - half) + (z * r - x * tail))
}

/// Returns the sine of y + tail + n pi / 2.
#[inline]
fn sin_of_quadrant_f64(n: i32, y: f64, tail: Option<f64>) -> f64 {
    match n & 3 {
        0 => sin_of_small_f64(y, tail),
        1 => cos_of_small_f64(y, tail.unwrap_or(0.0)),
        2 => -sin_of_small_f64(y, tail),
        _ => -cos_of_small_f64(y, tail.unwrap_or(0.0)),
    }
}

#[inline]
pub(super) fn sin_f64(x: f64) -> f64 {
    if x.abs() < 1.0 / 67_108_864.0 {
        return x;
    }
    let (n, y, tail) = reduced_f64(x);
    sin_of_quadrant_f64(n, y, (n != 0).then_some(tail))
}

#[inline]
pub(super) fn cos_f64(x: f64) -> f64 {
    let (n, y, tail) = reduced_f64(x);
    sin_of_quadrant_f64(n + 1, y, Some(tail))
}
