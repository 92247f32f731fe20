//! The kernels on a host: seeds spread over lanes and threads.

use ictd_core::digest::{Digest, Kernel, combine, kernels};
use ictd_core::error::Error;
use ictd_core::scalar::{Lanes4, Lanes8, Lanes16, Scalar};
use std::process::ExitCode;

pub(crate) fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1)?.parse::<usize>().ok()
    };
    let threads = option("--threads").unwrap_or(1);
    let result = match option("--lanes").unwrap_or(1) {
        1 => run::<f32>(threads),
        4 => run::<Lanes4>(threads),
        8 => run::<Lanes8>(threads),
        16 => run::<Lanes16>(threads),
        _ => {
            eprintln!("--lanes must be 1, 4, 8 or 16");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
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

/// Thread t takes the groups of lanes t, t + threads, ...; the digests are combined by seed.
fn in_threads<S: Scalar>(kernel: &Kernel<S>, threads: usize) -> Result<Digest, Error> {
    let groups = kernel.seeds / S::LANES as u64;
    let mut parts: Vec<(u64, Vec<Digest>)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads as u64)
            .map(|t| {
                scope.spawn(move || {
                    (t..groups)
                        .step_by(threads)
                        .map(|group| {
                            let first = group * S::LANES as u64;
                            let digests = kernel.seed_digests(first)?;
                            Ok((first, digests.lanes(S::LANES).to_vec()))
                        })
                        .collect::<Result<Vec<_>, Error>>()
                })
            })
            .collect();
        let mut parts = Vec::new();
        for worker in workers {
            match worker.join() {
                Ok(part) => parts.extend(part?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(parts)
    })?;
    parts.sort_by_key(|(first, _)| *first);
    Ok(combine(parts.into_iter().flat_map(|(_, digests)| digests)))
}
