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

#[cfg(target_os = "none")]
mod chip {
    use panic_never as _;

    unsafe extern "C" {
        static _stack_end: u32;
        static _stack_start: u32;
    }

    /// The stack's budget in bytes; software floating point gets twice as much.
    const STACK: usize = if cfg!(target_abi = "eabihf") { 4096 } else { 8192 };

    /// Returns the bytes of stack used at most; the runtime painted it before `main`.
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

    /// Ends with exit code 0; 1 for another value than expected; 4 if the stack exceeds `stack` budgets.
    pub(crate) fn exit(bits: Option<u32>, expected: u32, stack: usize) -> ! {
        let code = match bits {
            Some(bits) if bits == expected && stack_high_water() <= stack * STACK => 0,
            Some(bits) if bits == expected => 4,
            _ => 1,
        };
        semihosting::process::exit(code)
    }
}
#[cfg(target_os = "none")]
pub(crate) use chip::exit;
