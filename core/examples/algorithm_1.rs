//! Algorithm 1, multi-task TD, in one file: the paper's equations as they are written, without the fast path's tricks.
//!
//! A transformer of L linear attention layers with one pair (P, Q) reads a context of n transitions of a Markov reward
//! process and predicts the value of a query state. It is trained by TD on one random process after the other, and P and Q
//! take the form with which each layer is a step of TD(0) (Theorem 1).
//!
//! | symbol | meaning | shape |
//! |---|---|---|
//! | d, n, L | features, context length, layers | 4, 30, 3 |
//! | K = 2 d + 1 | size of a token | 9 |
//! | Z_l | tokens z_j = (phi_{j-1}; gamma phi_j; R_j) and the query (phi; 0; 0) after l layers, as columns | (K, n + 1) |
//! | P, Q | the parameters theta | (K, K) |
//! | M | the mask diag(1, ..., 1, 0): no token attends to the query | (n + 1, n + 1) |
//! | v | the value -Z_L[K, n + 1] of the query | |
//! | X-bar | the derivative of v with respect to X | as X |
//!
//! It computes in f64 with the random numbers of `ictd_core::training`; a test compares the parameters that both learn.
//!
//! ```sh
//! cargo run --release -p ictd-core --features research --example algorithm_1        # 300 tasks; or a number
//! ```

use ictd_core::nalgebra::{SMatrix, SVector};
use ictd_core::rng::{Rng, RngStream};

const D: usize = 4;
const K: usize = 2 * D + 1;
const N: usize = 30;
const COLUMNS: usize = N + 1;
const LAYERS: usize = 3;
const STATES: usize = 10;
const GAMMA: f64 = 0.9;
/// TD errors in a batch, and batches per task, each from a fresh trajectory.
const WINDOWS: usize = 64;
const BATCHES: usize = 5;

type Matrix = SMatrix<f64, K, K>;
type Prompt = SMatrix<f64, K, COLUMNS>;
type Scores = SMatrix<f64, COLUMNS, COLUMNS>;

/// The parameters, or anything of their shape: a gradient, a moment of Adam.
#[derive(Clone, Copy)]
pub(crate) struct Theta {
    pub(crate) p: Matrix,
    pub(crate) q: Matrix,
}

impl Theta {
    fn zero() -> Self {
        Theta { p: Matrix::zeros(), q: Matrix::zeros() }
    }

    /// Draws Xavier normal entries with gain 0.1, N(0, (0.1 sqrt(2 / 2K))^2): P, then Q, column by column.
    fn initial(rng: &mut Rng) -> Self {
        let deviation = 0.1 * (1.0 / K as f64).sqrt();
        let mut draw =
            || Matrix::from_iterator((0..K * K).map(|_| deviation * rng.normal::<f64>()));
        Theta { p: draw(), q: draw() }
    }
}

/// Returns M X: X with zeros in the query's row.
fn masked(mut x: Scores) -> Scores {
    x.row_mut(N).fill(0.0);
    x
}

/// The prompt at each layer: what the backward pass needs of the forward pass.
struct Tape([Prompt; LAYERS]);

/// Returns v = -Z_L[K, n + 1] with Z_{l+1} = Z_l + (1/n) P Z_l M Z_l^T Q Z_l (eq. "Z_l update").
fn forward(theta: &Theta, z_0: &Prompt) -> (f64, Tape) {
    let (mut z, mut tape) = (*z_0, Tape([*z_0; LAYERS]));
    for l in 0..LAYERS {
        tape.0[l] = z;
        z += theta.p * (z * masked(z.transpose() * (theta.q * z))) / N as f64;
    }
    (-z[(K - 1, N)], tape)
}

/// Adds v-bar grad v to the gradient, layer by layer from the last. With A = Z^T Q Z, S = M A and H = Z S a layer is
/// Z' = Z + (1/n) P H, so
///
/// ```text
/// P-bar += (1/n) Z'-bar H^T       H-bar = (1/n) P^T Z'-bar       A-bar = M Z^T H-bar       Q-bar += Z A-bar Z^T
/// Z-bar = Z'-bar + H-bar S^T + Q Z A-bar^T + Q^T Z A-bar
/// ```
fn backward(theta: &Theta, tape: &Tape, v_bar: f64, gradient: &mut Theta) {
    let mut z_bar = Prompt::zeros();
    z_bar[(K - 1, N)] = -v_bar;
    for z in tape.0.iter().rev() {
        let s = masked(z.transpose() * (theta.q * z));
        gradient.p += z_bar * (z * s).transpose() / N as f64;
        let h_bar = theta.p.transpose() * z_bar / N as f64;
        let a_bar = masked(z.transpose() * h_bar);
        gradient.q += z * (a_bar * z.transpose());
        z_bar += h_bar * s.transpose()
            + (theta.q * z) * a_bar.transpose()
            + (theta.q.transpose() * z) * a_bar;
    }
}

/// Boyan's chain with random transitions, rewards and features (Algorithm 2).
struct Chain {
    phi: [SVector<f64, D>; STATES],
    initial: [f64; STATES],
    reward: [f64; STATES],
    transition: [[f64; STATES]; STATES],
}

impl Chain {
    fn draw(rng: &mut Rng) -> Self {
        let phi = [(); STATES].map(|()| SVector::from_fn(|_, _| rng.uniform_in(-1.0, 1.0)));
        let initial = distribution(positive::<STATES>(rng));
        let reward = [(); STATES].map(|()| rng.uniform_in(-1.0, 1.0));
        let epsilon = positive::<{ STATES - 2 }>(rng);
        let mut transition = [[0.0; STATES]; STATES];
        for s in 0..STATES - 2 {
            transition[s][s + 1] = epsilon[s];
            transition[s][s + 2] = 1.0 - epsilon[s];
        }
        transition[STATES - 2][STATES - 1] = 1.0;
        transition[STATES - 1] = distribution(positive::<STATES>(rng));
        Chain { phi, initial, reward, transition }
    }

    /// Draws phi(S_0), R_1, phi(S_1), ..., R_{n+W+1}, phi(S_{n+W+1}).
    fn trajectory(&self, rng: &mut Rng) -> (Vec<SVector<f64, D>>, Vec<f64>) {
        let mut state = rng.categorical(self.initial);
        let (mut phi, mut rewards) = (vec![self.phi[state]], Vec::new());
        for _ in 0..N + WINDOWS + 1 {
            rewards.push(self.reward[state]);
            state = rng.categorical(self.transition[state]);
            phi.push(self.phi[state]);
        }
        (phi, rewards)
    }
}

/// Draws numbers uniform in the open interval (0, 1).
fn positive<const M: usize>(rng: &mut Rng) -> [f64; M] {
    [(); M].map(|()| {
        loop {
            let x = rng.uniform();
            if x > 0.0 {
                break x;
            }
        }
    })
}

fn distribution(weights: [f64; STATES]) -> [f64; STATES] {
    weights.map(|w| w / weights.iter().sum::<f64>())
}

/// Returns Z_0 of window t: the transitions t to t + n - 1 as tokens, and the state phi_{t+n+1} as the query.
fn prompt(phi: &[SVector<f64, D>], rewards: &[f64], t: usize) -> Prompt {
    let mut z = Prompt::zeros();
    for j in 0..N {
        z.fixed_view_mut::<D, 1>(0, j).copy_from(&phi[t + j]);
        z.fixed_view_mut::<D, 1>(D, j).copy_from(&(GAMMA * phi[t + j + 1]));
        z[(2 * D, j)] = rewards[t + j];
    }
    z.fixed_view_mut::<D, 1>(0, N).copy_from(&phi[t + N + 1]);
    z
}

/// Returns the semi-gradient of the mean squared TD error of a trajectory's windows: the target
/// R_{t+n+2} + gamma v_{t+1} is a constant, so that each window adds -(2/W) delta_t grad v_t.
fn semi_gradient(theta: &Theta, phi: &[SVector<f64, D>], rewards: &[f64]) -> Theta {
    let mut gradient = Theta::zero();
    let (mut v_next, _) = forward(theta, &prompt(phi, rewards, WINDOWS));
    for t in (0..WINDOWS).rev() {
        let (v, tape) = forward(theta, &prompt(phi, rewards, t));
        let delta = rewards[t + N + 1] + GAMMA * v_next - v;
        backward(theta, &tape, -2.0 / WINDOWS as f64 * delta, &mut gradient);
        v_next = v;
    }
    gradient
}

/// Adam with L2 weight decay, as torch.optim.Adam.
struct Adam {
    mean: Theta,
    square: Theta,
    /// beta_1 and beta_2 to the power of the number of steps.
    powers: [f64; 2],
}

impl Adam {
    fn step(&mut self, theta: &mut Theta, gradient: &Theta) {
        let [rate, beta_1, beta_2, epsilon, decay] = [1e-3, 0.9, 0.999, 1e-8, 1e-6];
        self.powers = [self.powers[0] * beta_1, self.powers[1] * beta_2];
        let [rest_1, rest_2] = self.powers.map(|power| 1.0 - power);
        let matrices = [
            (&mut theta.p, &gradient.p, &mut self.mean.p, &mut self.square.p),
            (&mut theta.q, &gradient.q, &mut self.mean.q, &mut self.square.q),
        ];
        for (theta, gradient, mean, square) in matrices {
            let g = gradient + *theta * decay;
            *mean += (g - *mean) * (1.0 - beta_1);
            *square = *square * beta_2 + g.component_mul(&g) * (1.0 - beta_2);
            let root = (*square / rest_2).map(|x| x.sqrt() + epsilon);
            *theta -= mean.component_div(&root) * (rate / rest_1);
        }
    }
}

/// Trains on `tasks` chains (Algorithm 1 as the authors' code runs it) and calls `log` after each.
pub(crate) fn train(seed: u64, tasks: usize, mut log: impl FnMut(usize, &Theta)) -> Theta {
    let mut theta = Theta::initial(&mut Rng::stream(seed, RngStream::Parameters));
    let mut adam = Adam { mean: Theta::zero(), square: Theta::zero(), powers: [1.0; 2] };
    let rng = &mut Rng::stream(seed, RngStream::Tasks);
    for task in 1..=tasks {
        let chain = Chain::draw(rng);
        for _ in 0..BATCHES {
            let (phi, rewards) = chain.trajectory(rng);
            let gradient = semi_gradient(&theta, &phi, &rewards);
            adam.step(&mut theta, &gradient);
        }
        log(task, &theta);
    }
    theta
}

/// Prints a matrix divided by its largest absolute entry.
fn print(name: &str, m: &Matrix) {
    println!("\n{name}, divided by its largest absolute entry");
    for row in m.row_iter() {
        let cells: Vec<_> = row.iter().map(|x| format!("{:6.2}", x / m.amax())).collect();
        println!("{}", cells.join(" "));
    }
}

#[allow(dead_code, reason = "the test that includes this file calls `train`")]
fn main() {
    let tasks: usize =
        std::env::args().nth(1).map_or(300, |n| n.parse().expect("a number of tasks"));
    println!("tasks   P[-1,-1]   tr Q[:d,:d]   tr Q[:d,d:2d]   (the sign of P and Q is free)");
    let every = tasks.div_ceil(10).max(1);
    let theta = train(0, tasks, |task, theta| {
        if task % every == 0 {
            let trace = |column| (0..D).map(|i| theta.q[(i, column + i)]).sum::<f64>();
            let (corner, left, right) = (theta.p[(K - 1, K - 1)], trace(0), trace(D));
            println!("{task:5}   {corner:8.3}   {left:11.3}   {right:13.3}");
        }
    });
    print("P", &theta.p);
    print("Q", &theta.q);
}
