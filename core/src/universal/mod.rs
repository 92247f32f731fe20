//! The universal model: one read for every number of features, every length of a context and every unit.
//!
//! # What it solves
//!
//! A layer of Theorem 1 takes a step of TD on the context, w <- w + alpha (b - A w), so that layers without end come to
//! rest where A w = b: at TD's fixed point. A layer that also pulls towards a prior w' rests at
//!
//! ```text
//! (A_l + R_l) w_l = b_l + p_l R_l w'        A_l = sum e_l (phi - gamma phi')^T,   b_l = sum e_l r,   e_l the trace of lambda_l
//! R_l = k_l / n ((1 - f_l) diag(F) + f_l F)        F = sum (phi phi^T + phi' phi'^T) / 2
//! ```
//!
//! Instead of looping, the model solves this equation, once for each of three lambdas: 0, 0.92 and 1, each with the solution
//! before it as its prior (w_0 has the prior 0). Everything is computed in units in which each feature and the reward have
//! the mean square 1, so that no unit is left to choose; a feature that was always 0 gets the weight 0.
//!
//! # Which lambda is right
//!
//! The context itself says it. If values are linear in the features, TD errors delta of w_0 are martingale differences: what
//! comes next is not to be foretold by what came before, and r = b_l - A_l w_0 has the variance E delta^2 sum (e - phi)^2.
//! If not, it grows with n (a specification test in the manner of Hausman, 1978). So
//!
//! ```text
//! T = (1/d) sum_i r_i^2 / (E delta^2 (sum (e_i - phi_i)^2 + k_l F_ii / n))
//! w = u + s_1 (w_0 - u),   u = w_3 + s_2 (w_2 - w_3)        s = sigmoid(numbers . (1, ln(1 + T), ln E delta^2 / E r^2, ln n / d, horizon))
//! ```
//!
//! s_1 is shown as [`Reading::linearity`]. The k, f, p and s of all contexts are given by the [`Numbers`], which
//! `ictd reproduce universal` finds on random tasks and signals; the gradient passes through the solution of the equations.
//!
//! # Bounds
//!
//! Features of a query count up to twice their root mean square; values are held to what the largest reward seen could add up
//! to, and weights are scaled back until the mean squared TD error is at most 4 / (1 - gamma) times the mean squared reward. A system that
//! is singular in spite of its ridge is an error.

mod model;
mod read;

pub use model::{Reading, SHIPPED, UniversalModel};
pub use read::{COUNT, Extent, Numbers, Solved};
