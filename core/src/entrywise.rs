//! Vectors in one order of their entries, whatever their shape.

use crate::chip::{never_inlined_on_host, once_on_chip};
use crate::linalg::{keep_apart, zeros};
use crate::scalar::Scalar;
use core::fmt::Debug;
use nalgebra::SVector;

/// Numbers in a fixed order that are combined entry by entry: columns of Z, the unscaled tokens of a context that a mask
/// combines, and sums of these.
pub trait Entrywise<S: Scalar>: Copy + Debug + PartialEq {
    /// The vector of zeros.
    const ZERO: Self;

    /// Calls `f(a, b, z)` entry by entry.
    fn zip(a: &mut Self, b: &mut Self, z: &Self, f: impl FnMut(&mut S, &mut S, S));

    /// Shows each number, in order, to be changed.
    fn numbers(&mut self, visit: &mut impl FnMut(&mut S)) {
        let (mut unused, zero) = (Self::ZERO, Self::ZERO);
        Self::zip(self, &mut unused, &zero, |x, _, _| visit(x));
    }

    /// Shows each number, in the same order.
    fn show(&self, visit: &mut impl FnMut(S)) {
        let (mut unused, mut zero) = (Self::ZERO, Self::ZERO);
        Self::zip(&mut unused, &mut zero, self, |_, _, x| visit(x));
    }

    /// Returns <x, x>.
    #[inline(always)]
    fn square(&self) -> S {
        let (mut copy, mut unused, mut sum) = (*self, Self::ZERO, S::ZERO);
        Self::zip(&mut copy, &mut unused, self, |_, _, x| sum += x * x);
        sum
    }

    once_on_chip! {
        /// Adds s x.
        fn add_scaled(&mut self, s: S, x: &Self) {
            let mut unused = Self::ZERO;
            Self::zip(self, &mut unused, x, |a, _, x| *a += s * x);
        }
    }
}

/// Implements [`Entrywise`] for a type, field by field in this order, without the one after the semicolon.
macro_rules! entrywise {
    ([$($generics:tt)*] $S:ident, $Type:ty { $($field:tt),* $(; $apart:ident)? }) => {
        impl<$($generics)*> $crate::entrywise::Entrywise<$S> for $Type {
            const ZERO: Self = Self {
                $($field: $crate::entrywise::Entrywise::<$S>::ZERO,)*
                $($apart: $crate::entrywise::Entrywise::<$S>::ZERO)?
            };

            #[inline(always)]
            fn zip(a: &mut Self, b: &mut Self, z: &Self, mut f: impl FnMut(&mut $S, &mut $S, $S)) {
                $($crate::entrywise::Entrywise::<$S>::zip(
                    &mut a.$field, &mut b.$field, &z.$field, &mut f,
                );)*
            }

            fn numbers(&mut self, visit: &mut impl FnMut(&mut $S)) {
                $($crate::entrywise::Entrywise::<$S>::numbers(&mut self.$field, visit);)*
            }

            fn show(&self, visit: &mut impl FnMut($S)) {
                $($crate::entrywise::Entrywise::<$S>::show(&self.$field, visit);)*
            }
        }
    };
}
pub(crate) use entrywise;

impl<S: Scalar> Entrywise<S> for S {
    const ZERO: Self = S::ZERO;

    #[inline(always)]
    fn zip(a: &mut Self, b: &mut Self, z: &Self, mut f: impl FnMut(&mut S, &mut S, S)) {
        keep_apart::<S>();
        f(a, b, *z);
    }

    #[inline(always)]
    fn numbers(&mut self, visit: &mut impl FnMut(&mut S)) {
        visit(self);
    }

    #[inline(always)]
    fn show(&self, visit: &mut impl FnMut(S)) {
        visit(*self);
    }
}

impl<S: Scalar, V: Entrywise<S>, const N: usize> Entrywise<S> for [V; N] {
    const ZERO: Self = [V::ZERO; N];

    #[inline(always)]
    fn zip(a: &mut Self, b: &mut Self, z: &Self, mut f: impl FnMut(&mut S, &mut S, S)) {
        for i in 0..N {
            V::zip(&mut a[i], &mut b[i], &z[i], &mut f);
        }
    }

    never_inlined_on_host! {
        fn numbers(&mut self, visit: &mut impl FnMut(&mut S)) {
            self.iter_mut().for_each(|part| part.numbers(visit));
        }

        fn show(&self, visit: &mut impl FnMut(S)) {
            self.iter().for_each(|part| part.show(visit));
        }
    }
}

impl<S: Scalar, const K: usize> Entrywise<S> for SVector<S, K> {
    const ZERO: Self = zeros();

    #[inline(always)]
    fn zip(a: &mut Self, b: &mut Self, z: &Self, f: impl FnMut(&mut S, &mut S, S)) {
        Entrywise::zip(&mut a.data.0[0], &mut b.data.0[0], &z.data.0[0], f);
    }
}

impl<S: Scalar> Entrywise<S> for () {
    const ZERO: Self = ();
    #[inline(always)]
    fn zip(_: &mut Self, _: &mut Self, _: &Self, _: impl FnMut(&mut S, &mut S, S)) {}
}

/// Adds `full` to `total` + `error`, and makes it 0. The error keeps what rounding leaves of the total (TwoSum, Knuth): it is at most
/// half a unit in the total's last place.
#[inline(never)]
fn close<S: Scalar, V: Entrywise<S>>(total: &mut V, error: &mut V, full: &mut V) {
    V::zip(total, error, full, |total, error, x| {
        let x = x + *error;
        let sum = *total + x;
        let x_part = sum - *total;
        let total_part = sum - x_part;
        *error = (*total - total_part) + (x - x_part);
        *total = sum;
    });
    *full = V::ZERO;
}

/// Does what [`close`] does, for one of several vectors.
pub(crate) fn close_at<S: Scalar, V: Entrywise<S>>(
    total: &mut [V],
    error: &mut [V],
    full: &mut [V],
    index: usize,
) {
    let vectors = (total.get_mut(index), error.get_mut(index), full.get_mut(index));
    if let (Some(total), Some(error), Some(full)) = vectors {
        close(total, error, full);
    }
}
