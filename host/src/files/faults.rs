//! Faults on purpose, for tests: with `ICTD_FAULT="N KIND"` the N-th operation on files fails as an `error`, as a `short` write,
//! as on a `broken` disk (and so do all later ones), by a `kill` or a `panic`. Builds without debug assertions have none.

use std::fs::File;
use std::io::{self, Write};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) fn before() -> io::Result<()> {
    strike(|| ())
}

pub(super) fn write(mut file: &File, content: &[u8]) -> io::Result<()> {
    let half = |mut file: &File| drop(file.write_all(&content[..content.len() / 2]));
    strike(|| half(file))?;
    file.write_all(content)
}

static DONE: AtomicU64 = AtomicU64::new(0);
static PLAN: LazyLock<Option<(u64, String)>> = LazyLock::new(|| {
    let plan = std::env::var("ICTD_FAULT").ok().filter(|_| cfg!(debug_assertions))?;
    let (number, kind) = plan.split_once(' ')?;
    Some((number.parse().ok()?, kind.to_owned()))
});

/// Fails if the plan has a fault here; `by_half` does the first half of the operation.
fn strike(by_half: impl Fn()) -> io::Result<()> {
    let Some((number, kind)) = &*PLAN else { return Ok(()) };
    let now = DONE.fetch_add(1, Ordering::SeqCst) + 1;
    let failed = || Err(io::Error::other("a fault on purpose"));
    match kind.as_str() {
        "broken" if now >= *number => failed(),
        _ if now != *number => Ok(()),
        "panic" => panic!("a fault on purpose"),
        "kill" => {
            by_half();
            std::process::exit(137);
        }
        "short" => {
            by_half();
            failed()
        }
        _ => failed(),
    }
}
