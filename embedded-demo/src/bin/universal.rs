//! The model that ships and nothing else: predictions from the first transition on, without a file, a scale
//! or a step size. It prints the digest of those after 1, 2, 3 and 1,000 transitions, which is that of the same program
//! in C (`core/c/every.c`); otherwise it is as `inference`.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(all(target_os = "none", target_arch = "arm"))]
#[path = "../interrupts.rs"]
mod interrupts;
#[path = "../product.rs"]
mod product;

use ictd_core::{Error, UniversalModel};
use product::Sensor;

/// The digest that every platform must compute: the bits of the values after 1, 2, 3 and 1,000 transitions, combined by
/// rotation and XOR.
const EXPECTED: u32 = 0x9867_c7d1;

/// A constant, so that an invalid discount fails the build.
const MODEL: UniversalModel = match UniversalModel::<f32>::new(0.9) {
    Ok(model) => model,
    Err(_) => panic!("gamma is out of range"),
};

/// Prints the digest: `digest 0123cdef`.
fn show_digest(mut digest: u32) {
    // (Black boxes, so that the loops are not unrolled.)
    core::hint::black_box(b"digest ").iter().for_each(|c| put(*c));
    let mut left = core::hint::black_box(8);
    while left > 0 {
        let digit = (digest >> 28) as u8;
        put(digit + if digit < 10 { b'0' } else { b'a' - 10 });
        (digest, left) = (digest << 4, left - 1);
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
    let mut context = MODEL.context::<4>();
    let (mut sensor, mut bits) = (Sensor(1), 0u32);
    let mut phi = sensor.read();
    for n in 1..=1000 {
        let phi_next = sensor.read();
        let reward = phi[0] - 0.5 * phi_next[1];
        context.observe(&phi, reward, &phi_next)?;
        phi = phi_next;
        if n <= 3 || n == 1000 {
            let value = MODEL.value_function(&context)?.at(&phi);
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
#[cfg_attr(target_arch = "arm", cortex_m_rt::entry)]
#[cfg_attr(target_arch = "riscv32", riscv_rt::entry)]
fn main() -> ! {
    // The context lies on it, too.
    product::exit(infer().ok(), EXPECTED, 2)
}
