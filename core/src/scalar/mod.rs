//! The scalars that the numerics are generic over: `f32`, `f64`, and lanes of `f32`.
//!
//! [`Scalar`] has the operations that IEEE 754 fixes (`+ - * /` and the square root) and a few functions that this crate
//! fixes: their results are the same bits on every platform, in every build, at every lane width. [`Real`] adds what lanes
//! cannot do: comparisons that steer control flow.

mod elementary;
mod environment;
mod exp2_table;
mod functions;
#[cfg_attr(not(feature = "research"), allow(unreachable_pub))]
mod instruction_set;
#[cfg(feature = "research")]
mod lanes;

pub use environment::{ArithmeticError, environment};
#[cfg(feature = "research")]
pub use functions::exp_f32;
pub(crate) use instruction_set::kernel;
#[cfg(feature = "research")]
#[doc(hidden)]
pub use instruction_set::{Aligned32, InstructionSet, Kernel, Portable};
#[cfg(not(feature = "research"))]
pub(crate) use instruction_set::{InstructionSet, Kernel, Portable};
#[cfg(feature = "research")]
pub use lanes::{Lanes, Lanes8};

use crate::error::{Error, Result, ensure, out_of_range};
use core::fmt::Debug;
use core::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

/// A number, or several numbers in lanes that the same program advances side by side.
///
/// Control flow never depends on a lane's value, so lane `i` of any result is bit for bit what
/// the same program computes from lane `i` of its inputs alone.
pub trait Scalar:
    Copy
    + Debug
    + PartialEq
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
{
    /// The number in one lane: `f32` or `f64`.
    type Element: Real;
    /// One `T` for each lane: `[T; LANES]`.
    type PerLane<T: Clone + Debug>: Clone + Debug + AsRef<[T]> + AsMut<[T]>;
    /// The number of lanes: a power of two, 1 for `f32` and `f64`.
    const LANES: usize;
    /// True if neighbouring rows of a matrix fill a register, as the number has one lane and a host's instructions.
    const ROWS_IN_REGISTER: bool = false;
    /// 0 in every lane.
    const ZERO: Self;
    /// 1 in every lane.
    const ONE: Self;

    /// Returns a `T` for each lane, made in ascending order.
    fn per_lane<T: Clone + Debug>(make: impl FnMut(usize) -> T) -> Self::PerLane<T>;

    /// Returns the same number in every lane.
    fn splat(x: Self::Element) -> Self;

    /// Returns the number in lane `index` (taken modulo [`Self::LANES`], so that it cannot be out of range).
    fn lane(&self, index: usize) -> Self::Element;

    /// Replaces the number in lane `index` (taken modulo [`Self::LANES`]).
    fn set_lane(&mut self, index: usize, x: Self::Element);

    /// Returns the number nearest to `x`, in every lane.
    fn from_f64(x: f64) -> Self;

    /// Returns the number nearest to the count `n`, in every lane.
    fn from_count(n: u64) -> Self;

    /// Returns the correctly rounded square root.
    fn sqrt(self) -> Self;

    /// Returns 2^x for x <= 127: for `f32` and lanes to 2.3 units in the last place, and below x = -125 as 2^-125; for
    /// `f64` to 1 unit in the last place.
    fn exp2(self) -> Self;

    /// Returns the hyperbolic tangent: for `f32` and lanes to 0.51 units in the last place and monotone, for `f64` to 2
    /// units.
    fn tanh(self) -> Self;

    /// Returns the absolute value.
    fn abs(self) -> Self;

    /// Returns the larger of the two; `self` where they compare equal (so the zeros' signs are fixed).
    fn max(self, other: Self) -> Self;

    /// Returns true if no lane is NaN or infinite.
    fn is_finite(self) -> bool;

    /// Runs a kernel on numbers of this type with the type's instructions.
    #[inline(always)]
    fn run<K: Kernel>(kernel: K) -> K::Output {
        Portable::run(kernel)
    }
}

/// Returns a parameter whose lanes are all finite and fit.
pub(crate) fn check_lanes<S: Scalar>(
    x: S,
    parameter: &'static str,
    fits: impl Fn(S::Element) -> bool,
    expected: &'static str,
) -> Result<S> {
    ensure(x.is_finite(), Error::NonFinite { parameter })?;
    let fits = (0..S::LANES).all(|lane| fits(x.lane(lane)));
    ensure(fits, out_of_range(parameter, expected)).map(|()| x)
}

/// A single number, `f32` or `f64`.
pub trait Real: Scalar<Element = Self> + PartialOrd {
    /// Returns the number as `f64` (exact).
    fn to_f64(self) -> f64;

    /// The number of bytes of a stored number: 4 or 8.
    const BYTES: usize;

    /// The numbers below and above all others.
    const INFINITIES: [Self; 2];

    /// Returns the bits, zero-extended, for digests and stored files.
    fn bits(self) -> u64;

    /// Returns the number with the given bits (the low 32 of them for `f32`).
    fn from_bits(bits: u64) -> Self;

    /// Returns a uniform number in [0, 1) from the top bits of a random word, 24 or 53 of them.
    fn uniform_from_bits(word: u64) -> Self;

    /// Returns the natural logarithm.
    fn ln(self) -> Self;

    /// Returns the sine of an angle in radians; beyond 1.6 million the angle is reduced by the `f64` next to 2 pi.
    fn sin(self) -> Self;

    /// Returns the cosine of an angle in radians, reduced as for [`Real::sin`].
    fn cos(self) -> Self;
}

/// Methods of a few instructions: inlined, so that they are compiled with the caller's.
macro_rules! inlined {
    ($(fn $name:ident $(<$T:ident: $bound:path>)? $args:tt $(-> $out:ty)? $body:block)*) => {
        $(#[inline(always)]
        fn $name $(<$T: $bound>)? $args $(-> $out)? $body)*
    };
}
#[cfg(feature = "research")]
use inlined;

macro_rules! real {
    ($t:ident, $functions:ident, $shift:expr, $ulp:expr) => {
        impl Scalar for $t {
            type Element = $t;
            type PerLane<T: Clone + Debug> = [T; 1];
            const LANES: usize = 1;
            const ZERO: $t = 0.0;
            const ONE: $t = 1.0;

            #[inline(always)]
            fn per_lane<T: Clone + Debug>(make: impl FnMut(usize) -> T) -> [T; 1] {
                core::array::from_fn(make)
            }
            inlined! {
                fn splat(x: $t) -> $t {
                    x
                }
                fn lane(&self, _index: usize) -> $t {
                    *self
                }
                fn set_lane(&mut self, _index: usize, x: $t) {
                    *self = x;
                }
                fn from_f64(x: f64) -> $t {
                    x as $t
                }
                fn from_count(n: u64) -> $t {
                    n as $t
                }
                fn sqrt(self) -> $t {
                    $functions::sqrt(self)
                }
                fn exp2(self) -> $t {
                    $functions::exp2(self)
                }
                fn tanh(self) -> $t {
                    $functions::tanh(self)
                }
                fn abs(self) -> $t {
                    // Clears the sign bit: exact, also for -0.0.
                    $t::from_bits(self.to_bits() << 1 >> 1)
                }
                fn max(self, other: $t) -> $t {
                    if other > self { other } else { self }
                }
                fn is_finite(self) -> bool {
                    self - self == 0.0
                }
            }
        }

        impl Real for $t {
            const BYTES: usize = size_of::<$t>();
            const INFINITIES: [$t; 2] = [$t::NEG_INFINITY, $t::INFINITY];

            inlined! {
                fn to_f64(self) -> f64 {
                    self as f64
                }
                fn bits(self) -> u64 {
                    self.to_bits() as u64
                }
                fn from_bits(bits: u64) -> $t {
                    $t::from_bits(bits as _)
                }
                fn uniform_from_bits(word: u64) -> $t {
                    (word >> $shift) as $t * $ulp
                }
                fn ln(self) -> $t {
                    $functions::ln(self)
                }
                fn sin(self) -> $t {
                    $functions::sin(self)
                }
                fn cos(self) -> $t {
                    $functions::cos(self)
                }
            }
        }
    };
}

/// The functions of each type.
mod single {
    pub(super) use crate::scalar::elementary::{exp2, tanh};
    pub(super) use crate::scalar::functions::{cos_f32 as cos, ln_f32 as ln, sin_f32 as sin};
    pub(super) use libm::sqrtf as sqrt;
}
mod double {
    pub(super) use crate::scalar::functions::{cos_f64 as cos, ln_f64 as ln, sin_f64 as sin};
    pub(super) use crate::scalar::functions::{exp2_f64 as exp2, tanh_f64 as tanh};
    pub(super) use libm::sqrt;
}

real!(f32, single, 40, 1.0 / 16_777_216.0);
real!(f64, double, 11, 1.0 / 9_007_199_254_740_992.0);
