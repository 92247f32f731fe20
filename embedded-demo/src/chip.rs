//! The firmware's access to its chip: a logger, counters, the stack's mark, an exit.

#[path = "counter.rs"]
mod counter;
#[path = "stack.rs"]
pub(crate) mod stack;

use core::panic::PanicInfo;
use cortex_m_rt::{ExceptionFrame, exception};
#[cfg(feature = "rtt")]
use defmt_rtt as _;
#[cfg(not(feature = "rtt"))]
use defmt_semihosting as _;

pub(crate) use counter::Counter;

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
