//! The vector instructions that a training run uses, chosen once at run time.
//!
//! `core` depends on no instruction set: its kernels run with the instructions that the lanes' type names ([`InstructionSet`]).
//! A level changes only the speed: the operations of a seed and their order are the same, so all levels give the same bits.
//!
//! This is the only module of the crate with `unsafe`: calls of functions whose instructions were
//! found to exist. The sets are private, and [`with_scalar`] and [`with_best_instructions`] are the only ways to them.

#[cfg(target_arch = "x86_64")]
use ictd_core::scalar::{Aligned32, InstructionSet, Kernel, Lanes, Lanes8, Scalar};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SimdLevel {
    /// One seed of linear attention: a register holds rows of its matrices. AVX2 on x86-64, else the baseline.
    OneSeed,
    /// The instructions of every processor of the target architecture: SSE2 on x86-64, NEON on AArch64.
    Baseline,
    Avx2,
    /// x86-64 with AVX-512 (F, VL, DQ, BW).
    Avx512,
}

impl SimdLevel {
    /// All levels, slowest first.
    pub const ALL: [SimdLevel; 4] =
        [SimdLevel::OneSeed, SimdLevel::Baseline, SimdLevel::Avx2, SimdLevel::Avx512];

    /// Returns the best level of this machine for this number of seeds in lanes: a wide register that would be half empty costs
    /// more than it gains.
    pub fn for_seeds(seeds: usize) -> SimdLevel {
        let fits = |level: &SimdLevel| {
            level.is_available()
                && level.lanes() > 1
                && (*level != SimdLevel::Avx512 || seeds > Lanes8::LANES)
        };
        SimdLevel::ALL.into_iter().rev().find(fits).unwrap_or(SimdLevel::Baseline)
    }

    /// Returns the number of seeds that train in parallel.
    pub fn lanes(self) -> usize {
        match self {
            SimdLevel::OneSeed => 1,
            SimdLevel::Baseline | SimdLevel::Avx2 => Lanes8::LANES,
            SimdLevel::Avx512 => 16,
        }
    }

    pub fn is_available(self) -> bool {
        match self {
            SimdLevel::Baseline => true,
            #[cfg(target_arch = "x86_64")]
            SimdLevel::OneSeed | SimdLevel::Avx2 => is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            SimdLevel::Avx512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512bw")
            }
            #[cfg(not(target_arch = "x86_64"))]
            level => level == SimdLevel::OneSeed,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            SimdLevel::OneSeed => "one seed",
            SimdLevel::Baseline => "baseline",
            SimdLevel::Avx2 => "avx2",
            SimdLevel::Avx512 => "avx512",
        }
    }
}

/// Work that is generic over a scalar type chosen at run time.
pub trait WithScalar {
    type Output;

    fn run<S: Scalar<Element = f32>>(self) -> Self::Output;

    /// Runs with the scalar of [`SimdLevel::OneSeed`].
    fn run_alone<S: Scalar<Element = f32>>(self) -> Self::Output
    where
        Self: Sized,
    {
        self.run::<S>()
    }
}

/// Runs `work` with the scalar type of a level; returns `None` if this machine lacks its instructions.
pub fn with_scalar<W: WithScalar>(level: SimdLevel, work: W) -> Option<W::Output> {
    match level {
        _ if !level.is_available() => None,
        SimdLevel::OneSeed => Some(work.run_alone::<Lanes<1, OneSeed>>()),
        #[cfg(target_arch = "x86_64")]
        SimdLevel::Avx2 => Some(work.run::<Lanes<8, Avx2>>()),
        #[cfg(target_arch = "x86_64")]
        SimdLevel::Avx512 => Some(work.run::<Lanes<16, Avx512>>()),
        _ => Some(work.run::<Lanes8>()),
    }
}

/// Runs a kernel, whatever its numbers are, with the best instructions of this machine.
pub fn with_best_instructions<K: Kernel>(kernel: K) -> K::Output {
    match SimdLevel::for_seeds(usize::MAX) {
        #[cfg(target_arch = "x86_64")]
        SimdLevel::Avx2 => Avx2::run(kernel),
        #[cfg(target_arch = "x86_64")]
        SimdLevel::Avx512 => Avx512::run(kernel),
        _ => kernel.run(),
    }
}

#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
struct Aligned64;

/// Defines an instruction set, which is used only where it was detected.
macro_rules! instruction_set {
    ($name:ident, $aligned:ty, $feature:meta) => {
        #[derive(Clone, Copy, Debug, PartialEq)]
        struct $name;

        impl InstructionSet for $name {
            type Aligned = $aligned;

            #[inline(always)]
            fn run<K: Kernel>(kernel: K) -> K::Output {
                #[$feature]
                #[inline(never)]
                fn compiled<K: Kernel>(kernel: K) -> K::Output {
                    kernel.run()
                }
                // SAFETY: the only callers found that the instructions exist.
                #[allow(unsafe_code, unused_unsafe)]
                unsafe {
                    compiled(kernel)
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
instruction_set!(OneSeed, (), target_feature(enable = "avx2"));
#[cfg(not(target_arch = "x86_64"))]
instruction_set!(OneSeed, (), cfg(not(target_arch = "x86_64")));
#[cfg(target_arch = "x86_64")]
instruction_set!(Avx2, Aligned32, target_feature(enable = "avx2"));
#[cfg(target_arch = "x86_64")]
instruction_set!(Avx512, Aligned64, target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw"));
