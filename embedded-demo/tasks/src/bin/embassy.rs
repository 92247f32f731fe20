//! embassy: an interrupt reads the sensor into a channel, and an async task predicts.
#![no_std]
#![no_main]

use core::cell::RefCell;
use embassy_executor::Spawner;
use embassy_sync::blocking_mutex::{Mutex, raw::CriticalSectionRawMutex};
use embassy_sync::channel::Channel;
use lm3s6965 as _;
use tasks::{Alarms, Sensor, start};

static SAMPLES: Channel<CriticalSectionRawMutex, f32, 4> = Channel::new();
static SENSOR: Mutex<CriticalSectionRawMutex, RefCell<Sensor>> =
    Mutex::new(RefCell::new(Sensor::NEW));

#[cortex_m_rt::exception]
fn SysTick() {
    let sample = SENSOR.lock(|sensor| sensor.borrow_mut().read());
    // A sample is lost if the task has fallen four behind: better than an interrupt that waits.
    let _ = SAMPLES.try_send(sample);
}

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    let (Some(core), Ok(mut predictor)) =
        (cortex_m::Peripherals::take(), ictd_core::Predictor::<1>::new([10.0]))
    else {
        return;
    };
    start(core.SYST);
    let mut alarms = Alarms::default();
    loop {
        let sample = SAMPLES.receive().await;
        alarms.take(&predictor.observe(sample));
    }
}
