//! What a target may take of an input of n bytes: 64 MiB + 100 n of memory at once, and two seconds. More is a finding.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::{Duration, Instant};

thread_local! {
    /// The bytes that this thread holds, and the most that it did since [`most`] began.
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

/// The system's allocator, with a count.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

fn took(bytes: usize) {
    HELD.set(HELD.get() + bytes as isize);
    MOST.set(MOST.get().max(HELD.get()));
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
        HELD.set(HELD.get() - layout.size() as isize);
        took(bytes);
        unsafe { System.realloc(at, layout, bytes) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.set(HELD.get() - layout.size() as isize);
        unsafe { System.dealloc(at, layout) }
    }
}

/// Returns the most bytes of memory that a call takes at once in this thread.
pub fn most(call: impl FnOnce()) -> usize {
    let before = HELD.get();
    MOST.set(before);
    call();
    (MOST.get() - before) as usize
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
pub fn bounded(target: fn(&[u8]), bytes: &[u8]) {
    const LONGEST: Duration = Duration::from_secs(2);
    let started = Instant::now();
    let took = most(|| target(bytes));
    if started.elapsed() > LONGEST {
        let before = cpu_time();
        target(bytes);
        let time = cpu_time() - before;
        assert!(time <= LONGEST, "{time:?}");
    }
    assert!(took <= (64 << 20) + 100 * bytes.len(), "{took} bytes of memory");
}
