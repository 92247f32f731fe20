//! The paper's notation, and the places of its equations in this crate.
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
//! | p1 ... p5, q1 ... q5 | [`invariant_set`] | a layer of ten parameters: the multiples of I in the blocks of P and Q, and the corners | |
//! | theta | [`Parameters`](training::Parameters) | everything that is trained | |
//! | (S_0, R_1, S_1, ...) | [`TrajectoryBuffer`](training::TrajectoryBuffer) | a trajectory; each window of n of its transitions is a context | |
//! | a^(l) | [`Rnn`](training::Rnn) | hidden state of a recurrent layer | (h) |
//! | eta, c, c' | [`theta_star`](invariant_set::theta_star) | coordinates of Theorem 2's invariant set | |
//! | d_p | [`Mrp::stationary_distribution`](tasks::Mrp::stationary_distribution) | stationary distribution | (m) |
//!
//! `S` is the scalar: `f32`, `f64`, or lanes of `f32`; `R` one of the first two.
//!
//! # From the paper to the code
//!
//! | paper | code |
//! |---|---|
//! | eq. "linear attention", eq. "Z_l update" | [`attention::Attention`] of a [`mask`] |
//! | eq. "td0 mask", eq. "td lambda mask", eq. "two-head mask" | [`mask`] |
//! | eq. "tf output convention" | [`prompt::Prompt::output`] |
//! | Theorem 1, its prompt and parameters | [`prompt::Prompt::discounted`], [`constructions::td0()`] |
//! | eq. "TD(0) w_update" | [`td::updates::td0`] |
//! | the corollary for one layer | [`constructions::one_layer`] |
//! | the corollary for the residual gradient, eq. "w_update RG" | [`constructions::residual_gradient()`], [`td::updates::residual_gradient`] |
//! | the corollary for TD(lambda) | [`constructions::td_lambda()`], [`td::updates::td_lambda`] |
//! | the average-reward theorem, eq. "Z two-head update" | [`constructions::average_reward()`], [`attention::AverageReward`], [`td::updates::average_reward`] |
//! | App. "Nonlinear Attention" | [`attention::SoftmaxAttention`], trained by [`training::SoftmaxNetwork`] |
//! | Algorithm 1 | [`training::MultiTaskTd`] with [`Optimizer::Td`](training::Optimizer::Td): an update per window |
//! | its mini-batch form (the authors' code) | the same with [`Optimizer::Adam`](training::Optimizer::Adam): a step per batch of windows |
//! | Theorem 2, its invariant set and expected update | [`invariant_set::theta_star`], [`invariant_set::averaged_update`]; for any depth, mask and optimiser: [`invariant_set`] |
//! | App. "Element-wise Convergence Metrics" | [`metrics::ElementwiseMetrics`] |
//! | VD, IWS, SS (App. "Trained Transformer and Batch TD Comparison Metrics") | [`metrics::BatchTdComparison`], [`metrics::EvaluationStates`] |
//! | MSVE, weighted by d_p | [`EvaluationStates::squared_difference`](metrics::EvaluationStates::squared_difference) |
//! | App. "Investigation of In-Context TD with RNN" | [`training::Rnn`] |
//! | Algorithms 2 and 3 | [`tasks::boyan_chain`], [`tasks::boyan_chain_representable`] |
//! | Algorithm 4 (CartPole) | [`tasks::CartPoleDistribution`], its tile coding [`tasks::cart_pole::TileCoding`] |
//! | App. on Figure 1 | [`tasks::random_mdp`] |
//!
//! Where the paper contradicts itself or its code, the item's documentation says so and which
//! reading it takes.

#[allow(unused_imports)] // for the links above
use crate::{
    attention, constructions, invariant_set, layer, mask, metrics, prompt, statistic, tasks, td,
    training, value_function::ValueFunction,
};
