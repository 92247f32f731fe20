//! The parameters of a layer, theta_l, and the map that it applies to every column of Z.

mod dense;
mod two_head;

pub use dense::Layer;
pub use two_head::TwoHeadLayer;

use crate::error::Error;
use crate::scalar::Scalar;
use core::fmt::Debug;

/// The parameters of one attention layer: (K, K) matrices in one written order, in which they are
/// stored, initialised and trained.
pub trait LayerParameters: Copy + Debug + PartialEq {
    /// Their numbers.
    type Scalar: Scalar;

    /// What each matrix is called, in order.
    const NAMES: &'static [&'static str];

    /// A layer that changes nothing.
    const ZERO: Self;

    /// The matrices in order, each column by column.
    fn matrices(&self) -> impl Iterator<Item = &[Self::Scalar]>;

    /// [`LayerParameters::matrices`], to be changed.
    fn matrices_mut(&mut self) -> impl Iterator<Item = &mut [Self::Scalar]>;

    /// Refuses NaN and infinities.
    ///
    /// # Errors
    /// [`Error::NonFinite`], naming the matrix.
    fn check(&self) -> Result<(), Error> {
        for (m, parameter) in self.matrices().zip(Self::NAMES) {
            // Not `linalg::is_finite`, whose speed costs a chip flash: this is asked once per model.
            if !m.iter().all(|x| x.is_finite()) {
                return Err(Error::NonFinite { parameter });
            }
        }
        Ok(())
    }
}
