//! From a feature dimension known at run time to the types that have it.

/// `Some(f::<D, K, A>(arguments))` for the feature dimension D, or for room for so many features, K = 2 D + 1 and
/// A = 2 D + 2; none for a dimension that is not on a list, or has no room.
#[macro_export]
macro_rules! for_dimension {
    // Whole experiments.
    (few $d:expr, $f:ident $arguments:tt) => {
        $crate::dimension::for_dimension!(@ $d, $f $arguments; 1 2 3 4 5 8)
    };
    // Data and parameters of the user's, with zeros for the features that they do not have.
    ($d:expr, $f:ident $arguments:tt) => {
        match $d {
            1..=4 => Some($crate::dimension::for_dimension!(@call 4, $f $arguments)),
            5..=8 => Some($crate::dimension::for_dimension!(@call 8, $f $arguments)),
            9..=16 => Some($crate::dimension::for_dimension!(@call 16, $f $arguments)),
            17..=32 => Some($crate::dimension::for_dimension!(@call 32, $f $arguments)),
            _ => None,
        }
    };
    // Constructions to be stored.
    (stored $d:expr, $f:ident $arguments:tt) => {
        $crate::dimension::for_dimension!(@ $d, $f $arguments; 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16)
    };
    (@ $d:expr, $f:ident $arguments:tt; $($n:literal)*) => {
        match $d {
            $($n => Some($crate::dimension::for_dimension!(@call $n, $f $arguments)),)*
            _ => None,
        }
    };
    (@call $n:literal, $f:ident ($($argument:expr),* $(,)?)) => {
        $f::<$n, { 2 * $n + 1 }, { 2 * $n + 2 }>($($argument),*)
    };
}
pub use for_dimension;

/// The dimensions of whole experiments.
pub const FEW: &[usize] = &[1, 2, 3, 4, 5, 8];

/// The dimensions of the user's data and parameters, for messages.
pub const ACCEPTED: &str = "a feature dimension of 1 to 32";
