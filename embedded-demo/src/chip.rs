//! The firmware's access to its chip: a logger, counters, the stack's mark, an exit.

#[path = "stack.rs"]
pub(crate) mod stack;

use core::panic::PanicInfo;
use cortex_m::peripheral::{SYST, syst::SystClkSource};
use cortex_m_rt::{ExceptionFrame, exception};
#[cfg(feature = "rtt")]
use defmt_rtt as _;
#[cfg(not(feature = "rtt"))]
use defmt_semihosting as _;

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

/// Whether costs are held to budgets: those count the instructions of the emulated MPS2 board.
pub(crate) const HAS_BUDGETS: bool =
    matches!(env!("ICTD_BOARD").as_bytes(), b"mps2-an386") && !cfg!(feature = "rtt");

/// Ends with exit code 0; 1 for another digest than expected; 3 for more than the budgets.
pub(crate) fn finish(is_expected: bool, is_within: bool) -> ! {
    exit(match (is_expected, is_within || !HAS_BUDGETS) {
        (false, _) => 1,
        (true, false) => 3,
        (true, true) => 0,
    })
}

/// Ends the emulation with an exit code; a board stops for its debugger.
pub(crate) fn exit(code: u8) -> ! {
    #[cfg(not(feature = "rtt"))]
    semihosting::process::exit(code.into());
    #[cfg(feature = "rtt")]
    loop {
        let _ = code;
        cortex_m::asm::bkpt();
    }
}

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    // Log only the location: formatting the message would link core::fmt.
    let (file, line) = info.location().map_or(("", 0), |at| (at.file(), at.line()));
    defmt::error!("panic at {=str}:{=u32}", file, line);
    exit(101)
}

#[exception]
unsafe fn HardFault(_: &ExceptionFrame) -> ! {
    defmt::error!("hard fault");
    exit(102)
}
