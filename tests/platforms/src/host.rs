//! The kernels on a host: seeds spread over lanes and threads, compiled for the instructions that every
//! processor has, or for a level of the host program's own.

// The host program's file, not a copy: what it dispatches to is what is tested. (Its crate has all of
// the program's dependencies.)
#[path = "../../../host/compute/src/level.rs"]
#[allow(dead_code, unreachable_pub)]
mod level;

use ictd_core::digest::{Digest, DigestCase, combine, kernels};
use ictd_core::error::Error;
use ictd_core::scalar::{Lanes8, Scalar};
use level::{SimdLevel, WithScalar};
use std::process::ExitCode;

pub(crate) fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let text = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1)
    };
    let option = |name: &str| text(name)?.parse::<usize>().ok();
    let threads = option("--threads").unwrap_or(1);
    let lanes = option("--lanes").unwrap_or(1);
    let result = match (text("--level"), lanes) {
        // Not in a build that is for one level by itself: half of its time.
        (Some(name), _) if cfg!(not(target_feature = "fma")) => {
            let level = SimdLevel::ALL.into_iter().find(|level| level.name() == name);
            level.and_then(|level| level::with_scalar(level, Run { threads }))
        }
        (None, 1) => Some(run::<f32>(threads)),
        (None, 8) => Some(run::<Lanes8>(threads)),
        _ => None,
    };
    match result {
        Some(Ok(())) => ExitCode::SUCCESS,
        Some(Err(error)) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
        None => {
            eprintln!("error: --lanes must be 1 or 8, or --level one of this machine");
            ExitCode::from(2)
        }
    }
}

struct Run {
    threads: usize,
}

impl WithScalar for Run {
    type Output = Result<(), Error>;

    fn run<S: Scalar<Element = f32>>(self) -> Result<(), Error> {
        run::<S>(self.threads)
    }
}

fn run<S: Scalar<Element = f32>>(threads: usize) -> Result<(), Error> {
    let mut all = Digest::EMPTY;
    for kernel in &kernels::<S>() {
        let digest = in_threads(kernel, threads)?;
        println!("{} {digest}", kernel.name);
        all = combine([all, digest]);
    }
    println!("all {all}");
    Ok(())
}

/// Bytes of a thread's stack: a kernel keeps a network for each lane on it.
const STACK: usize = 64 << 20;

/// Thread t takes the groups of lanes t, t + threads, ...; the digests are combined by seed.
fn in_threads<S: Scalar>(kernel: &DigestCase<S>, threads: usize) -> Result<Digest, Error> {
    let groups = kernel.seeds / S::LANES as u64;
    let mut parts: Vec<(u64, Vec<Digest>)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads as u64)
            .map(|t| {
                let work = move || {
                    (t..groups)
                        .step_by(threads)
                        .map(|group| {
                            let first = group * S::LANES as u64;
                            let digests = kernel.seed_digests(first)?;
                            Ok((first, digests.as_ref().to_vec()))
                        })
                        .collect::<Result<Vec<_>, Error>>()
                };
                let thread = std::thread::Builder::new().stack_size(STACK);
                thread.spawn_scoped(scope, work).expect("a thread can be made")
            })
            .collect();
        let mut parts = Vec::new();
        for worker in workers {
            match worker.join() {
                Ok(part) => parts.extend(part?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok::<_, Error>(parts)
    })?;
    parts.sort_by_key(|(first, _)| *first);
    Ok(combine(parts.into_iter().flat_map(|(_, digests)| digests)))
}
