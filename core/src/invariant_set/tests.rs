use super::*;
use crate::error::Error;
use crate::layer::{EquivariantLayer, Layer, LayerParameters, TwoHeadLayer};
use crate::linalg::{identity, mul, mul_transpose, transpose_mul, zeros};
use crate::mask::{Td0, TdLambda};
use crate::rng::Rng;
use crate::tasks::{Mrp, Task as _, boyan_chain};
use crate::training::{Adam, AdamSettings, Parameters as _};
use crate::transformer::Transformer;
use nalgebra::{SMatrix, SVector};
use std::vec::Vec;

const GAMMA: f64 = 0.9;
/// n + 3 for contexts of 3 transitions.
const T: usize = 6;
type Theta<L> = Transformer<L, 3>;
type Group = Vec<SMatrix<f64, 2, 2>>;

/// Something that holds for every network of two features.
trait Check {
    fn network<L: LayerParameters<Scalar = f64>, const K: usize>(
        &mut self,
        name: &str,
        theta: Theta<L>,
        update: impl Fn(&Theta<L>, &FeatureTrajectory<f64, 2>) -> Theta<L>,
    );
}

/// Linear attention under TD(0)'s and a TD(lambda)'s mask, softmax attention, two heads; one layer, three
/// shared layers (or two) and two with parameters of their own.
fn for_every_network(check: &mut impl Check) {
    let mut rng = Rng::new(1);
    for lambda in [0.0, 0.7] {
        let mask = TdLambda::new(lambda).unwrap();
        for theta in thetas::<Layer<f64, 5>>(3, &mut rng) {
            check.network::<_, 5>("linear", theta, |theta, trajectory| {
                linear_update::<_, 2, 5, 3, T>(theta, &mask, GAMMA, trajectory).unwrap()
            });
        }
    }
    for theta in thetas::<Layer<f64, 5>>(3, &mut rng) {
        check.network::<_, 5>("softmax", theta, |theta, trajectory| {
            softmax_update::<_, 2, 5, 3, T>(theta, GAMMA, trajectory).unwrap()
        });
    }
    for theta in thetas::<TwoHeadLayer<f64, 6>>(2, &mut rng) {
        check.network::<_, 6>("two heads", theta, |theta, trajectory| {
            two_head_update::<_, 2, 6, 3, T>(theta, trajectory).unwrap()
        });
    }
}

fn thetas<L: LayerParameters<Scalar = f64>>(depth: usize, rng: &mut Rng) -> [Theta<L>; 3] {
    let mut layer = || {
        let mut layer = L::ZERO;
        layer.matrices_mut().flatten().for_each(|x| *x = rng.uniform_in(-0.8, 0.8));
        layer
    };
    [
        Transformer::autoregressive(layer(), 1).unwrap(),
        Transformer::autoregressive(layer(), depth).unwrap(),
        Transformer::sequential(&[layer(), layer()]).unwrap(),
    ]
}

/// The nearest parameters of the set.
fn inside<L: LayerParameters<Scalar = f64>>(theta: &Theta<L>) -> Theta<L> {
    let mut inside = theta.clone();
    inside.layers_mut().iter_mut().for_each(|layer| *layer = commuting_part::<2, _>(layer));
    inside
}

fn distance<L: LayerParameters<Scalar = f64>>(theta: &Theta<L>) -> f64 {
    share_outside::<2, _>(theta.layers()).sqrt()
}

/// A trajectory of a chain with features uniform on a square.
#[derive(Clone, Debug)]
struct Sample {
    features: [SVector<f64, 2>; T],
    rewards: [f64; T - 1],
}

impl Sample {
    fn new(rng: &mut Rng) -> Self {
        let task: Mrp<f64, 2, 5> = boyan_chain(5, rng).unwrap();
        let transitions = task.trajectory::<T>(T - 1, rng).unwrap();
        let features = core::array::from_fn(|k| match transitions.get(k) {
            Some(transition) => transition.phi,
            None => transitions[k - 1].phi_next,
        });
        Sample { features, rewards: core::array::from_fn(|k| transitions[k].reward) }
    }

    fn trajectory(&self) -> FeatureTrajectory<'_, f64, 2> {
        FeatureTrajectory { features: &self.features, rewards: &self.rewards }
    }

    fn moved(&self, g: &SMatrix<f64, 2, 2>) -> Self {
        Sample { features: self.features.map(|phi| g * phi), ..self.clone() }
    }
}

fn averaged<L: LayerParameters<Scalar = f64>>(
    sample: &Sample,
    group: &Group,
    update: impl Fn(&FeatureTrajectory<f64, 2>) -> Theta<L>,
) -> Theta<L> {
    let group = group.iter().copied();
    averaged_update::<f64, 2, T, _>(&[sample.trajectory()], group, |moved| Ok(update(moved)))
        .unwrap()
}

fn rotation(angle: f64) -> SMatrix<f64, 2, 2> {
    let (sin, cos) = (libm::sin(angle), libm::cos(angle));
    SMatrix::<f64, 2, 2>::new(cos, -sin, sin, cos)
}

fn signed_permutations() -> Group {
    SignedPermutation::<2>::all().collect()
}

/// S_g theta S_g^T for every matrix of theta.
fn moved<L: LayerParameters<Scalar = f64>, const K: usize>(
    theta: &Theta<L>,
    g: &SMatrix<f64, 2, 2>,
) -> Theta<L> {
    let mut s = identity::<f64, K>();
    s.fixed_view_mut::<2, 2>(0, 0).copy_from(g);
    s.fixed_view_mut::<2, 2>(2, 2).copy_from(g);
    let mut out = theta.clone();
    for slice in out.slices_mut() {
        let m = SMatrix::<f64, K, K>::from_column_slice(slice);
        slice.copy_from_slice(mul_transpose(&mul(&s, &m), &s).as_slice());
    }
    out
}

fn largest_difference<L: LayerParameters<Scalar = f64>>(a: &Theta<L>, b: &Theta<L>) -> f64 {
    a.numbers().zip(b.numbers()).fold(0.0, |largest, (a, b)| largest.max((a - b).abs()))
}

/// One over the largest number.
fn scale<L: LayerParameters<Scalar = f64>>(theta: &Theta<L>) -> f64 {
    1.0 / largest_difference(theta, &theta.zeros_like())
}

#[test]
fn signed_permutations_are_all_different() {
    let phi = SVector::<f64, 3>::new(1.0, 2.0, 3.0);
    let images: Vec<_> = SignedPermutation::<3>::all().map(|g| g * phi).collect();
    assert_eq!((images.len(), SignedPermutation::<3>::ORDER), (48, 48));
    assert_eq!(images[0], phi);
    for i in 0..48 {
        assert!(images[..i].iter().all(|image| *image != images[i]));
    }
}

#[test]
fn the_commuting_part_is_the_mean_over_the_group_and_that_of_ten_numbers() {
    let mut rng = Rng::new(3);
    let mut draw = || SMatrix::<f64, 7, 7>::from_fn(|_, _| rng.uniform_in(-1.0, 1.0));
    let layer = Layer { p: draw(), q: draw() };
    let part = commuting_part::<3, _>(&layer);
    assert_eq!(part, commuting_part::<3, _>(&part));
    let mut mean = Layer { p: zeros(), q: zeros() };
    for g in SignedPermutation::<3>::all::<f64>() {
        let mut s = identity::<f64, 7>();
        s.fixed_view_mut::<3, 3>(0, 0).copy_from(&g);
        s.fixed_view_mut::<3, 3>(3, 3).copy_from(&g);
        mean.p += mul(&transpose_mul(&s, &layer.p), &s) / 48.0;
        mean.q += mul(&transpose_mul(&s, &layer.q), &s) / 48.0;
        assert_eq!(mul(&s, &part.p), mul(&part.p, &s));
    }
    let numbers = EquivariantLayer::project::<3, 7>(&layer).dense::<3, 7>();
    for (part, others) in [(&part.p, [&mean.p, &numbers.p]), (&part.q, [&mean.q, &numbers.q])] {
        others.iter().for_each(|other| assert!((part - *other).amax() < 1e-15));
    }
}

#[test]
fn expected_updates_stay_in_the_set_by_td_and_by_adam_and_single_ones_do_not() {
    struct Stay(Rng);
    impl Check for Stay {
        fn network<L: LayerParameters<Scalar = f64>, const K: usize>(
            &mut self,
            name: &str,
            theta: Theta<L>,
            update: impl Fn(&Theta<L>, &FeatureTrajectory<f64, 2>) -> Theta<L>,
        ) {
            let (start, group) = (inside(&theta), signed_permutations());
            let sample = Sample::new(&mut self.0);
            let alone = update(&start, &sample.trajectory());
            assert!(distance(&alone) > 1e-3, "{name}: {}", distance(&alone));
            // With an epsilon that rounding does not reach.
            let settings =
                AdamSettings { learning_rate: 0.01, epsilon: 1e-2, ..Default::default() };
            let mut adam = Adam::new(settings, &start).unwrap();
            let (mut by_td, mut by_adam) = (start.clone(), start.clone());
            for _ in 0..2 {
                let delta = averaged(&sample, &group, |moved| update(&by_td, moved));
                step(&mut by_td, 0.1, &delta);
                let delta = averaged(&sample, &group, |moved| update(&by_adam, moved));
                let mut gradient = delta.zeros_like();
                step(&mut gradient, -2.0, &delta);
                adam.step(&mut by_adam, &gradient);
            }
            for end in [&by_td, &by_adam] {
                assert!(distance(end) < 1e-12, "{name}: {}", distance(end));
                assert!(largest_difference(end, &start) > 1e-6, "{name} does not move");
            }
            // From elsewhere the update has no such form.
            let delta = averaged(&sample, &group, |moved| update(&theta, moved));
            assert!(distance(&delta) > 1e-3, "{name}: {}", distance(&delta));
        }
    }
    for_every_network(&mut Stay(Rng::new(4)));
}

#[test]
fn updates_change_with_every_orthogonal_map_as_the_parameters_do() {
    struct Change(Rng);
    impl Check for Change {
        fn network<L: LayerParameters<Scalar = f64>, const K: usize>(
            &mut self,
            name: &str,
            theta: Theta<L>,
            update: impl Fn(&Theta<L>, &FeatureTrajectory<f64, 2>) -> Theta<L>,
        ) {
            let sample = Sample::new(&mut self.0);
            let reflection = SMatrix::<f64, 2, 2>::new(1.0, 0.0, 0.0, -1.0);
            for g in [rotation(0.7), rotation(2.0) * reflection] {
                let there = update(&theta, &sample.moved(&g).trajectory());
                let back = moved::<L, K>(&theta, &g.transpose());
                let here = moved::<L, K>(&update(&back, &sample.trajectory()), &g);
                // Central differences have an error of their own, which a rotation changes.
                let accuracy = if name == "two heads" { 1e-4 } else { 1e-12 };
                let difference = largest_difference(&there, &here) * scale(&there);
                assert!(difference < accuracy, "{name}: {difference}");
            }
            // Parameters of the set are what they were.
            let inside = inside(&theta);
            let difference = largest_difference(&inside, &moved::<L, K>(&inside, &rotation(0.7)));
            assert!(difference < 1e-15, "{name}: {difference}");
        }
    }
    for_every_network(&mut Change(Rng::new(6)));
}

#[test]
fn theorem_2_is_the_case_of_one_layer() {
    let mut rng = Rng::new(9);
    for _ in 0..10 {
        let sample = Sample::new(&mut rng);
        let star = theta_star::<f64, 2, 5>(0.9, -1.1, 0.7);
        let mut theta = Theta::autoregressive(star, 1).unwrap();
        for _ in 0..20 {
            let delta = averaged(&sample, &signed_permutations(), |moved| {
                linear_update::<_, 2, 5, 3, T>(&theta, &Td0, GAMMA, moved).unwrap()
            });
            step(&mut theta, 0.1, &delta);
        }
        let end = Projection::of::<2, 5>(&theta.layers()[0]);
        assert!(end.departure < 1e-14 && (end.eta - 0.9).abs() > 1e-4, "{end:?}");
        // From any ten numbers, three of them get an update: one layer's value has no others.
        let theta = inside(&thetas::<Layer<f64, 5>>(1, &mut rng)[0]);
        let trajectory = sample.trajectory();
        let delta = linear_update::<_, 2, 5, 3, T>(&theta, &Td0, GAMMA, &trajectory).unwrap();
        let EquivariantLayer { p, q } = EquivariantLayer::contract::<2, 5>(&delta.layers()[0]);
        assert_eq!((&p[..4], [q[1], q[3], q[4]]), (&[0.0; 4][..], [0.0; 3]));
        assert!(p[4] != 0.0 && q[0] != 0.0 && q[2] != 0.0);
    }
}

#[test]
fn trajectories_that_do_not_fit_are_refused() {
    let sample = Sample::new(&mut Rng::new(2));
    let theta = Transformer::<_, 3>::autoregressive(theta_star::<f64, 2, 5>(0.9, -1.1, 0.7), 1);
    let theta = theta.unwrap();
    let of = |trajectory: &FeatureTrajectory<_, 2>| {
        linear_update::<_, 2, 5, 3, T>(&theta, &Td0, GAMMA, trajectory)
    };
    let FeatureTrajectory { features, rewards } = sample.trajectory();
    let short = FeatureTrajectory { features: &features[..3], rewards: &rewards[..2] };
    assert_eq!(of(&short), Err(Error::Empty { parameter: "context" }));
    let uneven = FeatureTrajectory { features, rewards: &rewards[1..] };
    assert!(matches!(of(&uneven), Err(Error::OutOfRange { parameter: "rewards", .. })));
    let group = SignedPermutation::<2>::all();
    let too_long = averaged_update::<_, 2, 5, _>(&[sample.trajectory()], group.clone(), of);
    let refused = Error::CapacityExceeded { parameter: "trajectory", capacity: 5 };
    assert_eq!(too_long, Err(refused));
    let nothing = averaged_update::<_, 2, T, _>(&[], group, of);
    assert_eq!(nothing, Err(Error::Empty { parameter: "trajectories" }));
}
