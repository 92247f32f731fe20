//! Lanes: several `f32` that one program advances side by side, one per seed.
//!
//! Plain aligned arrays with element-wise operations. The compiler turns them into vector
//! instructions of whatever width the target has; no operation mixes lanes, so the width never
//! changes a result.

use super::{InstructionSet, Kernel, Portable, Scalar, elementary, inlined};
use core::fmt::Debug;
use core::marker::PhantomData;
use core::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

/// W `f32` in one register of the instruction set I; kernels run with these instructions.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Lanes<const W: usize, I: InstructionSet>(pub [f32; W], [I::Aligned; 0], PhantomData<I>);

/// Eight `f32`, with the target's own instructions.
pub type Lanes8 = Lanes<8, Portable>;

impl<const W: usize, I: InstructionSet> Lanes<W, I> {
    /// Makes lanes of these numbers.
    #[inline(always)]
    pub const fn new(lanes: [f32; W]) -> Self {
        Lanes(lanes, [], PhantomData)
    }

    inlined! {
        fn map(self, f: impl Fn(f32) -> f32) -> Self {
            let mut out = [0.0; W];
            for i in 0..W {
                out[i] = f(self.0[i]);
            }
            Self::new(out)
        }
        fn map_both(self, other: Self, f: impl Fn(f32, f32) -> f32) -> Self {
            let mut out = [0.0; W];
            for i in 0..W {
                out[i] = f(self.0[i], other.0[i]);
            }
            Self::new(out)
        }
    }
}

macro_rules! operator {
    ($Op:ident, $op:ident $(, $OpAssign:ident, $op_assign:ident)?) => {
        impl<const W: usize, I: InstructionSet> $Op for Lanes<W, I> {
            type Output = Self;
            #[inline(always)]
            fn $op(self, other: Self) -> Self {
                let mut out = [0.0; W];
                for i in 0..W {
                    out[i] = self.0[i].$op(other.0[i]);
                }
                Self::new(out)
            }
        }
        $(impl<const W: usize, I: InstructionSet> $OpAssign for Lanes<W, I> {
            #[inline(always)]
            fn $op_assign(&mut self, other: Self) {
                *self = self.$op(other);
            }
        })?
    };
}

operator!(Add, add, AddAssign, add_assign);
operator!(Sub, sub, SubAssign, sub_assign);
operator!(Mul, mul, MulAssign, mul_assign);
operator!(Div, div);

impl<const W: usize, I: InstructionSet> Neg for Lanes<W, I> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        self.map(|x| -x)
    }
}

impl<const W: usize, I: InstructionSet> Scalar for Lanes<W, I> {
    type Element = f32;
    type PerLane<T: Clone + Debug> = [T; W];
    const LANES: usize = W;
    const ROWS_IN_REGISTER: bool = W == 1;
    const ZERO: Self = Self::new([0.0; W]);
    const ONE: Self = Self::new([1.0; W]);

    #[inline(always)]
    fn per_lane<T: Clone + Debug>(make: impl FnMut(usize) -> T) -> [T; W] {
        core::array::from_fn(make)
    }
    inlined! {
        fn splat(x: f32) -> Self {
            Self::new([x; W])
        }
        fn lane(&self, index: usize) -> f32 {
            debug_assert!(index < W);
            self.0[index % W]
        }
        fn set_lane(&mut self, index: usize, x: f32) {
            debug_assert!(index < W);
            self.0[index % W] = x;
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
            self.map_both(other, Scalar::max)
        }
        fn is_finite(self) -> bool {
            let mut finite = true;
            for i in 0..W {
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
