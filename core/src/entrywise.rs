//! Vectors in one order of their entries, whatever their shape.

use crate::chip::{never_inlined_on_host, once_on_chip};
use crate::linalg::keep_apart;
use crate::scalar::Scalar;
use core::fmt::Debug;

/// Numbers in a fixed order that are combined entry by entry: columns of Z, the unscaled tokens of a context that a mask
/// combines, and sums of these.
pub trait Entrywise<S: Scalar>: Copy + Debug + PartialEq {
    /// The vector of zeros.
    const ZERO: Self;

    /// Calls `f(a, z)` entry by entry.
    fn zip(a: &mut Self, z: &Self, f: impl FnMut(&mut S, S));

    /// Calls `f(a, b, z)` entry by entry.
    fn zip3(a: &mut Self, b: &mut Self, z: &Self, f: impl FnMut(&mut S, &mut S, S));

    /// Shows each number, in order, to be changed.
    fn numbers(&mut self, visit: &mut impl FnMut(&mut S));

    /// Shows each number, in the same order.
    fn show(&self, visit: &mut impl FnMut(S));

    once_on_chip! {
        /// Adds s x.
        fn add_scaled(&mut self, s: S, x: &Self) {
            Self::zip(self, x, |a, x| *a += s * x);
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
            fn zip(a: &mut Self, z: &Self, mut f: impl FnMut(&mut $S, $S)) {
                $($crate::entrywise::Entrywise::<$S>::zip(&mut a.$field, &z.$field, &mut f);)*
            }

            #[inline(always)]
            fn zip3(a: &mut Self, b: &mut Self, z: &Self, mut f: impl FnMut(&mut $S, &mut $S, $S)) {
                $($crate::entrywise::Entrywise::<$S>::zip3(
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
    fn zip(a: &mut Self, z: &Self, mut f: impl FnMut(&mut S, S)) {
        keep_apart::<S>();
        f(a, *z);
    }

    #[inline(always)]
    fn zip3(a: &mut Self, b: &mut Self, z: &Self, mut f: impl FnMut(&mut S, &mut S, S)) {
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
    fn zip(a: &mut Self, z: &Self, mut f: impl FnMut(&mut S, S)) {
        for i in 0..N {
            V::zip(&mut a[i], &z[i], &mut f);
        }
    }

    #[inline(always)]
    fn zip3(a: &mut Self, b: &mut Self, z: &Self, mut f: impl FnMut(&mut S, &mut S, S)) {
        for i in 0..N {
            V::zip3(&mut a[i], &mut b[i], &z[i], &mut f);
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

impl<S: Scalar> Entrywise<S> for () {
    const ZERO: Self = ();
    fn zip(_: &mut Self, _: &Self, _: impl FnMut(&mut S, S)) {}
    fn zip3(_: &mut Self, _: &mut Self, _: &Self, _: impl FnMut(&mut S, &mut S, S)) {}
    fn numbers(&mut self, _: &mut impl FnMut(&mut S)) {}
    fn show(&self, _: &mut impl FnMut(S)) {}
}

/// Adds `full` to `total` + `error`, and makes it 0. The error keeps what rounding leaves of the total (TwoSum, Knuth): it is at most
/// half a unit in the total's last place.
#[inline(never)]
fn close<S: Scalar, V: Entrywise<S>>(total: &mut V, error: &mut V, full: &mut V) {
    V::zip3(total, error, full, |total, error, x| {
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
