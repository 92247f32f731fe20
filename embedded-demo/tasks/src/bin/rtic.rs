//! RTIC: a task of an interrupt reads the sensor, and one of lower priority predicts.
#![no_std]
#![no_main]

#[rtic::app(device = lm3s6965, dispatchers = [UART0])]
mod app {
    use ictd_core::Predictor;
    use tasks::{Alarms, Sensor, start};

    #[shared]
    struct Shared {}

    #[local]
    struct Local {
        sensor: Sensor,
        predictor: Predictor,
        alarms: Alarms,
    }

    #[init]
    fn init(cx: init::Context) -> (Shared, Local) {
        const PREDICTOR: Predictor = match Predictor::<1>::new([10.0]) {
            Ok(predictor) => predictor,
            Err(_) => panic!("the horizon is out of range"),
        };
        start(cx.core.SYST);
        (Shared {}, Local { sensor: Sensor::NEW, predictor: PREDICTOR, alarms: Alarms::default() })
    }

    #[task(binds = SysTick, local = [sensor], priority = 2)]
    fn sample(cx: sample::Context) {
        // A sample is lost if the one before is still being predicted.
        let _ = predict::spawn(cx.local.sensor.read());
    }

    #[task(local = [predictor, alarms], priority = 1)]
    async fn predict(cx: predict::Context, sample: f32) {
        cx.local.alarms.take(&cx.local.predictor.observe(sample));
    }
}
