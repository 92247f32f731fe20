//! The universal model: one estimator for every number of features, every length of a context and every scale.
//!
//! # What it solves
//!
//! A layer of Theorem 1 takes a step of TD on the context, w <- w + alpha (b - A w), so infinitely many layers converge
//! to the solution of A w = b, TD's fixed point. A layer that also pulls towards 0 converges to that of (A + R) w = b.
//! Instead of looping, the model solves this equation:
//!
//! ```text
//! (A + (k / n) diag(F)) w = b     A = sum (phi - s gamma phi') (phi - gamma phi')^T,   b = sum (phi - s gamma phi') r
//! s = 1 / (1 + (n / 3d)^2)        F = sum (phi phi^T + phi' phi'^T) / 2
//! ```
//!
//! With s = 1 it is the Bellman residual, which is data-efficient with few transitions; with s = 0 it is TD,
//! which is right in the limit of many. Everything is computed in units in which each feature and
//! the reward have the mean square 1, so that scales do not matter; a feature that was always 0 gets the weight 0.
//!
//! # The ridge fits the noise
//!
//! If weights have the variance tau^2 and TD errors the variance sigma^2, the ridge that loses least is k = sigma^2 / tau^2 transitions.
//! The context shows both (empirical Bayes): the model solves with a ridge of 3 transitions, and again with
//!
//! ```text
//! k = d max(E delta^2, 0.3 s E r^2) / E v^2
//! ```
//!
//! where delta are the TD errors and v the values of the first solution. Where nothing is random, as on Baird's features with ratios
//! 7 and 0, the ridge vanishes; where rewards are noise, it grows, and so it does where a solution explodes, whose TD errors are large. Values
//! of more than 6 times the rewards' mean square count as that, and of less than a hundredth as that; and while s is large, a solution
//! fits the noise of few transitions, so E delta^2 is not all of it.
//!
//! # Features are distances from a level
//!
//! Zero points do matter: the ridge pulls weights towards 0, and next to a large constant they shrink what a feature's small
//! changes would say. Subtract a level first, as [`signal`](crate::signal) does. In this example the values have the slope
//! 1 / (1 - 0.9 * 0.8) = 3.57, and the model finds 3.67 at level 0, 3.33 at 20 and 0.25 at 100. The linearity is 1 each time, so it
//! does not show the error.
//!
//! ```
//! use ictd_core::UniversalModel;
//!
//! let model = UniversalModel::<f32>::new(0.9)?;
//! for (level, slope) in [(0.0, 3.67), (20.0, 3.33), (100.0, 0.25)] {
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
//!     assert!((found / slope - 1.0).abs() < 0.01 && estimate.linearity == 1.0);
//! }
//! # Ok::<(), ictd_core::Error>(())
//! ```
//!
//! # The level of the rewards
//!
//! Rewards may have any zero: v(r + c) = v(r) + c / (1 - gamma), for every method without ends. The model finds the level
//! from the context, as one unknown more in this equation. With c = 1 - gamma \[not terminal\], which is what a value of 1 in every
//! state explains of a reward, it solves twice, with r and with c for the reward, in one elimination:
//!
//! ```text
//! m = sum delta(w of r, r) / sum delta(w of c, c)        delta(w, r) = r + gamma <w, phi'> - <w, phi>
//! v(s) = k m + <w, phi(s)>,   and r - k m c stands for r in every equation
//! ```
//!
//! so the level is the one that leaves no mean TD error. k = 1 - (3 / t)^4, where t is the level over its standard error,
//! sqrt(E delta^2 n) / sum c with the TD errors that it leaves: a level within three standard errors of 0 is none, and so is one after
//! fewer transitions than the horizon 1 / (1 - gamma) and d; an evident one counts in full. Where weights explain the rewards
//! without a level, the mean TD error is noise, and there is none. An importance weight counts as often as it says, and
//! Kish's effective number of transitions is n in t. Cumulants have a level each.
//!
//! # Which lambda is right
//!
//! The context itself shows it. If values are linear in the features, the TD errors delta of w are martingale differences:
//! the past does not predict the next one. With the trace e of lambda = 0.92, A_e = sum e (phi - gamma phi')^T and
//! b_e = sum e r, x = b_e - A_e w then has the variance E delta^2 sum (e - phi)^2. If they are not, x grows with n (a specification
//! test in the manner of Hausman, 1978). So
//!
//! ```text
//! T = (1/d) sum_i x_i^2 / (E delta^2 sum (e_i - phi_i)^2)
//! w + g u,   (A_e + (30 / n) diag(F)) u = x,   g = min(1 - (1 + 3 sqrt(2/d)) / T, E delta^2 of w / E delta^2 of w + u)
//! ```
//!
//! T is 1 with a standard error of sqrt(2/d) if values are linear: within three of them nothing is added, and beyond them the share that
//! is not noise (in the manner of James and Stein), and less where the second solution explodes. 1 - g is shown as [`Estimate::linearity`].
//!
//! No number of the model is learned.
//!
//! # Bounds
//!
//! Features of a query count up to the root of the sum of their squares in the context, so that a rare state is not held
//! back (e times that root in a context that forgets), and values are held to a distance from the level that the largest reward seen
//! could add up to. A system that is singular in spite of its ridge is an error.

mod level;
mod model;
mod solve;

pub use model::{Estimate, UniversalModel};
