//! How much of the stack was used.

unsafe extern "C" {
    static _stack_end: u32;
    static _stack_start: u32;
}

/// The runtime paints the stack with this word before `main`.
pub(crate) const PAINT: u32 = 0xcccc_cccc;

/// Returns the bytes of stack used at most since it was painted, below an address or in all.
pub(crate) fn used(below: Option<usize>) -> u32 {
    let mut lowest = &raw const _stack_end;
    let top = below.unwrap_or((&raw const _stack_start).addr());
    // SAFETY: the linker reserves `_stack_end.._stack_start` for the stack, in whole words.
    unsafe {
        while lowest.addr() < top && lowest.read_volatile() == PAINT {
            lowest = lowest.add(1);
        }
    }
    (top - lowest.addr()) as u32
}
