//! Kernels, and the sets of vector instructions that they are compiled for.
//!
//! A program that must run on any x86-64 yet use AVX-512 where it is has its hot code compiled more than once. The unit of
//! compilation is the [`Kernel`]: one function per type of number, not a copy at every call. The type of number determines
//! the instructions ([`Scalar::run`](super::Scalar::run)), so that no call on the way can lose them. This crate has one
//! set, [`Portable`]; others need `unsafe` code and are in a crate that depends on this one.

use core::fmt::Debug;

/// A piece of hot code: its arguments, and what to do with them.
pub trait Kernel {
    /// The type of the result.
    type Output;

    /// Does it; `#[inline(always)]`, so that it is compiled with the instructions of its caller.
    fn run(self) -> Self::Output;
}

/// A set of vector instructions: how a kernel is called. It changes the speed and nothing else, and must not be reachable
/// where the instructions are missing. An implementation calls the kernel in a function with a `#[target_feature]`.
pub trait InstructionSet: Copy + Debug + PartialEq + Send + Sync + 'static {
    /// A type that is aligned like a register of the set.
    type Aligned: Copy + Debug + PartialEq + Send + Sync + 'static;

    /// Runs the kernel with these instructions.
    fn run<K: Kernel>(kernel: K) -> K::Output;
}

/// The instructions that every processor of the target has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Portable;

/// Aligned like a register of eight `f32`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(32))]
pub struct Aligned32;

impl InstructionSet for Portable {
    type Aligned = Aligned32;

    // On a chip the inlining that `kernel!` chooses takes less flash.
    #[cfg_attr(not(target_os = "none"), inline(never))]
    #[cfg_attr(target_os = "none", inline(always))]
    fn run<K: Kernel>(kernel: K) -> K::Output {
        kernel.run()
    }
}

/// Defines a function that runs as a [`Kernel`] of its kind of number, named after `as`.
///
/// Where it is placed on a chip is said here alone: once, to save flash, or (`inline fn`) at each call, for
/// the few operations that are not worth one.
macro_rules! kernel {
    (@placed $chip:ident
        $(#[$meta:meta])*
        ($vis:vis) fn $name:ident as $Kernel:ident
        <$lt:lifetime, $S:ident: Scalar $(, const $C:ident: $T:ty)* $(,)?>
        ($($arg:ident: $ty:ty),* $(,)?) $(-> $out:ty)? $body:block
    ) => {
        struct $Kernel<$lt, $S: Scalar $(, const $C: $T)*> {
            $($arg: $ty,)*
            _lifetime: core::marker::PhantomData<&$lt $S>,
        }

        impl<$lt, $S: Scalar $(, const $C: $T)*> $crate::scalar::Kernel
            for $Kernel<$lt, $S $(, $C)*>
        {
            type Output = kernel!(@output $($out)?);

            #[inline(always)]
            fn run(self) -> kernel!(@output $($out)?) {
                let Self { $($arg,)* .. } = self;
                $body
            }
        }

        $(#[$meta])*
        #[cfg_attr(target_os = "none", inline($chip))]
        #[cfg_attr(not(target_os = "none"), inline(always))]
        $vis fn $name<$lt, $S: Scalar $(, const $C: $T)*>($($arg: $ty),*) $(-> $out)? {
            $S::run($Kernel::<$lt, $S $(, $C)*> { $($arg,)* _lifetime: core::marker::PhantomData })
        }
    };
    (@output) => { () };
    (@output $out:ty) => { $out };
    ($(#[$meta:meta])* $vis:vis inline fn $($rest:tt)*) => {
        kernel! { @placed always $(#[$meta])* ($vis) fn $($rest)* }
    };
    ($(#[$meta:meta])* $vis:vis fn $($rest:tt)*) => {
        kernel! { @placed never $(#[$meta])* ($vis) fn $($rest)* }
    };
}

pub(crate) use kernel;
