//! Prints the digest of every kernel: `name digest`, one per line, on any of the machines of
//! `../platforms.sh`.
//!
//! On a host it takes `--lanes 1|8` or `--level NAME`, and `--threads N`; the digests depend on neither.
#![cfg_attr(any(target_os = "none", target_family = "wasm"), no_std, no_main)]

#[cfg(any(target_os = "none", target_family = "wasm"))]
mod bare;
#[cfg(not(any(target_os = "none", target_family = "wasm")))]
mod host;

#[cfg(not(any(target_os = "none", target_family = "wasm")))]
fn main() {
    host::main();
}
