//! From a feature dimension known at run time to the types that have it.

/// `Some(f::<D, K, A>(arguments))` for the feature dimension D, or for room for so many features, K = 2 D + 1 and
/// A = 2 D + 2; none for a dimension that is not on a list, or has no room.
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
pub(crate) use for_dimension;

/// The dimensions of whole experiments.
pub const FEW: &[usize] = &[1, 2, 3, 4, 5, 8];

/// The dimensions of the user's data and parameters, for messages.
pub const ACCEPTED: &str = "a feature dimension of 1 to 32";

#[cfg(test)]
mod tests {
    fn size<const D: usize, const K: usize, const A: usize>() -> [usize; 3] {
        [D, K, A]
    }

    #[test]
    fn a_dimension_calls_its_own_types_or_those_with_room_and_the_others_none() {
        assert_eq!(for_dimension!(stored 3, size()), Some([3, 7, 8]));
        assert_eq!(for_dimension!(3, size()), Some([4, 9, 10]));
        assert!((1..=32).all(|d| for_dimension!(d, size()).is_some_and(|[room, ..]| room >= d)));
        assert_eq!([0, 33].map(|d| for_dimension!(d, size())), [None; 2]);
        let few = (0..40).filter(|&d| for_dimension!(few d, size()).is_some());
        assert_eq!(few.collect::<Vec<_>>(), super::FEW);
        let all = (0..40).filter(|&d| for_dimension!(stored d, size()).is_some());
        assert_eq!(all.collect::<Vec<_>>(), (1..=16).collect::<Vec<_>>());
    }
}
