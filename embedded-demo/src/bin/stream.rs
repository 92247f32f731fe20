//! A product that trains on its own stream: three layers learn to value two features of a sensor, and read a context with what they
//! have learned.
#![cfg_attr(target_os = "none", no_std, no_main)]
#[cfg(all(target_os = "none", target_arch = "arm"))]
#[path = "../interrupts.rs"]
mod interrupts;
#[path = "../product.rs"]
mod product;

use ictd_core::context::Forgetting;
use ictd_core::mask::Td0;
use ictd_core::model::ConstructionSettings;
use ictd_core::training::{StreamTd, StreamTdSettings};
use ictd_core::{Context, Error, Model};

/// Two features, three layers, and contexts of 16 transitions.
type Trainer = StreamTd<f32, 2, 5, 3, 18>;
const GAMMA: f32 = 0.9;

/// The bits of the value that every platform must compute.
const EXPECTED: u32 = 0x3dd2_1543;

fn learn() -> Result<u32, Error> {
    let mut sensor = product::Sensor(1);
    let model = Model::<2>::td0(ConstructionSettings::new(GAMMA).step_size(0.25).depth(3))?;
    let [layer] = model.transformer().layers() else {
        return Err(Error::Empty { parameter: "layers" });
    };
    let mut trainer = Trainer::new(StreamTdSettings::default().gamma(GAMMA).trial(100), *layer)?;
    let mut context = Context::<2, Td0, Forgetting>::with_memory(Td0, Forgetting::new(0.99)?);
    let mut phi = [0.0; 2];
    for _ in 0..1000 {
        let [noise, other, ..] = sensor.read();
        let next = [0.5 * phi[0] + noise, 0.5 * phi[1] + other];
        let reward = phi[0] - 0.5 * next[1];
        trainer.observe(&next, reward)?;
        context.observe(&phi, reward, &next)?;
        phi = next;
    }
    let statistic = context.statistic(GAMMA, 0)?;
    Ok(Trainer::value_function(*trainer.layer(), statistic)?.at(&phi).to_bits())
}

#[cfg(target_os = "none")]
#[cfg_attr(target_arch = "arm", cortex_m_rt::entry)]
#[cfg_attr(target_arch = "riscv32", riscv_rt::entry)]
fn main() -> ! {
    product::exit(learn().ok(), EXPECTED, 3)
}

#[cfg(not(target_os = "none"))]
fn main() -> Result<(), Error> {
    product::report(learn()?, EXPECTED);
    Ok(())
}
