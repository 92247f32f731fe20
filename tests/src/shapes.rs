//! From arrays to statically shaped matrices: the sizes stand in the data, so they are chosen at run
//! time among those compiled in.

use crate::golden::{Array, Case};
use ictd_core::layer::Layer;
use ictd_core::linalg;
use ictd_core::prompt::Prompt;
use ictd_core::scalar::Scalar;
use ictd_core::statistic::Statistic;
use ictd_core::transformer::Transformer;
use nalgebra::{SMatrix, SVector};

/// The capacity for context tokens that [`with_dimension!`](crate::with_dimension)'s users pass.
pub const MAX_CONTEXT: usize = 256;

/// The capacity for layers with parameters of their own.
pub const MAX_LAYERS: usize = 64;

/// The largest D for which [`with_dimension_few_lanes!`](crate::with_dimension_few_lanes) has lanes.
pub const MAX_LANE_DIMENSION: usize = 4;

/// Calls `$function::<$($generic,)* D, K>($($argument),*)` with D the run-time dimension (1 to 5, or 8)
/// and K = 2 D + `$extra`.
///
/// ```
/// use tests::with_dimension;
///
/// fn shape<const D: usize, const K: usize>() -> (usize, usize) {
///     (D, K)
/// }
/// assert_eq!(with_dimension!(4, + 1, shape::<>()), (4, 9));
/// assert_eq!(with_dimension!(3, + 2, shape::<>()), (3, 8));
/// ```
#[macro_export]
macro_rules! with_dimension {
    ($d:expr, + $extra:literal, $function:ident::<$($generic:ty),*>($($argument:expr),*)) => {
        match $d {
            1 => $function::<$($generic,)* 1, { 2 + $extra }>($($argument),*),
            2 => $function::<$($generic,)* 2, { 4 + $extra }>($($argument),*),
            3 => $function::<$($generic,)* 3, { 6 + $extra }>($($argument),*),
            4 => $function::<$($generic,)* 4, { 8 + $extra }>($($argument),*),
            5 => $function::<$($generic,)* 5, { 10 + $extra }>($($argument),*),
            8 => $function::<$($generic,)* 8, { 16 + $extra }>($($argument),*),
            d => panic!("d = {d}: these tests are compiled for d from 1 to 5, and 8"),
        }
    };
}

/// As [`with_dimension!`](crate::with_dimension) for `f32` and `f64`; lanes are compiled for D up to
/// [`MAX_LANE_DIMENSION`] only, as large matrices of lanes take long to compile.
/// `$S` is the scalar.
#[macro_export]
macro_rules! with_dimension_few_lanes {
    ($S:ident, $d:expr, + $extra:literal, $function:ident::<$($generic:ty),*>($($argument:expr),*)) => {
        if const { <$S as ictd_core::scalar::Scalar>::LANES == 1 } {
            $crate::with_dimension!($d, + $extra, $function::<$($generic),*>($($argument),*))
        } else {
            match $d {
                1 => $function::<$($generic,)* 1, { 2 + $extra }>($($argument),*),
                2 => $function::<$($generic,)* 2, { 4 + $extra }>($($argument),*),
                3 => $function::<$($generic,)* 3, { 6 + $extra }>($($argument),*),
                4 => $function::<$($generic,)* 4, { 8 + $extra }>($($argument),*),
                d => panic!("d = {d}: these tests are compiled in lanes for d from 1 to 4"),
            }
        }
    };
}

/// The numbers of an array as scalars. Lane l holds the numbers times 1 - (first_lane + l) / 64,
/// so that each lane sees other inputs, lane 0 the data's own, and `f32` with `first_lane` = l
/// exactly what lane l sees.
pub fn load<S: Scalar>(array: &Array, first_lane: usize) -> Vec<S> {
    let scalar = |&x: &f64| {
        let mut s = S::ZERO;
        for lane in 0..S::LANES {
            let factor = 1.0 - (first_lane + lane) as f64 / 64.0;
            s.set_lane(lane, S::Element::from_f64(x * factor));
        }
        s
    };
    array.data.iter().map(scalar).collect()
}

/// One (R, C) matrix from R * C numbers, row by row.
pub fn matrix<S: Scalar, const R: usize, const C: usize>(rows: &[S]) -> SMatrix<S, R, C> {
    assert_eq!(rows.len(), R * C, "a ({R}, {C}) matrix");
    let mut m = linalg::zeros();
    for (i, x) in rows.iter().enumerate() {
        m[(i / C, i % C)] = *x;
    }
    m
}

/// One vector.
pub fn vector<S: Scalar, const R: usize>(numbers: &[S]) -> SVector<S, R> {
    matrix(numbers)
}

/// An array (k, R, C), or (R, C), as k matrices.
pub fn matrices<S: Scalar, const R: usize, const C: usize>(
    array: &Array,
    first_lane: usize,
) -> Vec<SMatrix<S, R, C>> {
    let rank = array.shape.len();
    assert!(rank >= 2 && array.shape[rank - 2..] == [R, C], "{:?} is not ({R}, {C})", array.shape);
    load::<S>(array, first_lane).chunks(R * C).map(matrix).collect()
}

/// An array (k, R) as k vectors.
pub fn load_vectors<S: Scalar, const R: usize>(
    array: &Array,
    first_lane: usize,
) -> Vec<SVector<S, R>> {
    assert!(array.shape.len() == 2 && array.shape[1] == R, "{:?} is not (_, {R})", array.shape);
    load::<S>(array, first_lane).chunks(R).map(vector).collect()
}

/// The layers with parameters P and Q, (k, K, K) each.
pub fn layers<S: Scalar, const K: usize>(
    p: &Array,
    q: &Array,
    first_lane: usize,
) -> Vec<Layer<S, K>> {
    let (p, q) = (matrices(p, first_lane), matrices(q, first_lane));
    assert_eq!(p.len(), q.len(), "as many P as Q");
    p.into_iter().zip(q).map(|(p, q)| Layer { p, q }).collect()
}

/// The columns of a matrix Z, (K, n + 1).
pub fn columns<S: Scalar, const K: usize>(z: &Array, first_lane: usize) -> Vec<SVector<S, K>> {
    assert!(z.shape.len() == 2 && z.shape[0] == K, "{:?} is not ({K}, _)", z.shape);
    let (entries, n) = (load::<S>(z, first_lane), z.shape[1]);
    (0..n).map(|c| SVector::from_fn(|i, _| entries[i * n + c])).collect()
}

/// The columns of a prompt, the query's last.
pub fn columns_of<S: Scalar, const K: usize, const N: usize>(
    prompt: &Prompt<S, K, N>,
) -> Vec<SVector<S, K>> {
    (0..=prompt.context_len()).map(|c| *prompt.column(c)).collect()
}

/// The entries of a matrix given by its columns, row by row as the data has them.
pub fn rows<S: Scalar, const K: usize>(columns: &[SVector<S, K>]) -> Vec<S> {
    (0..K).flat_map(|i| columns.iter().map(move |z| z[i])).collect()
}

/// The transformer of a case: inputs P, Q, params L and mode; C is its capacity for layers.
pub fn transformer<S: Scalar, const K: usize, const C: usize>(
    case: &Case,
    first_lane: usize,
) -> Transformer<Layer<S, K>, C> {
    let layers = layers::<S, K>(&case.input("P"), &case.input("Q"), first_lane);
    let transformer = match case.word("mode") {
        "auto" => {
            assert_eq!(layers.len(), 1, "{}: one shared layer", case.label());
            Transformer::autoregressive(layers[0], case.count("L"))
        }
        "sequential" => {
            assert_eq!(layers.len(), case.count("L"), "{}: a layer each", case.label());
            Transformer::sequential(&layers)
        }
        other => panic!("{}: mode {other}", case.label()),
    };
    transformer.unwrap_or_else(|e| panic!("{}: {e}", case.label()))
}

/// The maps B_0 .. B_{L-1} of the streaming pass. (Not inlined, so that a test with many forms
/// compiles it once per shape.)
#[inline(never)]
pub fn column_maps<S: Scalar, const K: usize>(
    transformer: &Transformer<Layer<S, K>, MAX_LAYERS>,
    statistic: &Statistic<S, K>,
) -> Vec<SMatrix<S, K, K>> {
    let mut maps = Vec::new();
    transformer.column_maps(statistic, |_, b| maps.push(*b));
    maps
}

/// The outputs y_1 .. y_L of the streaming pass for a query.
#[inline(never)]
pub fn values<S: Scalar, const K: usize>(
    transformer: &Transformer<Layer<S, K>, MAX_LAYERS>,
    statistic: &Statistic<S, K>,
    query: &SVector<S, K>,
) -> Vec<S> {
    let mut values = Vec::new();
    transformer.values_by_layer(statistic, query, |v| values.push(v));
    values
}

/// The entries of a matrix, row by row as the data has them.
pub fn row_major<S: Scalar, const R: usize, const C: usize>(m: &SMatrix<S, R, C>) -> Vec<S> {
    (0..R).flat_map(|i| (0..C).map(move |j| m[(i, j)])).collect()
}
