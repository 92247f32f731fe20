use super::tests::seal;
use super::*;
use crate::constructions;
use crate::rng::Rng;
use crate::transition::Transition;
use crate::two_head::{TwoHeadLayer, TwoHeadTransformer};
use nalgebra::{SMatrix, SVector};

type Model<const D: usize> = crate::TwoHeadModel<D>;

fn random_layer<R: Real, const K: usize>(rng: &mut Rng) -> TwoHeadLayer<R, K> {
    let mut layer = TwoHeadLayer::ZERO;
    for m in layer.matrices_mut() {
        *m = SMatrix::from_fn(|_, _| rng.normal::<R>() * R::from_f64(0.1));
    }
    layer
}

fn dense() -> Model<1> {
    let layer = random_layer(&mut Rng::new(1));
    TwoHeadModel::new(TwoHeadTransformer::autoregressive(layer, 3).unwrap()).unwrap()
}

#[test]
fn two_heads_come_back_bit_for_bit() {
    fn there_and_back<R: Real, const D: usize, const K: usize, const C: usize>(
        model: TwoHeadModel<R, D, K, C>,
    ) {
        let mut buffer = [0xaa; 4096];
        let bytes = model.write(&mut buffer).unwrap();
        assert_eq!(bytes.len(), model.byte_len());
        assert_eq!(Header::of(bytes), Ok(model.header()));
        assert_eq!(TwoHeadModel::from_bytes(bytes).as_ref(), Ok(&model));
    }
    let mut rng = Rng::new(2);
    there_and_back(dense());
    let shared = TwoHeadTransformer::<f64, 8, 1>::autoregressive(random_layer(&mut rng), 15);
    there_and_back(TwoHeadModel::<f64, 3, 8, 1>::new(shared.unwrap()).unwrap());
    let layers = [random_layer(&mut rng), random_layer(&mut rng)];
    let own = TwoHeadTransformer::<f32, 6, 3>::sequential(&layers).unwrap();
    there_and_back(TwoHeadModel::<f32, 2, 6, 3>::new(own).unwrap());
}

#[test]
fn the_bytes_of_two_heads_are_the_documented_ones() {
    let mut buffer = [0; 512];
    let model = Model::<1>::average_reward(0.5, 258).unwrap();
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
    let len = dense().write(&mut bytes).unwrap().len();
    let bytes = &mut bytes[..len];
    for i in 0..len {
        for flip in (0..8).map(|bit| 1 << bit).chain([0xff]) {
            bytes[i] ^= flip;
            assert!(Model::<1>::from_bytes(bytes).is_err(), "byte {i}, bits {flip:08b}");
            bytes[i] ^= flip;
        }
    }
    assert_eq!(Model::<1>::from_bytes(bytes), Ok(dense()));
}

#[test]
fn one_head_is_not_read_as_two_nor_two_as_one() {
    let mut buffer = [0; 2048];
    let bytes = dense().write(&mut buffer).unwrap();
    let found = AttentionKind::TwoHead;
    assert_eq!(crate::Model::<1>::from_bytes(bytes), Err(ModelError::Heads { found }));
    assert_eq!(
        Model::<2>::from_bytes(bytes),
        Err(ModelError::FeatureDimension { found: 1, expected: 2 })
    );
    let one_head = crate::Model::<1>::td0(0.5, 3, 0.9).unwrap();
    let bytes = one_head.write(&mut buffer).unwrap();
    let found = AttentionKind::Linear;
    assert_eq!(Model::<1>::from_bytes(bytes), Err(ModelError::Heads { found }));
    let refused =
        crate::Model::<1>::new(one_head.transformer().clone(), AttentionKind::TwoHead, 0.9, 0.0);
    assert!(matches!(refused, Err(Error::OutOfRange { parameter: "attention", .. })));
}

#[test]
fn a_number_that_two_heads_cannot_have_is_named() {
    let number = |at: usize, x: f32| {
        let mut buffer = [0; 512];
        let len = dense().write(&mut buffer).unwrap().len();
        buffer[at..at + 4].copy_from_slice(&x.to_le_bytes());
        seal(&mut buffer[..len]);
        match Model::<1>::from_bytes(&buffer[..len]) {
            Err(ModelError::Number(Error::NonFinite { parameter })) => parameter,
            Err(ModelError::Number(Error::OutOfRange { parameter, .. })) => parameter,
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
    const MODEL: Model<4> = match Model::<4>::average_reward(0.2, 15) {
        Ok(model) => model,
        Err(_) => panic!("alpha or depth is out of range"),
    };
    let layer = constructions::average_reward(&constructions::learning_rate::<f32, 4>(0.2));
    let built = TwoHeadTransformer::<f32, 10, 1>::autoregressive(layer, 15).unwrap();
    assert_eq!(MODEL.transformer(), &built);
    assert!(Model::<4>::average_reward(f32::NAN, 15).is_err());
    assert!(Model::<4>::average_reward(0.2, 0).is_err());
}

#[test]
fn the_literal_value_is_that_of_the_value_function() {
    let mut rng = Rng::new(3);
    let layer = random_layer(&mut rng);
    let transformer = TwoHeadTransformer::<f64, 6, 1>::autoregressive(layer, 3).unwrap();
    let model = TwoHeadModel::<f64, 2, 6, 1>::new(transformer).unwrap();
    let mut vector = || SVector::<f64, 2>::from_fn(|_, _| rng.normal());
    let mut context = model.context().unwrap();
    let transitions: [Transition<f64, 2>; 8] = core::array::from_fn(|_| {
        let (phi, phi_next, reward) = (vector(), vector(), vector()[0]);
        context.observe(&phi, reward, &phi_next).unwrap();
        Transition { phi, reward, phi_next }
    });
    assert_eq!(context.head1.len(), 8);
    let query = vector();
    let prompt = Prompt::<f64, 6, 8>::average_reward(&transitions, &query).unwrap();
    let (literal, streaming) =
        (model.value(&prompt).unwrap(), model.value_function(&context).unwrap().at(&query));
    assert!(literal != 0.0 && (literal - streaming).abs() < 1e-12, "{literal} {streaming}");
}
