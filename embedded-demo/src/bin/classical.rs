//! One classical algorithm and nothing else, in the place of a model: what it takes of flash. It is as `universal`, with
//! the algorithm that ALGORITHM named when it was built; `embedded-demo/run.sh` builds each.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
#[path = "../interrupts.rs"]
mod interrupts;
// No value is expected of it.
#[allow(dead_code)]
#[path = "../product.rs"]
mod product;

use ictd_core::Error;
use ictd_core::td::{
    BatchTd, BatchTdSettings, Lstd, LstdSettings, OnlineTd, OnlineTdSettings, RecursiveLstd,
    RecursiveLstdSettings,
};
use product::Sensor;

const GAMMA: f32 = 0.9;
const LAMBDA: f32 = 0.9;

/// The value after 1,000 transitions, of an algorithm that is one line.
macro_rules! learn {
    ($model:expr) => {{
        let model = $model;
        let mut context = model.context::<4>();
        let mut sensor = Sensor(1);
        let mut phi = sensor.read();
        for _ in 0..1000 {
            let phi_next = sensor.read();
            let reward = phi[0] - 0.5 * phi_next[1];
            context.observe(&phi, reward, &phi_next)?;
            phi = phi_next;
        }
        Ok(model.value_function(&context)?.at(&phi))
    }};
}

fn infer() -> Result<f32, Error> {
    match env!("ICTD_ALGORITHM").as_bytes() {
        b"online TD" => {
            learn!(OnlineTd::new(OnlineTdSettings { gamma: GAMMA, lambda: LAMBDA, alpha: 0.01 })?)
        }
        b"true online TD" => learn!(OnlineTd::true_online(OnlineTdSettings {
            gamma: GAMMA,
            lambda: LAMBDA,
            alpha: 0.01
        })?),
        b"LSTD" => learn!(Lstd::new(LstdSettings { gamma: GAMMA, lambda: LAMBDA, ridge: 0.3 })?),
        b"recursive LSTD" => learn!(RecursiveLstd::new(RecursiveLstdSettings {
            gamma: GAMMA,
            lambda: LAMBDA,
            retention: 0.998,
            ridge: 0.3
        })?),
        _ => learn!(BatchTd::new(BatchTdSettings {
            gamma: GAMMA,
            lambda: LAMBDA,
            alpha: 0.1,
            iterations: 15
        })?),
    }
}

#[cfg(not(target_os = "none"))]
fn main() -> Result<(), Error> {
    println!("{}: {}", env!("ICTD_ALGORITHM"), infer()?);
    Ok(())
}

#[cfg(target_os = "none")]
#[cortex_m_rt::entry]
fn main() -> ! {
    let bits = infer().ok().map(f32::to_bits);
    // Any value will do: only the flash is measured.
    product::exit(bits, bits.unwrap_or(0), 2)
}
