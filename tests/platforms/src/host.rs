//! The kernels on a host: seeds spread over lanes and threads, compiled for the instructions that every
//! processor has; and those that train, for a level of the host program's own.

// The host program's file, not a copy: what it dispatches to is what is tested. (Its crate has all of
// the program's dependencies.)
#[path = "../../../host/compute/src/level.rs"]
#[allow(dead_code, unreachable_pub)]
mod level;

use ictd_core::digest::{
    Digest, DigestCase, combine, kernels, linear_training_kernels, training_kernels,
};
use ictd_core::error::Error;
use ictd_core::scalar::{Lanes8, Scalar};
use level::{SimdLevel, WithScalar};
use std::collections::BTreeMap;
use std::panic::resume_unwind;

pub(crate) fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let option = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).map(String::as_str)
    };
    let threads = option("--threads").map_or(1, |threads| threads.parse().expect("a number"));
    let result = match (option("--level"), option("--lanes")) {
        // (A guard that is false by itself: what is behind it is not compiled.)
        (Some(name), _) if cfg!(feature = "levels") => {
            let level = SimdLevel::ALL.into_iter().find(|level| level.name() == name);
            level.and_then(|level| level::with_scalar(level, Run { threads }))
        }
        (None, None | Some("1")) if cfg!(feature = "scalar") => Some(run_all::<f32>(threads)),
        (None, Some("8")) if cfg!(feature = "lanes") => Some(run_all::<Lanes8>(threads)),
        _ => None,
    };
    let result =
        result.expect("--lanes is 1 or 8, or --level one of this machine; each if it is built");
    result.expect("every kernel has a digest");
}

/// Runs what a level is chosen for: training.
struct Run {
    threads: usize,
}

impl WithScalar for Run {
    type Output = Result<(), Error>;

    fn run<S: Scalar<Element = f32>>(self) -> Result<(), Error> {
        run(&training_kernels::<S>(), self.threads).map(drop)
    }

    fn run_alone<S: Scalar<Element = f32>>(self) -> Result<(), Error> {
        run(&linear_training_kernels::<S>(), self.threads).map(drop)
    }
}

fn run_all<S: Scalar<Element = f32>>(threads: usize) -> Result<(), Error> {
    println!("all {}", run(&kernels::<S>(), threads)?);
    Ok(())
}

fn run<S: Scalar>(kernels: &[DigestCase<S>], threads: usize) -> Result<Digest, Error> {
    let mut all = Digest::EMPTY;
    for kernel in kernels {
        let digest = in_threads(kernel, threads)?;
        println!("{} {digest}", kernel.name);
        all = combine([all, digest]);
    }
    Ok(all)
}

/// Bytes of a thread's stack: a kernel keeps a network for each lane on it.
const STACK: usize = 64 << 20;

/// Thread t takes the groups of lanes t, t + threads, ...; the digests are combined by seed.
fn in_threads<S: Scalar>(kernel: &DigestCase<S>, threads: usize) -> Result<Digest, Error> {
    let groups = kernel.seeds / S::LANES as u64;
    let of_group =
        |group: u64| Ok((group, kernel.seed_digests(group * S::LANES as u64)?.as_ref().to_vec()));
    let parts: BTreeMap<u64, Vec<Digest>> = std::thread::scope(|scope| {
        let start = |t: u64| {
            let work = move || (t..groups).step_by(threads).map(of_group).collect::<Vec<_>>();
            let thread = std::thread::Builder::new().stack_size(STACK);
            thread.spawn_scoped(scope, work).expect("a thread can be made")
        };
        let workers: Vec<_> = (0..threads as u64).map(start).collect();
        let joined = workers.into_iter().map(|worker| worker.join());
        joined
            .flat_map(|part| part.unwrap_or_else(|e| resume_unwind(e)))
            .collect::<Result<_, Error>>()
    })?;
    Ok(combine(parts.into_values().flatten()))
}
