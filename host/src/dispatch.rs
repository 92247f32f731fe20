//! Which vector instructions a training run uses, chosen once at run time.
//!
//! `core` knows no instruction set: its lanes are plain arrays. Here its training loop is compiled
//! once for each level, inside a function that may use that level's instructions; everything on the
//! hot path is inlined into it. Levels change the speed and nothing else: the operations are the same
//! ones in the same order, so every level gives the same bits.
//!
//! This is the only module of the crate with `unsafe`: a call of a function whose instructions were
//! found to exist.

use ictd_core::Error;
use ictd_core::scalar::Scalar;
use ictd_core::training::{MultiTaskTd, Network, TaskDistribution};

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

    /// The level's name.
    pub fn name(self) -> &'static str {
        match self {
            Level::Baseline => "baseline",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }
}

/// Something to run with a level's instructions. An implementation marks `run` and all that is hot
/// below it `#[inline(always)]`: a function that is not inlined into the level's wrapper does not get
/// its instructions.
pub trait Work {
    /// How many lanes its numbers have: decides which levels it is compiled for.
    const LANES: usize;

    /// What it gives.
    type Output;

    /// Does it.
    fn run(self) -> Self::Output;
}

/// Runs `work` with the instructions that suit its number of lanes: AVX-512 for 16, AVX2 for 8 and for
/// a seed alone (whose columns it vectorises; wider registers would be half empty), the baseline for
/// 4, but with none above `level` and none that this machine lacks; then with the baseline's.
pub fn run<W: Work>(level: Level, work: W) -> W::Output {
    // The number of lanes is a constant: each kind of work is compiled for two levels at most.
    #[cfg(target_arch = "x86_64")]
    if W::LANES >= 16 {
        if level >= Level::Avx512 && Level::Avx512.is_available() {
            // SAFETY: the instructions that the function is compiled for were just detected.
            #[allow(unsafe_code)]
            return unsafe { run_avx512(work) };
        }
    } else if W::LANES != 4 && level >= Level::Avx2 && Level::Avx2.is_available() {
        // SAFETY: as above.
        #[allow(unsafe_code)]
        return unsafe { run_avx2(work) };
    }
    let _ = level;
    run_baseline(work)
}

/// Runs `work` only with the instructions that suit its number of lanes, so that it is compiled for
/// fewer levels: none if that is AVX-512 (16 lanes) or AVX2 (one) and this machine lacks it.
pub fn run_native<W: Work>(work: W) -> Option<W::Output> {
    #[cfg(target_arch = "x86_64")]
    if W::LANES >= 16 {
        // SAFETY: the instructions that the function is compiled for were just detected.
        #[allow(unsafe_code)]
        return Level::Avx512.is_available().then(|| unsafe { run_avx512(work) });
    } else if W::LANES == 1 {
        // SAFETY: as above.
        #[allow(unsafe_code)]
        return Level::Avx2.is_available().then(|| unsafe { run_avx2(work) });
    }
    Some(run(Level::detect(), work))
}

#[inline(never)]
fn run_baseline<W: Work>(work: W) -> W::Output {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline(never)]
fn run_avx2<W: Work>(work: W) -> W::Output {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw")]
#[inline(never)]
fn run_avx512<W: Work>(work: W) -> W::Output {
    work.run()
}

/// Trains on a number of tasks: the hot loop of an experiment.
pub struct TrainTasks<'a, S, N, E, const D: usize, const T: usize>
where
    S: Scalar,
    N: Network<S, D>,
    E: TaskDistribution<S::Element, D>,
{
    /// Who trains.
    pub trainer: &'a mut MultiTaskTd<S, N, E, D, T>,
    /// How many tasks.
    pub tasks: u64,
}

impl<S, N, E, const D: usize, const T: usize> Work for TrainTasks<'_, S, N, E, D, T>
where
    S: Scalar,
    N: Network<S, D>,
    E: TaskDistribution<S::Element, D>,
{
    const LANES: usize = S::LANES;

    type Output = Result<(), Error>;

    #[inline(always)]
    fn run(self) -> Result<(), Error> {
        for _ in 0..self.tasks {
            self.trainer.train_task()?;
        }
        Ok(())
    }
}
