//! What a device stores before it sleeps is what it wakes up with.

use ictd_core::attention::{MeanCentred, Td0, TdLambda};
use ictd_core::context::{Context as _, Forgetting, Growing, GrowingAverageReward, TwoHeadContext};
use ictd_core::rng::Rng;
use ictd_core::training::{Loss, Optimizer, Settings};
use ictd_core::{Context, Error};
use serde::{Serialize, de::DeserializeOwned};

fn stored<T: Serialize + DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

/// One context of each kind that is stored, fed with the same transitions.
#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Contexts {
    streaming: Context<3>,
    trace: Growing<f32, 3, 7, TdLambda<f32>>,
    forgetting: Forgetting<f32, 3, 7, TdLambda<f32>>,
    two_head: GrowingAverageReward<f32, 3, 8>,
}

impl Contexts {
    fn new() -> Result<Self, Error> {
        let lambda = TdLambda::new(0.5)?;
        let head1 = Growing::new(1.0, MeanCentred)?;
        Ok(Contexts {
            streaming: Context::<3>::new(0.9)?,
            trace: Growing::new(0.9, lambda)?,
            forgetting: Forgetting::new(0.9, 0.99, lambda)?,
            two_head: TwoHeadContext { head1, head2: Growing::new(1.0, Td0)? },
        })
    }

    fn observe(&mut self, rng: &mut Rng) -> Result<(), Error> {
        let mut phi = || -> [f32; 3] { std::array::from_fn(|_| rng.uniform_in(-1.0, 1.0)) };
        let (phi, phi_next, [reward, ..]) = (phi(), phi(), phi());
        self.streaming.observe(&phi, reward, &phi_next)?;
        self.trace.observe(&phi, reward, &phi_next)?;
        self.forgetting.observe(&phi, reward, &phi_next)?;
        self.two_head.observe(&phi, reward, &phi_next)
    }
}

#[test]
fn a_stored_context_goes_on_where_it_stopped() -> Result<(), Error> {
    let (mut awake, mut sleeping) = (Contexts::new()?, Contexts::new()?);
    let (rng_awake, rng_sleeping) = (&mut Rng::new(5), &mut Rng::new(5));
    for n in 0..600 {
        // 259: a block of the sums is full, and moved in part.
        if [0, 1, 259].contains(&n) {
            sleeping = stored(&sleeping);
        }
        awake.observe(rng_awake)?;
        sleeping.observe(rng_sleeping)?;
    }
    assert_eq!(awake, sleeping);
    Ok(())
}

#[test]
fn settings_are_stored() {
    let settings = Settings {
        loss: Loss::MonteCarlo { horizon: 40 },
        optimizer: Optimizer::Td { step_size: 0.1 },
        ..Settings::default()
    };
    assert_eq!(stored(&settings), settings);
}
