//! Control tasks: random MDPs, and two classic tasks with Fourier features.

use super::ActionValues;
use ictd_core::Error;
use ictd_core::linalg::linear_system;
use ictd_core::rng::Rng;
use ictd_core::scalar::Real;
use ictd_core::tasks::cart_pole::{CartPolePhysics, CartPoleState};
use nalgebra::{SMatrix, SVector};

/// A Markov decision process whose agent sees features of its states.
pub trait Environment {
    /// Returns the number of actions.
    fn actions(&self) -> usize;

    /// Returns the number of features of a state.
    fn features(&self) -> usize;

    /// Returns the mean of |x|^2 over states: 1 for the constant Fourier feature and 1/2 for each other one.
    fn square(&self) -> f64 {
        (self.features() + 1) as f64 / 2.0
    }

    /// Returns the number of steps after which an episode is truncated.
    fn longest(&self) -> usize {
        usize::MAX
    }

    /// Begins an episode.
    fn reset(&mut self, rng: &mut Rng);

    /// Takes an action, and returns the reward and true if the episode has terminated.
    fn step(&mut self, action: usize, rng: &mut Rng) -> (f64, bool);

    /// Writes the features of the state.
    fn observe(&self, x: &mut [f64]);

    /// Returns the score of the greedy policy of these values: 0 for the random policy, 1 for the best.
    fn share(&self, values: &ActionValues) -> f64;
}

/// The numbers of states and actions of random MDPs.
const STATES: usize = 8;
const ACTIONS: usize = 4;

/// A random MDP with one feature per state.
#[derive(Clone, Debug)]
pub struct RandomMdp {
    next: [[SVector<f64, STATES>; ACTIONS]; STATES],
    reward: [[f64; ACTIONS]; STATES],
    gamma: f64,
    state: usize,
    /// The mean values of the random and the best policy.
    bounds: [f64; 2],
}

impl RandomMdp {
    /// Draws rewards ~ U(-1, 1), and three next states with probabilities ~ U(0, 1), normalised.
    ///
    /// # Errors
    /// Returns the core's error if the Bellman equation has no solution.
    pub fn draw(gamma: f64, rng: &mut Rng) -> Result<Self, Error> {
        let mut distribution = || {
            let mut weights = SVector::<f64, STATES>::zeros();
            for _ in 0..3 {
                weights[rng.below(STATES as u32) as usize] += rng.uniform::<f64>() + 1e-9;
            }
            weights / weights.sum()
        };
        let next = [(); STATES].map(|()| [(); ACTIONS].map(|()| distribution()));
        let reward = [(); STATES].map(|()| [(); ACTIONS].map(|()| rng.uniform_in(-1.0, 1.0)));
        let mut mdp = RandomMdp { next, reward, gamma, state: 0, bounds: [0.0; 2] };
        let random = mdp.values(&[[1.0 / ACTIONS as f64; ACTIONS]; STATES])?;
        let mut value = random;
        // Policy iteration ends when no action improves the values.
        loop {
            let better = mdp.values(&mdp.greedy(&value))?;
            if better.sum() <= value.sum() + 1e-9 {
                break;
            }
            value = better;
        }
        mdp.bounds = [random.mean(), value.mean()];
        Ok(mdp)
    }

    /// Returns the values of a policy: (I - gamma P) v = r.
    fn values(&self, policy: &[[f64; ACTIONS]; STATES]) -> Result<SVector<f64, STATES>, Error> {
        let (mut a, mut b) = (SMatrix::<f64, STATES, STATES>::identity(), SVector::zeros());
        for s in 0..STATES {
            for (action, probability) in policy[s].iter().enumerate() {
                b[s] += probability * self.reward[s][action];
                for (next, p) in self.next[s][action].iter().enumerate() {
                    a[(s, next)] -= self.gamma * probability * p;
                }
            }
        }
        linear_system::solve(a, b, STATES, "the Bellman equation")
    }

    fn greedy(&self, value: &SVector<f64, STATES>) -> [[f64; ACTIONS]; STATES] {
        std::array::from_fn(|s| {
            let q = |a: usize| self.reward[s][a] + self.gamma * self.next[s][a].dot(value);
            let best = (0..ACTIONS).fold(0, |best, a| if q(a) > q(best) { a } else { best });
            std::array::from_fn(|a| f64::from(a == best))
        })
    }
}

impl Environment for RandomMdp {
    fn actions(&self) -> usize {
        ACTIONS
    }

    fn features(&self) -> usize {
        STATES
    }

    fn square(&self) -> f64 {
        1.0
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

    fn share(&self, values: &ActionValues) -> f64 {
        let mut rng = Rng::new(0);
        let policy = std::array::from_fn(|s| {
            let x: [f64; STATES] = std::array::from_fn(|i| f64::from(i == s));
            let best = values.greedy(&x, &mut rng);
            std::array::from_fn(|a| f64::from(a == best))
        });
        let [random, best] = self.bounds;
        self.values(&policy).map_or(f64::NAN, |value| (value.mean() - random) / (best - random))
    }
}

/// Writes cos(pi/2 c (u + 1)) for frequencies c and coordinates u in [-1, 1] (Konidaris, Osentoski and Thomas, 2011).
fn fourier<const K: usize>(frequencies: &[[u8; K]], u: [f64; K], x: &mut [f64]) {
    for (x, c) in x.iter_mut().zip(frequencies) {
        let sum: f64 =
            c.iter().zip(u).map(|(c, u)| f64::from(*c) * (u.clamp(-1.0, 1.0) + 1.0)).sum();
        *x = Real::cos(std::f64::consts::FRAC_PI_2 * sum);
    }
}

/// The number of episodes that evaluate the greedy policy of a classic task.
const JUDGED: u64 = 20;

/// Returns the mean return of a greedy policy over fresh episodes, which are the same for every policy.
fn mean_return(environment: &(impl Environment + Clone), values: &ActionValues) -> f64 {
    let mut x = vec![0.0; environment.features()];
    let mut sum = 0.0;
    for episode in 0..JUDGED {
        let (mut environment, mut rng) = (environment.clone(), Rng::new(episode));
        environment.reset(&mut rng);
        for _ in 0..environment.longest() {
            environment.observe(&mut x);
            let (reward, is_terminal) = environment.step(values.greedy(&x, &mut rng), &mut rng);
            sum += reward;
            if is_terminal {
                break;
            }
        }
    }
    sum / JUDGED as f64
}

/// CartPole-v1 of Gymnasium: a reward of 1 for each step, at most 500, until the pole falls.
#[derive(Clone, Debug, Default)]
pub struct CartPole(Option<CartPoleState<f64>>);

/// Gymnasium's cart and pole.
const CART_POLE: CartPolePhysics<f64> = CartPolePhysics {
    cart_mass: 1.0,
    pole_mass: 0.1,
    half_length: 0.5,
    gravity: 9.8,
    time_step: 0.02,
    force: 10.0,
};

impl CartPole {
    /// All frequencies 0 and 1 of position, velocity, angle and angular velocity.
    const FREQUENCIES: [[u8; 4]; 16] = {
        let (mut all, mut i) = ([[0; 4]; 16], 0);
        while i < 16 {
            all[i] = [i as u8 & 1, i as u8 >> 1 & 1, i as u8 >> 2 & 1, i as u8 >> 3];
            i += 1;
        }
        all
    };
}

impl Environment for CartPole {
    fn actions(&self) -> usize {
        2
    }

    fn features(&self) -> usize {
        Self::FREQUENCIES.len()
    }

    fn longest(&self) -> usize {
        500
    }

    fn reset(&mut self, rng: &mut Rng) {
        self.0 = Some(CartPoleState::sample(rng));
    }

    fn step(&mut self, action: usize, _: &mut Rng) -> (f64, bool) {
        self.0 = self.0.map(|state| CART_POLE.step(&state, action == 1));
        (1.0, self.0.is_none_or(|state| state.has_failed()))
    }

    fn observe(&self, x: &mut [f64]) {
        if let Some(CartPoleState { position, velocity, angle, angular_velocity }) = self.0 {
            let u = [position / 2.4, velocity / 3.0, angle / 0.21, angular_velocity / 3.5];
            fourier(&Self::FREQUENCIES, u, x);
        }
    }

    /// Scales the mean return from the random policy's 22 steps (0) to 500 (1).
    fn share(&self, values: &ActionValues) -> f64 {
        (mean_return(self, values) - 22.0) / (500.0 - 22.0)
    }
}

/// MountainCar-v0 of Gymnasium: a reward of -1 for each step until the car is on the right hill; truncated after 1000.
#[derive(Clone, Debug, Default)]
pub struct MountainCar {
    position: f64,
    velocity: f64,
}

impl MountainCar {
    /// The frequencies whose sum is at most 3.
    const FREQUENCIES: [[u8; 2]; 10] =
        [[0, 0], [0, 1], [1, 0], [0, 2], [1, 1], [2, 0], [0, 3], [1, 2], [2, 1], [3, 0]];
}

impl Environment for MountainCar {
    fn actions(&self) -> usize {
        3
    }

    fn features(&self) -> usize {
        Self::FREQUENCIES.len()
    }

    fn longest(&self) -> usize {
        1000
    }

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

    fn observe(&self, x: &mut [f64]) {
        let u = [(self.position + 0.3) / 0.9, self.velocity / 0.07];
        fourier(&Self::FREQUENCIES, u, x);
    }

    /// Scales the mean return from the random policy's 1000 steps (0) to the 119 of pushing in the direction of motion (1).
    fn share(&self, values: &ActionValues) -> f64 {
        (mean_return(self, values) + 1000.0) / (1000.0 - 119.0)
    }
}
