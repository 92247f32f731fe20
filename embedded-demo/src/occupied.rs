//! The places of the linker's sections.

unsafe extern "C" {
    static __sdata: u32;
    static __edata: u32;
    static __sbss: u32;
    static __ebss: u32;
    static __sidata: u32;
    static __vector_table: u32;
}

/// Returns the bytes of static RAM.
pub(crate) fn static_ram() -> u32 {
    let data = (&raw const __edata).addr() - (&raw const __sdata).addr();
    let bss = (&raw const __ebss).addr() - (&raw const __sbss).addr();
    (data + bss) as u32
}

/// Returns the bytes of flash: from the vector table to the end of the initial values of static RAM.
pub(crate) fn flash() -> u32 {
    let data = (&raw const __edata).addr() - (&raw const __sdata).addr();
    ((&raw const __sidata).addr() + data - (&raw const __vector_table).addr()) as u32
}
