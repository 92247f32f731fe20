//! The block that the RP2350's boot ROM wants in the first 4 KiB of flash (datasheet, "Blocks").

use anyhow::{Context as _, Result, bail, ensure};
use object::{Object as _, ObjectSegment as _};

const FLASH: u64 = 0x1000_0000;
const SEARCHED: usize = 4096;

/// Checks the block as the boot ROM does: its markers, its items, its loop.
pub(crate) fn check(path: &str) -> Result<()> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {path}"))?;
    let file = object::File::parse(&*bytes)?;
    // What the programmer will write to the first 4 KiB.
    let mut flash = vec![0xff; SEARCHED];
    for segment in file.segments() {
        let Some(start) = segment.address().checked_sub(FLASH) else { continue };
        for (at, byte) in (start as usize..SEARCHED).zip(segment.data()?) {
            flash[at] = *byte;
        }
    }
    let words: Vec<u32> = flash.as_chunks().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
    let at = words.iter().position(|word| *word == 0xffff_ded3);
    let at = at.with_context(|| format!("{path} has no boot block in its first 4 KiB"))?;
    let [image_type, last, next, end, ..] = words[at + 1..] else {
        bail!("the boot block is cut off");
    };
    // IMAGE_TYPE, one word: an executable (1), secure (2 << 4), Arm (0 << 8), RP2350 (1 << 12).
    ensure!(image_type == 0x1021_0142, "the image type is {image_type:#010x}");
    // The last item says how many words the items before it have.
    ensure!(last == 0x0000_01ff, "the last item is {last:#010x}");
    ensure!(next == 0, "the block loop does not end: {next:#010x}");
    ensure!(end == 0xab12_3579, "the end marker is {end:#010x}");
    // The vector table in front of it: the stack in RAM, the reset handler in flash, Thumb.
    ensure!(words[0] >> 20 == 0x200, "the stack starts at {:#010x}", words[0]);
    ensure!(words[1] >> 20 == 0x100 && words[1] % 2 == 1, "reset is at {:#010x}", words[1]);
    println!("{path}: boot block at {:#010x}", FLASH + 4 * at as u64);
    Ok(())
}
