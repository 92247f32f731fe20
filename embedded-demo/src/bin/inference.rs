//! In-context TD with a stored model and nothing else: what a product would link. No logging, no allocator,
//! and no reachable panic (`panic-never` fails the link otherwise).
//!
//! In QEMU it exits with 0 if the value is the one that the host computes and the stack stayed
//! within its budget, with 1 or 4 if not. On the host it prints the value's bits.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(all(target_os = "none", target_arch = "arm"))]
#[path = "../interrupts.rs"]
mod interrupts;
#[path = "../product.rs"]
mod product;

use ictd_core::Error;
use ictd_core::{Context, Model};
use product::Sensor;

const MODEL: &[u8] = include_bytes!("../trained.ictd");

/// The bits of the value that every platform must compute.
const EXPECTED: u32 = 0xbea8_5ad5;

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
    product::report(infer(&model, &mut model.context())?, EXPECTED);
    Ok(())
}

#[cfg(all(target_os = "none", target_arch = "arm"))]
mod chip {
    use super::*;
    use core::cell::RefCell;
    use cortex_m::interrupt::{self, Mutex};

    /// As a product would keep it, so that an interrupt can observe: the runner checks that it takes no
    /// flash.
    static CONTEXT: Mutex<RefCell<Context<4>>> = Mutex::new(RefCell::new(Context::<4>::new()));

    fn run() -> Option<u32> {
        let model = cortex_m::singleton!(: Model<4> = Model::<4>::from_bytes(MODEL).ok()?)?;
        interrupt::free(|cs| infer(model, &mut *CONTEXT.borrow(cs).try_borrow_mut().ok()?).ok())
    }

    #[cortex_m_rt::entry]
    fn main() -> ! {
        product::exit(run(), EXPECTED, 1)
    }
}

#[cfg(all(target_os = "none", target_arch = "riscv32"))]
mod chip {
    use super::*;

    static mut CONTEXT: Context<4> = Context::<4>::new();

    #[riscv_rt::entry]
    fn main() -> ! {
        // SAFETY: `main` runs once, and no interrupt is on.
        let context = unsafe { &mut *&raw mut CONTEXT };
        let value = Model::<4>::from_bytes(MODEL).and_then(|model| infer(&model, context));
        product::exit(value.ok(), EXPECTED, 1)
    }
}
