use super::*;
use crate::attention::SoftmaxAttention;
use crate::constructions;
use crate::layer::TwoHeadLayer;
use crate::mask::TdLambda;
use crate::rng::Rng;
use crate::stored::CHECKSUM;
use nalgebra::SMatrix;

fn random_layer<R: Real, const K: usize>(rng: &mut Rng) -> Layer<R, K> {
    let mut matrix = || SMatrix::from_fn(|_, _| rng.normal());
    Layer { p: matrix(), q: matrix() }
}

fn dense() -> crate::Model<2> {
    let layer = random_layer(&mut Rng::new(1));
    let transformer = Transformer::autoregressive(layer, 3).unwrap();
    Model::new(transformer, Td0, 0.9).unwrap()
}

fn there_and_back<R: Real, const D: usize, const K: usize, const C: usize, A>(
    model: Model<R, D, K, C, A>,
) where
    A: StoredAttention<R, K>,
{
    let mut buffer = [0xaa; 4096];
    let bytes = model.write(&mut buffer).unwrap();
    assert_eq!(bytes.len(), model.byte_len());
    assert_eq!(bytes.len() as u64, model.header().byte_len());
    assert_eq!(Model::from_bytes(bytes).as_ref(), Ok(&model));
    assert_eq!(Header::of(bytes), Ok(model.header()));
}

#[test]
fn every_kind_of_model_comes_back_bit_for_bit() {
    let mut rng = Rng::new(2);
    there_and_back(dense());
    let mut shared = || Transformer::<_, 1>::autoregressive(random_layer(&mut rng), 15).unwrap();
    there_and_back(Model::<f64, 4, 9, 1, _>::new(shared(), Td0, 0.95).unwrap());
    there_and_back(Model::<f64, 4, 9, 1, _>::new(shared(), SoftmaxAttention, 0.95).unwrap());
    let lambda = TdLambda::new(0.25).unwrap();
    there_and_back(Model::<f64, 4, 9, 1, _>::new(shared(), lambda, 0.95).unwrap());
    let layers = [random_layer(&mut rng), random_layer(&mut rng)];
    let own = Transformer::<_, 3>::sequential(&layers).unwrap();
    there_and_back(Model::<f32, 2, 5, 3>::new(own, Td0, 0.0).unwrap());
    there_and_back(dense_heads());
    let layers = [random_heads(&mut rng), random_heads(&mut rng)];
    let own = Transformer::<_, 3>::sequential(&layers).unwrap();
    there_and_back(Model::<f64, 2, 6, 3, _>::new(own, AverageReward, 1.0).unwrap());
}

#[test]
fn the_bytes_are_the_documented_ones() {
    let model = crate::Model::<1>::td0(0.5, 258, 0.25).unwrap();
    let mut buffer = [0; 128];
    let bytes = model.write(&mut buffer).unwrap();
    let mut want = [0; 92];
    want[..12].copy_from_slice(&[b'I', b'C', b'T', b'D', 1, 4, 1, 1, 1, 0, 2, 1]);
    want[12..16].copy_from_slice(&0.25f32.to_le_bytes());
    want[20 + 4 * 8..][..4].copy_from_slice(&1.0f32.to_le_bytes());
    want[56..60].copy_from_slice(&(-0.5f32).to_le_bytes());
    want[60..64].copy_from_slice(&0.5f32.to_le_bytes());
    assert_eq!(bytes[..92], want);
    assert_eq!(bytes[92..], crc32(&want).to_le_bytes());
}

#[test]
fn what_follows_a_model_is_refused_and_no_alignment_is_needed() {
    let model = dense();
    let mut buffer = [0; 512];
    let len = model.write(&mut buffer).unwrap().len();
    for n in len + 1..len + 8 {
        assert!(crate::Model::<2>::from_bytes(&buffer[..n]).is_err());
    }
    for shift in 0..8 {
        let mut shifted = [0; 512];
        shifted[shift..][..len].copy_from_slice(&buffer[..len]);
        assert_eq!(crate::Model::<2>::from_bytes(&shifted[shift..][..len]).as_ref(), Ok(&model));
    }
}

#[test]
fn each_mismatch_has_its_own_error() {
    fn with_byte(at: usize, byte: u8) -> Result<crate::Model<2>, Error> {
        let mut buffer = [0; 512];
        let len = dense().write(&mut buffer).unwrap().len();
        buffer[at] = byte;
        seal(&mut buffer[..len]);
        crate::Model::<2>::from_bytes(&buffer[..len])
    }
    let stored = |error: StoredError| Err(Error::Stored(error));
    assert_eq!(with_byte(0, b'i'), stored(StoredError::Magic { expected: "ICTD" }));
    let version = StoredError::Mismatch { part: "format version", found: 2, expected: 1 };
    assert_eq!(with_byte(4, 2), stored(version));
    let unknown = |at, code, name: &str| match with_byte(at, code) {
        Err(Error::Stored(StoredError::Unknown { part, found })) => {
            assert!(found == code && part.starts_with(name), "{part} {found}");
        }
        other => panic!("{other:?}"),
    };
    unknown(5, 3, "scalar type");
    unknown(6, 4, "attention");
    unknown(7, 0, "mode");
    let layers = StoredError::Layers { found: 0, capacity: u16::MAX };
    assert_eq!(with_byte(10, 0), stored(layers));
    for (at, byte) in [(6, 3), (8, 3), (7, 2)] {
        assert!(matches!(with_byte(at, byte), Err(Error::Stored(StoredError::Length { .. }))));
    }
    // Little-endian exponent bytes: 0xff and 0x7f in the top two make a NaN of gamma and P.
    let number = |at| {
        let mut buffer = [0; 512];
        let len = dense().write(&mut buffer).unwrap().len();
        buffer[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
        seal(&mut buffer[..len]);
        crate::Model::<2>::from_bytes(&buffer[..len])
    };
    let non_finite = |parameter| Err(Error::NonFinite { parameter });
    assert_eq!(number(12), non_finite("gamma"));
    assert_eq!(number(16), non_finite("lambda"));
    assert_eq!(number(20), non_finite("P"));
    assert_eq!(number(20 + 4 * 25), non_finite("Q"));
}

/// Writes the checksum that fits, so that the error behind it shows.
fn seal(bytes: &mut [u8]) {
    let (content, checksum) = bytes.split_last_chunk_mut::<CHECKSUM>().unwrap();
    *checksum = crc32(content).to_le_bytes();
}

#[test]
fn a_model_of_another_shape_or_scalar_is_refused() {
    let mut buffer = [0; 2048];
    let bytes = dense().write(&mut buffer).unwrap();
    fn mismatch<T: core::fmt::Debug>(read: Result<T, Error>, name: &str) -> (u32, u32) {
        match read {
            Err(Error::Stored(StoredError::Mismatch { part, found, expected })) => {
                assert!(part.starts_with(name), "{part}");
                (found, expected)
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(mismatch(crate::Model::<3>::from_bytes(bytes), "feature dimension"), (2, 3));
    assert_eq!(mismatch(Model::<f64, 2, 5, 1>::from_bytes(bytes), "scalar type"), (4, 8));
    let softmax = crate::Model::<2, SoftmaxAttention>::from_bytes(bytes);
    assert_eq!(mismatch(softmax, "attention"), (1, 2));
    let two_heads = crate::AverageRewardModel::<2>::from_bytes(bytes);
    assert_eq!(mismatch(two_heads, "attention"), (1, 3));
    let mut rng = Rng::new(3);
    let layers = [random_layer(&mut rng), random_layer(&mut rng), random_layer(&mut rng)];
    let own = crate::Model::<2, Td0, 3>::new(Transformer::sequential(&layers).unwrap(), Td0, 0.9);
    let own = own.unwrap();
    let bytes = own.write(&mut buffer).unwrap();
    assert_eq!(
        crate::Model::<2, Td0, 2>::from_bytes(bytes).unwrap_err(),
        StoredError::Layers { found: 3, capacity: 2 }.into()
    );
    assert!(crate::Model::<2, Td0, 4>::from_bytes(bytes).is_ok());
    let short = &mut [0; 100];
    let error = StoredError::Length { found: 100, expected: 624 };
    assert_eq!(own.write(short).unwrap_err(), error.into());
}

#[test]
fn a_model_with_a_trace_is_read_as_one_alone() {
    let model = crate::Model::<2, TdLambda>::td_lambda(0.5, 3, 0.9, 0.75).unwrap();
    let mut buffer = [0; 512];
    let bytes = model.write(&mut buffer).unwrap();
    assert_eq!(crate::Model::<2, TdLambda>::from_bytes(bytes), Ok(model.clone()));
    let refused = crate::Model::<2>::from_bytes(bytes).unwrap_err();
    assert!(matches!(refused, Error::OutOfRange { parameter: "lambda", .. }), "{refused}");
    // Another trace decay than the model's is refused where they meet.
    let mut context = Context::<2, TdLambda>::with(TdLambda::new(0.5).unwrap(), Growing);
    context.observe(&[1.0, 0.0], 1.0, &[0.0, 1.0]).unwrap();
    let mismatch = Error::Mismatch { parameter: "lambda of model and context" };
    assert_eq!(model.value_function(&context), Err(mismatch));
    let mut context = model.context();
    context.observe(&[1.0, 0.0], 1.0, &[0.0, 1.0]).unwrap();
    assert!(model.value_function(&context).is_ok());
}

#[test]
fn another_discount_needs_a_model_that_runs_td_for_every_one() {
    let model = crate::Model::<2>::td0(0.25, 4, 0.9).unwrap();
    let mut context = Context::<2, Td0, Growing, f32, 2>::new();
    for (phi, rewards, phi_next) in
        [([1.0, 0.5], [1.0, -2.0], [0.0, 1.0]), ([0.0, 1.0], [0.5, 0.25], [1.0, 0.5])]
    {
        context.observe(&phi, rewards, &phi_next).unwrap();
    }
    for cumulant in 0..2 {
        for gamma in [0.0, 0.5, 0.9] {
            let alone = crate::Model::<2>::td0(0.25, 4, gamma).unwrap();
            assert_eq!(
                model.value_function_of(&context, cumulant, gamma),
                alone.value_function_of(&context, cumulant, gamma)
            );
        }
    }
    let at = |model: &crate::Model<2>, cumulant, gamma| match model
        .value_function_of(&context, cumulant, gamma)
    {
        Err(Error::OutOfRange { parameter, .. }) => parameter,
        other => panic!("{other:?}"),
    };
    assert_eq!(at(&model, 2, 0.9), "cumulant");
    assert_eq!(at(&model, 0, 1.0), "gamma");
    assert_eq!(at(&dense(), 0, 0.5), "gamma");
    assert!(
        crate::Model::<2>::residual_gradient(0.25, 4, 0.9)
            .unwrap()
            .value_function_of(&context, 1, 0.5)
            .is_ok()
    );
}

#[test]
fn layers_that_diverge_are_refused() {
    let mut context = Context::<2>::new();
    let mut observe = |scale: f32| {
        let mut rng = Rng::new(7);
        context.clear();
        for _ in 0..100 {
            let mut phi = || [(); 2].map(|()| scale * rng.uniform_in(-1.0, 1.0));
            let (phi, phi_next) = (phi(), phi());
            context.observe(&phi, rng.uniform_in(-1.0, 1.0), &phi_next).unwrap();
        }
        crate::Model::<2>::td0(0.2, 15, 0.9).unwrap().value_function(&context)
    };
    assert!(observe(1.0).is_ok());
    assert_eq!(observe(7.0), Err(Error::Diverges));
    let alpha = context.suggested_step_size(0.9).unwrap();
    let model = crate::Model::<2>::td0(alpha, 15, 0.9).unwrap();
    assert!(model.value_function(&context).is_ok());
}

#[test]
fn constants_are_the_constructions() {
    const TD: crate::Model<4> = match crate::Model::<4>::td0(0.2, 15, 0.9) {
        Ok(model) => model,
        Err(_) => panic!("alpha, depth or gamma is out of range"),
    };
    let c = constructions::learning_rate::<f32, 4>(0.2);
    let same = |transformer: &Transformer<_, 1>, layer: Layer<f32, 9>, depth| {
        assert_eq!(transformer, &Transformer::autoregressive(layer, depth).unwrap());
    };
    same(TD.transformer(), constructions::td0(&c), 15);
    let residual = crate::Model::<4>::residual_gradient(0.2, 3, 0.9).unwrap();
    same(residual.transformer(), constructions::residual_gradient(&c), 3);
    let trace = crate::Model::<4, TdLambda>::td_lambda(0.2, 2, 0.9, 0.5).unwrap();
    same(trace.transformer(), constructions::td_lambda(&c), 2);
    assert_eq!(*trace.attention(), TdLambda::new(0.5).unwrap());
    const MODEL: TwoHeads<4> = match TwoHeads::<4>::average_reward(0.2, 15) {
        Ok(model) => model,
        Err(_) => panic!("alpha or depth is out of range"),
    };
    let built = Transformer::autoregressive(constructions::average_reward(&c), 15).unwrap();
    assert_eq!(MODEL.transformer(), &built);
    assert!(TwoHeads::<4>::average_reward(0.2, 0).is_err());
    assert!(crate::Model::<4>::td0(f32::NAN, 15, 0.9).is_err());
    for alpha in [0.0, -0.0, -0.5] {
        assert!(crate::Model::<4>::td0(alpha, 15, 0.9).is_err());
    }
    assert!(crate::Model::<4>::td0(0.2, 0, 0.9).is_err());
    assert!(crate::Model::<4>::td0(0.2, 1, 1.0).is_err());
    assert!(crate::Model::<4, TdLambda>::td_lambda(0.2, 1, 0.9, 1.5).is_err());
}

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
