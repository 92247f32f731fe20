//! The chip's interrupts in the vector table; none is used.

const INTERRUPTS: usize = match usize::from_str_radix(env!("ICTD_INTERRUPTS"), 10) {
    Ok(count) => count,
    Err(_) => panic!("the build script gives a number"),
};

unsafe extern "C" {
    fn DefaultHandler();
}

// SAFETY: cortex-m-rt's linker script takes this static, in this section, for the handlers of the interrupts.
#[unsafe(link_section = ".vector_table.interrupts")]
#[unsafe(no_mangle)]
static __INTERRUPTS: [unsafe extern "C" fn(); INTERRUPTS] = [DefaultHandler; INTERRUPTS];
