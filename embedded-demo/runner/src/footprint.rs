//! Measures the memory that a firmware occupies, and finds symbols that it must not contain.

use anyhow::{Context as _, Result, bail};
use object::{
    Architecture, Object as _, ObjectSection as _, ObjectSymbol as _, SectionFlags, SectionKind,
    elf,
};

/// The budgets of a program in bytes of flash, with the recording that `predictor` carries, and of static RAM.
const BUDGETS: &[(&str, u64, u64)] = &[
    ("inference", 15_600, 2 * 1024),
    ("universal", 17 * 1024, 2 * 1024),
    ("short", 24 * 1024, 2 * 1024),
    ("stored", 32 * 1024, 2 * 1024),
    ("stream", 30 * 1024, 2 * 1024),
    ("predictor", 37 * 1024 + 12_000, 2 * 1024),
];

/// The programs that are built as a product would be.
const PRODUCTS: &[&str] = &["inference", "universal", "short", "stored", "stream"];

/// Parts of the names of an allocator and of a panic.
const FORBIDDEN: &[&str] = &["__rust_alloc", "panicking"];

/// Parts of the names of `f64` arithmetic in software, on ARM and on RISC-V.
const DOUBLES: &[&str] = &[
    "__aeabi_dadd",
    "__aeabi_dsub",
    "__aeabi_dmul",
    "__aeabi_ddiv",
    "__aeabi_f2d",
    "__aeabi_d2f",
    "__aeabi_i2d",
    "__aeabi_ui2d",
    "__adddf3",
    "__subdf3",
    "__muldf3",
    "__divdf3",
    "__extendsfdf2",
    "__truncdfsf2",
    "__floatsidf",
    "__floatunsidf",
];

/// Bytes of flash and of static RAM.
fn occupied(file: &object::File) -> (u64, u64) {
    let (mut flash, mut ram) = (0, 0);
    for section in file.sections() {
        let SectionFlags::Elf { sh_flags } = section.flags() else { continue };
        // To these the runtime of RISC-V gives all the memory that is left.
        if matches!(section.name(), Ok(".stack" | ".heap")) {
            continue;
        }
        if sh_flags & u64::from(elf::SHF_ALLOC) == 0 {
            continue;
        }
        let is_zeroed = matches!(section.kind(), SectionKind::UninitializedData);
        if !is_zeroed {
            flash += section.size();
        }
        if sh_flags & u64::from(elf::SHF_WRITE) != 0 {
            ram += section.size();
        }
    }
    (flash, ram)
}

/// Prints the footprint of a firmware; an error if it is over its budgets, or if a product contains what it must not.
pub(crate) fn check(path: &str) -> Result<()> {
    let name = std::path::Path::new(path).file_name().unwrap_or_default().to_string_lossy();
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {path}"))?;
    let file = object::File::parse(&*bytes)?;
    let (flash, ram) = occupied(&file);
    println!("{name}: {flash} bytes of flash, {ram} of static RAM");
    if let Some(&(_, most_flash, most_ram)) = BUDGETS.iter().find(|budget| budget.0 == name) {
        // The same program has more instructions there.
        let is_risc_v = file.architecture() == Architecture::Riscv32;
        let most_flash = if is_risc_v { most_flash / 4 * 5 } else { most_flash };
        if flash > most_flash || ram > most_ram {
            bail!(
                "over budget: {most_flash} bytes of flash and {most_ram} of static RAM are allowed"
            );
        }
    }
    let is_product = PRODUCTS.contains(&&*name);
    if !is_product && name != "learner" {
        return Ok(());
    }
    let symbols: Vec<_> = file.symbols().filter_map(|symbol| symbol.name().ok()).collect();
    if symbols.is_empty() {
        bail!("{path} has no symbols to look at");
    }
    // (The trainer counts Adam's powers in `f64`.)
    let doubles = if is_product { DOUBLES } else { &[] };
    for name in FORBIDDEN.iter().chain(doubles) {
        if let Some(symbol) = symbols.iter().find(|symbol| symbol.contains(name)) {
            bail!("the firmware contains {symbol}");
        }
    }
    println!(
        "{name}: no allocator, no panic{}",
        if is_product { ", no f64 arithmetic" } else { "" }
    );
    // A trace decay is a number: an empty context that has one is not all zeros, and lives on the stack.
    if name != "inference" {
        return Ok(());
    }
    let is_context = |name: &str| name.contains("CONTEXT");
    let context = file.symbols().find(|symbol| symbol.name().is_ok_and(is_context));
    let context = context.with_context(|| format!("{path} has no static CONTEXT"))?;
    let section = context.section_index().context("CONTEXT lies in no section")?;
    let section = file.section_by_index(section)?;
    if section.kind() != SectionKind::UninitializedData {
        bail!("the empty CONTEXT takes flash: it lies in {}", section.name()?);
    }
    println!("{name}: the empty context of {} bytes lies in .bss", context.size());
    Ok(())
}
