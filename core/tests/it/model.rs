use super::*;
use ictd_core::attention::SoftmaxAttention;
use ictd_core::mask::{Entrywise, MeanCentred};
use ictd_core::model::{
    AttentionMechanism, AverageReward, ConstructionSettings, Header, Linear, Model,
};

type OneHead<const D: usize, A = Linear<Td0>, const C: usize = 1> = ictd_core::Model<D, A, C>;
type TwoHeads<const D: usize, const K: usize> = Model<f32, D, K, 1, AverageReward>;

const fn of(alpha: f32, depth: u16, gamma: f32) -> ConstructionSettings {
    ConstructionSettings::new(gamma).step_size(alpha).depth(depth)
}

fn random<L: LayerParameters<Scalar: Real>>(rng: &mut Rng) -> L {
    let mut layer = L::ZERO;
    for x in layer.matrices_mut().flatten() {
        *x = rng.normal::<L::Scalar>() * L::Scalar::from_f64(0.1);
    }
    layer
}

fn shared<L: LayerParameters<Scalar: Real>>(seed: u64, depth: usize) -> Transformer<L, 1> {
    Transformer::autoregressive(random(&mut Rng::new(seed)), depth).unwrap()
}

fn own<L: LayerParameters<Scalar: Real>, const N: usize>(seed: u64) -> Transformer<L, 3> {
    let mut rng = Rng::new(seed);
    Transformer::sequential(&[(); N].map(|()| random(&mut rng))).unwrap()
}

fn dense() -> OneHead<2> {
    Model::new(shared(1, 3), Linear(Td0), 0.9).unwrap()
}

fn dense_heads() -> TwoHeads<1, 4> {
    Model::new(shared(1, 3), AverageReward, 1.0).unwrap()
}

/// The bytes of a model, changed, with the checksum that fits, so that the error behind it shows.
fn stored<R: Real, const D: usize, const K: usize, const C: usize, A: AttentionMechanism<R, K>>(
    model: &Model<R, D, K, C, A>,
    change: impl FnOnce(&mut [u8]),
) -> Vec<u8> {
    let mut bytes = vec![0xaa; 4096];
    resealed(model.write(&mut bytes).unwrap(), change)
}

/// A number in the place of that at an offset.
fn with_number(at: usize, x: f32) -> impl FnOnce(&mut [u8]) {
    move |bytes| bytes[at..][..4].copy_from_slice(&x.to_le_bytes())
}

#[test]
fn every_kind_of_model_comes_back_bit_for_bit() {
    fn there_and_back<R: Real, const D: usize, const K: usize, const C: usize, A>(
        model: Result<Model<R, D, K, C, A>, Error>,
    ) where
        A: AttentionMechanism<R, K>,
    {
        let model = model.unwrap();
        let mut buffer = [0xaa; 4096];
        let bytes = model.write(&mut buffer).unwrap();
        assert_eq!(bytes.len(), model.byte_len());
        assert_eq!(bytes.len() as u64, model.header().byte_len());
        assert_eq!(Model::from_bytes(bytes).as_ref(), Ok(&model));
        assert_eq!(Header::parse(bytes), Ok(model.header()));
    }
    there_and_back(Ok(dense()));
    there_and_back(Model::<f64, 4, 9, 1, _>::new(shared(2, 15), Linear(Td0), 0.95));
    there_and_back(Model::<f64, 4, 9, 1, _>::new(shared(3, 15), SoftmaxAttention, 0.95));
    let lambda = Linear(TdLambda::new(0.25).unwrap());
    there_and_back(Model::<f64, 4, 9, 1, _>::new(shared(4, 15), lambda, 0.95));
    there_and_back(Model::<f32, 2, 5, 3>::new(own::<_, 2>(5), Linear(Td0), 0.0));
    there_and_back(Ok(dense_heads()));
    there_and_back(Model::<f64, 2, 6, 3, _>::new(own::<_, 2>(6), AverageReward, 1.0));
}

#[test]
fn the_bytes_are_the_documented_ones() {
    let mut want = vec![b'I', b'C', b'T', b'D', 1, 4, 1, 1, 1, 0, 2, 1];
    want.resize(92, 0);
    for (at, x) in [(12, 0.25), (20 + 4 * 8, 1.0), (56, -0.5), (60, 0.5)] {
        with_number(at, x)(&mut want);
    }
    want.extend(crc32(&want).to_le_bytes());
    assert_eq!(stored(&OneHead::<1>::td0(of(0.5, 258, 0.25)).unwrap(), |_| {}), want);

    let mut want = vec![b'I', b'C', b'T', b'D', 1, 4, 3, 1, 1, 0, 2, 1];
    want.resize(404, 0);
    with_number(12, 1.0)(&mut want);
    for (head, row) in [(0, 2), (3, 3)] {
        let (p, q, w) = (head, head + 1, head + 2);
        for (matrix, i, j, x) in
            [(p, row, row, 1.0), (q, 0, 0, -0.5), (q, 0, 1, 0.5), (w, 3, row, 1.0)]
        {
            with_number(20 + 4 * (16 * matrix + 4 * i + j), x)(&mut want);
        }
    }
    want.extend(crc32(&want).to_le_bytes());
    let layer = constructions::average_reward(&scaled_identity::<f32, 1>(0.5));
    let layers = Transformer::autoregressive(layer, 258).unwrap();
    let heads = TwoHeads::<1, 4>::new(layers, AverageReward, 1.0).unwrap();
    assert_eq!(stored(&heads, |_| {}), want);
}

#[test]
fn what_follows_a_model_is_refused_and_no_alignment_is_needed() {
    let model = dense();
    let mut bytes = stored(&model, |_| {});
    for shift in 0..8 {
        assert_eq!(OneHead::<2>::from_bytes(&bytes[shift..]).as_ref(), Ok(&model));
        bytes.insert(0, 0xaa);
    }
    let mut bytes = stored(&model, |_| {});
    every_damage_is_found(&bytes, None, 12, |bytes| Header::parse(bytes).map_err(Error::from));
    let magic = StoredError::Magic { expected: "ICTD" };
    assert_eq!(Header::parse(b"ICTX"), Err(magic));
    for _ in 0..7 {
        bytes.push(0xaa);
        assert!(OneHead::<2>::from_bytes(&bytes).is_err());
    }
}

#[test]
fn each_mismatch_has_its_own_error() {
    let read = |change: &dyn Fn(&mut [u8])| OneHead::<2>::from_bytes(&stored(&dense(), change));
    let with_byte = |at: usize, byte| match read(&|bytes| bytes[at] = byte) {
        Err(Error::Stored(error)) => error,
        other => panic!("{other:?}"),
    };
    assert_eq!(with_byte(0, b'i'), StoredError::Magic { expected: "ICTD" });
    let version = StoredError::Mismatch { part: "format version", found: 2, expected: 1 };
    assert_eq!(with_byte(4, 2), version);
    for (at, found, part) in [(5, 3, "scalar type"), (6, 4, "attention"), (7, 0, "mode")] {
        assert_eq!(with_byte(at, found), StoredError::Unknown { part, found });
    }
    assert_eq!(with_byte(10, 0), StoredError::Layers { found: 0, capacity: u16::MAX });
    for (at, byte) in [(6, 3), (8, 3), (7, 2)] {
        assert!(matches!(with_byte(at, byte), StoredError::Length { .. }));
    }
    let mask = StoredError::Mismatch { part: "mask", found: 1, expected: 0 };
    assert_eq!(with_byte(6, 1 << 4 | 1), mask);
    for (at, parameter) in [(12, "gamma"), (16, "trace_decay"), (20, "P"), (20 + 4 * 25, "Q")] {
        let found = read(&|bytes| with_number(at, f32::NAN)(bytes));
        assert_eq!(found, Err(Error::NonFinite { parameter }));
    }
}

#[test]
fn a_number_that_two_heads_cannot_have_is_named() {
    let number = |at: usize, x: f32| match TwoHeads::<1, 4>::from_bytes(&stored(
        &dense_heads(),
        with_number(at, x),
    )) {
        Err(Error::NonFinite { parameter } | Error::OutOfRange { parameter, .. }) => parameter,
        other => panic!("{other:?}"),
    };
    let named = [(12, 0.9), (12, f32::NAN), (16, 0.5)].map(|(at, x)| number(at, x));
    assert_eq!(named, ["gamma", "gamma", "trace_decay"]);
    for (matrix, name) in ["P1", "Q1", "W", "P2", "Q2", "W"].into_iter().enumerate() {
        assert_eq!(number(20 + 4 * 16 * matrix, f32::INFINITY), name);
    }
}

#[test]
fn a_model_of_another_shape_or_scalar_is_refused() {
    let bytes = stored(&dense(), |_| {});
    fn mismatch<T: core::fmt::Debug>(read: Result<T, Error>) -> (&'static str, u32, u32) {
        match read {
            Err(Error::Stored(StoredError::Mismatch { part, found, expected })) => {
                (part, found, expected)
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(mismatch(OneHead::<3>::from_bytes(&bytes)), ("feature dimension", 2, 3));
    assert_eq!(mismatch(Model::<f64, 2, 5, 1>::from_bytes(&bytes)), ("scalar type", 4, 8));
    let softmax = OneHead::<2, SoftmaxAttention>::from_bytes(&bytes);
    assert_eq!(mismatch(softmax), ("attention", 1, 2));
    assert_eq!(mismatch(TwoHeads::<2, 6>::from_bytes(&bytes)), ("attention", 1, 3));
    let own = OneHead::<2, Linear<Td0>, 3>::new(own::<_, 3>(3), Linear(Td0), 0.9).unwrap();
    let bytes = stored(&own, |_| {});
    let layers = StoredError::Layers { found: 3, capacity: 2 };
    assert_eq!(OneHead::<2, Linear<Td0>, 2>::from_bytes(&bytes).unwrap_err(), layers.into());
    assert!(OneHead::<2, Linear<Td0>, 4>::from_bytes(&bytes).is_ok());
    let error = StoredError::Length { found: 100, expected: 624 };
    assert_eq!(own.write(&mut [0; 100]).unwrap_err(), error.into());
}

/// A mask of one's own: every other transition counts.
#[derive(Clone, Copy, Debug, PartialEq)]
struct EveryOther;

impl<S: Scalar> Mask<S> for EveryOther {
    /// 1 if the last transition counted.
    type State<V: Entrywise<S>> = S;
    type Auxiliary<const D: usize, const C: usize> = ();
    const CODE: u8 = 8;

    fn from_trace_decays(_: [S; 2]) -> Result<Self, Error> {
        Ok(EveryOther)
    }

    fn entry(&self, row: usize, column: usize, n: usize) -> S {
        if row == column && row < n && row.is_multiple_of(2) { S::ONE } else { S::ZERO }
    }

    fn rank_one_update<V: Entrywise<S>>(&self, counted: &mut S, z: &V, _: S) -> (V, V) {
        *counted = S::ONE - *counted;
        let mut left = V::ZERO;
        left.add_scaled(*counted, z);
        (left, *z)
    }
}

#[test]
fn a_mask_of_ones_own_is_an_attention() {
    let model = OneHead::<2, _>::new(shared(3, 2), Linear(EveryOther), 0.9).unwrap();
    let (mut context, mut rng) = (model.context(), Rng::new(9));
    let transitions: [Transition<f32, 2>; 7] = core::array::from_fn(|_| Transition {
        phi: [rng.normal(), rng.normal()].into(),
        reward: rng.normal(),
        phi_next: [rng.normal(), rng.normal()].into(),
    });
    transitions.iter().for_each(|t| context.observe_transition(t).unwrap());
    let phi = [0.5, -0.25];
    let prompt = Prompt::<f32, 5, 7>::discounted(&transitions, 0.9, &phi.into()).unwrap();
    let literal = model.transformer().value(&prompt, model.attention()).unwrap();
    let value = model.value_function(&context).unwrap().at(&phi);
    assert!((value - literal).abs() < 1e-5 * literal.abs().max(1.0), "{value} {literal}");
}

#[test]
fn a_stored_model_names_its_mask() {
    fn reads<M: Mask<f32>>(bytes: &[u8]) -> bool {
        OneHead::<2, Linear<M>>::from_bytes(bytes).is_ok()
    }
    fn write<M: Mask<f32>>(mask: M) -> Vec<u8> {
        stored(&OneHead::<2, _>::new(shared(3, 2), Linear(mask), 0.9).unwrap(), |_| {})
    }
    let written = [write(Td0), write(MeanCentred), write(EveryOther)];
    let readers = [reads::<Td0>, reads::<MeanCentred>, reads::<EveryOther>];
    for (i, bytes) in written.iter().enumerate() {
        assert_eq!(readers.map(|reads| reads(bytes)), [0, 1, 2].map(|j| i == j), "mask {i}");
    }
}

#[test]
fn a_model_with_a_trace_is_read_as_one_alone() {
    let model = OneHead::<2, Linear<TdLambda>>::td_lambda(of(0.5, 3, 0.9), 0.75).unwrap();
    let bytes = stored(&model, |_| {});
    assert_eq!(OneHead::<2, Linear<TdLambda>>::from_bytes(&bytes).as_ref(), Ok(&model));
    let refused = OneHead::<2>::from_bytes(&bytes).unwrap_err();
    assert!(matches!(refused, Error::OutOfRange { parameter: "trace_decay", .. }), "{refused}");
    // Another trace decay than the model's is refused where they meet.
    let mut context = Context::<2, TdLambda>::with_memory(TdLambda::new(0.5).unwrap(), Growing);
    context.observe(&[1.0, 0.0], 1.0, &[0.0, 1.0]).unwrap();
    let mismatch = Error::Mismatch { parameter: "the trace decay of model and context" };
    assert_eq!(model.value_function(&context), Err(mismatch));
    let mut context = model.context();
    context.observe(&[1.0, 0.0], 1.0, &[0.0, 1.0]).unwrap();
    assert!(model.value_function(&context).is_ok());
}

#[test]
fn another_discount_needs_a_model_that_runs_td_for_every_one() {
    let model = OneHead::<2>::td0(of(0.25, 4, 0.9)).unwrap();
    let mut context = Context::<2, Td0, Growing, f32, 2>::new();
    context.observe(&[1.0, 0.5], [1.0, -2.0], &[0.0, 1.0]).unwrap();
    context.observe(&[0.0, 1.0], [0.5, 0.25], &[1.0, 0.5]).unwrap();
    for (cumulant, gamma) in [0, 1].into_iter().flat_map(|m| [0.0, 0.5, 0.9].map(|g| (m, g))) {
        let alone = OneHead::<2>::td0(of(0.25, 4, gamma)).unwrap();
        let [got, want] =
            [&model, &alone].map(|m| m.value_function_for(&context, Gvf { cumulant, gamma }));
        assert_eq!(got, want);
    }
    let at = |model: &OneHead<2>, m, gamma| match model
        .value_function_for(&context, Gvf { cumulant: m, gamma })
    {
        Err(Error::OutOfRange { parameter, .. }) => parameter,
        other => panic!("{other:?}"),
    };
    assert_eq!([at(&model, 2, 0.9), at(&model, 0, 1.0)], ["cumulant", "gamma"]);
    assert_eq!(at(&dense(), 0, 0.5), "gamma");
    let c = scaled_identity::<f32, 2>(0.25);
    let layers = Transformer::autoregressive(constructions::residual_gradient(&c), 4).unwrap();
    let residual = OneHead::<2>::new(layers, Linear(Td0), 0.9).unwrap();
    assert!(residual.value_function_for(&context, Gvf { cumulant: 1, gamma: 0.5 }).is_ok());
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
        OneHead::<2>::td0(of(0.2, 15, 0.9)).unwrap().value_function(&context)
    };
    assert!(observe(1.0).is_ok());
    assert_eq!(observe(7.0), Err(Error::Diverges));
    let smaller = OneHead::<2>::td0(of(0.2 / 49.0, 15, 0.9)).unwrap();
    assert!(smaller.value_function(&context).is_ok());
}

#[test]
fn constants_are_the_constructions() {
    const TD: OneHead<4> = match OneHead::<4>::td0(of(0.2, 15, 0.9)) {
        Ok(model) => model,
        Err(_) => panic!("the step size, depth or gamma is out of range"),
    };
    let c = scaled_identity::<f32, 4>(0.2);
    let layers = Transformer::autoregressive(constructions::td0(&c), 15);
    assert_eq!(Ok(TD.transformer()), layers.as_ref());
    let trace = OneHead::<4, Linear<TdLambda>>::td_lambda(of(0.2, 2, 0.9), 0.5).unwrap();
    let layers = Transformer::autoregressive(constructions::td_lambda(&c), 2);
    assert_eq!(Ok(trace.transformer()), layers.as_ref());
    assert_eq!(*trace.attention(), Linear(TdLambda::new(0.5).unwrap()));
    assert!(OneHead::<4>::td0(of(0.2, 0, 0.9)).is_err());
    assert!(OneHead::<4, Linear<TdLambda>>::td_lambda(of(0.2, 1, 0.9), 1.5).is_err());
}
