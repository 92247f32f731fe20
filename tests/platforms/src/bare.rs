//! The kernels without an operating system (or without its library): one seed after the other.

use core::fmt::Write as _;
use core::panic::PanicInfo;
use ictd_core::digest::{Digest, combine, kernels};

/// Prints the digests; the exit code.
fn run() -> u32 {
    let mut all = Digest::EMPTY;
    for kernel in kernels::<f32>() {
        let Ok(digest) = kernel.digest() else { return 2 };
        print(kernel.name, digest);
        all = combine([all, digest]);
    }
    print("all", all);
    0
}

struct Out;

impl core::fmt::Write for Out {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        machine::write(text.as_bytes());
        Ok(())
    }
}

fn print(name: &str, digest: Digest) {
    // What cannot be written is noticed: its line is missing.
    let _ = writeln!(Out, "{name} {digest}");
}

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    machine::write(b"panic\n");
    machine::exit(101)
}

#[cfg(target_family = "wasm")]
mod machine {
    #[link(wasm_import_module = "host")]
    unsafe extern "C" {
        #[link_name = "write"]
        fn host_write(start: *const u8, len: usize);
    }

    pub(super) fn write(text: &[u8]) {
        // SAFETY: the host only reads the text.
        unsafe { host_write(text.as_ptr(), text.len()) }
    }

    pub(super) fn exit(_: u32) -> ! {
        core::arch::wasm32::unreachable()
    }

    /// Called by `wasm.mjs`.
    #[unsafe(no_mangle)]
    pub extern "C" fn run() -> u32 {
        super::run()
    }
}

/// Big-endian ARM: a Linux process without a library, for QEMU's user mode.
#[cfg(all(target_arch = "arm", target_endian = "big"))]
mod machine {
    use core::arch::asm;

    fn system_call(number: usize, a: usize, b: usize, c: usize) {
        // SAFETY: write and exit change nothing that Rust knows of.
        unsafe {
            asm!("svc 0", in("r7") number, inout("r0") a => _, in("r1") b, in("r2") c);
        }
    }

    pub(super) fn write(text: &[u8]) {
        system_call(4, 1, text.as_ptr().addr(), text.len());
    }

    pub(super) fn exit(code: u32) -> ! {
        loop {
            system_call(1, code as usize, 0, 0);
        }
    }

    #[unsafe(no_mangle)]
    extern "C" fn _start() -> ! {
        exit(super::run())
    }
}

#[cfg(all(target_os = "none", not(target_endian = "big")))]
mod machine {
    use semihosting::io::Write as _;

    pub(super) fn write(text: &[u8]) {
        if let Ok(mut out) = semihosting::io::stdout() {
            // Without an output there is nobody to tell; the missing line is noticed.
            let _ = out.write_all(text);
        }
    }

    pub(super) fn exit(code: u32) -> ! {
        semihosting::process::exit(code as i32)
    }

    #[cfg(target_arch = "arm")]
    #[cortex_m_rt::entry]
    fn main() -> ! {
        exit(super::run())
    }

    #[cfg(any(target_arch = "riscv32", target_arch = "riscv64"))]
    #[riscv_rt::entry]
    fn main() -> ! {
        exit(super::run())
    }

    #[cfg(target_arch = "aarch64")]
    core::arch::global_asm!(
        ".section .text.start",
        ".global _start",
        "_start:",
        "  ldr x0, =_stack_top",
        "  mov sp, x0",
        "  mov x0, #(3 << 20)", // floating point without traps
        "  msr cpacr_el1, x0",
        "  isb",
        "  bl bare_main",
        "1: b 1b",
    );

    #[cfg(target_arch = "aarch64")]
    #[unsafe(no_mangle)]
    extern "C" fn bare_main() -> ! {
        exit(super::run())
    }
}
