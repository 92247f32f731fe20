use super::tests::{seal, there_and_back};
use super::*;
use crate::constructions;
use crate::layer::TwoHeadLayer;
use crate::rng::Rng;
use crate::transition::Transition;
use nalgebra::SVector;

type TwoHeads<const D: usize> = crate::AverageRewardModel<D>;

fn random_heads<R: Real, const K: usize>(rng: &mut Rng) -> TwoHeadLayer<R, K> {
    let mut layer = TwoHeadLayer::ZERO;
    for x in layer.matrices_mut().flatten() {
        *x = rng.normal::<R>() * R::from_f64(0.1);
    }
    layer
}

fn dense_heads() -> TwoHeads<1> {
    let layer = random_heads(&mut Rng::new(1));
    Model::new(Transformer::autoregressive(layer, 3).unwrap(), AverageReward, 1.0).unwrap()
}

#[test]
fn two_heads_come_back_bit_for_bit() {
    let mut rng = Rng::new(2);
    there_and_back(dense_heads());
    let shared = Transformer::<_, 1>::autoregressive(random_heads(&mut rng), 15).unwrap();
    there_and_back(Model::<f64, 3, 8, 1, _>::new(shared, AverageReward, 1.0).unwrap());
    let layers = [random_heads(&mut rng), random_heads(&mut rng)];
    let own = Transformer::<_, 3>::sequential(&layers).unwrap();
    there_and_back(Model::<f32, 2, 6, 3, _>::new(own, AverageReward, 1.0).unwrap());
}

#[test]
fn the_bytes_of_two_heads_are_the_documented_ones() {
    let mut buffer = [0; 512];
    let model = TwoHeads::<1>::average_reward(0.5, 258).unwrap();
    let bytes = model.write(&mut buffer).unwrap();
    let mut want = [0; 404];
    want[..12].copy_from_slice(&[b'I', b'C', b'T', b'D', 1, 4, 3, 1, 1, 0, 2, 1]);
    want[12..16].copy_from_slice(&1.0f32.to_le_bytes());
    let mut put = |matrix: usize, row: usize, column: usize, x: f32| {
        want[20 + 4 * (16 * matrix + 4 * row + column)..][..4].copy_from_slice(&x.to_le_bytes());
    };
    for (head, row) in [(0, 2), (3, 3)] {
        put(head, row, row, 1.0);
        put(head + 1, 0, 0, -0.5);
        put(head + 1, 0, 1, 0.5);
        put(head + 2, 3, row, 1.0);
    }
    assert_eq!(bytes[..404], want);
    assert_eq!(bytes[404..], crc32(&want).to_le_bytes());
}

#[test]
fn any_flipped_bit_or_byte_of_two_heads_is_rejected() {
    let mut bytes = [0; 512];
    let len = dense_heads().write(&mut bytes).unwrap().len();
    let bytes = &mut bytes[..len];
    for i in 0..len {
        for flip in (0..8).map(|bit| 1 << bit).chain([0xff]) {
            bytes[i] ^= flip;
            assert!(TwoHeads::<1>::from_bytes(bytes).is_err(), "byte {i}, bits {flip:08b}");
            bytes[i] ^= flip;
        }
    }
    assert_eq!(TwoHeads::<1>::from_bytes(bytes), Ok(dense_heads()));
}

#[test]
fn a_number_that_two_heads_cannot_have_is_named() {
    let number = |at: usize, x: f32| {
        let mut buffer = [0; 512];
        let len = dense_heads().write(&mut buffer).unwrap().len();
        buffer[at..at + 4].copy_from_slice(&x.to_le_bytes());
        seal(&mut buffer[..len]);
        match TwoHeads::<1>::from_bytes(&buffer[..len]) {
            Err(Error::NonFinite { parameter }) => parameter,
            Err(Error::OutOfRange { parameter, .. }) => parameter,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(number(12, 0.9), "gamma");
    assert_eq!(number(12, f32::NAN), "gamma");
    assert_eq!(number(16, 0.5), "lambda");
    for (matrix, name) in ["P1", "Q1", "W", "P2", "Q2", "W"].into_iter().enumerate() {
        assert_eq!(number(20 + 4 * 16 * matrix, f32::INFINITY), name);
    }
}

#[test]
fn the_constant_is_the_average_reward_construction() {
    const MODEL: TwoHeads<4> = match TwoHeads::<4>::average_reward(0.2, 15) {
        Ok(model) => model,
        Err(_) => panic!("alpha or depth is out of range"),
    };
    let layer = constructions::average_reward(&constructions::learning_rate::<f32, 4>(0.2));
    let built = Transformer::<_, 1>::autoregressive(layer, 15).unwrap();
    assert_eq!(MODEL.transformer(), &built);
    assert!(TwoHeads::<4>::average_reward(f32::NAN, 15).is_err());
    assert!(TwoHeads::<4>::average_reward(0.2, 0).is_err());
}

#[test]
fn the_literal_value_is_that_of_the_value_function() {
    let mut rng = Rng::new(3);
    let layer = random_heads(&mut rng);
    let transformer = Transformer::<_, 1>::autoregressive(layer, 3).unwrap();
    let model = Model::<f64, 2, 6, 1, _>::new(transformer, AverageReward, 1.0).unwrap();
    let mut vector = || SVector::<f64, 2>::from_fn(|_, _| rng.normal());
    let mut context = AverageRewardContext::<2, Growing, f64>::new();
    let transitions: [Transition<f64, 2>; 8] = core::array::from_fn(|_| {
        let (phi, phi_next, reward) = (vector(), vector(), vector()[0]);
        context.observe(&phi, reward, &phi_next).unwrap();
        Transition { phi, reward, phi_next }
    });
    assert_eq!(context.len(), 8);
    let query = vector();
    let prompt = Prompt::<f64, 6, 8>::average_reward(&transitions, &query).unwrap();
    let (literal, streaming) = (
        model.value(&prompt).unwrap(),
        model.differential_value_function(&context).unwrap().at(&query),
    );
    assert!(literal != 0.0 && (literal - streaming).abs() < 1e-12, "{literal} {streaming}");
}
