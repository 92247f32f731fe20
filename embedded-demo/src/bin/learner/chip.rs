//! The chip: its flash, its counter of instructions, how it loses its power and how it ends.

#[cfg(target_arch = "arm")]
#[path = "../../counter.rs"]
mod counter;
#[cfg(target_arch = "arm")]
#[path = "../../stack.rs"]
mod stack;

use crate::EXPECTED;
use crate::console::line;
use crate::learning::{BYTES, End, Flash, PAGE, run};
use ictd_core::Error;
use machine::{Counter, reset};
use panic_never as _;

const BOARD: &[u8] = env!("ICTD_BOARD").as_bytes();

/// The instructions that a call may take on the Cortex-M4F at opt-level 3, and a task in the mean.
const CALL: u32 = 170_000;
const TASK: u32 = 800_000;
const HAS_BUDGETS: bool =
    matches!(BOARD, b"mps2-an386") && matches!(env!("ICTD_OPT_LEVEL").as_bytes(), b"3");

/// Two pages at the end of the flash.
struct Pages;

/// The address of the first page.
const FIRST: usize = match usize::from_str_radix(env!("ICTD_PAGES"), 10) {
    Ok(address) => address,
    Err(_) => panic!("the build script gives a number"),
};

/// The flash of QEMU's other boards is memory. The nRF51 has a controller (NVMC, its reference manual's chapter 6): 1 in
/// CONFIG allows to write, 2 to erase.
const IS_NRF51: bool = matches!(BOARD, b"microbit");
const CONFIG: *mut u32 = core::ptr::without_provenance_mut(0x4001_e504);
const ERASE_PAGE: *mut u32 = core::ptr::without_provenance_mut(0x4001_e508);

impl Pages {
    fn word(page: usize, at: usize) -> *mut u32 {
        let address = FIRST + page % 2 * PAGE + at * 4 % PAGE;
        core::ptr::with_exposed_provenance_mut(address)
    }
}

impl Flash for Pages {
    fn page(&self, page: usize) -> &[u8; PAGE] {
        // SAFETY: the build script keeps these addresses from the program, and they are changed through `&mut self` alone.
        unsafe { &*Self::word(page, 0).cast() }
    }

    fn erase(&mut self, page: usize) {
        // SAFETY: as above; the registers are the controller's.
        unsafe {
            if IS_NRF51 {
                CONFIG.write_volatile(2);
                ERASE_PAGE.write_volatile(Self::word(page, 0).addr() as u32);
                CONFIG.write_volatile(0);
            } else {
                (0..PAGE / 4).for_each(|at| Self::word(page, at).write_volatile(u32::MAX));
            }
        }
    }

    fn write(&mut self, page: usize, at: usize, word: u32) {
        let place = Self::word(page, at);
        // SAFETY: as above. Flash can only clear bits.
        unsafe {
            if IS_NRF51 {
                CONFIG.write_volatile(1);
                place.write_volatile(word);
                CONFIG.write_volatile(0);
            } else {
                place.write_volatile(place.read_volatile() & word);
            }
        }
    }
}

/// Instructions of the trainer's calls.
#[derive(Default)]
struct Costs {
    largest: u32,
    sum: u32,
    tasks: u32,
}

impl Costs {
    fn add(&mut self, call: u32, task_is_done: bool) {
        self.largest = self.largest.max(call);
        self.sum = self.sum.saturating_add(call);
        self.tasks += u32::from(task_is_done);
    }
}

fn start() -> ! {
    semihosting::process::exit(match device() {
        Ok(code) => code,
        Err(_) => {
            line!("the device failed");
            2
        }
    })
}

/// Runs until the power is lost, or the digest is known; returns the exit code.
fn device() -> Result<i32, Error> {
    let mut costs = Costs::default();
    let mut counter = Counter::new();
    let end = run(&mut Pages, |trainer| {
        let (result, instructions) = counter.measure(|| trainer.train_batch());
        costs.add(instructions, matches!(result, Ok(true)));
        result
    })?;
    let End::Digest(digest) = end else { reset() };
    line!("digest ", digest);
    let task = costs.sum / costs.tasks.max(1);
    line!(
        "chip: instructions: at most ",
        costs.largest,
        " for each call, ",
        task,
        " for a task in the mean"
    );
    line!("chip: bytes of a trainer: ", BYTES as u32);
    #[cfg(target_arch = "arm")]
    line!("chip: bytes of stack, with the trainer: ", stack::used(None));
    let is_within = costs.largest <= CALL && task <= TASK;
    Ok(if digest != EXPECTED {
        line!("the digest is another than the host's");
        1
    } else if HAS_BUDGETS && !is_within {
        line!("over the budget");
        3
    } else {
        0
    })
}

#[cfg(target_arch = "arm")]
mod machine {
    pub(super) struct Counter(Option<super::counter::Counter>);

    impl Counter {
        pub(super) fn new() -> Self {
            Counter(super::counter::Counter::new())
        }

        pub(super) fn measure<T>(&mut self, program: impl FnOnce() -> T) -> (T, u32) {
            match &mut self.0 {
                Some(counter) => counter.measure(program),
                None => (program(), u32::MAX),
            }
        }
    }

    pub(super) fn reset() -> ! {
        cortex_m::peripheral::SCB::sys_reset()
    }

    #[cortex_m_rt::entry]
    fn main() -> ! {
        super::start()
    }
}

#[cfg(target_arch = "riscv32")]
mod machine {
    pub(super) struct Counter;

    impl Counter {
        pub(super) fn new() -> Self {
            Counter
        }

        pub(super) fn measure<T>(&mut self, program: impl FnOnce() -> T) -> (T, u32) {
            let before = instructions();
            let result = program();
            (result, instructions().wrapping_sub(before))
        }
    }

    fn instructions() -> u32 {
        let count: u32;
        // SAFETY: it reads a counter.
        unsafe { core::arch::asm!("csrr {}, minstret", out(reg) count) };
        count
    }

    /// Asks QEMU's test device for a reset.
    pub(super) fn reset() -> ! {
        // SAFETY: the address is that device's.
        unsafe { core::ptr::without_provenance_mut::<u32>(0x10_0000).write_volatile(0x7777) };
        loop {}
    }

    #[riscv_rt::entry]
    fn main() -> ! {
        super::start()
    }
}
