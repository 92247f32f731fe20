use super::format::CHECKSUM;
use super::*;
use crate::constructions;
use crate::rng::Rng;
use nalgebra::SMatrix;

fn random_layer<R: Real, const K: usize>(rng: &mut Rng) -> Layer<R, K> {
    let mut matrix = || SMatrix::from_fn(|_, _| rng.normal());
    Layer { p: matrix(), q: matrix() }
}

fn dense() -> crate::Model<2> {
    let layer = random_layer(&mut Rng::new(1));
    let transformer = Transformer::autoregressive(layer, 3).unwrap();
    Model::new(transformer, AttentionKind::Linear, 0.9, 0.0).unwrap()
}

#[test]
fn every_kind_of_model_comes_back_bit_for_bit() {
    fn there_and_back<R: Real, const D: usize, const K: usize, const C: usize>(
        model: Model<R, D, K, C>,
    ) {
        let mut buffer = [0xaa; 4096];
        let bytes = model.write(&mut buffer).unwrap();
        assert_eq!(bytes.len(), model.byte_len());
        assert_eq!(bytes.len() as u64, model.header().byte_len());
        assert_eq!(Model::from_bytes(bytes).as_ref(), Ok(&model));
        assert_eq!(Header::of(bytes), Ok(model.header()));
    }
    let mut rng = Rng::new(2);
    there_and_back(dense());
    for attention in [AttentionKind::Linear, AttentionKind::Softmax] {
        let shared = Transformer::<f64, 9, 1>::autoregressive(random_layer(&mut rng), 15).unwrap();
        there_and_back(Model::<f64, 4, 9, 1>::new(shared, attention, 0.95, 0.25).unwrap());
        let layers = [random_layer(&mut rng), random_layer(&mut rng)];
        let own = Transformer::<f32, 5, 3>::sequential(&layers).unwrap();
        there_and_back(Model::<f32, 2, 5, 3>::new(own, attention, 0.0, 0.0).unwrap());
    }
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
fn any_flipped_bit_or_byte_is_rejected() {
    let mut bytes = [0; 512];
    let len = dense().write(&mut bytes).unwrap().len();
    let bytes = &mut bytes[..len];
    for i in 0..len {
        let byte = bytes[i];
        for bit in 0..8 {
            bytes[i] = byte ^ 1 << bit;
            assert!(crate::Model::<2>::from_bytes(bytes).is_err(), "bit {bit} of byte {i}");
        }
        bytes[i] = !byte;
        assert!(crate::Model::<2>::from_bytes(bytes).is_err(), "byte {i}");
        bytes[i] = byte;
    }
    assert!(crate::Model::<2>::from_bytes(bytes).is_ok());
}

#[test]
fn any_truncation_or_extension_is_rejected_and_no_alignment_is_needed() {
    let model = dense();
    let mut buffer = [0; 512];
    let len = model.write(&mut buffer).unwrap().len();
    for n in 0..len {
        let error = crate::Model::<2>::from_bytes(&buffer[..n]).unwrap_err();
        assert!(matches!(error, ModelError::Length { .. }), "{n} bytes: {error}");
    }
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
    fn with_byte(at: usize, byte: u8) -> Result<crate::Model<2>, ModelError> {
        let mut buffer = [0; 512];
        let len = dense().write(&mut buffer).unwrap().len();
        buffer[at] = byte;
        seal(&mut buffer[..len]);
        crate::Model::<2>::from_bytes(&buffer[..len])
    }
    assert_eq!(with_byte(0, b'i'), Err(ModelError::Magic));
    assert_eq!(with_byte(4, 2), Err(ModelError::Version { found: 2 }));
    assert_eq!(with_byte(5, 3), Err(ModelError::ScalarType { found: 3, expected: 4 }));
    assert_eq!(with_byte(6, 4), Err(ModelError::Attention { found: 4 }));
    assert!(matches!(with_byte(6, 3), Err(ModelError::Length { .. })));
    assert_eq!(with_byte(7, 0), Err(ModelError::Mode { found: 0 }));
    assert_eq!(with_byte(10, 0), Err(ModelError::Layers { found: 0, capacity: u16::MAX }));
    assert!(matches!(with_byte(8, 3), Err(ModelError::Length { .. })));
    assert!(matches!(with_byte(7, 2), Err(ModelError::Length { .. })));
    // Little-endian exponent bytes: 0xff and 0x7f in the top two make a NaN of gamma and P.
    let number = |at| {
        let mut buffer = [0; 512];
        let len = dense().write(&mut buffer).unwrap().len();
        buffer[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
        seal(&mut buffer[..len]);
        crate::Model::<2>::from_bytes(&buffer[..len])
    };
    let non_finite = |parameter| Err(ModelError::Number(Error::NonFinite { parameter }));
    assert_eq!(number(12), non_finite("gamma"));
    assert_eq!(number(16), non_finite("lambda"));
    assert_eq!(number(20), non_finite("P"));
    assert_eq!(number(20 + 4 * 25), non_finite("Q"));
}

/// Writes the checksum that fits, so that the error behind it shows.
pub(super) fn seal(bytes: &mut [u8]) {
    let (content, checksum) = bytes.split_last_chunk_mut::<CHECKSUM>().unwrap();
    *checksum = crc32(content).to_le_bytes();
}

#[test]
fn a_model_of_another_shape_or_scalar_is_refused() {
    let mut buffer = [0; 2048];
    let bytes = dense().write(&mut buffer).unwrap();
    assert_eq!(
        crate::Model::<3>::from_bytes(bytes).unwrap_err(),
        ModelError::FeatureDimension { found: 2, expected: 3 }
    );
    assert_eq!(
        Model::<f64, 2, 5, 1>::from_bytes(bytes).unwrap_err(),
        ModelError::ScalarType { found: 4, expected: 8 }
    );
    let mut rng = Rng::new(3);
    let layers = [random_layer(&mut rng), random_layer(&mut rng), random_layer(&mut rng)];
    let own = Transformer::sequential(&layers).unwrap();
    let own = crate::SequentialModel::<2, 3>::new(own, AttentionKind::Linear, 0.9, 0.0).unwrap();
    let bytes = own.write(&mut buffer).unwrap();
    assert_eq!(
        crate::SequentialModel::<2, 2>::from_bytes(bytes).unwrap_err(),
        ModelError::Layers { found: 3, capacity: 2 }
    );
    assert!(crate::SequentialModel::<2, 4>::from_bytes(bytes).is_ok());
    let short = &mut [0; 100];
    assert_eq!(own.write(short).unwrap_err(), ModelError::Length { found: 100, expected: 624 });
}

#[test]
fn constants_are_the_constructions() {
    const TD: crate::Model<4> = match crate::Model::<4>::td0(0.2, 15, 0.9) {
        Ok(model) => model,
        Err(_) => panic!("alpha, depth or gamma is out of range"),
    };
    let c = constructions::learning_rate::<f32, 4>(0.2);
    let same = |model: &crate::Model<4>, layer: Layer<f32, 9>, depth| {
        let built = Transformer::autoregressive(layer, depth).unwrap();
        assert_eq!(model.transformer(), &built);
    };
    same(&TD, constructions::td0(&c), 15);
    let residual = crate::Model::<4>::residual_gradient(0.2, 3, 0.9).unwrap();
    same(&residual, constructions::residual_gradient(&c), 3);
    let trace = crate::Model::<4>::td_lambda(0.2, 2, 0.9, 0.5).unwrap();
    same(&trace, constructions::td_lambda(&c), 2);
    assert!(trace.context().is_err() && trace.trace_context().is_ok());
    assert!(crate::Model::<4>::td0(f32::NAN, 15, 0.9).is_err());
    assert!(crate::Model::<4>::td0(0.2, 0, 0.9).is_err());
    assert!(crate::Model::<4>::td0(0.2, 1, 1.0).is_err());
    assert!(crate::Model::<4>::td_lambda(0.2, 1, 0.9, 1.5).is_err());
}

#[test]
fn the_file_of_the_first_example_is_td0() {
    let model = crate::Model::<4>::from_bytes(include_bytes!("td0.ictd"));
    assert_eq!(model, Ok(crate::Model::<4>::td0(0.2, 15, 0.9).unwrap()));
}

#[test]
fn a_softmax_model_has_values_but_no_value_function() {
    let transformer = Transformer::autoregressive(random_layer(&mut Rng::new(4)), 1).unwrap();
    let model = crate::Model::<2>::new(transformer, AttentionKind::Softmax, 0.9, 0.0).unwrap();
    let mut context = model.context().unwrap();
    context.observe(&[0.5, 1.0], 0.25, &[1.0, -0.5]).unwrap();
    assert!(matches!(model.value_function(&context), Err(Error::OutOfRange { .. })));
}
