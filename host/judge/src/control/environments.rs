//! Control tasks: random MDPs, and two classic tasks with Fourier features.

use super::greedy;
use ictd_core::Error;
use ictd_core::linalg::linear_system;
use ictd_core::rng::Rng;
use ictd_core::scalar::Real;
use ictd_core::tasks::cart_pole::{CartPolePhysics, CartPoleState};
use nalgebra::{SMatrix, SVector};

/// A Markov decision process whose agent sees features of its states.
pub trait Environment: Clone + Default {
    const NAME: &'static str;
    const ACTIONS: usize;
    const FEATURES: usize;
    /// The mean of |x|^2 over states: 1 for the constant Fourier feature and 1/2 for each other one.
    const SQUARE: f64 = (Self::FEATURES + 1) as f64 / 2.0;
    const GAMMA: f64 = 0.99;
    /// The number of steps after which an episode is truncated.
    const LONGEST: usize;
    /// The numbers of steps after which a policy is evaluated.
    const CHECKPOINTS: &'static [usize] = &[500, 1000, 2000, 5000];

    /// Draws an environment.
    /// Returns the core's error if the Bellman equation has no solution.
    fn draw(_: &mut Rng) -> Result<Self, Error> {
        Ok(Self::default())
    }

    fn reset(&mut self, rng: &mut Rng);

    /// Takes an action, and returns the reward and true if the episode has terminated.
    fn step(&mut self, action: usize, rng: &mut Rng) -> (f64, bool);

    fn observe(&self, x: &mut [f64]);

    /// Returns the mean returns of the random and of the best policy.
    fn bounds(&self) -> [f64; 2];

    /// Returns the mean return of the greedy policy of weights w over 20 fresh episodes, the same for every policy.
    fn mean_return(&self, w: &[f64]) -> f64 {
        let (mut x, mut sum) = (vec![0.0; Self::FEATURES], 0.0);
        for episode in 0..20 {
            let (mut environment, mut rng) = (self.clone(), Rng::new(episode));
            environment.reset(&mut rng);
            for _ in 0..Self::LONGEST {
                environment.observe(&mut x);
                let (reward, is_terminal) = environment.step(greedy(w, &x, &mut rng), &mut rng);
                sum += reward;
                if is_terminal {
                    break;
                }
            }
        }
        sum / 20.0
    }

    /// Returns the score of the greedy policy of weights w: 0 for the random policy, 1 for the best.
    fn share(&self, w: &[f64]) -> f64 {
        let [random, best] = self.bounds();
        (self.mean_return(w) - random) / (best - random)
    }
}

const STATES: usize = 8;
const ACTIONS: usize = 4;

/// A random MDP with one feature per state.
#[derive(Clone, Debug, Default)]
pub struct RandomMdp {
    next: [[SVector<f64, STATES>; ACTIONS]; STATES],
    reward: [[f64; ACTIONS]; STATES],
    state: usize,
    bounds: [f64; 2],
}

impl RandomMdp {
    /// Returns the values of a policy pi(s, a): (I - gamma P) v = r.
    fn values(&self, pi: impl Fn(usize, usize) -> f64) -> Result<SVector<f64, STATES>, Error> {
        let (mut a, mut b) = (SMatrix::<f64, STATES, STATES>::identity(), SVector::zeros());
        for s in 0..STATES {
            for action in 0..ACTIONS {
                let probability = pi(s, action);
                b[s] += probability * self.reward[s][action];
                for (next, p) in self.next[s][action].iter().enumerate() {
                    a[(s, next)] -= Self::GAMMA * probability * p;
                }
            }
        }
        linear_system::solve(a, b, STATES, "the Bellman equation")
    }

    /// Returns the values of the policy that is greedy with respect to these values.
    fn improved(&self, value: &SVector<f64, STATES>) -> Result<SVector<f64, STATES>, Error> {
        let q = |s: usize, a: usize| self.reward[s][a] + Self::GAMMA * self.next[s][a].dot(value);
        let best = |s| (1..ACTIONS).fold(0, |best, a| if q(s, a) > q(s, best) { a } else { best });
        self.values(|s, a| f64::from(a == best(s)))
    }
}

impl Environment for RandomMdp {
    const NAME: &'static str = "random MDPs";
    const ACTIONS: usize = ACTIONS;
    const FEATURES: usize = STATES;
    const SQUARE: f64 = 1.0;
    const GAMMA: f64 = 0.9;
    const LONGEST: usize = usize::MAX;
    const CHECKPOINTS: &'static [usize] = &[50, 100, 200, 500, 1000, 2000];

    /// Draws rewards ~ U(-1, 1), and three next states with probabilities ~ U(0, 1), normalised.
    fn draw(rng: &mut Rng) -> Result<Self, Error> {
        let mut distribution = || {
            let mut weights = SVector::<f64, STATES>::zeros();
            for _ in 0..3 {
                weights[rng.below(STATES as u32) as usize] += rng.uniform::<f64>() + 1e-9;
            }
            weights / weights.sum()
        };
        let next = [(); STATES].map(|()| [(); ACTIONS].map(|()| distribution()));
        let reward = [(); STATES].map(|()| [(); ACTIONS].map(|()| rng.uniform_in(-1.0, 1.0)));
        let mut mdp = RandomMdp { next, reward, state: 0, bounds: [0.0; 2] };
        let random = mdp.values(|_, _| 1.0 / ACTIONS as f64)?;
        let (mut value, mut better) = (random, mdp.improved(&random)?);
        // Policy iteration ends when no action improves the values.
        while better.sum() > value.sum() + 1e-9 {
            (value, better) = (better, mdp.improved(&better)?);
        }
        mdp.bounds = [random.mean(), value.mean()];
        Ok(mdp)
    }

    fn reset(&mut self, rng: &mut Rng) {
        self.state = rng.below(STATES as u32) as usize;
    }

    fn step(&mut self, action: usize, rng: &mut Rng) -> (f64, bool) {
        let reward = self.reward[self.state][action];
        self.state = rng.categorical(self.next[self.state][action].iter().copied());
        (reward, false)
    }

    fn observe(&self, x: &mut [f64]) {
        x.fill(0.0);
        x[self.state] = 1.0;
    }

    fn bounds(&self) -> [f64; 2] {
        self.bounds
    }

    /// Returns the exact mean of the policy's values.
    fn mean_return(&self, w: &[f64]) -> f64 {
        let mut rng = Rng::new(0);
        let one_hot = |s| std::array::from_fn::<_, STATES, _>(|i| f64::from(i == s));
        let best: [usize; STATES] = std::array::from_fn(|s| greedy(w, &one_hot(s), &mut rng));
        self.values(|s, a| f64::from(a == best[s])).map_or(f64::NAN, |value| value.mean())
    }
}

/// Writes cos(pi/2 c (u + 1)) for frequencies c and coordinates u in [-1, 1] (Konidaris, Osentoski and Thomas, 2011).
fn fourier<const K: usize>(
    frequencies: impl IntoIterator<Item = [usize; K]>,
    u: [f64; K],
    x: &mut [f64],
) {
    for (x, c) in x.iter_mut().zip(frequencies) {
        let sum: f64 =
            c.into_iter().zip(u).map(|(c, u)| c as f64 * (u.clamp(-1.0, 1.0) + 1.0)).sum();
        *x = Real::cos(std::f64::consts::FRAC_PI_2 * sum);
    }
}

/// CartPole-v1 of Gymnasium: a reward of 1 for each step, at most 500, until the pole falls.
#[derive(Clone, Debug, Default)]
pub struct CartPole(CartPoleState<f64>);

const CART_POLE: CartPolePhysics<f64> = CartPolePhysics {
    cart_mass: 1.0,
    pole_mass: 0.1,
    half_length: 0.5,
    gravity: 9.8,
    time_step: 0.02,
    force: 10.0,
};

impl Environment for CartPole {
    const NAME: &'static str = "CartPole";
    const ACTIONS: usize = 2;
    const FEATURES: usize = 16;
    const LONGEST: usize = 500;

    fn reset(&mut self, rng: &mut Rng) {
        self.0 = CartPoleState::sample(rng);
    }

    fn step(&mut self, action: usize, _: &mut Rng) -> (f64, bool) {
        self.0 = CART_POLE.step(&self.0, action == 1);
        (1.0, self.0.has_failed())
    }

    /// Writes features of all frequencies 0 and 1 of position, velocity, angle and angular velocity.
    fn observe(&self, x: &mut [f64]) {
        let CartPoleState { position, velocity, angle, angular_velocity } = self.0;
        let u = [position / 2.4, velocity / 3.0, angle / 0.21, angular_velocity / 3.5];
        fourier((0..16).map(|i| [i & 1, i >> 1 & 1, i >> 2 & 1, i >> 3]), u, x);
    }

    /// The random policy's 22 steps, and 500.
    fn bounds(&self) -> [f64; 2] {
        [22.0, 500.0]
    }
}

/// MountainCar-v0 of Gymnasium: a reward of -1 for each step until the car is on the right hill; truncated after 1000.
#[derive(Clone, Debug, Default)]
pub struct MountainCar {
    position: f64,
    velocity: f64,
}

impl Environment for MountainCar {
    const NAME: &'static str = "MountainCar";
    const ACTIONS: usize = 3;
    const FEATURES: usize = 10;
    const LONGEST: usize = 1000;

    fn reset(&mut self, rng: &mut Rng) {
        *self = MountainCar { position: rng.uniform_in(-0.6, -0.4), velocity: 0.0 };
    }

    fn step(&mut self, action: usize, _: &mut Rng) -> (f64, bool) {
        let push = (action as f64 - 1.0) * 0.001 - 0.0025 * Real::cos(3.0 * self.position);
        self.velocity = (self.velocity + push).clamp(-0.07, 0.07);
        self.position = (self.position + self.velocity).clamp(-1.2, 0.6);
        if self.position == -1.2 && self.velocity < 0.0 {
            self.velocity = 0.0;
        }
        (-1.0, self.position >= 0.5)
    }

    /// Writes features of the frequencies whose sum is at most 3.
    fn observe(&self, x: &mut [f64]) {
        let u = [(self.position + 0.3) / 0.9, self.velocity / 0.07];
        fourier((0..4).flat_map(|sum| (0..=sum).map(move |i| [i, sum - i])), u, x);
    }

    /// The random policy's 1000 steps, and the 119 of pushing in the direction of motion.
    fn bounds(&self) -> [f64; 2] {
        [-1000.0, -119.0]
    }
}
