//! The universal model has no special zero: it finds the level of rewards, and is judged on tasks that its learned numbers were not
//! found on.

use super::*;
use ictd_core::context::Rewards;
use ictd_core::mask::{Mask, Td0Trace, TdLambda};
use ictd_core::td::{Lstd, LstdSettings};

const GAMMA: f64 = 0.9;

/// A step from a state to the next one (`None`: terminal), its reward, and its importance ratio.
type Step = (usize, f64, Option<usize>, f64);

/// A task: its features, the distribution of the next state from each state, which may end the episode, the reward of a step,
/// and the values.
struct Family<const S: usize, const D: usize> {
    phi: [[f64; D]; S],
    steps: Vec<Step>,
    values: [f64; S],
}

/// Draws n steps under a policy b, and the values of another policy: rows of both give the probabilities of the next state,
/// and end the episode with what is left of 1.
fn family_of<const S: usize, const D: usize>(
    n: usize,
    target: [[f64; S]; S],
    b: [[f64; S]; S],
    (reward, noise): ([f64; S], f64),
    phi: [[f64; D]; S],
    rng: &mut Rng,
) -> Family<S, D> {
    let (mut steps, mut state) = (Vec::new(), 0);
    for _ in 0..n {
        let next =
            rng.categorical(b[state].into_iter().chain([1.0 - b[state].iter().sum::<f64>()]));
        let end = |of: &[f64; S]| 1.0 - of.iter().sum::<f64>();
        let (pi, b) = match target[state].get(next) {
            Some(pi) => (*pi, b[state][next]),
            None => (end(&target[state]), end(&b[state])),
        };
        let reward = reward[state] + noise * rng.normal::<f64>();
        steps.push((state, reward, Some(next).filter(|next| *next < S), pi / b));
        state = if next < S { next } else { 0 };
    }
    let mut values = [0.0; S];
    for _ in 0..1000 {
        values = core::array::from_fn(|s| {
            let next: f64 = target[s].iter().zip(&values).map(|(p, v)| p * v).sum();
            reward[s] + GAMMA * next
        });
    }
    Family { phi, steps, values }
}

/// Observes steps, each reward mapped by `f` (of the reward and of what a constant value of 1 explains of it).
fn observe<M: Mask<f64>, W: Memory<f64>, const S: usize, const D: usize, const C: usize>(
    context: &mut Context<D, M, W, f64, C>,
    of: &Family<S, D>,
    f: impl Fn(f64, f64) -> [f64; C],
) where
    [f64; C]: Rewards<f64, C>,
{
    for (state, reward, next, rho) in &of.steps {
        let phi = &of.phi[*state];
        match next {
            Some(next) => {
                context.observe_weighted(phi, f(*reward, 1.0 - GAMMA), &of.phi[*next], *rho)
            }
            None => context.observe_weighted_terminal(phi, f(*reward, 1.0), *rho),
        }
        .unwrap();
    }
}

/// Draws the rows of a random chain with three next states each; a state ends the episode with this probability.
fn chain<const S: usize>(end: f64, rng: &mut Rng) -> [[f64; S]; S] {
    core::array::from_fn(|_| {
        let mut row = [0.0; S];
        (0..3).for_each(|_| row[rng.below(S as u32) as usize] += rng.uniform_in(0.1, 1.0));
        let sum: f64 = row.iter().sum();
        row.map(|p| p / sum * (1.0 - end))
    })
}

fn random<const N: usize>(rng: &mut Rng) -> [f64; N] {
    core::array::from_fn(|_| rng.uniform_in(-1.0, 1.0))
}

/// Returns the values of all states with rewards whose level is evident, that of a value of 20 in every state, and with c added
/// to this value.
fn shifted<W: Memory<f64>, const S: usize, const D: usize>(
    memory: W,
    of: &Family<S, D>,
    c: f64,
) -> [[f64; S]; 2] {
    let model = UniversalModel::<f64>::new(GAMMA).unwrap();
    let mut context = Context::<D, Td0Trace<f64>, W, f64, 2>::with_memory(*model.mask(), memory);
    observe(&mut context, of, |reward, explained| {
        [0.0, c].map(|more| reward + (20.0 + more) * explained)
    });
    [0, 1].map(|cumulant| {
        let value = model.estimate(&context, model.gvf(cumulant)).unwrap().value_function;
        of.phi.map(|phi| value.at(&phi))
    })
}

#[test]
fn a_constant_in_the_rewards_is_one_in_the_values() {
    let mut rng = Rng::new(11);
    for n in [100, 20_000] {
        for (ends, ratios) in [(0.0, false), (0.1, false), (0.0, true), (0.05, true)] {
            let target = chain::<8>(ends, &mut rng);
            let mix = chain::<8>(ends, &mut rng);
            let b: [[f64; 8]; 8] = core::array::from_fn(|s| {
                core::array::from_fn(|t| match ratios {
                    true => 0.5 * (target[s][t] + mix[s][t]),
                    false => target[s][t],
                })
            });
            let reward = random::<8>(&mut rng);
            let phi = core::array::from_fn(|_| random::<3>(&mut rng));
            let of = family_of(n, target, b, (reward, 0.0), phi, &mut rng);
            let worst = |[v, more]: [[f64; 8]; 2], c: f64| {
                let mean = v.iter().sum::<f64>() / 8.0;
                let spread = (v.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / 8.0).sqrt();
                let off = v.iter().zip(&more).map(|(v, more)| (more - v - c).abs());
                off.fold(0.0, f64::max) / spread
            };
            let most = if n == 100 { 0.05 } else { 2e-3 };
            for c in [20.0, 1000.0, -100.0] {
                let growing = worst(shifted(Growing, &of, c), c);
                let forgetting = Forgetting::new(1.0 - 1.0 / n as f64).unwrap();
                let forgetting = worst(shifted(forgetting, &of, c), c);
                assert!(
                    growing.max(forgetting) < most,
                    "{n} {ends} {ratios} {c}: {growing} {forgetting}"
                );
            }
        }
    }
}

/// Returns the mean squared errors over states, relative to predicting 0, of the universal model and of LSTD with lambda 0 and
/// 0.5, each with a ridge of 0.3 transitions.
fn errors<const S: usize, const D: usize>(of: &Family<S, D>) -> [f64; 3] {
    let error = |at: &dyn Fn(&[f64; D]) -> f64| {
        let off = of.phi.iter().zip(&of.values).map(|(phi, v)| (at(phi) - v) * (at(phi) - v));
        off.sum::<f64>() / of.values.iter().map(|v| v * v).sum::<f64>()
    };
    let model = UniversalModel::<f64>::new(GAMMA).unwrap();
    let mut context = model.context::<D>();
    observe(&mut context, of, |reward, _| [reward]);
    let value = model.value_function(&context).unwrap();
    let lstd = |lambda| {
        let lstd = Lstd::new(LstdSettings::new(GAMMA).lambda(lambda).ridge(0.3)).unwrap();
        let mut context = Context::<D, TdLambda<f64>, _, f64>::with_memory(*lstd.mask(), Growing);
        observe(&mut context, of, |reward, _| [reward]);
        let value = lstd.value_function(&context).unwrap();
        error(&|phi| value.at(phi))
    };
    [error(&|phi| value.at(phi)), lstd(0.0), lstd(0.5)]
}

/// Tasks of the field with which no number of the model was found, at 100 and 1,000 transitions.
#[test]
fn tasks_that_no_number_was_found_on() {
    let draw = |family: &str, n: usize, rng: &mut Rng| -> [f64; 3] {
        let (p, rewards) = (chain::<12>(0.0, rng), random::<12>(rng));
        let phi: [[f64; 4]; 12] = core::array::from_fn(|_| random(rng));
        let with_constant: [[f64; 4]; 12] = phi.map(|[_, x, y, z]| [1.0, x, y, z]);
        match family {
            "random rewards" => errors(&family_of(n, p, p, (rewards, 0.0), phi, rng)),
            "noise of 3 deviations" => errors(&family_of(n, p, p, (rewards, 1.7), phi, rng)),
            "a cost for each step" => {
                let p = chain::<12>(0.05, rng);
                errors(&family_of(n, p, p, ([-1.0; 12], 0.0), with_constant, rng))
            }
            "rewards with a mean" => {
                errors(&family_of(n, p, p, (rewards.map(|r| 5.0 + r), 0.0), with_constant, rng))
            }
            "another policy" => {
                let other = chain::<12>(0.0, rng);
                let mixed = core::array::from_fn(|s| {
                    core::array::from_fn(|t| 0.5 * (p[s][t] + other[s][t]))
                });
                errors(&family_of(n, p, mixed, (rewards, 0.0), phi, rng))
            }
            _ => {
                // Baird's: each state leads to any of the seven, or by the other policy to the last one, so that the ratios
                // are 7 and 0.
                let target = [[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]; 7];
                let phi = core::array::from_fn(|s| {
                    let mut phi = [0.0; 8];
                    (phi[s], phi[7]) = if s < 6 { (2.0, 1.0) } else { (1.0, 2.0) };
                    phi
                });
                errors(&family_of(n, target, [[1.0 / 7.0; 7]; 7], (random(rng), 0.0), phi, rng))
            }
        }
    };
    let families = [
        "random rewards",
        "noise of 3 deviations",
        "a cost for each step",
        "rewards with a mean",
        "another policy",
        "Baird's features",
    ];
    let mut logarithms = Vec::new();
    for family in families {
        for n in [100, 1000] {
            let mut sum = [0.0; 3];
            for seed in 0..20 {
                let errors = draw(family, n, &mut Rng::new(1000 + seed));
                sum.iter_mut().zip(errors).for_each(|(sum, error)| *sum += error / 20.0);
            }
            logarithms.push(libm::log(sum[0] / sum[2]));
        }
    }
    let mean = libm::exp(logarithms.iter().sum::<f64>() / logarithms.len() as f64);
    assert!(mean < 0.75, "{mean}");
}
