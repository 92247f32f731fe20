//! Importance weights of transitions: off-policy evaluation in context.

use super::*;

const STATES: usize = 10;
const ACTIONS: usize = 3;
const GAMMA: f64 = 0.9;
type Policy = [SVector<f64, ACTIONS>; STATES];

/// A random MDP with features under which the value function of `target` is linear.
struct Mdp {
    phi: [SVector<f64, 4>; STATES],
    next: [[SVector<f64, STATES>; ACTIONS]; STATES],
    reward: [[f64; ACTIONS]; STATES],
    target: Policy,
    behaviour: Policy,
    value: SVector<f64, STATES>,
}

fn distribution<const N: usize>(rng: &mut Rng) -> SVector<f64, N> {
    let weights = SVector::<f64, N>::from_fn(|_, _| rng.uniform::<f64>() + 0.05);
    weights / weights.sum()
}

impl Mdp {
    fn draw(rng: &mut Rng) -> Self {
        let phi = [(); STATES].map(|()| SVector::from_fn(|_, _| rng.uniform_in(-1.0, 1.0)));
        let w = SVector::<f64, 4>::from_fn(|_, _| rng.uniform_in(-1.0, 1.0));
        let value = SVector::<f64, STATES>::from_fn(|s, _| dot(&w, &phi[s]));
        let [target, behaviour] = [(); 2].map(|()| [(); STATES].map(|()| distribution(rng)));
        let next = [(); STATES].map(|()| [(); ACTIONS].map(|()| distribution(rng)));
        let mut reward = [[0.0; ACTIONS]; STATES];
        for s in 0..STATES {
            // Advantages of mean 0 under the target policy.
            let drawn = SVector::<f64, ACTIONS>::from_fn(|_, _| rng.uniform_in(-2.0, 2.0));
            let mean = dot(&drawn, &target[s]);
            for a in 0..ACTIONS {
                reward[s][a] = value[s] - GAMMA * dot(&value, &next[s][a]) + drawn[a] - mean;
            }
        }
        Mdp { phi, next, reward, target, behaviour, value }
    }

    /// Shows transitions of the behaviour policy to `observe`, with their ratios.
    fn follow(&self, n: usize, rng: &mut Rng, mut observe: impl FnMut(usize, f64, usize, f64)) {
        let mut s = 0;
        for _ in 0..n {
            let a = rng.categorical(self.behaviour[s].iter().copied());
            let next = rng.categorical(self.next[s][a].iter().copied());
            observe(s, self.reward[s][a], next, self.target[s][a] / self.behaviour[s][a]);
            s = next;
        }
    }

    /// Returns the squared error of a value function over all states, relative to that of predicting 0.
    fn error(&self, at: impl Fn(&SVector<f64, 4>) -> f64) -> f64 {
        let errors = SVector::<f64, STATES>::from_fn(|s, _| at(&self.phi[s]) - self.value[s]);
        errors.norm_squared() / self.value.norm_squared()
    }
}

#[test]
fn values_of_another_policy_are_found_on_12_mdps() {
    let model = UniversalModel::<f64>::new(GAMMA).unwrap();
    let (mut weighted, mut unweighted) = (Vec::new(), Vec::new());
    for seed in 0..12 {
        let rng = &mut Rng::new(seed);
        let mdp = Mdp::draw(rng);
        let mut contexts = [model.context::<4>(), model.context::<4>()];
        mdp.follow(20_000, rng, |s, r, next, rho| {
            let (phi, next) = (&mdp.phi[s], &mdp.phi[next]);
            contexts[0].observe_weighted(phi, r, next, rho).unwrap();
            contexts[1].observe(phi, r, next).unwrap();
        });
        let [of_target, of_behaviour] = contexts.map(|context| {
            let value = model.value_function(&context).unwrap();
            mdp.error(|phi| value.at(phi))
        });
        weighted.push(of_target);
        unweighted.push(of_behaviour);
    }
    let mean = |errors: &[f64]| errors.iter().sum::<f64>() / 12.0;
    assert!(weighted.iter().all(|error| *error <= 0.007), "{weighted:.4?}");
    assert!(mean(&weighted) < 0.002 && mean(&unweighted) > 1.9, "{weighted:.4?} {unweighted:.4?}");
}

/// phi, r, phi' and rho.
type Step = ([f64; 3], f64, [f64; 3], f64);

/// Returns the sums of off-policy LSTD(lambda) by its definition: A and b over episodes.
fn lstd(
    episodes: &[Vec<Step>],
    decay: f64,
    retention: f64,
) -> (SMatrix<f64, 3, 3>, SVector<f64, 3>) {
    let (mut a, mut b) = (SMatrix::zeros(), SVector::zeros());
    for episode in episodes {
        let mut e = SVector::<f64, 3>::zeros();
        for (phi, r, next, rho) in episode {
            let (phi, next) = (SVector::from(*phi), SVector::from(*next));
            e = (e * decay + phi) * *rho;
            a = a * retention + e * (phi - next * GAMMA).transpose();
            b = b * retention + e * *r;
        }
    }
    (a, b)
}

#[test]
fn sums_are_those_of_per_decision_importance_sampling() {
    let rng = &mut Rng::new(5);
    let mut draw = || [(); 3].map(|()| rng.uniform_in(-1.0, 1.0));
    let episodes = [(); 6].map(|()| {
        let step = |k| (draw(), draw()[0], draw(), if k == 4 { 0.0 } else { 1.0 + draw()[0] });
        (0..10).map(step).collect::<Vec<_>>()
    });
    fn observed<M: Mask<f64>, W: Memory<f64>>(
        mask: M,
        memory: W,
        episodes: &[Vec<Step>],
    ) -> Context<3, M, W, f64> {
        let mut context = Context::<3, M, W, f64>::with_memory(mask, memory);
        for episode in episodes {
            for (phi, r, next, rho) in episode {
                context.observe_weighted(phi, *r, next, *rho).unwrap();
            }
            context.end_episode();
        }
        context
    }
    let close = |found: &[f64], expected: &[f64]| {
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    };
    let model = UniversalModel::<f64>::new(GAMMA).unwrap();
    let decays = [0.0, UniversalModel::<f64>::LAMBDA * GAMMA, GAMMA];
    let growing = observed(*model.mask(), Growing, &episodes);
    let forgetting = observed(*model.mask(), Forgetting::new(0.95).unwrap(), &episodes);
    for (sums, retention) in
        [(model.sums(&growing, model.gvf(0)), 1.0), (model.sums(&forgetting, model.gvf(0)), 0.95)]
    {
        for (system, decay) in sums.unwrap().systems.iter().zip(decays) {
            let (a, b) = lstd(&episodes, decay, retention);
            close(system.a.as_flattened(), a.as_slice());
            close(&system.b, b.as_slice());
        }
    }
    let context = observed(TdLambda::new(0.6).unwrap(), Growing, &episodes);
    let g = context.statistic::<7>(GAMMA, 0).unwrap().g;
    let (a, b) = lstd(&episodes, 0.6, 1.0);
    // The columns of G are those of e: phi e^T and r e^T.
    close(
        (g.fixed_view::<3, 3>(0, 0) - g.fixed_view::<3, 3>(3, 0)).transpose().as_slice(),
        a.as_slice(),
    );
    close(g.fixed_view::<1, 3>(6, 0).transpose().as_slice(), b.as_slice());
}

#[test]
fn weights_of_1_change_no_bit_and_refused_ones_leave_no_trace() {
    let model = UniversalModel::<f32>::new(0.9).unwrap();
    let mut contexts = [model.context::<2>(), model.context::<2>()];
    let mut rng = Rng::new(1);
    for _ in 0..600 {
        let [phi, next] = [(); 2].map(|()| [(); 2].map(|()| rng.uniform_in(-1.0_f32, 1.0)));
        contexts[0].observe(&phi, phi[0], &next).unwrap();
        contexts[1].observe_weighted(&phi, phi[0], &next, 1.0).unwrap();
    }
    assert_eq!(contexts[0], contexts[1]);
    let refused = |rho| contexts[1].clone().observe_weighted(&[1.0, 0.0], 1.0, &[0.0; 2], rho);
    let negative = Error::OutOfRange { parameter: "rho", expected: "at least 0" };
    assert_eq!(refused(-0.5), Err(negative));
    assert_eq!(refused(f32::NAN), Err(Error::NonFinite { parameter: "rho" }));
    assert_eq!(refused(f32::INFINITY), Err(Error::NonFinite { parameter: "rho" }));
    assert!(refused(f32::MAX).is_err() && refused(0.0).is_ok());
    let limited =
        &mut Context::<2, _, _>::with_memory(*model.mask(), Growing).with_limit(2.0).unwrap();
    for (phi, reward, next, name) in
        [(2.1, 0.0, 0.0, "phi"), (0.0, -2.1, 0.0, "reward"), (0.0, 0.0, 65_535.0, "phi_next")]
    {
        let (before, phi, next) = (*limited, [phi, 0.0], [0.0, next]);
        let refused = limited.observe_weighted(&phi, reward, &next, 0.01);
        assert!(matches!(refused, Err(Error::OutOfRange { parameter, .. }) if parameter == name));
        assert_eq!(*limited, before);
    }
    limited.observe_weighted(&[2.0, -2.0], -2.0, &[0.0; 2], 9.0).unwrap();
    // The limit and the largest reward are those of what was observed, whatever it weighs.
    assert_eq!((limited.len(), limited.max_abs_reward(0)), (1, 2.0));
}
