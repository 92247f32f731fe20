//! Chooses the board's memory map and passes the linker its scripts, so that a plain `cargo build`
//! for a chip works and RUSTFLAGS cannot lose them.

use std::{env, fs, path::PathBuf};

/// Name, flash origin and KiB, RAM origin and KiB, the Hz of SysTick's clock in QEMU, and the interrupts (both 0 on RISC-V, which
/// has no SysTick and no such table).
const BOARDS: &[(&str, u32, u32, u32, u32, u32, usize)] = &[
    // ARM's MPS2 FPGA board with the Cortex-M4F image AN386.
    ("mps2-an386", 0x0000_0000, 4096, 0x2000_0000, 4096, 25_000_000, 32),
    // The same board with the Cortex-M33 image AN505.
    ("mps2-an505", 0x1000_0000, 4096, 0x3800_0000, 4096, 20_000_000, 124),
    // QEMU's RISC-V board; its flash is memory.
    ("virt", 0x8000_0000, 8192, 0x8080_0000, 8192, 0, 0),
    // STM32F405RG, Cortex-M4F.
    ("stm32f405", 0x0800_0000, 1024, 0x2000_0000, 128, 168_000_000, 82),
    // micro:bit v1: nRF51822, Cortex-M0.
    ("microbit", 0x0000_0000, 256, 0x2000_0000, 16, 16_000_000, 32),
    // Raspberry Pi RP2350, Cortex-M33; flash is mapped for execution in place.
    ("rp2350", 0x1000_0000, 2048, 0x2000_0000, 512, 150_000_000, 52),
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=BOARD");
    recording();
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("none") {
        return;
    }
    let name = env::var("BOARD").unwrap_or_else(|_| "mps2-an386".to_owned());
    let Some(&(_, flash, flash_kib, ram, ram_kib, systick, interrupts)) =
        BOARDS.iter().find(|board| board.0 == name)
    else {
        let names: Vec<_> = BOARDS.iter().map(|board| board.0).collect();
        panic!("BOARD={name} is unknown: expected {}", names.join(", "));
    };
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    // The last two pages are what `learner` writes to.
    let program_kib = flash_kib - 2;
    println!("cargo:rustc-env=ICTD_PAGES={}", flash + 1024 * program_kib);
    let mut memory = format!(
        "MEMORY {{\n  FLASH : ORIGIN = {flash:#x}, LENGTH = {program_kib}K\n  \
         RAM : ORIGIN = {ram:#x}, LENGTH = {ram_kib}K\n}}\n"
    );
    let is_arm = env::var("CARGO_CFG_TARGET_ARCH").as_deref() == Ok("arm");
    if !is_arm {
        for (region, memory_of) in [
            ("TEXT", "FLASH"),
            ("RODATA", "FLASH"),
            ("DATA", "RAM"),
            ("BSS", "RAM"),
            ("HEAP", "RAM"),
            ("STACK", "RAM"),
        ] {
            memory += &format!("REGION_ALIAS(\"REGION_{region}\", {memory_of});\n");
        }
    }
    if name == "rp2350" {
        // The boot ROM looks in the first 4 KiB for a block that says what the image is
        // (RP2350 datasheet, "Minimum viable image metadata"): start, IMAGE_TYPE with executable,
        // secure mode, Arm and RP2350, end of the items, no further block, end.
        memory += "SECTIONS {\n  .start_block : ALIGN(4) {\n    LONG(0xffffded3); LONG(0x10210142); \
                   LONG(0x000001ff); LONG(0x00000000); LONG(0xab123579);\n  } > FLASH\n\
                   } INSERT AFTER .vector_table;\n\
                   _stext = ADDR(.start_block) + SIZEOF(.start_block);\n";
    }
    fs::write(out.join("memory.x"), memory).expect("OUT_DIR is writable");
    // The vector table as long as the chip's, which a device crate would bring; cortex-m-rt's own has room for
    // all that the architecture may have, on a Cortex-M33 480.
    fs::write(out.join("device.x"), "").expect("OUT_DIR is writable");
    println!("cargo:rustc-env=ICTD_INTERRUPTS={interrupts}");
    println!("cargo:rustc-link-search={}", out.display());
    if is_arm {
        println!("cargo:rustc-link-arg-bins=--nmagic");
        println!("cargo:rustc-link-arg-bin=embedded-demo=-Tdefmt.x");
        println!("cargo:rustc-link-arg-bin=predictor=-Tdefmt.x");
        println!("cargo:rustc-link-arg-bin=table=-Tdefmt.x");
    } else {
        println!("cargo:rustc-link-arg-bins=-Tmemory.x");
    }
    println!("cargo:rustc-link-arg-bins=-Tlink.x");
    println!("cargo:rustc-env=ICTD_BOARD={name}");
    println!("cargo:rustc-env=ICTD_SYSTICK_HZ={systick}");
    let opt_level = env::var("OPT_LEVEL").expect("cargo sets OPT_LEVEL");
    println!("cargo:rustc-env=ICTD_OPT_LEVEL={opt_level}");
}

/// The recording, and whose it is.
const RECORDING: &str = "../host/assets/signals/gait.csv";
const LICENCE: &str = "../host/assets/signals/gait.txt";
/// Which of its samples the flash holds: standing, then walking.
const SAMPLES: std::ops::Range<usize> = 1_200..3_200;

/// Writes the recording that `predictor` carries, as Rust.
fn recording() {
    println!("cargo:rerun-if-changed={RECORDING}");
    println!("cargo:rerun-if-changed={LICENCE}");
    let text = fs::read_to_string(RECORDING).expect("the recording is there");
    let lines: Vec<_> = text.lines().collect();
    let licence = fs::read_to_string(LICENCE).expect("the licence is beside it");
    let names: Vec<_> = lines[0].split(',').collect();
    let sample = |line: &&str| -> Vec<i16> {
        line.split(',').map(|x| x.parse().expect("thousandths of g")).collect()
    };
    let samples: Vec<_> = lines[1..][SAMPLES].iter().map(sample).collect();
    let code = format!(
        "/// Whose recording it is.\npub(crate) const LICENCE: &str = {:?};\n\
         /// Its signals.\npub(crate) const NAMES: [&str; {}] = {names:?};\n\
         /// Its samples, in thousandths of g.\npub(crate) static RECORDING: [[i16; {}]; {}] = {samples:?};\n",
        licence.lines().collect::<Vec<_>>().join(" "),
        names.len(),
        names.len(),
        samples.len(),
    );
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("recording.rs"), code).expect("OUT_DIR is writable");
}
