//! Models by their feature dimension alone, for D = 1 to 32.

use crate::mask::Td0;
use crate::model::{AttentionMechanism, Linear};

#[doc(hidden)]
/// A feature dimension; [`Model`] computes the token size from it.
pub struct FeatureDim<const D: usize>;

/// The types that belong to a feature dimension.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "there is no alias for `{Self}`: the feature dimension must be 1 to 32",
    note = "for another dimension D, or code that is generic over it, write the full type with its \
            token size 2 D + 1, for example `ictd_core::model::Model<f32, 40, 81, 1>`"
)]
pub trait TokenShape<A, const C: usize> {
    /// See [`Model`].
    type Model;
}

/// A [model](crate::model::Model) for D = 1 to 32 features in `f32`, with attention A, whose layers share their
/// parameters or, at most C of them, have their own.
///
/// Stable Rust cannot write the token size 2 D + 1 in a type. Another dimension, `f64`, and code that is generic over D
/// need the full name, for example `ictd_core::model::Model<f64, 20, 41, 1>`.
///
/// ```
/// use ictd_core::Model;
/// use ictd_core::mask::TdLambda;
/// use ictd_core::model::{ConstructionSettings, Linear};
///
/// let td0 = Model::<4>::td0(ConstructionSettings::new(0.9).step_size(0.2).depth(15))?;
/// let td_lambda = Model::<4, Linear<TdLambda>>::td_lambda(ConstructionSettings::new(0.9).step_size(0.2).depth(15), 0.8)?;
/// # Ok::<(), ictd_core::Error>(())
/// ```
pub type Model<const D: usize, A = Linear<Td0>, const C: usize = 1> =
    <FeatureDim<D> as TokenShape<A, C>>::Model;

macro_rules! shapes {
    ($($d:literal)*) => {$(
        impl<A: AttentionMechanism<f32, { 2 * $d + 1 }>, const C: usize> TokenShape<A, C> for FeatureDim<$d> {
            type Model = crate::model::Model<f32, $d, { 2 * $d + 1 }, C, A>;
        }
    )*};
}

shapes!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32);
