//! The invariant set of TD pretraining: ten numbers a layer, of which Theorem 2 has three.
//!
//! For an orthogonal map g of the features let S_g = diag(g, g, 1), and diag(g, g, 1, 1) beside a memory
//! row. The matrices that commute with every S_g are [`ParameterSet::Equivariant`](crate::layer::ParameterSet::Equivariant)'s:
//!
//! ```text
//! [ x1 I  x2 I   0  ]
//! [ x3 I  x4 I   0  ]      of two heads with a (2, 2) block in place of x5: 8 numbers a matrix
//! [  0     0    x5  ]
//! ```
//!
//! If the distribution of tasks does not change when g acts on the features (Assumptions 1 and 2: features
//! uniform on a cube, rewards that do not see g), the expected update of parameters of this form,
//!
//! ```text
//! Delta(theta) = E[(R + gamma TF_L(Z_0'; theta) - TF_L(Z_0; theta)) grad TF_L(Z_0; theta)]
//! ```
//!
//! has this form, for any number of layers, shared or not, under any mask, for softmax and for two heads.
//! [`averaged_update`] takes the expectation over the group as the finite sum that it is, so that this holds
//! for each trajectory, up to rounding, and not without the average; of N trajectories the part outside the
//! set is of the size 1 / sqrt(N).
//!
//! # Which step needs which maps
//!
//! | step | holds for |
//! |---|---|
//! | TF_L(S_g Z; P, Q) = TF_L(Z; S_g^T P S_g, S_g^T Q S_g): scores are products with S_g^T Q S_g, columns are moved by S_g, and no g touches the last row | every orthogonal g |
//! | the update of a trajectory moved by g is S_g Delta(S_g^T theta S_g) S_g^T | every orthogonal g: then the map of the parameters is orthogonal, too |
//! | cube: the distribution of tasks does not change | signed permutations alone |
//! | the mean of S_g X S_g^T over the group is X's [`commuting_part`] | signed permutations (signs take what is off the blocks' diagonals and beside them, orders take the mean of a diagonal), and so any group that holds them or is as rich: the symmetries of a triangle are (d = 2), its rotations alone are not |
//! | theta of the set and features in another orthonormal basis give the same values | every orthogonal g |
//! | plain TD keeps the set, and commutes with S_g | every orthogonal g: it is linear in the update |
//! | Adam keeps the set: entry by entry the same odd function, so that equal entries stay equal and zeros stay zeros, second moments included | the set alone matters, as its matrices are ties and zeros |
//! | Adam commutes with S_g: from theta_0 of a distribution that no g changes it keeps such distributions, of samples too, so that the mean over seeds of trained parameters is in the set | signed permutations alone: a rotation mixes the entries whose squares it takes |
//!
//! Adam keeps the set in exact numbers. In rounded ones an entry that should be 0 makes a full step, of the
//! rounding's sign, once its gradient exceeds epsilon: with the experiments' 1e-3 / 1e-8 a departure of
//! rounding's size grows ten thousandfold and more a step, to the step size. (Samples depart by more.)
//!
//! # Theorem 2
//!
//! It is the case L = 1. One layer's value depends on P's last row and Q's columns of the query's features
//! alone, so that of the ten numbers eta, c and c' get updates, and Theta_* = { [`theta_star`]`(eta, c, c')` }
//! is never left.
//!
//! (The paper's last line prints c_k + alpha_k delta I_d for the new block; it is
//! (c_k + alpha_k delta) I_d.)

mod group;
mod theta_star;
mod update;

pub use group::{commuting_part, share_outside, signed_permutations};
pub use theta_star::{Projection, theta_star};
pub use update::{averaged_update, step, update};
