//! The memory map and the linker's scripts of the machines in `../platforms.sh`.

use std::{env, fs, path::PathBuf};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let variable = |name| env::var(name).unwrap_or_default();
    let out = PathBuf::from(variable("OUT_DIR"));
    println!("cargo:rustc-link-search={}", out.display());
    let argument = |argument: &str| println!("cargo:rustc-link-arg-bins={argument}");
    let memory = |flash: &str, ram: &str| {
        let text = format!(
            "MEMORY {{\n  FLASH : ORIGIN = {flash}\n  RAM : ORIGIN = {ram}\n}}\n\
             REGION_ALIAS(\"REGION_TEXT\", FLASH);\nREGION_ALIAS(\"REGION_RODATA\", FLASH);\n\
             REGION_ALIAS(\"REGION_DATA\", RAM);\nREGION_ALIAS(\"REGION_BSS\", RAM);\n\
             REGION_ALIAS(\"REGION_HEAP\", RAM);\nREGION_ALIAS(\"REGION_STACK\", RAM);\n"
        );
        fs::write(out.join("memory.x"), text).expect("OUT_DIR is writable");
    };
    match (variable("CARGO_CFG_TARGET_ARCH").as_str(), variable("CARGO_CFG_TARGET_OS").as_str()) {
        ("arm", "none") if variable("TARGET").starts_with("thumb") => {
            match variable("TARGET").as_str() {
                // The micro:bit's, with more of both.
                "thumbv6m-none-eabi" => {
                    memory("0x00000000, LENGTH = 1M", "0x20000000, LENGTH = 256K");
                }
                "thumbv8m.main-none-eabihf" => {
                    memory("0x10000000, LENGTH = 4M", "0x38000000, LENGTH = 4M");
                }
                _ => memory("0x00000000, LENGTH = 4M", "0x20000000, LENGTH = 4M"),
            }
            argument("--nmagic");
            argument("-Tlink.x");
        }
        ("riscv32" | "riscv64", "none") => {
            memory("0x80000000, LENGTH = 8M", "0x80800000, LENGTH = 8M");
            argument("-Tmemory.x");
            argument("-Tlink.x");
        }
        ("aarch64", "none") => {
            let script = "ENTRY(_start)\nSECTIONS {\n  . = 0x40080000;\n  .text : { *(.text.start) \
                          *(.text*) *(.rodata*) *(.data*) }\n  .bss : { *(.bss*) *(COMMON) }\n  \
                          . = ALIGN(16);\n  . += 0x100000;\n  _stack_top = .;\n  /DISCARD/ : { \
                          *(.eh_frame*) }\n}\n";
            fs::write(out.join("aarch64.x"), script).expect("OUT_DIR is writable");
            argument("-Taarch64.x");
        }
        ("wasm32", _) => argument("--export=run"),
        _ => {}
    }
}
