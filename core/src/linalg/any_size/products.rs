//! Products of matrices, and of a matrix and vectors.

use super::{Addend, chunk_at, copied, mirror, or_return, part, rest_from, set_numbers, tiles};
use crate::scalar::{Scalar, kernel};

kernel! {
    /// Computes out = onto + A x, or onto + A^T x if `TRANSPOSED`, for M vectors (out, onto, x): A is read once.
    fn products as Products<'a, S: Scalar, const M: usize, const TRANSPOSED: bool>(
        k: usize,
        a: &'a [S],
        vectors: [Operands<'a, S>; M],
    ) {
        let mut vectors = vectors;
        let (mut xs, mut i) = ([a; M], 0);
        for c in 0..M {
            xs[c] = or_return!(vectors[c].2.get(..k));
        }
        let vectors = &mut vectors;
        if !S::ROWS_IN_REGISTER {
            tiles!(i < k, N in [9, 5, 3, 1], {
                let a = rest_from(a, if TRANSPOSED { i * k } else { i });
                rows_times_vectors::<S, N, M, TRANSPOSED>(vectors, xs, i, a, k, false);
            });
            return;
        }
        if TRANSPOSED {
            let mut panel = [[S::ZERO; 8]; PANEL];
            tiles!(i < k, N in [8], {
                let mut from = 0;
                while from < k {
                    let len = (k - from).min(PANEL);
                    let panel = or_return!(panel.get_mut(..len));
                    or_return!(transpose(k, rest_from(a, i * k + from), panel));
                    let mut x = xs;
                    for c in 0..M {
                        x[c] = or_return!(part(xs[c], from, len));
                    }
                    rows_times_vectors::<S, N, M, false>(vectors, x, i, panel.as_flattened(), N, from > 0);
                    from += len;
                }
            });
        } else {
            // 17 and 9, as K is odd: full registers and one row more, in one loop.
            tiles!(i < k.saturating_sub(17), N in [16], {
                rows_times_vectors::<S, N, M, false>(vectors, xs, i, rest_from(a, i), k, false);
            });
            tiles!(i < k, N in [17, 9, 8, 4], {
                rows_times_vectors::<S, N, M, false>(vectors, xs, i, rest_from(a, i), k, false);
            });
        }
        tiles!(i < k, N in [1], {
            let (a, step) = if TRANSPOSED { (rest_from(a, i * k), 1) } else { (rest_from(a, i), k) };
            rows_times_vectors::<S, N, M, false>(vectors, xs, i, a, step, false);
        });
    }
}

/// Computes rows i to i + N of [`products`]: A begins with these rows, and row l follows `step` numbers behind row l - 1.
#[inline(always)]
fn rows_times_vectors<S: Scalar, const N: usize, const M: usize, const TRANSPOSED: bool>(
    vectors: &mut [Operands<S>; M],
    xs: [&[S]; M],
    i: usize,
    a: &[S],
    step: usize,
    in_place: bool,
) {
    let (mut sums, len) = ([[S::ZERO; N]; M], xs[0].len());
    for c in 0..M {
        if in_place {
            sums[c] = copied(or_return!(chunk_at(vectors[c].0, i)));
        } else if !vectors[c].1.is_zero() {
            sums[c] = copied(or_return!(chunk_at(vectors[c].1.source(vectors[c].0), i)));
        }
    }
    let (mut rows, mut columns) = (a, [a; N]);
    if TRANSPOSED {
        for n in 0..N {
            columns[n] = or_return!(part(a, n * step, len));
        }
    }
    for l in 0..len {
        let (mut a_l, mut x_l) = ([S::ZERO; N], [S::ZERO; M]);
        if TRANSPOSED {
            for n in 0..N {
                a_l[n] = *or_return!(columns[n].get(l));
            }
        } else {
            (a_l, rows) = (copied(or_return!(rows.first_chunk())), rest_from(rows, step));
        }
        for c in 0..M {
            x_l[c] = *or_return!(xs[c].get(l));
        }
        for n in 0..N {
            for c in 0..M {
                sums[c][n] += a_l[n] * x_l[c];
            }
        }
    }
    for c in 0..M {
        set_numbers(vectors[c].0, i, &sums[c]);
    }
}

/// A vector out, and the vectors onto and x that it is computed from.
pub(crate) type Operands<'a, S> = (&'a mut [S], Addend<'a, S>, &'a [S]);

#[inline(always)]
pub(crate) fn mul_vectors<S: Scalar, const M: usize>(k: usize, a: &[S], vectors: [Operands<S>; M]) {
    products::<S, M, false>(k, a, vectors);
}

#[inline(always)]
pub(crate) fn transpose_mul_vectors<S: Scalar, const M: usize>(
    k: usize,
    a: &[S],
    vectors: [Operands<S>; M],
) {
    products::<S, M, true>(k, a, vectors);
}

/// The rows and columns of a product's small tiles: a chip's loops are short, a host's vectors are of lanes, in few registers.
const SMALL: usize = if cfg!(target_os = "none") { 2 } else { 1 };

kernel! {
    /// Computes M = onto + A B, of A^T if `A_TRANSPOSED`, of B^T if `B_TRANSPOSED`; if the product is `SYMMETRIC`, its upper
    /// triangle, and the lower one by that.
    fn product as Product<
        'a, S: Scalar, const A_TRANSPOSED: bool, const B_TRANSPOSED: bool, const SYMMETRIC: bool
    >(
        k: usize,
        m: &'a mut [S],
        onto: Addend<'a, S>,
        a: &'a [S],
        b: &'a [S],
    ) {
        let mut i = 0;
        if S::ROWS_IN_REGISTER {
            let mut panel = [[S::ZERO; 8]; PANEL];
            if A_TRANSPOSED {
                tiles!(i < k, N in [8], {
                    let mut from = 0;
                    while from < k {
                        let len = (k - from).min(PANEL);
                        or_return!(transpose(k, rest_from(a, i * k + from), or_return!(panel.get_mut(..len))));
                        let onto = if from == 0 { onto } else { Addend::InPlace };
                        let b = rest_from(b, if B_TRANSPOSED { from * k } else { from });
                        let mut j = if SYMMETRIC { i } else { 0 };
                        tiles!(j < k, M in [4, 1], {
                            tile::<S, N, M, false, B_TRANSPOSED>(k, m, onto, [panel.as_flattened(), b], [N, len], [i, j]);
                        });
                        from += len;
                    }
                });
            } else {
                tiles!(i < k.saturating_sub(17), N in [16], {
                    rows_of_product::<S, N, B_TRANSPOSED, SYMMETRIC>(k, m, onto, a, b, i);
                });
                tiles!(i < k, N in [17, 9, 8, 4], {
                    rows_of_product::<S, N, B_TRANSPOSED, SYMMETRIC>(k, m, onto, a, b, i);
                });
            }
            tiles!(i < k, N in [1], {
                let mut j = if SYMMETRIC { i } else { 0 };
                tiles!(j < k, M in [4, 1], {
                    let (a, step) = if A_TRANSPOSED { (rest_from(a, i * k), 1) } else { (rest_from(a, i), k) };
                    tile::<S, N, M, false, B_TRANSPOSED>(k, m, onto, [a, b], [step, k], [i, j]);
                });
            });
        } else {
            tiles!(i < k, N in [3, SMALL] leaving SMALL, {
                let mut j = if SYMMETRIC { i } else { 0 };
                let a = rest_from(a, if A_TRANSPOSED { i * k } else { i });
                tiles!(j < k, M in [3, SMALL] leaving SMALL, {
                    tile::<S, N, M, A_TRANSPOSED, B_TRANSPOSED>(k, m, onto, [a, b], [k, k], [i, j]);
                });
            });
        }
        if SYMMETRIC {
            mirror(k, m);
        }
    }
}

/// Computes rows i to i + N of [`product`].
#[inline(always)]
fn rows_of_product<S: Scalar, const N: usize, const B_TRANSPOSED: bool, const SYMMETRIC: bool>(
    k: usize,
    m: &mut [S],
    onto: Addend<S>,
    a: &[S],
    b: &[S],
    i: usize,
) {
    let mut j = if SYMMETRIC { i } else { 0 };
    tiles!(j < k, M in [4, 1], {
        tile::<S, N, M, false, B_TRANSPOSED>(k, m, onto, [rest_from(a, i), b], [k, k], [i, j]);
    });
}

/// Computes rows i to i + N of columns j to j + M of [`product`]: A begins with these rows, and row l follows `step` numbers
/// behind row l - 1, up to `len`.
#[inline(always)]
fn tile<
    S: Scalar,
    const N: usize,
    const M: usize,
    const A_TRANSPOSED: bool,
    const B_TRANSPOSED: bool,
>(
    k: usize,
    m: &mut [S],
    onto: Addend<S>,
    [a, b]: [&[S]; 2],
    [step, len]: [usize; 2],
    [i, j]: [usize; 2],
) {
    let mut sums = [[S::ZERO; N]; M];
    let (mut a_columns, mut b_columns) = ([a; N], [b; M]);
    for c in 0..M {
        if !onto.is_zero() {
            sums[c] = copied(or_return!(chunk_at(onto.source(m), (j + c) * k + i)));
        }
        if !B_TRANSPOSED {
            b_columns[c] = or_return!(part(b, (j + c) * k, len));
        }
    }
    if A_TRANSPOSED {
        for n in 0..N {
            a_columns[n] = or_return!(part(a, n * step, len));
        }
    }
    let (mut a_rows, mut b_rows) = (a, rest_from(b, j));
    for l in 0..len {
        let (mut a_l, mut b_l) = ([S::ZERO; N], [S::ZERO; M]);
        if A_TRANSPOSED {
            for n in 0..N {
                a_l[n] = *or_return!(a_columns[n].get(l));
            }
        } else {
            (a_l, a_rows) = (copied(or_return!(a_rows.first_chunk())), rest_from(a_rows, step));
        }
        if B_TRANSPOSED {
            (b_l, b_rows) = (copied(or_return!(b_rows.first_chunk())), rest_from(b_rows, k));
        }
        for c in 0..M {
            // Read where it is used: registers are few.
            let x = if !B_TRANSPOSED { *or_return!(b_columns[c].get(l)) } else { b_l[c] };
            for n in 0..N {
                sums[c][n] += a_l[n] * x;
            }
        }
    }
    for c in 0..M {
        set_numbers(m, (j + c) * k + i, &sums[c]);
    }
}

/// The number of columns of A^T that are kept at a time.
const PANEL: usize = 40;

/// Writes columns of A^T, 8 rows of each: the first numbers of 8 columns of A.
#[inline(always)]
fn transpose<S: Scalar>(k: usize, a: &[S], to: &mut [[S; 8]]) -> Option<()> {
    let mut columns = [a; 8];
    for n in 0..8 {
        columns[n] = part(a, n * k, to.len())?;
    }
    for l in 0..to.len() {
        let to = to.get_mut(l)?;
        for n in 0..8 {
            to[n] = *columns[n].get(l)?;
        }
    }
    Some(())
}

macro_rules! products_of_matrices {
    ($($name:ident: $a:literal $b:literal $symmetric:literal;)*) => {$(
        #[inline(always)]
        pub(crate) fn $name<S: Scalar>(k: usize, m: &mut [S], onto: Addend<S>, a: &[S], b: &[S]) {
            product::<S, $a, $b, $symmetric>(k, m, onto, a, b);
        }
    )*};
}

products_of_matrices! {
    mul: false false false;
    transpose_mul: true false false;
    mul_transpose: false true false;
    mul_transpose_symmetric: false true true;
}
