//! In-context TD and nothing else: what a product would link. No logging, no allocator, and no
//! reachable panic (`panic-never` fails the link otherwise).
//!
//! In QEMU it exits with 0 if the value is the one that the host computes and the stack stayed
//! within its budget, with 1 or 4 if not. On the host it prints the value's bits.
#![cfg_attr(target_os = "none", no_std, no_main)]

use ictd_core::Error;
use ictd_core::{Context, Model};

const MODEL: &[u8] = include_bytes!("../trained.ictd");

/// The bits of the value that every platform must compute.
const EXPECTED: u32 = 0xbea8_5ad5;

/// A sensor: features and rewards of a toy process.
struct Sensor(u32);

impl Sensor {
    #[inline(never)]
    fn read(&mut self) -> [f32; 4] {
        core::array::from_fn(|_| {
            self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (self.0 >> 24) as f32 / 128.0 - 1.0
        })
    }
}

fn infer(model: &Model<4>, context: &mut Context<4>) -> Result<u32, Error> {
    let mut sensor = Sensor(1);
    let mut phi = sensor.read();
    for _ in 0..1000 {
        let phi_next = sensor.read();
        let reward = phi[0] - 0.5 * phi_next[1];
        context.observe(&phi, reward, &phi_next)?;
        phi = phi_next;
    }
    let value = model.value_function(context)?;
    Ok(value.at(&phi).to_bits())
}

#[cfg(not(target_os = "none"))]
fn main() -> Result<(), Error> {
    let model = Model::<4>::from_bytes(MODEL)?;
    let bits = infer(&model, &mut model.context())?;
    println!("value {} = {bits:#010x}, expected {EXPECTED:#010x}", f32::from_bits(bits));
    if bits == EXPECTED { Ok(()) } else { std::process::exit(1) }
}

#[cfg(target_os = "none")]
mod chip {
    use super::*;
    use core::cell::RefCell;
    use cortex_m::interrupt::{self, Mutex};
    use panic_never as _;

    unsafe extern "C" {
        static _stack_end: u32;
        static _stack_start: u32;
    }

    /// The stack's budget in bytes: twice as much where floating point is software.
    const STACK: usize = if cfg!(target_abi = "eabihf") { 4096 } else { 8192 };

    /// Bytes of stack used at most; the runtime painted it before `main`.
    fn stack_high_water() -> usize {
        let (mut lowest, top) = (&raw const _stack_end, &raw const _stack_start);
        // SAFETY: the linker reserves `_stack_end.._stack_start` for the stack, in whole words.
        unsafe {
            while lowest < top && lowest.read_volatile() == 0xcccc_cccc {
                lowest = lowest.add(1);
            }
        }
        top.addr() - lowest.addr()
    }

    /// As a product would keep it, so that an interrupt can observe: the runner checks that it takes no
    /// flash.
    static CONTEXT: Mutex<RefCell<Context<4>>> = Mutex::new(RefCell::new(Context::<4>::new()));

    fn run() -> Option<u32> {
        let model = cortex_m::singleton!(: Model<4> = Model::<4>::from_bytes(MODEL).ok()?)?;
        interrupt::free(|cs| infer(model, &mut *CONTEXT.borrow(cs).try_borrow_mut().ok()?).ok())
    }

    #[cortex_m_rt::entry]
    fn main() -> ! {
        let code = match run() {
            Some(EXPECTED) if stack_high_water() <= STACK => 0,
            Some(EXPECTED) => 4,
            _ => 1,
        };
        semihosting::process::exit(code)
    }
}
