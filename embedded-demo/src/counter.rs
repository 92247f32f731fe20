//! Counts instructions.

use cortex_m::peripheral::{SYST, syst::SystClkSource};

/// Hz of SysTick's clock in QEMU, where the runner lets 64 ns pass with every instruction.
const SYSTICK_HZ: u64 = match u64::from_str_radix(env!("ICTD_SYSTICK_HZ"), 10) {
    Ok(hertz) => hertz,
    Err(_) => panic!("the build script gives a number"),
};

/// Counts what a program costs: instructions in QEMU, cycles of SysTick on a board.
pub(crate) struct Counter {
    systick: SYST,
    /// Ticks of an empty measurement.
    overhead: u32,
}

impl Counter {
    pub(crate) fn new() -> Option<Self> {
        let mut systick = cortex_m::Peripherals::take()?.SYST;
        systick.set_clock_source(SystClkSource::Core);
        systick.set_reload(0x00ff_ffff);
        systick.clear_current();
        systick.enable_counter();
        let mut counter = Counter { systick, overhead: 0 };
        counter.overhead = counter.ticks(|| ()).1;
        Some(counter)
    }

    fn ticks<T>(&mut self, program: impl FnOnce() -> T) -> (T, u32) {
        self.systick.clear_current();
        let start = SYST::get_current();
        let result = program();
        let stop = SYST::get_current();
        let ticks = start.wrapping_sub(stop) & 0x00ff_ffff;
        (result, if self.systick.has_wrapped() { u32::MAX } else { ticks })
    }

    /// Returns the program's result, and its cost; `u32::MAX` if the timer went round, after 2^24 ticks.
    pub(crate) fn measure<T>(&mut self, program: impl FnOnce() -> T) -> (T, u32) {
        let (result, ticks) = self.ticks(program);
        if ticks == u32::MAX {
            return (result, ticks);
        }
        let ticks = u64::from(ticks.saturating_sub(self.overhead));
        if cfg!(feature = "rtt") {
            return (result, ticks as u32);
        }
        // ticks / Hz seconds, 64 ns an instruction, rounded to the nearest.
        let instructions = (ticks * 1_000_000_000 + SYSTICK_HZ * 32) / (SYSTICK_HZ * 64);
        (result, instructions as u32)
    }
}
