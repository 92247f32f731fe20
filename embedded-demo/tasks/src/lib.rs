//! What both programs share: a sensor, and the end after 1,000 samples with one alarm.
#![no_std]

use cortex_m::peripheral::{SYST, syst::SystClkSource};
use ictd_core::predictor::Outlook;

/// Numbers around 21; sample 500 is a glitch.
pub struct Sensor {
    state: u32,
    count: u32,
}

impl Sensor {
    /// A sensor that was just switched on.
    pub const NEW: Self = Sensor { state: 1, count: 0 };

    /// Returns the next sample.
    pub fn read(&mut self) -> f32 {
        self.state = self.state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.count += 1;
        if self.count == 501 { 65535.0 } else { 20.0 + (self.state >> 24) as f32 / 128.0 }
    }
}

/// Starts an interrupt for each sample.
pub fn start(mut timer: SYST) {
    timer.set_clock_source(SystClkSource::Core);
    timer.set_reload(50_000);
    timer.enable_counter();
    timer.enable_interrupt();
}

/// Counts alarms, and ends the program after 1,000 samples.
#[derive(Default)]
pub struct Alarms {
    samples: u32,
    alarms: u32,
}

impl Alarms {
    /// Takes what a predictor said of a sample.
    pub fn take(&mut self, seen: &Outlook) {
        self.samples += 1;
        self.alarms += u32::from(seen.onset(0.9999) || seen.predictions[0].low > 25.0);
        if self.samples == 1000 {
            semihosting::process::exit(i32::from(self.alarms != 1));
        }
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    semihosting::process::exit(101)
}
