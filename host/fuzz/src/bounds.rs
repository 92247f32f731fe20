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

/// Runs a target on an input, and panics if it takes more than it may. What takes long is tried again, since the machine may
/// have been busy with something else.
pub fn bounded(target: Target, bytes: &[u8]) {
    let before = HELD.load(Relaxed);
    MOST.store(before, Relaxed);
    let timed = || {
        let started = Instant::now();
        target(bytes);
        started.elapsed()
    };
    let longest = Duration::from_secs(2);
    let mut time = timed();
    if time > longest {
        time = timed();
    }
    let took = MOST.load(Relaxed).saturating_sub(before);
    assert!(took <= (64 << 20) + 100 * bytes.len(), "{took} bytes of memory");
    assert!(time <= longest, "{time:?}");
}
