//! The model that ships and nothing else: predictions from the first transition on, without a file, a scale
//! or a step size. It prints those after 1, 2, 3 and 1,000 transitions and their digest, which is that of the same
//! program in C (`core/c/example.c`); otherwise it is as `inference`.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
#[path = "../interrupts.rs"]
mod interrupts;
#[path = "../product.rs"]
mod product;

use ictd_core::{Error, UniversalModel};
use product::Sensor;

/// The bits that every platform must compute: of the values after 1, 2, 3 and 1,000 transitions, one upon
/// another.
const EXPECTED: u32 = 0x4089_ca1b;

/// Prints the value of a state after n transitions: `0003: -0.125`.
fn show(n: u32, value: f32) {
    let thousandths = (value.abs() * 1000.0 + 0.5) as u32;
    digits(n, 1000);
    put(b':');
    put(b' ');
    put(if value < 0.0 { b'-' } else { b'+' });
    digits(thousandths / 1000, 1);
    put(b'.');
    digits(thousandths, 100);
    put(b'\n');
}

/// Prints the last digits of x, the first of them that of `unit`.
#[inline(never)]
fn digits(x: u32, mut unit: u32) {
    while unit > 0 {
        put(b'0' + (x / unit % 10) as u8);
        unit /= 10;
    }
}

/// Prints the digest, in the words of the program in C.
fn show_digest(digest: u32) {
    b"done, digest ".iter().for_each(|c| put(*c));
    for place in (0..8).rev() {
        put(b"0123456789abcdef"[(digest >> (4 * place) & 15) as usize]);
    }
    put(b'\n');
}

#[cfg(target_os = "none")]
fn put(character: u8) {
    semihosting::sys::arm_compat::sys_writec(character);
}

#[cfg(not(target_os = "none"))]
fn put(character: u8) {
    print!("{}", char::from(character));
}

fn infer() -> Result<u32, Error> {
    let model = UniversalModel::<f32>::universal(0.9)?;
    let mut context = model.context::<4>();
    let (mut sensor, mut bits) = (Sensor(1), 0u32);
    let mut phi = sensor.read();
    for n in 1..=1000 {
        let phi_next = sensor.read();
        let reward = phi[0] - 0.5 * phi_next[1];
        context.observe(&phi, reward, &phi_next)?;
        phi = phi_next;
        if n <= 3 || n == 1000 {
            let value = model.value_function(&context)?.at(&phi);
            show(n, value);
            bits = bits.rotate_left(8) ^ value.to_bits();
        }
    }
    show_digest(bits);
    Ok(bits)
}

#[cfg(not(target_os = "none"))]
fn main() -> Result<(), Error> {
    product::report(infer()?, EXPECTED);
    Ok(())
}

#[cfg(target_os = "none")]
#[cortex_m_rt::entry]
fn main() -> ! {
    // The context lies on it, too.
    product::exit(infer().ok(), EXPECTED, 2)
}
