use crate::scalar::Scalar;
use crate::vector::Vector;

/// The largest size of each of C cumulants: values larger than it over (1 - gamma) are impossible, whatever
/// comes, while rewards stay within it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LargestReward<S, const C: usize>([S; C]);

impl<S: Scalar, const C: usize> LargestReward<S, C> {
    /// Takes in the rewards of a transition.
    #[inline(always)]
    pub(super) fn take(&mut self, rewards: &[S; C]) {
        for m in 0..C {
            self.0[m] = self.0[m].max(rewards[m].abs());
        }
    }

    /// Forgets as the sums do.
    #[inline(always)]
    pub(super) fn shrink(&mut self, retention: S) {
        for m in 0..C {
            self.0[m] *= retention;
        }
    }

    /// Returns the largest size of a cumulant.
    pub fn of(&self, cumulant: usize) -> S {
        self.0.get(cumulant).copied().unwrap_or(S::ZERO)
    }
}

impl<S: Scalar, const C: usize> Vector<S> for LargestReward<S, C> {
    const ZERO: Self = LargestReward([S::ZERO; C]);

    fn zip(a: &mut Self, b: &mut Self, z: &Self, f: impl FnMut(&mut S, &mut S, S)) {
        Vector::zip(&mut a.0, &mut b.0, &z.0, f);
    }
}
