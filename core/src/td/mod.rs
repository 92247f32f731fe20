//! The classical algorithms. Four take the place of a transformer, with one changed line:
//!
//! | | algorithm | learns | keeps |
//! |---|---|---|---|
//! | [`OnlineTd`] | online TD(lambda), accumulating or true online | with each transition, in O(d) | 2 d + 3 numbers |
//! | [`RecursiveLstd`] | LSTD(lambda) that forgets, with a ridge | with each transition, in O(d^2) | 2 d^2 + 3 d |
//! | [`BatchTd`] | L iterations of TD(lambda) | when a [context](crate::context) is read, in O(L d^2) | the context |
//! | [`Lstd`] | LSTD(lambda) with a ridge | when a [context](crate::context) is read, in O(d^3) | the context |
//!
//! ```
//! use ictd_core::td::{Lstd, LstdSettings};
//!
//! let model = Lstd::new(LstdSettings::new(0.5).lambda(0.9).ridge(0.001))?; // instead of UniversalModel::<f32>::new(0.5)?
//! let mut context = model.context::<1>();
//! for _ in 0..100 {
//!     context.observe(&[1.0], 1.0, &[1.0])?; // a state that leads to itself with reward 1
//! }
//! let value = model.value_function(&context)?.at(&[1.0]);
//! assert!((value - 2.0f32).abs() < 1e-4);
//! # Ok::<(), ictd_core::Error>(())
//! ```
//!
//! The lambda of these algorithms is Sutton and Barto's: the trace decays by gamma lambda. (The lambda of [`crate::mask::TdLambda`], and of
//! the functions below, is the decay itself, as in the paper.)
//!
//! With the feature `research`, `updates` has the paper's updates on transitions, and `encodings` GTD2, TDC, emphatic TD and an
//! actor-critic as tokens for the layers of TD.
//!
//! # Step sizes
//!
//! Each update is w <- w + C (b - A w) for the A and b of its algorithm: it converges to A^-1 b exactly
//! if |1 - mu| < 1 for every eigenvalue mu of C A. With C = alpha I, alpha > 0:
//!
//! | algorithm | A | step sizes that converge |
//! |---|---|---|
//! | TD(0) | mean of phi (phi - gamma phi')^T | alpha < 2 (1 - gamma) / ((1 + gamma)^2 max \|phi\|^2), where the phi' of the transitions are distributed as their phi (a long trajectory) |
//! | residual gradient | mean of (phi - gamma phi') (phi - gamma phi')^T | alpha < 2 / max \|phi - gamma phi'\|^2, whatever the transitions |
//! | TD(lambda) | mean of e (phi - gamma phi')^T | start with TD(0)'s bound times 1 - lambda: e may be 1 / (1 - lambda) times as long as phi |
//! | average reward | mean of phi (phi - phi')^T | no such bound; a constant that the features can represent has mu = 0 |
//!
//! So features k times as large need an alpha k^2 times smaller. With a short context, A may have eigenvalues
//! for which no alpha converges.

mod batch;
#[cfg(feature = "research")]
pub mod encodings;
mod online;
mod recursive_lstd;
#[cfg(feature = "research")]
pub mod updates;

pub use crate::preconditioned::{self, PreconditionedTd};
pub use batch::{BatchTd, BatchTdSettings, Lstd, LstdSettings};
pub use online::{Learner, OnlineAlgorithm, OnlineTd, OnlineTdSettings};
pub use recursive_lstd::{RecursiveLstd, RecursiveLstdSettings};

use crate::error::Result;
use crate::scalar::{Scalar, check_lanes};
use crate::transition::check_gamma;

/// Returns gamma lambda, of a gamma in [0, 1) and a lambda in [0, 1].
fn trace_decay<S: Scalar>(gamma: S, lambda: S) -> Result<S> {
    let within = |l| l >= Scalar::ZERO && l <= Scalar::ONE;
    Ok(check_gamma(gamma)? * check_lanes(lambda, "lambda", within, "[0, 1]")?)
}
