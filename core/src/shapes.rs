//! Types by their feature dimension alone.
//!
//! Stable Rust cannot write the token size 2 D + 1 in a type, so the types of this crate take D and
//! K. The aliases of this module write K for the user, for D = 1 to 16, in `f32`. Other dimensions
//! and `f64` need the full name, for example `ictd_core::model::Model<f64, 20, 41, 1>`; a K that
//! does not fit fails the build with a message. So does code that is generic over D: an alias stands for
//! one type, of which the compiler knows nothing before it knows D.

use crate::attention::TdLambda;
use crate::context::{Growing, Streaming};

/// A feature dimension, for [`Shape`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features<const D: usize>;

/// The types that belong to a feature dimension.
#[diagnostic::on_unimplemented(
    message = "there is no alias for `{Self}`: the feature dimension must be 1 to 16",
    note = "for another dimension D write the full type with its token size 2 D + 1, \
            for example `ictd_core::model::Model<f32, 20, 41, 1>` and \
            `ictd_core::context::Streaming<f32, 20, 41>`"
)]
pub trait Shape {
    /// See [`Context`].
    type Context;
    /// See [`TraceContext`].
    type TraceContext;
    /// See [`Model`].
    type Model;
    /// See [`SequentialModel`].
    type SequentialModel<const L: usize>;
    /// See [`TwoHeadModel`].
    type TwoHeadModel;
}

/// The context of a device, [`Streaming`], for D features.
pub type Context<const D: usize> = <Features<D> as Shape>::Context;

/// The context under the mask of TD(lambda), for D features. Its methods are those of the trait
/// [`context::Context`](trait@crate::context::Context): `use ictd_core::context::Context as _;`.
pub type TraceContext<const D: usize> = <Features<D> as Shape>::TraceContext;

/// A [model](crate::model::Model) whose layers share their parameters, for D features.
pub type Model<const D: usize> = <Features<D> as Shape>::Model;

/// A [model](crate::model::Model) of at most L layers with parameters of their own, for D features.
pub type SequentialModel<const D: usize, const L: usize> =
    <Features<D> as Shape>::SequentialModel<L>;

/// A [model](crate::model::TwoHeadModel) of the average-reward setting whose layers share their
/// parameters, for D features; its K is 2 D + 2.
pub type TwoHeadModel<const D: usize> = <Features<D> as Shape>::TwoHeadModel;

macro_rules! shapes {
    ($($d:literal)*) => {$(
        impl Shape for Features<$d> {
            type Context = Streaming<f32, $d, { 2 * $d + 1 }>;
            type TraceContext = Growing<f32, $d, { 2 * $d + 1 }, TdLambda<f32>>;
            type Model = crate::model::Model<f32, $d, { 2 * $d + 1 }, 1>;
            type SequentialModel<const L: usize> =
                crate::model::Model<f32, $d, { 2 * $d + 1 }, L>;
            type TwoHeadModel = crate::model::TwoHeadModel<f32, $d, { 2 * $d + 2 }, 1>;
        }
    )*};
}

shapes!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
