use super::*;
use ictd_core::invariant_set::*;
use ictd_core::linalg::{identity, zeros};
use ictd_core::tasks::Task as _;
use ictd_core::training::{SoftmaxNetwork, Targets};

const GAMMA: f64 = 0.9;
/// n + 3 for contexts of 3 transitions.
const T: usize = 6;
type Linear = LinearNetwork<f64, Vec<f64>>;

type OneLayer = Layer<f64, K>;
const K: usize = 5;
const TARGETS: Targets<f64> = Targets::Bootstrapped;

/// Something that holds for every network of two features.
trait Check {
    fn network<N: Network<f64> + Clone>(&mut self, name: &str, theta: N);
}

/// Linear attention under TD(0)'s and a TD(lambda)'s mask, softmax attention; one layer, three
/// shared layers and two with parameters of their own.
fn for_every_network(check: &mut impl Check) {
    let mut rng = Rng::new(1);
    for [stored, depth] in [[1, 1], [1, 3], [2, 2]] {
        let shape = LinearShape::new(2, stored, depth);
        for trace_decay in [None, Some(0.7)] {
            let theta = random(linear(LinearShape { trace_decay, ..shape }), &mut rng);
            check.network("linear", theta);
        }
        let softmax = SoftmaxNetwork::<f64, 5, 2, 3, T>::zeros(stored, depth).unwrap();
        check.network("softmax", random(softmax, &mut rng));
    }
}

fn linear(shape: LinearShape<f64>) -> Linear {
    Linear::zeros(shape, |len| vec![0.0; len]).unwrap()
}

fn random<N: Network<f64>>(mut theta: N, rng: &mut Rng) -> N {
    theta.parameters_mut().numbers_mut().for_each(|x| *x = rng.uniform_in(-0.8, 0.8));
    theta
}

fn layers(theta: &impl Parameters<f64>) -> Vec<OneLayer> {
    let numbers: Vec<f64> = theta.numbers().copied().collect();
    numbers.chunks(2 * K * K).map(OneLayer::from_numbers).collect()
}

fn set(theta: &mut impl Parameters<f64>, layers: &[OneLayer]) {
    let numbers = layers.iter().flat_map(|layer| layer.matrices().flatten());
    theta.numbers_mut().zip(numbers).for_each(|(to, from)| *to = *from);
}

/// Returns the network with the nearest parameters of the set.
fn inside<N: Network<f64> + Clone>(theta: &N) -> N {
    let mut inside = theta.clone();
    let part: Vec<_> = layers(theta.parameters()).iter().map(commuting_part::<2, _>).collect();
    set(inside.parameters_mut(), &part);
    inside
}

/// Returns the square root of the share of the energy that is outside of the set.
fn distance(theta: &impl Parameters<f64>) -> f64 {
    let (mut outside, mut all) = (0.0, 0.0);
    for layer in layers(theta) {
        let part = commuting_part::<2, _>(&layer);
        for (x, inside) in layer.matrices().flatten().zip(part.matrices().flatten()) {
            outside += (x - inside) * (x - inside);
            all += x * x;
        }
    }
    (outside / all).sqrt()
}

/// A trajectory of a chain with features uniform on a square.
#[derive(Clone, Debug)]
struct Sample {
    features: [[f64; 2]; T],
    rewards: [f64; T - 1],
}

impl Sample {
    fn new(rng: &mut Rng) -> Self {
        let task: Mrp<f64, 2, 5> = boyan_chain(5, 2, rng).unwrap();
        let transitions = task.trajectory::<T>(T - 1, rng).unwrap();
        let features = core::array::from_fn(|k| match transitions.get(k) {
            Some(transition) => transition.phi.into(),
            None => transitions[k - 1].phi_next.into(),
        });
        Sample { features, rewards: core::array::from_fn(|k| transitions[k].reward) }
    }

    fn trajectory(&self) -> Windows<'_, f64> {
        Windows::new(2, self.features.as_flattened(), &self.rewards, T - 3, GAMMA).unwrap()
    }

    fn moved(&self, g: &SMatrix<f64, 2, 2>) -> Self {
        let moved = |phi: [f64; 2]| (g * SMatrix::from(phi)).into();
        Sample { features: self.features.map(moved), ..self.clone() }
    }
}

fn averaged<N: Network<f64>>(sample: &Sample, theta: &mut N) -> N::Parameters {
    let group = signed_permutations::<_, 2>();
    averaged_update::<f64, 2, T, _>(theta, &[sample.trajectory()], TARGETS, group).unwrap()
}

fn rotation(angle: f64) -> SMatrix<f64, 2, 2> {
    let (sin, cos) = (libm::sin(angle), libm::cos(angle));
    SMatrix::<f64, 2, 2>::new(cos, -sin, sin, cos)
}

/// S_g theta S_g^T for every matrix of theta.
fn moved<P: Parameters<f64>>(theta: &P, g: &SMatrix<f64, 2, 2>) -> P {
    let mut s = identity::<f64, K>();
    s.fixed_view_mut::<2, 2>(0, 0).copy_from(g);
    s.fixed_view_mut::<2, 2>(2, 2).copy_from(g);
    let (mut out, numbers) = (theta.clone(), theta.numbers().copied().collect::<Vec<_>>());
    let matrices = numbers.chunks(K * K).map(SMatrix::<f64, K, K>::from_column_slice);
    let moved: Vec<_> = matrices.map(|m| mul_transpose(&mul(&s, &m), &s)).collect();
    out.numbers_mut().zip(moved.iter().flatten()).for_each(|(to, from)| *to = *from);
    out
}

fn largest_difference<P: Parameters<f64>>(a: &P, b: &P) -> f64 {
    a.numbers().zip(b.numbers()).fold(0.0, |largest, (a, b)| largest.max((a - b).abs()))
}

#[test]
fn the_commuting_part_is_the_mean_over_the_group() {
    let mut rng = Rng::new(3);
    let mut draw = || SMatrix::<f64, 7, 7>::from_fn(|_, _| rng.uniform_in(-1.0, 1.0));
    let layer = Layer { p: draw(), q: draw() };
    let part = commuting_part::<3, _>(&layer);
    assert_eq!(part, commuting_part::<3, _>(&part));
    let mut mean = Layer { p: zeros(), q: zeros() };
    for g in signed_permutations::<f64, 3>() {
        let mut s = identity::<f64, 7>();
        s.fixed_view_mut::<3, 3>(0, 0).copy_from(&g);
        s.fixed_view_mut::<3, 3>(3, 3).copy_from(&g);
        mean.p += mul(&mul(&transpose(&s), &layer.p), &s) / 48.0;
        mean.q += mul(&mul(&transpose(&s), &layer.q), &s) / 48.0;
        assert_eq!(mul(&s, &part.p), mul(&part.p, &s));
    }
    assert!((part.p - mean.p).amax() < 1e-15 && (part.q - mean.q).amax() < 1e-15);
}

#[test]
fn expected_updates_stay_in_the_set_by_td_and_by_adam_and_single_ones_do_not() {
    struct Stay(Rng);
    impl Check for Stay {
        fn network<N: Network<f64> + Clone>(&mut self, name: &str, mut theta: N) {
            let mut start = inside(&theta);
            let sample = Sample::new(&mut self.0);
            let alone =
                distance(&trajectory_update(&mut start, &sample.trajectory(), TARGETS).unwrap());
            assert!(alone > 1e-3, "{name}: {alone}");
            // With an epsilon that rounding does not reach.
            let settings = AdamSettings::default().step_size(0.01).epsilon(1e-2);
            let mut adam = Adam::new(settings, start.parameters()).unwrap();
            let (mut by_td, mut by_adam) = (start.clone(), start.clone());
            for _ in 0..2 {
                let delta = averaged(&sample, &mut by_td);
                apply_update(by_td.parameters_mut(), 0.1, &delta);
                let delta = averaged(&sample, &mut by_adam);
                let mut gradient = delta.zeros_like();
                apply_update(&mut gradient, -2.0, &delta);
                adam.step(by_adam.parameters_mut(), &gradient);
            }
            for end in [by_td.parameters(), by_adam.parameters()] {
                assert!(distance(end) < 1e-12, "{name}: {}", distance(end));
                assert!(largest_difference(end, start.parameters()) > 1e-6, "{name} does not move");
            }
            // From elsewhere the update has no such form.
            let elsewhere = distance(&averaged(&sample, &mut theta));
            assert!(elsewhere > 1e-3, "{name}: {elsewhere}");
        }
    }
    for_every_network(&mut Stay(Rng::new(4)));
}

#[test]
fn updates_change_with_every_orthogonal_map_as_the_parameters_do() {
    struct Change(Rng);
    impl Check for Change {
        fn network<N: Network<f64> + Clone>(&mut self, name: &str, mut theta: N) {
            let sample = Sample::new(&mut self.0);
            let reflection = SMatrix::<f64, 2, 2>::new(1.0, 0.0, 0.0, -1.0);
            for g in [rotation(0.7), rotation(2.0) * reflection] {
                let there =
                    trajectory_update(&mut theta, &sample.moved(&g).trajectory(), TARGETS).unwrap();
                let mut back = theta.clone();
                *back.parameters_mut() = moved(theta.parameters(), &g.transpose());
                let here = moved(
                    &trajectory_update(&mut back, &sample.trajectory(), TARGETS).unwrap(),
                    &g,
                );
                let largest = largest_difference(&there, &there.zeros_like());
                let difference = largest_difference(&there, &here) / largest;
                assert!(difference < 1e-12, "{name}: {difference}");
            }
            // Parameters of the set are what they were.
            let inside = inside(&theta);
            let inside = inside.parameters();
            let difference = largest_difference(inside, &moved(inside, &rotation(0.7)));
            assert!(difference < 1e-15, "{name}: {difference}");
        }
    }
    for_every_network(&mut Change(Rng::new(6)));
}

#[test]
fn one_layer_updates_three_of_the_ten_numbers() {
    let mut rng = Rng::new(9);
    for _ in 0..10 {
        let sample = Sample::new(&mut rng);
        // From any ten numbers, three of them get an update: one layer's value has no others.
        let mut theta = inside(&random(linear(LinearShape::new(2, 1, 1)), &mut rng));
        let delta = trajectory_update(&mut theta, &sample.trajectory(), TARGETS).unwrap();
        let Layer { p, q } = layers(&delta)[0];
        // P's last row, and what Q has for the query's features.
        assert!(p.rows(0, 4).amax() == 0.0 && q.columns(2, 3).amax() == 0.0);
        assert!(p[(4, 4)] != 0.0 && q[(0, 0)] + q[(1, 1)] != 0.0 && q[(2, 0)] + q[(3, 1)] != 0.0);
    }
}

#[test]
fn trajectories_that_do_not_fit_are_refused() {
    let sample = Sample::new(&mut Rng::new(2));
    let mut theta = linear(LinearShape::new(2, 1, 1));
    let trajectory = [sample.trajectory()];
    let group = signed_permutations::<_, 2>();
    let too_long = averaged_update::<_, 2, 5, _>(&mut theta, &trajectory, TARGETS, group.clone());
    let refused = Error::CapacityExceeded { parameter: "trajectory", capacity: 5 };
    assert_eq!(too_long.err(), Some(refused));
    let other = signed_permutations::<_, 3>();
    let other = averaged_update::<_, 3, T, _>(&mut theta, &trajectory, TARGETS, other);
    assert!(matches!(other, Err(Error::OutOfRange { parameter: "dim", .. })));
    let nothing = averaged_update::<_, 2, T, _>(&mut theta, &[], TARGETS, group);
    assert_eq!(nothing.err(), Some(Error::Empty { parameter: "trajectories" }));
}
