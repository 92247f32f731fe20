//! The parts that the programs with inference alone share: a sensor, and on a chip the verdict.

/// A sensor: features and rewards of a toy process.
pub(crate) struct Sensor(pub(crate) u32);

impl Sensor {
    #[inline(never)]
    pub(crate) fn read(&mut self) -> [f32; 4] {
        core::array::from_fn(|_| {
            self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (self.0 >> 24) as f32 / 128.0 - 1.0
        })
    }
}

/// Prints the bits of the value; exit code 1 if they are not those expected.
#[cfg(not(target_os = "none"))]
pub(crate) fn report(bits: u32, expected: u32) {
    println!("value {} = {bits:#010x}, expected {expected:#010x}", f32::from_bits(bits));
    if bits != expected {
        std::process::exit(1);
    }
}

#[cfg(all(target_os = "none", target_arch = "arm"))]
#[path = "stack.rs"]
mod stack;

#[cfg(target_os = "none")]
use panic_never as _;

/// Whether the stack stayed within so many budgets of 4 KiB; software floating point gets twice as much.
#[cfg(all(target_os = "none", target_arch = "arm"))]
fn is_within(budgets: u32) -> bool {
    stack::used(None) <= budgets * if cfg!(target_abi = "eabihf") { 4096 } else { 8192 }
}

/// The runtime of RISC-V does not paint the stack.
#[cfg(all(target_os = "none", target_arch = "riscv32"))]
fn is_within(_: u32) -> bool {
    true
}

/// Ends with exit code 0; 1 for another value than expected; 4 if the stack exceeds `budgets` of its budgets.
#[cfg(target_os = "none")]
pub(crate) fn exit(bits: Option<u32>, expected: u32, budgets: u32) -> ! {
    let code = match bits {
        Some(bits) if bits == expected && is_within(budgets) => 0,
        Some(bits) if bits == expected => 4,
        _ => 1,
    };
    semihosting::process::exit(code)
}
