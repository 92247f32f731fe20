//! The product of `short.rs` that keeps its state in a deep sleep: it writes its predictor to a page, and reads it back.
#![cfg_attr(target_os = "none", no_std, no_main)]
#[cfg(all(target_os = "none", target_arch = "arm"))]
#[path = "../interrupts.rs"]
mod interrupts;
#[path = "../product.rs"]
mod product;

use ictd_core::Predictor;

/// Returns at how many of 1,000 samples there was an alarm; sample 500 is a glitch, and the device sleeps before it.
fn alarms() -> Option<u32> {
    let mut sensor = product::Sensor(1);
    let mut page = [0; Predictor::<1>::SIZE];
    let mut alarms = 0;
    for start in [0, 500] {
        let mut predictor = Predictor::<1>::new([10.0]).ok()?;
        if start > 0 {
            predictor.read(&page).ok()?;
        }
        for t in start..start + 500 {
            let sample = if t == 500 { 65535.0 } else { 20.0 + sensor.read()[0] };
            let seen = predictor.observe(sample);
            let [next] = seen.predictions;
            alarms += u32::from(seen.onset(0.9999) || next.low > 25.0);
        }
        predictor.write(&mut page).ok()?;
    }
    Some(alarms)
}

#[cfg(target_os = "none")]
#[cfg_attr(target_arch = "arm", cortex_m_rt::entry)]
#[cfg_attr(target_arch = "riscv32", riscv_rt::entry)]
fn main() -> ! {
    product::exit(alarms(), 1, 2)
}

#[cfg(not(target_os = "none"))]
fn main() {
    product::report(alarms().unwrap_or(0), 1);
}
