//! The chip's interrupts in the vector table; none is used.

const INTERRUPTS: usize = {
    let (mut count, mut rest) = (0, env!("ICTD_INTERRUPTS").as_bytes());
    while let [digit, after @ ..] = rest {
        count = count * 10 + (*digit - b'0') as usize;
        rest = after;
    }
    count
};

unsafe extern "C" {
    fn DefaultHandler();
}

// SAFETY: cortex-m-rt's linker script takes this static, in this section, for the handlers of the interrupts.
#[unsafe(link_section = ".vector_table.interrupts")]
#[unsafe(no_mangle)]
static __INTERRUPTS: [unsafe extern "C" fn(); INTERRUPTS] = [DefaultHandler; INTERRUPTS];
