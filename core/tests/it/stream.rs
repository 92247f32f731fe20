use super::*;
use ictd_core::model::ConstructionSettings;
use ictd_core::training::{StreamTd, StreamTdSettings};

const T: usize = 18;
type Trainer = StreamTd<f32, 2, 5, 3, T>;

fn begun(settings: StreamTdSettings<f32>) -> Trainer {
    let settings_of_model = ConstructionSettings::new(0.9).step_size(1.0).depth(3);
    let model = ictd_core::Model::<2>::td0(settings_of_model).unwrap();
    Trainer::new(settings, model.transformer().layers()[0]).unwrap()
}

/// A damped oscillator with noise, of any amplitude: its features, and its position as the reward.
fn oscillator(seed: u64, n: usize, amplitude: f32) -> Vec<[f32; 2]> {
    let (mut rng, mut x) = (Rng::new(seed), [0.0; 2]);
    let mut step = || {
        let [re, im] = x;
        let noise = [rng.normal::<f32>(), rng.normal()].map(|noise| 0.2 * amplitude * noise);
        x = [0.927 * re - 0.287 * im + noise[0], 0.287 * re + 0.927 * im + noise[1]];
        x
    };
    (0..n).map(|_| step()).collect()
}

/// Returns the squared error of the kept weights' values against the returns, over that of predicting 0.
fn error(trainer: &Trainer, stream: &[[f32; 2]]) -> f32 {
    let (mut returned, mut sums) = (0.0, [0.0, 0.0]);
    for k in (T..stream.len() - 1).rev() {
        returned = stream[k + 1][0] + 0.9 * returned;
        if k + 60 > stream.len() {
            continue;
        }
        let mut context = Context::<2>::new();
        for j in k + 1 - T..k - 1 {
            context.observe(&stream[j], stream[j + 1][0], &stream[j + 1]).unwrap();
        }
        let statistic = context.statistic(0.9, 0).unwrap();
        let value = Trainer::value_function(*trainer.layer(), statistic).unwrap().at(&stream[k]);
        sums[0] += (value - returned) * (value - returned);
        sums[1] += returned * returned;
    }
    sums[0] / sums[1]
}

#[test]
fn a_stream_trains_weights_that_predict_another_stream_better_at_any_scale() {
    let settings = StreamTdSettings::default().trial(2048);
    for (seed, amplitude) in [(1, 1.0), (2, 1e3), (3, 1e-4)] {
        let mut trainer = begun(settings);
        let test = oscillator(100 + seed, 2000, amplitude);
        let before = error(&trainer, &test);
        for phi in oscillator(seed, 10_000, amplitude) {
            trainer.observe(&phi, phi[0]).unwrap();
        }
        let after = error(&trainer, &test);
        assert!(after < 0.6 * before, "{amplitude}: {before} {after}");
    }
}

#[test]
fn trained_weights_that_predict_worse_are_not_kept() {
    // Steps so large that the layers blow up.
    let settings = StreamTdSettings::default().trial(256).step_size(30.0);
    let mut trainer = begun(settings);
    let before = *trainer.layer();
    for phi in oscillator(5, 4000, 1.0) {
        trainer.observe(&phi, phi[0]).unwrap();
    }
    assert_eq!(*trainer.layer(), before);
}

#[test]
fn a_stored_trainer_goes_on_bit_for_bit_and_damage_is_found() {
    let settings = StreamTdSettings::default().trial(64);
    let mut trainer = begun(settings);
    let mut page = vec![0; Trainer::SIZE];
    for (t, phi) in oscillator(7, 600, 1.0).iter().enumerate() {
        trainer.observe(phi, phi[0]).unwrap();
        if t % 37 == 0 {
            let before = trainer.clone();
            assert_eq!(trainer.write(&mut page).unwrap().len(), Trainer::SIZE);
            trainer = begun(settings);
            trainer.read(&page).unwrap();
            assert_eq!(trainer, before);
        }
    }
    let before = trainer.clone();
    assert!(
        trainer.observe(&[1.0, f32::NAN], 0.0).is_err()
            && trainer.observe(&[1.0; 2], f32::INFINITY).is_err()
    );
    assert!(trainer.write(&mut page[1..]).is_err());
    for at in (0..page.len()).step_by(7) {
        page[at] ^= 4;
        assert!(trainer.read(&page).is_err(), "{at}");
        page[at] ^= 4;
    }
    let other = settings.gamma(0.5);
    assert_eq!(begun(other).read(&page), Err(Error::Mismatch { parameter: "gamma" }));
    assert_eq!(trainer, before);
}
