//! How code that is the same everywhere is compiled for a chip, whose flash is small: functions once and loops rolled up,
//! where a host has them inlined, for its vector instructions, and unrolled.

/// Has functions compiled once on a chip, and inlined at each call elsewhere.
macro_rules! once_on_chip {
    ($($function:item)*) => {$(
        #[cfg_attr(target_os = "none", inline(never))]
        #[cfg_attr(not(target_os = "none"), inline(always))]
        $function
    )*};
}
pub(crate) use once_on_chip;

/// Has functions inlined where a chip's compiler finds that best, and nowhere else: inlined by a host's, loops over whole
/// matrices would be unrolled in each place.
macro_rules! never_inlined_on_host {
    ($($function:item)*) => {$(
        #[cfg_attr(not(target_os = "none"), inline(never))]
        $function
    )*};
}
pub(crate) use never_inlined_on_host;

/// Returns 0 to `count` - 1 for a loop that a chip's compiler does not unroll.
#[inline(always)]
pub(crate) fn rolled(count: usize) -> core::ops::Range<usize> {
    0..if cfg!(target_os = "none") { core::hint::black_box(count) } else { count }
}

/// Has a chip's compiler keep the loop that it stands in as it is.
#[inline(always)]
pub(crate) fn not_unrolled() {
    if cfg!(target_os = "none") {
        core::hint::black_box(0_u32);
    }
}

/// Returns `x`, whose value a host's compiler then does not know: it would else run loops over all of a context's numbers
/// itself, for seconds with 64 features.
#[inline(always)]
pub(crate) fn unknown_on_host<T>(x: T) -> T {
    if cfg!(target_os = "none") { x } else { core::hint::black_box(x) }
}
