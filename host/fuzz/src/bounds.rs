//! What a target may take of an input of n bytes: 64 MiB + 100 n of memory at once, and two seconds. More is a finding.

use super::Target;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The bytes that are held, and the most that were since a target began.
static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, with a count.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

fn took(bytes: usize) {
    MOST.fetch_max(HELD.fetch_add(bytes, Relaxed) + bytes, Relaxed);
}

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        HELD.fetch_sub(layout.size(), Relaxed);
        took(bytes);
        unsafe { System.realloc(at, layout, bytes) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(at, layout) }
    }
}

/// Returns the CPU time of this process, to a hundredth of a second.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2);
    Duration::from_millis(10 * ticks.map(|x| x.parse::<u64>().expect("a number")).sum::<u64>())
}

/// Runs a target on an input, and panics if it takes more than it may. What takes long is tried again by CPU time, since the
/// machine may have been busy with something else.
pub fn bounded(target: Target, bytes: &[u8]) {
    const LONGEST: Duration = Duration::from_secs(2);
    let before = HELD.load(Relaxed);
    MOST.store(before, Relaxed);
    let started = Instant::now();
    target(bytes);
    if started.elapsed() > LONGEST {
        let before = cpu_time();
        target(bytes);
        let time = cpu_time() - before;
        assert!(time <= LONGEST, "{time:?}");
    }
    let took = MOST.load(Relaxed).saturating_sub(before);
    assert!(took <= (64 << 20) + 100 * bytes.len(), "{took} bytes of memory");
}
