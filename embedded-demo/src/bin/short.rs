//! A product in 25 lines: it reads a sensor, predicts its next samples, and notices when something is wrong.
#![cfg_attr(target_os = "none", no_std, no_main)]
#[cfg(all(target_os = "none", target_arch = "arm"))]
#[path = "../interrupts.rs"]
mod interrupts;
#[path = "../product.rs"]
mod product;

/// Returns at how many of 1,000 samples there was an alarm; sample 500 is a glitch.
fn alarms() -> Option<u32> {
    let mut sensor = product::Sensor(1);
    let mut predictor = ictd_core::Predictor::<1>::new([10.0]).ok()?;
    let alarm = |t| {
        let seen = predictor.observe(if t == 500 { 65535.0 } else { 20.0 + sensor.read()[0] });
        let [next] = seen.predictions; // of the next 10 samples or so
        u32::from(seen.onset(0.9999) || next.low > 25.0)
    };
    Some((0..1000).map(alarm).sum())
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
