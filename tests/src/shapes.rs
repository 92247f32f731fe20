//! From arrays to statically shaped matrices: the sizes stand in the data, so they are chosen at run
//! time among those compiled in.

use crate::golden::{Array, Case};
use ictd_core::layer::{Layer, LayerParameters as _};
use ictd_core::linalg;
use ictd_core::prompt::Prompt;
use ictd_core::scalar::Scalar;
use ictd_core::transformer::Transformer;
use nalgebra::{SMatrix, SVector};

/// The capacity for context tokens that [`with_dimension!`](crate::with_dimension)'s users pass.
pub const MAX_CONTEXT: usize = 256;

/// The capacity for layers with parameters of their own.
pub const MAX_LAYERS: usize = 64;

/// The largest D that is compiled in lanes: large matrices of lanes take long to compile.
const MAX_LANE_DIMENSION: usize = 3;

/// Tells whether a case's dimension is compiled in lanes.
pub fn has_lanes(case: &Case) -> bool {
    case.count("d") <= MAX_LANE_DIMENSION
}

/// Calls `$function::<$S, D, K>($($argument),*)` with D the run-time dimension (1 to 5, or 8) and K = 2 D + `$extra`.
/// In lanes only for D up to 3 ([`has_lanes`]). `$S` is the scalar.
#[macro_export]
macro_rules! with_dimension {
    ($S:ident, $d:expr, + $extra:literal, $function:ident($($argument:expr),*)) => {
        match $d {
            1 => $function::<$S, 1, { 2 + $extra }>($($argument),*),
            2 => $function::<$S, 2, { 4 + $extra }>($($argument),*),
            3 => $function::<$S, 3, { 6 + $extra }>($($argument),*),
            // Not a guard: what follows is not compiled in lanes.
            d => if const { <$S as ictd_core::scalar::Scalar>::LANES == 1 } {
                match d {
                    4 => $function::<$S, 4, { 8 + $extra }>($($argument),*),
                    5 => $function::<$S, 5, { 10 + $extra }>($($argument),*),
                    8 => $function::<$S, 8, { 16 + $extra }>($($argument),*),
                    d => panic!("d = {d}: these tests are compiled for d from 1 to 5, and 8"),
                }
            } else {
                panic!("d = {d}: these tests are compiled in lanes for d from 1 to 3")
            }
        }
    };
}

/// Defines the test of a family whose computation has D and K = 2 D + 1 for parameters: of a `Scalar` also in lanes.
#[macro_export]
macro_rules! golden {
    ($test:ident, $family:expr, Scalar, $computation:ident) => {
        $crate::golden!(@ $test, $family, ictd_core::scalar::Scalar, $computation, |case| {
            $crate::has_lanes(case).then_some(of_dimension)
        });
    };
    ($test:ident, $family:expr, Real, $computation:ident) => {
        $crate::golden!(@ $test, $family, ictd_core::scalar::Real, $computation, |_| None);
    };
    (@ $test:ident, $family:expr, $bound:path, $computation:ident, $in_lanes:expr) => {
        fn of_dimension<S: $bound>(case: &$crate::Case, first_lane: usize) -> $crate::Outputs<S> {
            $crate::with_dimension!(S, case.count("d"), +1, $computation(case, first_lane))
        }

        #[test]
        fn $test() {
            $crate::check_family($family, of_dimension, of_dimension, $in_lanes);
        }
    };
}

/// Reads the numbers of an array as scalars. Lane l holds the numbers times 1 - (first_lane + l) / 64,
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

/// Reads one (R, C) matrix from R * C numbers, row by row.
fn matrix<S: Scalar, const R: usize, const C: usize>(rows: &[S]) -> SMatrix<S, R, C> {
    assert_eq!(rows.len(), R * C, "a ({R}, {C}) matrix");
    let mut m = linalg::zeros();
    for (i, x) in rows.iter().enumerate() {
        m[(i / C, i % C)] = *x;
    }
    m
}

/// Reads one vector.
pub fn vector<S: Scalar, const R: usize>(numbers: &[S]) -> SVector<S, R> {
    matrix(numbers)
}

/// Reads an array (k, R, C), or (R, C), as k matrices.
pub fn matrices<S: Scalar, const R: usize, const C: usize>(
    array: &Array,
    lane: usize,
) -> Vec<SMatrix<S, R, C>> {
    let rank = array.shape.len();
    assert!(rank >= 2 && array.shape[rank - 2..] == [R, C], "{:?} is not ({R}, {C})", array.shape);
    load::<S>(array, lane).chunks(R * C).map(matrix).collect()
}

/// Reads the columns of a matrix Z, (K, n + 1).
pub fn columns<S: Scalar, const K: usize>(z: &Array, lane: usize) -> Vec<SVector<S, K>> {
    assert!(z.shape.len() == 2 && z.shape[0] == K, "{:?} is not ({K}, _)", z.shape);
    let (entries, n) = (load::<S>(z, lane), z.shape[1]);
    (0..n).map(|c| SVector::from_fn(|i, _| entries[i * n + c])).collect()
}

/// Reads the prompt of a case from its input Z0.
pub fn prompt<S: Scalar, const K: usize, const N: usize>(
    case: &Case,
    lane: usize,
) -> Prompt<S, K, N> {
    let columns = columns::<S, K>(&case.input("Z0"), lane);
    let (query, context) = columns.split_last().expect("a prompt has its query");
    assert_eq!(context.len(), case.count("n"), "{}: n", case.label());
    Prompt::from_columns(context, *query).unwrap()
}

/// Reads the trajectory of whose one window Z, (_, n + 1), is the prompt, with gamma = 0.9: features, d numbers each,
/// and rewards.
pub fn trajectory<S: Scalar>(z: &Array, d: usize, lane: usize) -> [Vec<S>; 2] {
    let (z, n) = (load::<S>(z, lane), z.shape[1] - 1);
    let column = |row: usize, c: usize| (0..d).map(move |i| [row + i, c]);
    let at = |[i, c]: [usize; 2]| z[i * (n + 1) + c];
    let mut features: Vec<S> = (0..n).flat_map(|c| column(0, c)).map(at).collect();
    // phi_n is seen as gamma phi_n alone.
    features.extend(column(d, n - 1).map(at).map(|x| x / S::from_f64(0.9)));
    features.extend((0..2).flat_map(|_| column(0, n)).map(at));
    let rewards = (0..n).map(|c| at([2 * d, c])).chain([S::ZERO; 2]).collect();
    [features, rewards]
}

/// Returns the columns of a prompt, the query's last.
pub fn columns_of<S: Scalar, const K: usize, const N: usize>(
    prompt: &Prompt<S, K, N>,
) -> Vec<SVector<S, K>> {
    (0..=prompt.context_len()).map(|c| *prompt.column(c)).collect()
}

/// Returns the entries of a matrix given by its columns, row by row as the data has them.
pub fn rows<S: Scalar, const K: usize>(columns: &[SVector<S, K>]) -> Vec<S> {
    (0..K).flat_map(|i| columns.iter().map(move |z| z[i])).collect()
}

/// Reads the transformer of a case: inputs with these names of P and Q, params L and mode; C is its capacity for layers.
pub fn transformer<S: Scalar, const K: usize, const C: usize>(
    case: &Case,
    [p, q]: [&str; 2],
    lane: usize,
) -> Transformer<Layer<S, K>, C> {
    let [p, q] = [p, q].map(|name| matrices(&case.input(name), lane));
    assert_eq!(p.len(), q.len(), "{}: as many P as Q", case.label());
    let layers: Vec<_> = p.into_iter().zip(q).map(|(p, q)| Layer { p, q }).collect();
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

/// Returns the entries of the stored layers, P and Q of each, column by column.
pub fn numbers<S: Scalar, const K: usize, const C: usize>(
    transformer: &Transformer<Layer<S, K>, C>,
) -> Vec<S> {
    let matrices = transformer.layers().iter().flat_map(|layer| layer.matrices());
    matrices.flatten().copied().collect()
}

/// Returns the entries of a matrix, row by row as the data has them.
pub fn row_major<S: Scalar, const R: usize, const C: usize>(m: &SMatrix<S, R, C>) -> Vec<S> {
    (0..R).flat_map(|i| (0..C).map(move |j| m[(i, j)])).collect()
}
