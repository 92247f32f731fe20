//! Which vector instructions a training run uses, chosen once at run time.
//!
//! `core` knows no instruction set: its lanes are plain arrays, and its kernels run with whatever
//! instructions the lanes' type names ([`InstructionSet`]). Here are the sets of x86-64. A set changes
//! the speed and nothing else: the operations are the same ones in the same order, so every level gives
//! the same bits.
//!
//! This is the only module of the crate with `unsafe`: a call of a function whose instructions were
//! found to exist. The sets are private, and [`with_scalar`] is the only way to a type that names one.

#[cfg(target_arch = "x86_64")]
use ictd_core::scalar::{InstructionSet, Kernel, Lanes1On, Lanes8On, Lanes16On};
use ictd_core::scalar::{Lanes4, Scalar};

/// A set of vector instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What every processor of the target architecture has: SSE2 on x86-64, NEON on AArch64.
    Baseline,
    /// x86-64 with AVX2.
    Avx2,
    /// x86-64 with AVX-512 (F, VL, DQ, BW).
    Avx512,
}

impl Level {
    /// All levels, slowest first.
    pub const ALL: [Level; 3] = [Level::Baseline, Level::Avx2, Level::Avx512];

    /// The best level of this machine.
    pub fn detect() -> Level {
        Level::ALL.into_iter().rev().find(|level| level.is_available()).unwrap_or(Level::Baseline)
    }

    /// True if this machine has the level's instructions.
    pub fn is_available(self) -> bool {
        match self {
            Level::Baseline => true,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512bw")
            }
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }

    /// How many seeds one register holds, the number of lanes that is fastest at this level.
    pub fn lanes(self) -> usize {
        match self {
            Level::Baseline => 4,
            Level::Avx2 => 8,
            Level::Avx512 => 16,
        }
    }

    /// The level whose registers so many lanes fill; for a seed alone the one that [`with_scalar`]
    /// takes.
    pub fn for_lanes(lanes: usize) -> Level {
        match lanes {
            16 => Level::Avx512,
            8 => Level::Avx2,
            1 => Level::detect().min(Level::Avx2),
            _ => Level::Baseline,
        }
    }

    /// The level's name.
    pub fn name(self) -> &'static str {
        match self {
            Level::Baseline => "baseline",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }
}

/// Something to do with a kind of number that is chosen at run time.
pub trait WithScalar {
    /// What it gives.
    type Output;

    /// Does it with numbers of kind S.
    fn run<S: Scalar<Element = f32>>(self) -> Self::Output;
}

/// Runs `work` with numbers of so many lanes, in the registers that fit them: 16 at
/// [`Level::Avx512`], 8 at [`Level::Avx2`], 4 at [`Level::Baseline`]; one, whose kernels then use
/// registers along a matrix's column, at [`Level::Avx2`], or at the baseline of another architecture
/// than x86-64.
///
/// None for another pair, and if this machine lacks the level's instructions.
pub fn with_scalar<W: WithScalar>(level: Level, lanes: usize, work: W) -> Option<W::Output> {
    if !level.is_available() {
        return None;
    }
    match (level, lanes) {
        #[cfg(target_arch = "x86_64")]
        (Level::Avx512, 16) => Some(work.run::<Lanes16On<Avx512>>()),
        #[cfg(target_arch = "x86_64")]
        (Level::Avx2, 8) => Some(work.run::<Lanes8On<Avx2>>()),
        #[cfg(target_arch = "x86_64")]
        (Level::Avx2, 1) => Some(work.run::<Lanes1On<Avx2>>()),
        (Level::Baseline, 4) => Some(work.run::<Lanes4>()),
        // On x86-64 a fifth of the build's time, for processors of before 2013.
        #[cfg(not(target_arch = "x86_64"))]
        (Level::Baseline, 1) => Some(work.run::<f32>()),
        _ => None,
    }
}

/// The pairs of a level and a number of lanes that [`with_scalar`] takes on this machine.
pub fn available() -> impl Iterator<Item = (Level, usize)> {
    let pairs = [
        (Level::Avx512, 16),
        (Level::Avx2, 8),
        (Level::Avx2, 1),
        (Level::Baseline, 4),
        #[cfg(not(target_arch = "x86_64"))]
        (Level::Baseline, 1),
    ];
    pairs.into_iter().filter(|(level, _)| level.is_available())
}

/// A type whose kernels are compiled for these features. Named only where they were detected.
#[cfg(target_arch = "x86_64")]
macro_rules! instruction_set {
    ($name:ident, $features:literal) => {
        #[derive(Clone, Copy, Debug, PartialEq)]
        struct $name;

        impl InstructionSet for $name {
            #[inline(always)]
            fn run<K: Kernel>(kernel: K) -> K::Output {
                #[target_feature(enable = $features)]
                #[inline(never)]
                fn compiled<K: Kernel>(kernel: K) -> K::Output {
                    kernel.run()
                }
                // SAFETY: `with_scalar` found that the instructions exist.
                #[allow(unsafe_code)]
                unsafe {
                    compiled(kernel)
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
instruction_set!(Avx2, "avx2");
#[cfg(target_arch = "x86_64")]
instruction_set!(Avx512, "avx512f,avx512vl,avx512dq,avx512bw");
