//! The parameters of a layer, theta_l, and the map that it applies to every column of Z.

mod dense;
mod two_head;

pub use dense::Layer;
pub use two_head::TwoHeadLayer;

use crate::error::{Error, Result, ensure};
use crate::scalar::Scalar;
use core::fmt::Debug;

/// The parameters of one attention layer: (K, K) matrices. They are stored, initialised and trained in the same
/// order.
pub trait LayerParameters: Copy + Debug + PartialEq {
    /// The type of the matrices' entries.
    type Scalar: Scalar;

    /// The name of each matrix, in order.
    const NAMES: &'static [&'static str];

    /// A layer that changes nothing.
    const ZERO: Self;

    /// Returns the matrices in order, each column by column.
    fn matrices(&self) -> impl Iterator<Item = &[Self::Scalar]>;

    /// Returns the matrices as [`LayerParameters::matrices`] does, to be changed.
    fn matrices_mut(&mut self) -> impl Iterator<Item = &mut [Self::Scalar]>;

    /// Returns the layer of these numbers, matrix after matrix, each column by column.
    #[cfg(feature = "research")]
    fn from_numbers<'a>(numbers: impl IntoIterator<Item = &'a Self::Scalar>) -> Self
    where
        Self::Scalar: 'a,
    {
        let mut layer = Self::ZERO;
        layer.matrices_mut().flatten().zip(numbers).for_each(|(to, from)| *to = *from);
        layer
    }

    /// Returns the form that the parameters have.
    fn form(&self) -> LayerForm {
        LayerForm::Dense
    }

    /// Refuses NaN and infinities, naming the matrix.
    fn check(&self) -> Result<()> {
        for (m, parameter) in self.matrices().zip(Self::NAMES) {
            // Not `linalg::is_finite`, which is faster but takes more flash: this check runs once per model.
            ensure(m.iter().all(|x| x.is_finite()), Error::NonFinite { parameter })?;
        }
        Ok(())
    }
}

/// The form of a layer's parameters. Layers that share parameters of Theorem 1's form are iterated in O(D^2) each, others
/// are multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum LayerForm {
    /// Any.
    Dense,
    /// TD(0)'s and TD(lambda)'s with C = alpha I: P has its bottom-right entry alone, Q has -alpha I and
    /// alpha I in its first row of blocks. For two heads, average-reward TD with such a C.
    Td,
    /// Theorem 1's with any C, or the residual gradient's: Q = \[X -X 0; Y -Y 0; 0 0 0\].
    PreconditionedTd,
}
