//! What `every.c` prints on every platform, computed by the Rust crate. `ICTD_BLESS=1 cargo test -p ictd-c` writes it.

use ictd_core::context::Forgetting;
use ictd_core::mask::Td0;
use ictd_core::model::ConstructionSettings;
use ictd_core::training::{StreamTd, StreamTdSettings};
use ictd_core::{Context, Error, Model, Predictor, UniversalModel};
use std::{env, fs};

struct Sensor(u32);

impl Sensor {
    fn read(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 24) as f32 / 128.0 - 1.0
    }
}

fn add(digest: &mut u32, number: f32) {
    *digest = digest.rotate_left(8) ^ number.to_bits();
}

fn contexts() -> Result<u32, Error> {
    let (mut sensor, mut digest) = (Sensor(1), 0);
    let model = UniversalModel::<f32>::new(0.9)?;
    let mut context = model.context::<4>();
    let mut phi = [(); 4].map(|()| sensor.read());
    for n in 1..=1000 {
        let next = [(); 4].map(|()| sensor.read());
        context.observe(&phi, phi[0] - 0.5 * next[1], &next)?;
        if n <= 3 || n == 1000 {
            add(&mut digest, model.value_function(&context)?.at(&next));
        }
        phi = next;
    }
    Ok(digest)
}

fn predictors() -> Result<u32, Error> {
    let (mut sensor, mut digest) = (Sensor(1), 0);
    // C has room for four horizons: those that are not asked for are the last one again.
    let mut predictors = [Predictor::<4>::new([1.0, 5.0, 40.0, 40.0])?; 2];
    predictors[1] = predictors[1].with_limits(-100.0, 100.0)?;
    for t in 0..500 {
        let samples = [(t % 20) as f32 + sensor.read(), 20.0 + sensor.read()];
        let samples = match t {
            200 => [Some(samples[0]), Some(65535.0)],
            _ => [Some(samples[0]), Some(samples[1]).filter(|_| t % 7 != 3)],
        };
        for (predictor, sample) in predictors.iter_mut().zip(samples) {
            let seen = predictor.observe(sample);
            let numbers = seen.predictions[..3].iter().flat_map(|p| [p.mean, p.low, p.high]);
            let rest = [seen.depth, seen.surprise, seen.recent, f32::from(seen.status as u8)];
            numbers.chain(rest).for_each(|number| add(&mut digest, number));
        }
    }
    Ok(digest)
}

fn trainers() -> Result<u32, Error> {
    let (mut sensor, mut digest, gamma) = (Sensor(1), 0, 0.9);
    let model = Model::<4>::td0(ConstructionSettings::new(gamma).step_size(0.25).depth(3))?;
    let settings = StreamTdSettings::default().gamma(gamma);
    let mut trainer = StreamTd::<f32, 4, 9, 3, 18>::new(settings, model.transformer().layers()[0])?;
    let mut context = Context::<4, Td0, Forgetting>::with_memory(Td0, Forgetting::new(0.99)?);
    let mut phi = [0.0; 4];
    for _ in 0..300 {
        let next = [0.5 * phi[0] + sensor.read(), 0.5 * phi[1] + sensor.read(), 0.0, 0.0];
        let reward = phi[0] - 0.5 * next[1];
        trainer.observe(&next, reward)?;
        context.observe(&phi, reward, &next)?;
        phi = next;
    }
    let mut bytes = vec![0; StreamTd::<f32, 4, 9, 3, 18>::SIZE];
    // C stores the number of features, too.
    [2].iter().chain(trainer.write(&mut bytes)?).for_each(|x| add(&mut digest, f32::from(*x)));
    let statistic = context.statistic(gamma, 0)?;
    let largest = context.max_abs_reward(0) / (1.0 - gamma);
    let settings = ConstructionSettings::new(gamma).step_size(1.5).depth(3);
    let preconditioned = Model::<4>::preconditioned_td(settings, 0.25)?;
    for layer in [*trainer.layer(), preconditioned.transformer().layers()[0]] {
        let value = StreamTd::<f32, 4, 9, 3, 18>::value_function(layer, statistic)?.at(&phi);
        add(&mut digest, value.clamp(-largest, largest));
    }
    Ok(digest)
}

#[test]
fn the_digests_of_c_are_those_of_the_crate() -> Result<(), Error> {
    let digests = format!(
        "context {:08x}\npredictor {:08x}\ntrainer {:08x}\n",
        contexts()?,
        predictors()?,
        trainers()?
    );
    if env::var_os("ICTD_BLESS").is_some() {
        fs::write("digests.txt", &digests).unwrap();
    }
    assert_eq!(fs::read_to_string("digests.txt").unwrap_or_default(), digests);
    Ok(())
}
