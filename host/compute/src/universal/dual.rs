//! Dual numbers for forward-mode differentiation: a value and its derivatives with respect to the learned parameters, also
//! through the solution of a linear system.

use ictd_core::scalar::{Real, Scalar};
use ictd_core::universal::UniversalParameters;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

/// A number and its derivatives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Dual {
    pub(super) value: f64,
    pub(super) derivatives: [f64; UniversalParameters::COUNT],
}

impl Dual {
    /// Returns a number that depends on nothing.
    pub(super) const fn constant(value: f64) -> Self {
        Dual { value, derivatives: [0.0; UniversalParameters::COUNT] }
    }

    /// Returns the learned number with this index.
    pub(super) fn learned(value: f64, index: usize) -> Self {
        let mut x = Dual::constant(value);
        x.derivatives[index] = 1.0;
        x
    }

    /// Returns f(self), of its value and its derivative.
    fn chain(self, value: f64, derivative: f64) -> Self {
        Dual { value, derivatives: self.derivatives.map(|x| derivative * x) }
    }

    /// Returns what depends on both as these derivatives say.
    fn both(self, other: Self, value: f64, [a, b]: [f64; 2]) -> Self {
        let derivatives =
            std::array::from_fn(|i| a * self.derivatives[i] + b * other.derivatives[i]);
        Dual { value, derivatives }
    }
}

macro_rules! operator {
    ($name:ident, $f:ident, $assign:ident, $f_assign:ident, |$x:ident, $y:ident| $value:expr, $derivatives:expr) => {
        operator!($name, $f, |$x, $y| $value, $derivatives);
        impl $assign for Dual {
            fn $f_assign(&mut self, other: Dual) {
                *self = self.$f(other);
            }
        }
    };
    ($name:ident, $f:ident, |$x:ident, $y:ident| $value:expr, $derivatives:expr) => {
        impl $name for Dual {
            type Output = Dual;
            fn $f(self, other: Dual) -> Dual {
                let ($x, $y) = (self.value, other.value);
                self.both(other, $value, $derivatives)
            }
        }
    };
}

operator!(Add, add, AddAssign, add_assign, |x, y| x + y, [1.0, 1.0]);
operator!(Sub, sub, SubAssign, sub_assign, |x, y| x - y, [1.0, -1.0]);
operator!(Mul, mul, MulAssign, mul_assign, |x, y| x * y, [y, x]);
operator!(Div, div, |x, y| x / y, [1.0 / y, -x / (y * y)]);

impl Neg for Dual {
    type Output = Dual;
    fn neg(self) -> Dual {
        self.chain(-self.value, -1.0)
    }
}

impl PartialOrd for Dual {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        self.value.partial_cmp(&other.value)
    }
}

impl Scalar for Dual {
    type Element = Dual;
    type PerLane<T: Clone + std::fmt::Debug> = [T; 1];
    const LANES: usize = 1;
    const ZERO: Self = Dual::constant(0.0);
    const ONE: Self = Dual::constant(1.0);

    fn per_lane<T: Clone + std::fmt::Debug>(make: impl FnMut(usize) -> T) -> [T; 1] {
        std::array::from_fn(make)
    }
    fn splat(x: Dual) -> Self {
        x
    }
    fn lane(&self, _index: usize) -> Dual {
        *self
    }
    fn set_lane(&mut self, _index: usize, x: Dual) {
        *self = x;
    }
    fn from_f64(x: f64) -> Self {
        Dual::constant(x)
    }
    fn from_count(n: u64) -> Self {
        Dual::constant(n as f64)
    }
    fn sqrt(self) -> Self {
        let root = Scalar::sqrt(self.value);
        self.chain(root, 0.5 / root)
    }
    fn exp2(self) -> Self {
        let power = Scalar::exp2(self.value);
        self.chain(power, std::f64::consts::LN_2 * power)
    }
    fn tanh(self) -> Self {
        let tanh = Scalar::tanh(self.value);
        self.chain(tanh, 1.0 - tanh * tanh)
    }
    fn abs(self) -> Self {
        if self.value < 0.0 { -self } else { self }
    }
    fn max(self, other: Self) -> Self {
        if other > self { other } else { self }
    }
    fn is_finite(self) -> bool {
        Scalar::is_finite(self.value) && self.derivatives.iter().all(|x| x.is_finite())
    }
}

impl Real for Dual {
    const BYTES: usize = 8;

    fn to_f64(self) -> f64 {
        self.value
    }
    fn bits(self) -> u64 {
        self.value.to_bits()
    }
    fn from_bits(bits: u64) -> Self {
        Dual::constant(f64::from_bits(bits))
    }
    fn uniform_from_bits(word: u64) -> Self {
        Dual::constant(Real::uniform_from_bits(word))
    }
    fn ln(self) -> Self {
        self.chain(Real::ln(self.value), 1.0 / self.value)
    }
    fn sin(self) -> Self {
        self.chain(Real::sin(self.value), Real::cos(self.value))
    }
    fn cos(self) -> Self {
        self.chain(Real::cos(self.value), -Real::sin(self.value))
    }
}
