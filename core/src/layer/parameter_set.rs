use super::{add_traces, write_dense};
use crate::scalar::Scalar;

/// The numbers of a layer that are trained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ParameterSet {
    /// P and Q, (K, K) each.
    #[default]
    Full,
    /// p1 to p5 and q1 to q5 of an [`EquivariantLayer`](super::EquivariantLayer).
    Equivariant,
}

impl ParameterSet {
    /// Returns how many numbers P has, and Q.
    #[inline(always)]
    pub(crate) fn len(self, k: usize) -> usize {
        match self {
            ParameterSet::Full => k * k,
            ParameterSet::Equivariant => 5,
        }
    }

    /// Writes the matrix of these numbers.
    pub(crate) fn write<S: Scalar>(self, k: usize, numbers: &[S], m: &mut [S]) {
        match self {
            ParameterSet::Full => m.copy_from_slice(numbers),
            ParameterSet::Equivariant => write_dense((k - 1) / 2, k, numbers, m),
        }
    }

    /// Adds to the adjoint of the numbers what the adjoint of such a matrix passes back.
    #[inline(always)]
    pub(crate) fn add_adjoint<S: Scalar>(self, k: usize, m_bar: &[S], numbers_bar: &mut [S]) {
        match self {
            ParameterSet::Full => {
                for (to, from) in numbers_bar.iter_mut().zip(m_bar) {
                    *to += *from;
                }
            }
            ParameterSet::Equivariant => add_traces((k - 1) / 2, k, m_bar, numbers_bar),
        }
    }
}
