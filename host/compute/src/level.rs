//! The vector instructions that a training run uses, chosen once at run time.
//!
//! `core` knows no instruction set: its lanes are plain arrays, and its kernels run with whatever
//! instructions the lanes' type names ([`InstructionSet`]). Here is AVX2 of x86-64. It changes the
//! speed and nothing else: the operations are the same ones in the same order, so both levels give
//! the same bits.
//!
//! This is the only module of the crate with `unsafe`: a call of a function whose instructions were
//! found to exist. The set is private, and [`with_scalar`] is the only way to the type that names it.

#[cfg(target_arch = "x86_64")]
use ictd_core::scalar::{InstructionSet, Kernel, Lanes8On};
use ictd_core::scalar::{Lanes8, Scalar};

/// The number of seeds that train side by side, on every processor.
pub const LANES: usize = Lanes8::LANES;

/// A set of vector instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The instructions of every processor of the target architecture: SSE2 on x86-64, NEON on AArch64.
    Baseline,
    /// x86-64 with AVX2.
    Avx2,
}

impl Level {
    /// All levels, slowest first.
    pub const ALL: [Level; 2] = [Level::Baseline, Level::Avx2];

    /// Returns the best level of this machine.
    pub fn detect() -> Level {
        if Level::Avx2.is_available() { Level::Avx2 } else { Level::Baseline }
    }

    /// Returns true if this machine has the level's instructions.
    pub fn is_available(self) -> bool {
        match self {
            Level::Baseline => true,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => is_x86_feature_detected!("avx2"),
            #[cfg(not(target_arch = "x86_64"))]
            Level::Avx2 => false,
        }
    }

    /// Returns the level's name.
    pub fn name(self) -> &'static str {
        match self {
            Level::Baseline => "baseline",
            Level::Avx2 => "avx2",
        }
    }
}

/// Something to do with a kind of number that is chosen at run time.
pub trait WithScalar {
    /// The result.
    type Output;

    /// Does it with numbers of kind S.
    fn run<S: Scalar<Element = f32>>(self) -> Self::Output;
}

/// Runs `work` with numbers of [`LANES`] lanes and a level's instructions; returns none if this machine
/// lacks them.
pub fn with_scalar<W: WithScalar>(level: Level, work: W) -> Option<W::Output> {
    match level {
        _ if !level.is_available() => None,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => Some(work.run::<Lanes8On<Avx2>>()),
        _ => Some(work.run::<Lanes8>()),
    }
}

/// The instructions of AVX2. Named only where they were detected.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Avx2;

#[cfg(target_arch = "x86_64")]
impl InstructionSet for Avx2 {
    #[inline(always)]
    fn run<K: Kernel>(kernel: K) -> K::Output {
        #[target_feature(enable = "avx2")]
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
