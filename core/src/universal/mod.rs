//! The universal model: one estimator for every number of features, every length of a context and every scale.
//!
//! # What it solves
//!
//! A layer of Theorem 1 takes a step of TD on the context, w <- w + alpha (b - A w), so infinitely many layers converge
//! to the solution of A w = b, TD's fixed point. A layer that also pulls towards 0 converges to that of (A + R) w = b.
//! Instead of looping, the model solves this equation, for the lambdas 0, 0.92 and 1:
//!
//! ```text
//! (A_0 + R_0) w_0 = b_0       A_0 = sum (phi - s gamma phi') (phi - gamma phi')^T,   b_0 = sum (phi - s gamma phi') r
//! (A_1 + R_1) w_1 = b_1       A_l = sum e_l (phi - gamma phi')^T,   b_l = sum e_l r,   e_l the trace of lambda_l
//! (F + R_2) (w_2 - w_1) = b_2 - A_2 w_1                   F = sum (phi phi^T + phi' phi'^T) / 2
//! R_l = k_l / n ((1 - f_l) diag(F) + f_l F)               s = 1 / (a + c n / d)
//! ```
//!
//! With s = 1 the first is the Bellman residual, which is data-efficient with few transitions; with s = 0 it is TD,
//! which is right in the limit of many (a and c are learned). The last needs no A: for lambda = 1 the traces' sum
//! telescopes to sum phi phi^T, except for the part of each return beyond the context's end, which w_1 estimates. So w_2
//! is a regression of the returns, and cannot be singular. Everything is computed in units in which each feature and
//! the reward have the mean square 1, so that scales do not matter; a feature that was always 0 gets the weight 0.
//!
//! # Features are distances from a level
//!
//! Zero points do matter: the ridges pull weights towards 0, and next to a large constant they shrink what a feature's small
//! changes would say. Subtract a level first, as [`signal`](crate::signal) does. In this example the values have the slope
//! 1 / (1 - 0.9 * 0.8) = 3.57, and the model finds 3.65 at level 0 and 2.92 at 20. The linearity is 0.94 and 1.000, so it
//! does not show the error.
//!
//! ```
//! use ictd_core::UniversalModel;
//!
//! let model = UniversalModel::<f32>::pretrained(0.9)?;
//! for (level, slope) in [(0.0, 3.65), (20.0, 2.92)] {
//!     let mut context = model.context::<2>();
//!     let (mut random, mut x) = (1_u32, 0.0_f32);
//!     for _ in 0..3000 {
//!         random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
//!         let next = 0.8 * x + ((random >> 8) as f32 / 16_777_216.0 - 0.5);
//!         context.observe(&[1.0, level + x], x, &[1.0, level + next])?;
//!         x = next;
//!     }
//!     let estimate = model.estimate(&context, model.gvf(0))?;
//!     let found = estimate.value_function.weights[1];
//!     assert!((found / slope - 1.0).abs() < 0.01 && estimate.linearity > 0.9);
//! }
//! # Ok::<(), ictd_core::Error>(())
//! ```
//!
//! # The level of the rewards
//!
//! Rewards may have any zero: v(r + c) = v(r) + c / (1 - gamma), for every method without ends. The model finds the level
//! from the context, as one unknown more in w_0's equation. With c = 1 - gamma \[not terminal\], which is what a value of 1 in every
//! state explains of a reward, it solves for w_0 twice, with r and with c for the reward, in one elimination:
//!
//! ```text
//! m = sum delta(w_0 of r, r) / sum delta(w_0 of c, c)        delta(w, r) = r + gamma <w, phi'> - <w, phi>
//! v(s) = k m + <w, phi(s)>,   and r - k m c stands for r in every equation
//! ```
//!
//! so the level is the one that leaves no mean TD error. k = 1 - (3 / t)^4, where t is the level over its standard error,
//! sqrt(E delta^2 n) / sum c with the TD errors that it leaves: a level within three standard errors of 0 is none, and so is one after
//! fewer transitions than the horizon 1 / (1 - gamma) and d; an evident one counts in full. Where weights explain the rewards
//! without a level, the mean TD error is noise, and there is none. An importance weight counts as often as it says, and
//! Kish's effective number of transitions is n in t. Cumulants have a level each. No number of this is learned.
//!
//! # Which lambda is right
//!
//! The context itself shows it. If values are linear in the features, the TD errors delta of w_0 are martingale differences:
//! the past does not predict the next one, and r = b_l - A_l w_0 has the variance E delta^2 sum (e - phi)^2.
//! If not, it grows with n (a specification test in the manner of Hausman, 1978). So
//!
//! ```text
//! T = (1/d) sum_i r_i^2 / (E delta^2 (sum (e_i - phi_i)^2 + k_l F_ii / n))
//! w = u + g_1 (w_0 - u),   u = w_2 + g_2 (w_1 - w_2)        g = sigmoid(<numbers, quantities>)
//! ```
//!
//! Both gates know both tests, the mean squared TD error that each solution leaves, how large the values of w_0 are compared
//! with the rewards (they show a solution that explodes), n / d and d. g_1 is shown as [`Estimate::linearity`].
//!
//! If no two features were ever nonzero in the same state, as with one-hot features, F is diagonal. Features that tell
//! all states apart represent every value, so then w_0 solves TD's equation alone (s = 0), and g_1 is larger.
//!
//! Two bounds need no learned number. Where nothing is random and w_0 is right, ridges alone make every test reject it, and
//! with large importance ratios another solution may explode; the TD errors show both. So 1 - g_1 is at most 4 times
//! E delta^2 of w_0 over that of w_1 and w_2. And rewards that are noise give weights all the same, so in the manner of James and
//! Stein the share 1 - (E delta^2 / f)^2 of the weights stays, with f = (1/d) sum_i b_i^2 / F_ii of lambda = 0 (f is E delta^2 if
//! rewards are noise; E delta^2 counts as at most E r^2). The square is that of the level's share: it takes next to nothing of
//! what is evident.
//!
//! The k, f, a, c and gates of all contexts are given by the [`UniversalParameters`], found on random tasks and signals.
//!
//! # Bounds
//!
//! Features of a query count up to the root of the sum of their squares in the context, so that a rare state is not held
//! back (e times that root in a context that forgets); values are held to a distance from the level that the largest reward seen
//! could add up to, and weights are scaled back until the mean squared TD error is at most 4 / (1 - gamma) times the mean squared
//! reward. A system that is singular in spite of its ridge is an error.

mod level;
mod model;
mod solve;

pub use model::{Estimate, PRETRAINED, UniversalModel};
#[cfg_attr(not(feature = "research"), doc(hidden))]
pub use solve::{ContextSummary, GatedSolution, UniversalParameters};
