//! Runs a firmware in QEMU and prints its logs.
//!
//! `runner [--board NAME] ELF` starts the board's QEMU machine, decodes the defmt frames that the
//! firmware sends over semihosting, prints them one per line, and exits with the firmware's code.
//! `runner --footprint ELF` prints what a firmware occupies and holds it to its budgets, and a product to what it must not contain;
//! `runner --boot-block ELF` checks that the RP2350's boot ROM will start it.

mod boot_block;
mod footprint;

use anyhow::{Context as _, Result, bail};
use defmt_decoder::{DecodeError, Table};
use std::io::{Read, Write};
use std::process::{Command, ExitCode, Stdio};

/// Board, and QEMU's program, machine and CPU for it.
const BOARDS: &[(&str, &str, &[&str])] = &[
    ("mps2-an386", "qemu-system-arm", &["-M", "mps2-an386", "-cpu", "cortex-m4"]),
    ("mps2-an505", "qemu-system-arm", &["-M", "mps2-an505"]),
    ("stm32f405", "qemu-system-arm", &["-M", "netduinoplus2"]),
    ("microbit", "qemu-system-arm", &["-M", "microbit"]),
    ("virt", "qemu-system-riscv32", &["-M", "virt", "-bios", "none"]),
];

fn main() -> Result<ExitCode> {
    let mut arguments = std::env::args().skip(1);
    let mut board = "mps2-an386".to_owned();
    let mut elf = None;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--board" => board = arguments.next().context("--board needs a name")?,
            "--footprint" => {
                footprint::check(&arguments.next().context("--footprint needs a file")?)?;
                return Ok(ExitCode::SUCCESS);
            }
            "--boot-block" => {
                boot_block::check(&arguments.next().context("--boot-block needs a file")?)?;
                return Ok(ExitCode::SUCCESS);
            }
            path => elf = Some(path.to_owned()),
        }
    }
    let Some(elf) = elf else {
        bail!("usage: runner [--board NAME | --footprint | --boot-block] ELF")
    };
    let Some((_, program, machine)) = BOARDS.iter().find(|(name, ..)| *name == board) else {
        let names: Vec<_> = BOARDS.iter().map(|(name, ..)| *name).collect();
        bail!("QEMU has no machine for board {board}: it has {}", names.join(", "));
    };
    let bytes = std::fs::read(&elf).with_context(|| format!("cannot read {elf}"))?;
    let table = Table::parse(&bytes)?;
    let mut qemu = Command::new(program)
        .args(*machine)
        .args(["-nographic", "-monitor", "none", "-serial", "none"])
        // 64 ns per instruction, or 1 where there is a counter of instructions: the same on every run.
        .args(["-icount", if board == "virt" { "shift=0" } else { "shift=6" }])
        .args(["-chardev", "stdio,id=logs"])
        .args(["-semihosting-config", "enable=on,target=native,chardev=logs"])
        .args(["-kernel", &elf])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| {
            format!("cannot start {program} (Debian: qemu-system-arm, qemu-system-misc)")
        })?;
    let mut output = qemu.stdout.take().context("QEMU has no output")?;
    match table {
        Some(table) => decode(&table, &mut output)?,
        None => drop(std::io::copy(&mut output, &mut std::io::stdout())?),
    }
    let status = qemu.wait()?;
    // A signal has no code.
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(255);
    Ok(ExitCode::from(code))
}

/// Prints each frame's message.
fn decode(table: &Table, input: &mut impl Read) -> Result<()> {
    let mut decoder = table.new_stream_decoder();
    let mut out = std::io::stdout();
    let mut buffer = [0; 4096];
    loop {
        let n = input.read(&mut buffer)?;
        if n == 0 {
            return Ok(());
        }
        decoder.received(&buffer[..n]);
        loop {
            match decoder.decode() {
                Ok(frame) => writeln!(out, "{}", frame.display_message())?,
                Err(DecodeError::UnexpectedEof) => break,
                Err(DecodeError::Malformed) => bail!("a frame of the log is malformed"),
            }
        }
        out.flush()?;
    }
}
