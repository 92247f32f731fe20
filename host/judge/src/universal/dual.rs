//! Dual numbers for forward-mode differentiation: a value and its derivatives with respect to N numbers, also through the
//! solution of a linear system.
//!
//! The parameters enter a solution only through nine linear combinations, whose coefficients are quantities of the context. So
//! derivatives with respect to nine numbers suffice, if the quantity that multiplies each parameter is recorded.

use ictd_core::scalar::{Real, Scalar};
use ictd_core::universal::UniversalParameters;
use std::cell::Cell;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

/// A number and its derivatives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Dual<const N: usize> {
    pub(super) value: f64,
    pub(super) derivatives: [f64; N],
    /// The parameter's index, from 1; 0 if this number is not a parameter.
    parameter: usize,
}

impl<const N: usize> Dual<N> {
    pub(super) const fn constant(value: f64) -> Self {
        Dual { value, derivatives: [0.0; N], parameter: 0 }
    }

    /// Returns f(self), given f's value and derivative.
    fn chain(self, value: f64, derivative: f64) -> Self {
        Dual { value, derivatives: self.derivatives.map(|x| derivative * x), parameter: 0 }
    }

    /// Returns f(self, other), given f's value and partial derivatives.
    fn both(self, other: Self, value: f64, [a, b]: [f64; 2]) -> Self {
        let derivatives =
            std::array::from_fn(|i| a * self.derivatives[i] + b * other.derivatives[i]);
        Dual { value, derivatives, parameter: 0 }
    }
}

const COUNT: usize = UniversalParameters::COUNT;

pub(super) const COMBINATIONS: usize = 9;

/// The combination of each parameter: three ridges, two of the Bellman share, two shares of F, two gates; the last three
/// parameters, for one feature per state, add to two of these.
const COMBINATION: [usize; COUNT] = [
    0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 4, 5, 5, 6, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 8, 8, 8, 8,
    8, 8, 8, 8, 0, 0, 7,
];
/// The indices of the parameters that no quantity multiplies.
const ALONE: [usize; 2] = [12, 13];

thread_local! {
    /// The quantities that last multiplied each parameter.
    static QUANTITIES: [Cell<f64>; COUNT] = const { [const { Cell::new(1.0) }; COUNT] };
}

/// Returns parameters whose derivatives are those of their combinations: the first of each combination is multiplied by 1.
pub(super) fn learned(parameters: &[f64; COUNT]) -> UniversalParameters<Dual<COMBINATIONS>> {
    let mut index = 0;
    UniversalParameters::SHAPE.map(|()| {
        let mut x = Dual::constant(parameters[index]);
        let combination = COMBINATION[index];
        if !COMBINATION[..index].contains(&combination) {
            x.derivatives[combination] = 1.0;
        }
        x.parameter = if ALONE.contains(&index) { 0 } else { index + 1 };
        index += 1;
        x
    })
}

impl Dual<COMBINATIONS> {
    /// Returns this number with its derivatives with respect to the parameters, after the computation with [`learned`] ones.
    pub(super) fn by_parameter(self) -> Dual<COUNT> {
        let derivatives = QUANTITIES.with(|quantities| {
            std::array::from_fn(|i| self.derivatives[COMBINATION[i]] * quantities[i].get())
        });
        Dual { value: self.value, derivatives, parameter: 0 }
    }
}

macro_rules! operator {
    ($name:ident, $f:ident, $assign:ident, $f_assign:ident, |$x:ident, $y:ident| $value:expr, $derivatives:expr) => {
        operator!($name, $f, |$x, $y| $value, $derivatives);
        impl<const N: usize> $assign for Dual<N> {
            fn $f_assign(&mut self, other: Self) {
                *self = self.$f(other);
            }
        }
    };
    ($name:ident, $f:ident, |$x:ident, $y:ident| $value:expr, $derivatives:expr) => {
        impl<const N: usize> $name for Dual<N> {
            type Output = Self;
            fn $f(self, other: Self) -> Self {
                let ($x, $y) = (self.value, other.value);
                self.both(other, $value, $derivatives)
            }
        }
    };
}

operator!(Add, add, AddAssign, add_assign, |x, y| x + y, [1.0, 1.0]);
operator!(Sub, sub, SubAssign, sub_assign, |x, y| x - y, [1.0, -1.0]);
operator!(Div, div, |x, y| x / y, [1.0 / y, -x / (y * y)]);

impl<const N: usize> Mul for Dual<N> {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        if self.parameter > 0 {
            QUANTITIES.with(|quantities| quantities[self.parameter - 1].set(other.value));
        }
        let (x, y) = (self.value, other.value);
        self.both(other, x * y, [y, x])
    }
}

impl<const N: usize> MulAssign for Dual<N> {
    fn mul_assign(&mut self, other: Self) {
        *self = *self * other;
    }
}

impl<const N: usize> Neg for Dual<N> {
    type Output = Self;
    fn neg(self) -> Self {
        self.chain(-self.value, -1.0)
    }
}

impl<const N: usize> PartialOrd for Dual<N> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        self.value.partial_cmp(&other.value)
    }
}

impl<const N: usize> Scalar for Dual<N> {
    type Element = Self;
    type PerLane<T: Clone + std::fmt::Debug> = [T; 1];
    const LANES: usize = 1;
    const ZERO: Self = Dual::constant(0.0);
    const ONE: Self = Dual::constant(1.0);

    fn per_lane<T: Clone + std::fmt::Debug>(make: impl FnMut(usize) -> T) -> [T; 1] {
        std::array::from_fn(make)
    }
    fn splat(x: Self) -> Self {
        x
    }
    fn lane(&self, _index: usize) -> Self {
        *self
    }
    fn set_lane(&mut self, _index: usize, x: Self) {
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

impl<const N: usize> Real for Dual<N> {
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
