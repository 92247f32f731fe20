//! Settings and the small public types are stored by serde, bit for bit.

use ictd_core::Transition;
use ictd_core::training::{Loss, Optimizer, Settings};
use nalgebra::SVector;
use serde::{Serialize, de::DeserializeOwned};

fn stored<T: Serialize + DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
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

#[test]
fn transitions_are_stored() {
    let (phi, phi_next) = (SVector::from([0.1f32, -0.0]), SVector::from([1e-40, 3.0]));
    let transition = Transition { phi, reward: 0.3, phi_next };
    assert_eq!(stored(&transition), transition);
}
