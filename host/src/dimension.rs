//! From a feature dimension known at run time to the types that have it.

/// `Some(f::<D, K, A>(arguments))` for the feature dimension D, K = 2 D + 1 and A = 2 D + 2; none for
/// a dimension that is not on a list. The less there is to compile, the longer the list.
macro_rules! for_dimension {
    // Whole experiments.
    (few $d:expr, $f:ident $arguments:tt) => {
        $crate::dimension::for_dimension!(@ $d, $f $arguments; 1 2 3 4 5 8)
    };
    // Data and parameters of the user's.
    ($d:expr, $f:ident $arguments:tt) => {
        $crate::dimension::for_dimension!(@ $d, $f $arguments; 1 2 3 4 5 6 7 8 10 12 16)
    };
    // Stored models.
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
pub const ACCEPTED: &str = "a feature dimension of 1 to 8, 10, 12 or 16";

#[cfg(test)]
mod tests {
    fn size<const D: usize, const K: usize, const A: usize>() -> [usize; 3] {
        [D, K, A]
    }

    #[test]
    fn a_dimension_calls_its_own_types_and_the_others_none() {
        assert_eq!(for_dimension!(4, size()), Some([4, 9, 10]));
        let accepted: Vec<_> = (0..40).filter(|&d| for_dimension!(d, size()).is_some()).collect();
        assert_eq!(accepted, [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16]);
        let few = (0..40).filter(|&d| for_dimension!(few d, size()).is_some());
        assert_eq!(few.collect::<Vec<_>>(), super::FEW);
        let all = (0..40).filter(|&d| for_dimension!(stored d, size()).is_some());
        assert_eq!(all.collect::<Vec<_>>(), (1..=16).collect::<Vec<_>>());
    }
}
