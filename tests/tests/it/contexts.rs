//! Contexts: several cumulants, every discount, and what is stored of them.

use super::*;
use ictd_core::StoredError;

const D: usize = 3;
const K: usize = 2 * D + 1;

#[test]
fn each_cumulant_is_bit_for_bit_the_context_of_its_reward_alone() {
    fn check<M: Mask<f32>, W: Memory<f32>>(mask: M, window: W) {
        let rng = &mut Rng::new(7);
        let mut number = || rng.uniform_in::<f32>(-1.0, 1.0);
        let mut together = Context::<D, M, W, f32, 4>::with_memory(mask, window);
        let mut alone = [(); 4].map(|()| Context::<D, M, W>::with_memory(mask, window));
        for t in 0..300 {
            let (phi, phi_next) = ([(); D].map(|()| number()), [(); D].map(|()| number()));
            let rewards = [(); 4].map(|()| number());
            together.observe(&phi, rewards, &phi_next).unwrap();
            for (context, reward) in alone.iter_mut().zip(rewards) {
                context.observe(&phi, reward, &phi_next).unwrap();
            }
            if t % 11 == 10 {
                together.end_episode();
                alone.iter_mut().for_each(Context::end_episode);
            }
        }
        for (cumulant, context) in alone.iter().enumerate() {
            for gamma in [0.0, 0.5, 0.99] {
                assert_eq!(together.statistic::<K>(gamma, cumulant), context.statistic(gamma, 0));
            }
        }
        let refused = together.statistic::<K>(0.9, 4).unwrap_err();
        assert!(matches!(refused, Error::OutOfRange { parameter: "cumulant", .. }));
    }
    let lambda = TdLambda::new(0.5).unwrap();
    check(Td0, Growing);
    check(lambda, Growing);
    check(MeanCentred, Growing);
    check(lambda, Forgetting::new(0.95).unwrap());
    check(Td0, Sliding::<20>);
    check(lambda, Sliding::<20>);
}

/// A context after n transitions, fed on from the same stream.
fn stream<M: Mask<f32>, W: Memory<f32>, const C: usize>(
    context: &mut Context<D, M, W, f32, C>,
    rng: &mut Rng,
    n: usize,
) {
    for t in 0..n {
        let mut number = || rng.uniform_in::<f32>(-1.0, 1.0);
        let (phi, phi_next) = ([(); D].map(|()| number()), [(); D].map(|()| number()));
        context.observe(&phi, [(); C].map(|()| number()), &phi_next).unwrap();
        if t % 17 == 16 {
            context.end_episode();
        }
    }
}

#[test]
fn a_stored_context_goes_on_bit_for_bit_where_it_stopped() {
    fn check<M: Mask<f32>, W: Memory<f32>, const C: usize>(context: Context<D, M, W, f32, C>) {
        let (mut awake, mut rng) = (context.clone(), Rng::new(5));
        // 259: a block of the sums is full, and moved in part.
        for n in [0, 1, 18, 240, 5] {
            stream(&mut awake, &mut rng, n);
            let mut buffer = vec![0; awake.byte_len()];
            assert_eq!(awake.write(&mut buffer).unwrap().len(), awake.byte_len());
            let mut woken = Context::<D, M, W, f32, C>::from_bytes(&buffer).unwrap();
            assert_eq!(woken, awake);
            stream(&mut woken, &mut rng.clone(), 300);
            let mut other = awake.clone();
            stream(&mut other, &mut rng.clone(), 300);
            assert_eq!(woken, other);
        }
    }
    let lambda = TdLambda::new(0.5).unwrap();
    check(Context::<D>::new().with_limit(8.0).unwrap());
    check(Context::<D, _, _, f32, 3>::with_memory(lambda, Growing));
    check(Context::<D, _, _, f32, 1>::with_memory(MeanCentred, Growing));
    check(Context::<D, _, _, f32, 2>::with_memory(lambda, Forgetting::new(0.97).unwrap()));
    check(Context::<D, _, _, f32, 2>::with_memory(Td0, Sliding::<20>));
    check(Context::<D, _, _, f32, 1>::with_memory(lambda, Sliding::<20>));
}

#[test]
fn stored_bytes_of_another_kind_are_refused_by_what_differs() {
    let lambda = TdLambda::new(0.5).unwrap();
    let context = Context::<D, _, _>::with_memory(lambda, Sliding::<4>);
    let mut bytes = vec![0; context.byte_len()];
    context.write(&mut bytes).unwrap();
    let longer = [bytes.as_slice(), &[0]].concat();
    let longer = Context::<D, TdLambda, Sliding<4>>::from_bytes(&longer);
    assert!(matches!(longer, Err(Error::Stored(StoredError::Length { .. }))));
    fn differs<M: Mask<S>, W: Memory<S>, S: Real, const D: usize, const C: usize>(
        bytes: &[u8],
    ) -> &'static str {
        match Context::<D, M, W, S, C>::from_bytes(bytes) {
            Err(Error::Stored(StoredError::Mismatch { part, .. })) => part,
            other => panic!("{other:?}"),
        }
    }
    for (found, part) in [
        (differs::<TdLambda, Sliding<4>, f32, 2, 1>(&bytes), "feature dimension"),
        (differs::<Td0, Sliding<4>, f32, D, 1>(&bytes), "mask"),
        (differs::<TdLambda, Growing, f32, D, 1>(&bytes), "memory"),
        (differs::<TdLambda, Sliding<5>, f32, D, 1>(&bytes), "capacity of the memory"),
        (differs::<TdLambda, Sliding<4>, f32, D, 2>(&bytes), "number of cumulants"),
        (differs::<TdLambda<f64>, Sliding<4>, f64, D, 1>(&bytes), "scalar type"),
    ] {
        assert!(found.starts_with(part), "{found}");
    }
    let magic = StoredError::Magic { expected: "ICTD" };
    assert_eq!(Model::<D, Linear<TdLambda>>::from_bytes(&bytes).err(), Some(magic.into()));
}
