use super::{set_block, unit};
use crate::layer::TwoHeadLayer;
use crate::linalg::zeros;
use crate::scalar::Scalar;
use nalgebra::SMatrix;

/// The average-reward theorem (eqs. "two-head P matrices", "two-head Q and W"): the two-head layer
/// that performs one iteration of average-reward TD, for any C_l, (D, D), with K = 2 D + 2.
///
/// Head 1 writes the reward row's part of the TD error, centred by its mask; head 2, reading the
/// memory row, the part of the current weights; W adds both into the memory row. (The paper prints W
/// with 2 d + 1 rows; it must have 2 d + 2.)
///
/// Its iteration is [`crate::td::average_reward::update`].
///
/// ```
/// use ictd_core::constructions::{average_reward, learning_rate};
///
/// let layer = average_reward::<f32, 2, 6>(&learning_rate(0.1));
/// assert_eq!((layer.q1[(0, 0)], layer.q1[(0, 2)], layer.w1[(5, 4)]), (-0.1, 0.1, 1.0));
/// ```
pub fn average_reward<S: Scalar, const D: usize, const K: usize>(
    c: &SMatrix<S, D, D>,
) -> TwoHeadLayer<S, K> {
    const {
        assert!(K == 2 * D + 2, "the average-reward construction has K = 2 * D + 2");
    }
    let (reward, memory) = (2 * D, 2 * D + 1);
    let mut q = zeros();
    set_block(&mut q, 0, 0, -S::ONE, c);
    set_block(&mut q, 0, 1, S::ONE, c);
    TwoHeadLayer {
        p1: unit(reward, reward),
        q1: q,
        w1: unit(memory, reward),
        p2: unit(memory, memory),
        q2: q,
        w2: unit(memory, memory),
    }
}
