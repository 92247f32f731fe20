use crate::context::{Context, Forgetting, Growing, Sliding, Window};
use crate::layer::{EquivariantLayer, Layer, LayerParameters, UniversalLayer};
use crate::linalg::zeros;
use crate::mask::{Mask, Td0, TdLambda, Vector};
use crate::model::UniversalModel;
use crate::normalised::{Normalised, Whole};
use crate::rng::Rng;
use crate::scalar::Real;
use crate::statistic::Statistic;
use crate::transformer::Transformer;
use nalgebra::{SMatrix, SVector};
use std::vec::Vec;

/// phi, r, phi'.
type Seen<R, const D: usize> = ([R; D], R, [R; D]);

fn transitions<R: Real, const D: usize>(n: usize, seed: u64) -> Vec<Seen<R, D>> {
    let mut rng = Rng::new(seed);
    let mut phi = || core::array::from_fn(|_| rng.uniform_in(R::from_f64(-1.0), R::from_f64(2.0)));
    let states: Vec<[R; D]> = (0..=n).map(|_| phi()).collect();
    let rewards: Vec<[R; D]> = (0..n).map(|_| phi()).collect();
    let next = states[1..].to_vec();
    let all = states.into_iter().zip(rewards).zip(next);
    all.map(|((phi, r), phi_next)| (phi, r[0], phi_next)).collect()
}

fn layers<R: Real>(depth: usize, seed: u64) -> Vec<UniversalLayer<R>> {
    let mut rng = Rng::new(seed);
    let mut five = || core::array::from_fn(|_| rng.uniform_in(R::from_f64(-0.5), R::from_f64(0.5)));
    let mut ten = || EquivariantLayer { p: five(), q: five() };
    (0..depth).map(|_| UniversalLayer { base: ten(), early: ten() }).collect()
}

fn context<R: Real, const D: usize, M: Mask<R>, W: Window<R>>(
    mask: M,
    window: W,
    seen: &[Seen<R, D>],
) -> Context<D, M, W, R> {
    let mut context = Context::<D, M, W, R>::with(mask, window);
    for (phi, r, phi_next) in seen {
        context.observe(phi, *r, phi_next).unwrap();
    }
    context
}

/// The weights without the range.
fn weights<R: Real, const D: usize, M: Mask<R>, W: Window<R>, const L: usize>(
    model: &UniversalModel<R, M, L>,
    context: &Context<D, M, W, R>,
) -> SVector<R, D> {
    model.value_function(context).unwrap().value_function.weights
}

fn model<R: Real, M: Mask<R>, const L: usize>(mask: M, seed: u64) -> UniversalModel<R, M, L> {
    let transformer = Transformer::sequential(&layers(L, seed)).unwrap();
    UniversalModel::new(transformer, mask, R::from_f64(6.0), R::from_f64(0.9)).unwrap()
}

/// The formulas of the module, with nalgebra's decomposition and dense layers on the tokens T z.
fn literal<const D: usize, const K: usize, const L: usize, M: Mask<f64>>(
    model: &UniversalModel<f64, M, L>,
    seen: &[Seen<f64, D>],
) -> SVector<f64, D>
where
    nalgebra::Const<D>: nalgebra::DimSub<nalgebra::U1>,
{
    let (n, n0) = (seen.len() as f64, model.prior_count());
    let phi = |j: usize| SVector::from(seen[j].0);
    let phi_next = |j: usize| SVector::from(seen[j].2);
    let f = (0..seen.len()).fold(zeros::<f64, D, D>(), |f, j| {
        f + (phi(j) * phi(j).transpose() + phi_next(j) * phi_next(j).transpose()) * 0.5
    });
    let scale =
        SMatrix::<f64, D, D>::from_fn(
            |i, j| {
                if i == j { 1.0 / libm::sqrt(f[(i, i)] / n) } else { 0.0 }
            },
        );
    let mut correlations = scale * f * scale / (n + n0);
    correlations.fill_diagonal(1.0);
    let c = correlations.cholesky().unwrap().l();
    let t = c.try_inverse().unwrap() * scale;
    let rho = libm::sqrt(seen.iter().map(|(_, r, _)| r * r).sum::<f64>() / n);
    let (mut g, mut state) = (zeros::<f64, K, K>(), Vector::ZERO);
    for (phi, r, phi_next) in seen {
        let mut z = zeros::<f64, K, 1>();
        z.fixed_rows_mut::<D>(0).copy_from(&(t * SVector::from(*phi)));
        z.fixed_rows_mut::<D>(D).copy_from(&(t * SVector::from(*phi_next) * model.gamma()));
        z[2 * D] = r / rho;
        let (left, right) = model.mask().factors(&mut state, &z, 1.0);
        g += left * right.transpose();
    }
    let dense: Vec<Layer<f64, K>> = (model.transformer().layers().iter())
        .map(|layer| layer.at(D as f64 / (n + D as f64)).dense::<D, K>())
        .collect();
    let transformer = Transformer::<_, L>::sequential(&dense).unwrap();
    let statistic = Statistic { g, inverse_len: 1.0 / (n + n0) };
    // Layer by layer: the product of the maps.
    let mut product = crate::linalg::identity::<f64, K>();
    transformer.column_maps(&statistic, |_, b| product = b * product);
    let u = product.transpose().column(K - 1).into_owned();
    t.transpose() * u.fixed_rows::<D>(0) * -rho
}

#[test]
fn ten_numbers_on_a_normalised_read_are_dense_layers_on_normalised_tokens() {
    fn check<const D: usize, const K: usize, const L: usize>(n: usize)
    where
        nalgebra::Const<D>: nalgebra::DimSub<nalgebra::U1>,
    {
        let seen = transitions::<f64, D>(n, (10 * D + L) as u64);
        let close = |got: SVector<f64, D>, want: SVector<f64, D>| {
            assert!((got - want).amax() <= 1e-9 * want.amax(), "{D} {L}: {got} {want}");
        };
        let td0 = model::<f64, Td0, L>(Td0, 3);
        close(weights(&td0, &context(Td0, Growing, &seen)), literal::<D, K, L, _>(&td0, &seen));
        let trace = TdLambda::new(0.8).unwrap();
        let traced = model::<f64, _, L>(trace, 4);
        let of_growing = weights(&traced, &context(trace, Growing, &seen));
        close(of_growing, literal::<D, K, L, _>(&traced, &seen));
        // A sliding window reads as a prompt of what is left of the stream.
        let sliding = context(trace, Sliding::<9>, &seen);
        let left = &seen[n.max(9) - 9..];
        let close = |got: SVector<f64, D>, want: SVector<f64, D>| {
            assert!((got - want).amax() <= 1e-7 * want.amax(), "{D} {L}: {got} {want}");
        };
        close(weights(&traced, &sliding), literal::<D, K, L, _>(&traced, left));
    }
    check::<1, 3, 1>(1);
    check::<2, 5, 2>(1);
    check::<3, 7, 3>(2);
    check::<4, 9, 3>(20);
    check::<4, 9, 6>(20);
    check::<6, 13, 4>(30);
}

#[test]
fn units_of_powers_of_two_change_no_bit_but_the_rewards_factor() {
    fn check<M: Mask<f32>, W: Window<f32>>(mask: M, window: W) {
        let model = model::<f32, M, 4>(mask, 5);
        for n in [1, 2, 3, 7, 40] {
            let seen = transitions::<f32, 3>(n, n as u64);
            let units = [0.125, 1024.0, 0.5];
            let scale =
                |phi: &[f32; 3]| -> [f32; 3] { core::array::from_fn(|i| units[i] * phi[i]) };
            let scaled: Vec<_> =
                seen.iter().map(|(a, r, b)| (scale(a), 32.0 * r, scale(b))).collect();
            let plain = model.value_function(&context(mask, window, &seen)).unwrap();
            let other = model.value_function(&context(mask, window, &scaled)).unwrap();
            for (phi, ..) in transitions::<f32, 3>(5, 99) {
                assert_eq!(other.at(&scale(&phi)).to_bits(), (32.0 * plain.at(&phi)).to_bits());
            }
        }
    }
    let trace = TdLambda::new(0.9).unwrap();
    check(Td0, Growing);
    check(trace, Growing);
    check(trace, Forgetting::new(0.95).unwrap());
    check(trace, Sliding::<5>);
}

#[test]
fn signs_and_order_of_features_change_roundings_alone() {
    let trace = TdLambda::new(0.9).unwrap();
    let model = model::<f64, _, 3>(trace, 6);
    let seen = transitions::<f64, 3>(25, 7);
    let turned = |phi: &[f64; 3]| [-phi[2], phi[0], -phi[1]];
    let other: Vec<_> = seen.iter().map(|(a, r, b)| (turned(a), *r, turned(b))).collect();
    let (w, w_turned) = (
        weights(&model, &context(trace, Growing, &seen)),
        weights(&model, &context(trace, Growing, &other)),
    );
    assert!((SVector::from(turned(&w.into())) - w_turned).amax() < 1e-12 * w.amax());
}

#[test]
fn what_was_never_seen_changes_no_bit_of_what_was() {
    let trace = TdLambda::new(0.9).unwrap();
    let model = model::<f32, _, 3>(trace, 8);
    for n in [1, 2, 30] {
        let seen = transitions::<f32, 2>(n, 9);
        let wide = |phi: &[f32; 2]| [phi[0], 0.0, phi[1]];
        let more: Vec<_> = seen.iter().map(|(a, r, b)| (wide(a), *r, wide(b))).collect();
        let w = weights(&model, &context(trace, Growing, &seen));
        let wider = weights(&model, &context(trace, Growing, &more));
        assert_eq!([wider[0], wider[1], wider[2]], [w[0], 0.0, w[1]], "{n}");
        let without: Vec<_> = seen.iter().map(|(a, _, b)| (*a, 0.0, *b)).collect();
        assert_eq!(weights(&model, &context(trace, Growing, &without)), zeros::<f32, 2, 1>());
    }
}

#[test]
fn degenerate_contexts_have_finite_values() {
    fn check<M: Mask<f32>>(mask: M) {
        let model = model::<f32, M, 3>(mask, 10);
        let constant = ([1.0f32, 1.0, 0.0], 0.5, [1.0, 1.0, 0.0]);
        let tiny = ([1e-20, 0.0, 1e10], -3e10, [-1e-20, 0.0, 1e-10]);
        let huge = ([1e14, -1e14, 0.0], 1e14, [1e13, 1e14, 0.0]);
        let ending = ([1.0, 2.0, 3.0], 1.0, [0.0; 3]);
        let all_0 = ([0.0; 3], 0.0, [0.0; 3]);
        for one in [constant, tiny, huge, ending, all_0] {
            for n in [1, 2, 5, 1000] {
                let mut context = context(mask, Growing, &std::vec![one; n]);
                let value = model.value_function(&context).unwrap();
                assert!(value.at(&one.0).is_finite() && value.at(&[0.0; 3]) == 0.0, "{one:?} {n}");
                context.end_episode();
            }
        }
        // n_0 is lost beside so many equal features.
        let mut long = Context::<3, M>::with(mask, Growing);
        for _ in 0..300_000 {
            long.observe(&constant.0, constant.1, &constant.2).unwrap();
        }
        assert!(model.value_function(&long).unwrap().at(&constant.0).is_finite());
    }
    check(Td0);
    check(TdLambda::new(0.9).unwrap());
}

#[test]
fn values_stay_within_what_rewards_can_add_up_to() {
    let base = EquivariantLayer { p: [0.0, 0.0, 0.0, 0.0, 1.0], q: [-50.0, 0.0, 0.0, 0.0, 0.0] };
    let layer = UniversalLayer { base, early: EquivariantLayer::ZERO };
    let transformer = Transformer::<_, 1>::autoregressive(layer, 1).unwrap();
    let model = UniversalModel::new(transformer, Td0, 6.0, 0.75).unwrap();
    let mut context = Context::<1>::new();
    for r in [0.5, -0.25, 2.0] {
        context.observe(&[1.0], r, &[1.0]).unwrap();
    }
    let value = model.value_function(&context).unwrap();
    // The largest reward times n / (n (1 - gamma) + gamma) times n / (n + 1).
    assert_eq!(value.bound, 2.0 * (3.0 / (3.0 * 0.25 + 0.75) * 0.75));
    assert!(value.value_function.at(&[1.0]) > value.bound);
    assert_eq!((value.at(&[1.0]), value.at(&[-1.0])), (value.bound, -value.bound));
}

#[test]
fn it_is_what_the_layers_read_out_of_the_statistic_in_units_of_its_own() {
    fn check<const L: usize>(n: usize) {
        let trace = TdLambda::new(0.8).unwrap();
        let (model, seen) = (model::<f64, _, L>(trace, 11), transitions::<f64, 4>(n, 12));
        let context = context(trace, Growing, &seen);
        let unnormalised = context.read_to(model.gamma(), 0, Whole).unwrap();
        let statistic = Normalised::new(&unnormalised, n as f64, model.prior_count());
        let layers = model.transformer().at(4.0 / (n as f64 + 4.0));
        let want = layers.value_function(&statistic).unwrap().weights;
        assert!((weights(&model, &context) - want).amax() < 1e-11 * want.amax(), "{L} {n}");
    }
    for n in [4, 30] {
        check::<1>(n);
        check::<2>(n);
        check::<3>(n);
        check::<5>(n);
    }
}
