//! Transformers that run temporal-difference learning in their forward pass, for any target.
//!
//! A transformer with fixed weights reads a trajectory and predicts the value of a state, because
//! its layers execute TD (*Transformers Can Learn Temporal Difference Methods for In-Context
//! Reinforcement Learning*, Wang, Blaser, Daneshmand, Zhang, ICLR 2025). This crate has that
//! transformer, the algorithms that it executes, and the tasks that it is trained and tested on:
//! without std, without allocation, without panics, and with the same bits on every platform.
//!
//! # On a device
//!
//! Link a stored model (its format: [`model`]), show it one transition after another, and ask for
//! the values of states. Memory and time per transition do not depend on how many there were.
//!
//! ```
//! use ictd_core::Model;
//!
//! let model = Model::<4>::from_bytes(include_bytes!("model/td0.ictd"))?;
//! let mut context = model.context(); // a Context<4>
//!
//! let (phi, reward, phi_next) = ([0.5, -0.25, 1.0, 0.0], 0.75, [1.0, 0.5, -0.5, 0.25]);
//! context.observe(&phi, reward, &phi_next)?; // once per transition
//!
//! let value = model.value_function(&context)?; // once per question about this context
//! assert!(value.at(&phi) > 0.0);
//! # Ok::<(), ictd_core::Error>(())
//! ```
//!
//! Without a model of one's own, [`UniversalModel::universal`] is one for every number of features, every length of
//! a context and every unit, from the first transition on.
//!
//! What that costs on a Cortex-M4F, in `f32` with a dense layer, as `embedded-demo/run.sh table` measures
//! it (rustc 1.95.0, opt-level 3; [`context`] has the bytes of the other windows):
//!
//! | d | `Context`: 16 (2 d + 1)^2 + 32 bytes | `Model`: 8 (2 d + 1)^2 + 20 bytes | observe: instructions | value function, L = 3: instructions | its stack: bytes |
//! |---|---|---|---|---|---|
//! | 4 | 1,328 | 668 | 248 | 7,945 | 1,712 |
//! | 6 | 2,736 | 1,372 | 522 | 20,564 | 2,512 |
//! | 8 | 4,656 | 2,332 | 1,079 | 40,714 | 4,232 |
//! | 16 | 17,456 | 8,732 | 3,732 | 246,650 | 16,228 |
//!
//! A query takes 14 instructions at d = 4. Built for size (`"s"`) loops over matrices are not
//! unrolled: observing takes up to two and a half times, a value function about six times as long.
//!
//! What a device needs stands in [`transition`], [`context`] (windows, episodes, several cumulants,
//! what it costs), [`model`] and [`value_function`]; the modules that train are research, and nothing
//! of these imports them.
//!
//! # How large a step, how large a feature
//!
//! TD moves by the step size times the features' square: features ten times larger need a step size a
//! hundred times smaller, else the layers diverge ([`Error::Diverges`]). Features of about 1 and a step
//! size of 0.2 are a start; [`Context::suggested_step_size`] is one for what was observed. A model that
//! was trained wants the scale of features and rewards that it was trained on.
//!
//! # Notation
//!
//! | symbol | code | meaning | shape |
//! |---|---|---|---|
//! | d | `D` | feature dimension | |
//! | K | `K` | token size: 2d + 1, or 2d + 2 in the average-reward setting | |
//! | n | `N` (capacity) | context length | |
//! | L | `C` (capacity for stored layers) | number of layers | |
//! | m | `M` (capacity) | number of states | |
//! | phi(s) | `phi` | features of a state | (d) |
//! | gamma | `gamma` | discount | |
//! | lambda | `lambda` | trace decay | |
//! | alpha | `alpha` | learning rate | |
//! | z_j | a token | (phi_{j-1}; gamma phi_j; R_j) | (K) |
//! | z_q | the query | (phi; 0; 0) | (K) |
//! | Z_l | [`Prompt`](prompt::Prompt) | the tokens and the query after l layers | (K, n + 1) |
//! | P_l, Q_l | [`Layer`](layer::Layer) | the parameters theta_l of a layer | (K, K) |
//! | M | [`Mask`](attention::Mask) | the attention mask | (n + 1, n + 1) |
//! | G_l | [`Statistic`](statistic::Statistic) | Z_l M Z_l^T, all that a linear transformer needs of Z_l | (K, K) |
//! | B_l | [`Layer::column_map`](layer::Layer::column_map) | I + (1/n) P_l G_l Q_l | (K, K) |
//! | C_l | `c` | preconditioner of TD's update, alpha I for plain TD | (d, d) |
//! | w | [`ValueFunction`] | weights of v(s) = <w, phi(s)> | (d) |
//! | p1 ... p5, q1 ... q5 | [`EquivariantLayer`](layer::EquivariantLayer) | a layer of ten numbers | |
//! | theta | [`Parameters`](training::Parameters) | everything that is trained | |
//! | (S_0, R_1, S_1, ...) | [`Trajectory`](training::Trajectory) | a trajectory, of which each window of n transitions is a context | |
//! | a^(l) | [`Rnn`](rnn::Rnn) | hidden state of a recurrent layer | (h) |
//! | eta, c, c' | [`theta_star`](invariant_set::theta_star) | coordinates of Theorem 2's invariant set | |
//! | d_p | [`Mrp::stationary_distribution`](tasks::Mrp::stationary_distribution) | stationary distribution | (m) |
//!
//! `S` is the scalar: `f32`, `f64`, or lanes of `f32` (see [`scalar`]); `R` one of the first two.
//!
//! # From the paper to the code
//!
//! | paper | code |
//! |---|---|
//! | eq. "linear attention", eq. "Z_l update" | [`attention::Attention`] of a [`mask`] |
//! | eq. "td0 mask", eq. "td lambda mask", eq. "two-head mask" | [`mask`] |
//! | eq. "tf output convention" | [`prompt::Prompt::output`] |
//! | Theorem 1, its prompt and parameters | [`prompt::Prompt::discounted`], [`constructions::td0()`] |
//! | eq. "TD(0) w_update" | [`td::td0::update`] |
//! | the corollary for one layer | [`constructions::one_layer`] |
//! | the corollary for the residual gradient, eq. "w_update RG" | [`constructions::residual_gradient()`], [`td::residual_gradient::update`] |
//! | the corollary for TD(lambda) | [`constructions::td_lambda()`], [`td::td_lambda::update`] |
//! | the average-reward theorem, eq. "Z two-head update" | [`constructions::average_reward()`], [`attention::AverageReward`], [`AverageRewardModel`], [`td::average_reward::update`] |
//! | App. "Nonlinear Attention" | [`attention::SoftmaxAttention`], its gradient by hand [`gradient::softmax`] |
//! | Algorithm 1 | [`training::MultiTaskTd`] with [`Optimizer::Td`](training::Optimizer::Td): an update per window |
//! | its mini-batch form (the authors' code) | the same with [`Optimizer::Adam`](training::Optimizer::Adam): a step per batch of windows; [`gradient::linear`] |
//! | Theorem 2, its invariant set and expected update | [`invariant_set::theta_star`], [`invariant_set::averaged_update`]; for any depth, mask and optimiser: [`invariant_set`] |
//! | App. "Element-wise Convergence Metrics" | [`metrics::Elements`] |
//! | VD, IWS, SS (App. "Trained Transformer and Batch TD Comparison Metrics") | [`metrics::Comparison`], [`metrics::EvaluationStates`] |
//! | MSVE, weighted by d_p | [`EvaluationStates::squared_difference`](metrics::EvaluationStates::squared_difference) |
//! | App. "Investigation of In-Context TD with RNN" | [`rnn::Rnn`] |
//! | Algorithms 2 and 3 | [`tasks::boyan_chain`], [`tasks::boyan_chain_representable`] |
//! | Algorithm 4 (CartPole) | [`tasks::cart_pole()`], its tile coding [`tasks::cart_pole::TileCoding`] |
//! | App. on Figure 1 | [`tasks::random_mdp`] |
//!
//! Where the paper contradicts itself or its code, the item's documentation says so and which
//! reading it takes.
//!
//! # Literal and streaming
//!
//! Every computation stands here twice where it can. The literal form is the paper's equation on
//! all columns of Z ([`attention`]): the reference. The streaming form ([`transformer`],
//! [`context`]) keeps only G, one (K, K) matrix whatever the length of the context, and reads the
//! value function out of it as a weight vector. The tests hold one against the other.
//!
//! # Same bits everywhere
//!
//! IEEE 754 fixes `+ - * /` and the square root; this crate fixes the rest: every sum has one
//! written order, elementary functions are this crate's own or the pinned `libm` crate's, random
//! floats are made from integer bits, and lanes never mix. See [`scalar`], [`linalg`], [`rng`].
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![deny(clippy::disallowed_methods)]
// `!(x > 0)` is how NaN is refused.
#![allow(clippy::neg_cmp_op_on_partial_ord)]

#[cfg(test)]
extern crate std;

pub mod attention;
pub mod block_matrix;
pub mod constructions;
pub mod context;
pub mod digest;
pub mod error;
pub mod gradient;
pub mod invariant_set;
pub mod layer;
pub mod linalg;
pub mod mask;
pub mod metrics;
pub mod model;
pub mod nexting;
pub mod normalised;
pub mod prompt;
pub mod rng;
pub mod rnn;
pub mod scalar;
pub mod second_moments;
pub mod shapes;
pub mod signal;
pub mod statistic;
mod stored;
pub mod tasks;
pub mod td;
pub mod training;
pub mod transformer;
pub mod transition;
pub mod value_function;
pub mod vector;

pub use context::Context;
pub use error::{Error, StoredError};
pub use model::UniversalModel;
/// The vectors and matrices of the public types.
pub use nalgebra;
pub use shapes::{AverageRewardModel, Features, Model};
pub use transition::Transition;
pub use value_function::ValueFunction;
