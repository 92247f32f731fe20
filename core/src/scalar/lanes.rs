//! Lanes: several `f32` that one program advances side by side, one per seed.
//!
//! Plain aligned arrays with element-wise operations. The compiler turns them into vector
//! instructions of whatever width the target has; no operation mixes lanes, so the width never
//! changes a result.

use super::{InstructionSet, Kernel, Portable, Scalar, elementary, inlined};
use core::fmt::Debug;
use core::marker::PhantomData;
use core::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

macro_rules! lanes {
    ($name:ident, $width:literal, $align:literal, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[repr(C, align($align))]
        pub struct $name<I: InstructionSet>(pub [f32; $width], PhantomData<I>);

        impl<I: InstructionSet> $name<I> {
            /// From the numbers in the lanes.
            #[inline(always)]
            pub const fn new(lanes: [f32; $width]) -> Self {
                $name(lanes, PhantomData)
            }

            inlined! {
                fn map(self, f: impl Fn(f32) -> f32) -> Self {
                    if $width == 1 {
                        return Self::new([f(self.0[0]); $width]);
                    }
                    let mut out = [0.0; $width];
                    for i in 0..$width {
                        out[i] = f(self.0[i]);
                    }
                    Self::new(out)
                }
            }
        }

        lanes!(@operator $name, $width, Add, add, AddAssign, add_assign);
        lanes!(@operator $name, $width, Sub, sub, SubAssign, sub_assign);
        lanes!(@operator $name, $width, Mul, mul, MulAssign, mul_assign);
        lanes!(@operator $name, $width, Div, div);

        impl<I: InstructionSet> Neg for $name<I> {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                self.map(|x| -x)
            }
        }

        impl<I: InstructionSet> Scalar for $name<I> {
            type Element = f32;
            type PerLane<T: Clone + Debug> = [T; $width];
            const LANES: usize = $width;
            const ZERO: Self = Self::new([0.0; $width]);
            const ONE: Self = Self::new([1.0; $width]);

            #[inline(always)]
            fn per_lane<T: Clone + Debug>(make: impl FnMut(usize) -> T) -> [T; $width] {
                core::array::from_fn(make)
            }
            inlined! {
                fn splat(x: f32) -> Self {
                    Self::new([x; $width])
                }
                fn lane(&self, index: usize) -> f32 {
                    debug_assert!(index < $width);
                    self.0[index & ($width - 1)]
                }
                fn set_lane(&mut self, index: usize, x: f32) {
                    debug_assert!(index < $width);
                    self.0[index & ($width - 1)] = x;
                }
                fn from_f64(x: f64) -> Self {
                    Self::splat(x as f32)
                }
                fn from_count(n: u64) -> Self {
                    Self::splat(n as f32)
                }
                fn sqrt(self) -> Self {
                    self.map(elementary::sqrt)
                }
                fn exp2(self) -> Self {
                    self.map(elementary::exp2)
                }
                fn tanh(self) -> Self {
                    self.map(elementary::tanh)
                }
                fn abs(self) -> Self {
                    self.map(Scalar::abs)
                }
                fn max(self, other: Self) -> Self {
                    if $width == 1 {
                        return Self::new([Scalar::max(self.0[0], other.0[0]); $width]);
                    }
                    let mut out = [0.0; $width];
                    for i in 0..$width {
                        out[i] = Scalar::max(self.0[i], other.0[i]);
                    }
                    Self::new(out)
                }
                fn is_finite(self) -> bool {
                    let mut finite = true;
                    for i in 0..$width {
                        finite &= Scalar::is_finite(self.0[i]);
                    }
                    finite
                }
            }
            #[inline(always)]
            fn run<K: Kernel>(kernel: K) -> K::Output {
                I::run(kernel)
            }
        }
    };
    (@operator $name:ident, $width:literal, $Op:ident, $op:ident) => {
        impl<I: InstructionSet> $Op for $name<I> {
            type Output = Self;
            #[inline(always)]
            fn $op(self, other: Self) -> Self {
                // A loop over one number is a loop to compile, wherever there is an operation.
                if $width == 1 {
                    return Self::new([self.0[0].$op(other.0[0]); $width]);
                }
                let mut out = [0.0; $width];
                for i in 0..$width {
                    out[i] = self.0[i].$op(other.0[i]);
                }
                Self::new(out)
            }
        }
    };
    (@operator $name:ident, $width:literal, $Op:ident, $op:ident, $OpAssign:ident, $op_assign:ident) => {
        lanes!(@operator $name, $width, $Op, $op);
        impl<I: InstructionSet> $OpAssign for $name<I> {
            #[inline(always)]
            fn $op_assign(&mut self, other: Self) {
                *self = self.$op(other);
            }
        }
    };
}

lanes!(Lanes1On, 1, 4, "One `f32`, whose kernels run with the instructions I.");
lanes!(
    Lanes4On,
    4,
    16,
    "Four `f32`: one SSE2 or NEON register; kernels run with the instructions I."
);
lanes!(Lanes8On, 8, 32, "Eight `f32`: one AVX2 register; kernels run with the instructions I.");
lanes!(
    Lanes16On,
    16,
    64,
    "Sixteen `f32`: one AVX-512 register; kernels run with the instructions I."
);

/// Four `f32`, with the target's own instructions.
pub type Lanes4 = Lanes4On<Portable>;
/// Eight `f32`, with the target's own instructions.
pub type Lanes8 = Lanes8On<Portable>;
/// Sixteen `f32`, with the target's own instructions.
pub type Lanes16 = Lanes16On<Portable>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lane_is_the_f32_operation() {
        let a: [f32; 8] = [1.5, -2.25, 1e-20, 3e20, -0.0, 0.1, 7.0, -87.2];
        let b: [f32; 8] = [-0.5, 3.0, 1e-19, -3e20, 0.0, 0.3, 9.0, 1.0];
        let (x, y) = (Lanes8::new(a), Lanes8::new(b));
        for i in 0..8 {
            let pairs = [
                ((x + y).lane(i), a[i] + b[i]),
                ((x - y).lane(i), a[i] - b[i]),
                ((x * y).lane(i), a[i] * b[i]),
                ((-x).lane(i), -a[i]),
                (x.exp2().lane(i), Scalar::exp2(a[i])),
                (x.tanh().lane(i), Scalar::tanh(a[i])),
                (x.abs().sqrt().lane(i), Scalar::sqrt(Scalar::abs(a[i]))),
                (x.max(y).lane(i), Scalar::max(a[i], b[i])),
            ];
            for (got, want) in pairs {
                assert_eq!(got.to_bits(), want.to_bits());
            }
        }
        assert!(x.is_finite());
        let mut infinite = x;
        infinite.set_lane(3, f32::INFINITY);
        assert!(!infinite.is_finite());
    }
}
