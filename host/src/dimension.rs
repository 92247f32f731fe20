//! From a feature dimension known at run time to the types that have it.

/// `Some(f::<D, K, A>(arguments))` for the feature dimension D, K = 2 D + 1 and A = 2 D + 2; none for
/// a dimension that is not among those compiled ([`ACCEPTED`]). `stored` before it: for any that a stored
/// model may have.
macro_rules! for_dimension {
    (stored $d:expr, $f:ident($($argument:expr),* $(,)?)) => {
        $crate::dimension::for_dimension!(
            @match $d, $f, ($($argument),*);
            1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
        )
    };
    ($d:expr, $f:ident($($argument:expr),* $(,)?)) => {
        $crate::dimension::for_dimension!(
            @match $d, $f, ($($argument),*);
            1 2 3 4 5 6 7 8 10 12 16
        )
    };
    (@match $d:expr, $f:ident, $arguments:tt; $($n:literal)*) => {
        match $d {
            $($n => Some($crate::dimension::for_dimension!(@call $f, $n, $arguments)),)*
            _ => None,
        }
    };
    (@call $f:ident, $n:literal, ($($argument:expr),*)) => {
        $f::<$n, { 2 * $n + 1 }, { 2 * $n + 2 }>($($argument),*)
    };
}
pub(crate) use for_dimension;

/// The dimensions, for messages.
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
        assert!((1..17).all(|d| for_dimension!(stored d, size()).is_some_and(|s| s[0] == d)));
    }
}
