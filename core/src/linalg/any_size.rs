//! The products of training: (K, K) matrices, slices of K columns behind each other, and K vectors whose size is a value,
//! every sum in ascending order of its index.
//!
//! A product works on few rows and columns at a time, so that its sums, each a register of lanes, stay in registers. Inside
//! a kernel nothing is a call of a closure, since code that is not inlined would lose the kernel's instructions. An operand
//! that is too short ends a product: no slice is cut by a call that could panic.

#![allow(clippy::manual_memcpy, reason = "a call of memcpy, where a loop is a few registers")]

use super::keep_apart;
use crate::scalar::{Scalar, kernel};

/// The matrix or vector that a product is added to.
#[derive(Clone, Copy)]
pub(crate) enum Addend<'a, S: Scalar> {
    Zero,
    /// The numbers that the result holds already.
    InPlace,
    Other(&'a [S]),
}

impl<S: Scalar> Addend<'_, S> {
    /// Returns what it is read from, for a result that holds `itself`.
    #[inline(always)]
    fn source<'b>(&'b self, itself: &'b [S]) -> &'b [S] {
        if let Addend::Other(m) = self { m } else { itself }
    }

    #[inline(always)]
    fn is_zero(&self) -> bool {
        matches!(self, Addend::Zero)
    }
}

/// Returns N numbers starting at an index, to be read from where they are.
#[inline(always)]
fn chunk_at<const N: usize, S>(x: &[S], at: usize) -> Option<&[S; N]> {
    rest_from(x, at).first_chunk()
}

#[inline(always)]
fn copied<const N: usize, S: Scalar>(x: &[S; N]) -> [S; N] {
    let mut numbers = [S::ZERO; N];
    for n in 0..N {
        numbers[n] = x[n];
    }
    numbers
}

#[inline(always)]
fn set_numbers<const N: usize, S: Scalar>(x: &mut [S], at: usize, numbers: &[S; N]) {
    let Some((_, x)) = x.split_at_mut_checked(at) else { return };
    let Some(x) = x.first_chunk_mut::<N>() else { return };
    for n in 0..N {
        x[n] = numbers[n];
    }
}

#[inline(always)]
fn part<S>(x: &[S], at: usize, len: usize) -> Option<&[S]> {
    rest_from(x, at).get(..len)
}

#[inline(always)]
fn part_mut<S>(x: &mut [S], at: usize, len: usize) -> Option<&mut [S]> {
    x.get_mut(at..)?.get_mut(..len)
}

#[inline(always)]
fn rest_from<S>(x: &[S], at: usize) -> &[S] {
    x.get(at..).unwrap_or_default()
}

/// Runs the body for tiles of N indices below `$end`, each size as long as it fits and leaves none, or enough for the
/// smallest. (For 4, 7 or 8 the compiler looks for vectors across rows.)
macro_rules! tiles {
    ($i:ident < $end:expr, $N:ident in [$($n:expr),*], $body:expr) => {{
        const SIZES: &[usize] = &[$($n),*];
        const SMALLEST: usize = SIZES[SIZES.len() - 1];
        $({
            const $N: usize = $n;
            while $i + $N <= $end && ($i + $N == $end || $i + $N + SMALLEST <= $end) {
                $body;
                $i += $N;
            }
        })*
    }};
}

pub(crate) use tiles;

/// Returns from a kernel without a value unless there is one.
macro_rules! or_return {
    ($option:expr) => {
        match $option {
            Some(value) => value,
            None => return,
        }
    };
}

#[inline(always)]
pub(crate) fn scaled<S: Scalar>(out: &mut [S], s: S, x: &[S]) {
    for (out, x) in out.iter_mut().zip(x) {
        keep_apart::<S>();
        *out = s * *x;
    }
}

#[inline(always)]
pub(crate) fn add<S: Scalar>(x: &mut [S], y: &[S]) {
    for (x, y) in x.iter_mut().zip(y) {
        keep_apart::<S>();
        *x += *y;
    }
}

#[inline(always)]
pub(crate) fn dot<S: Scalar>(x: &[S], y: &[S]) -> S {
    let mut sum = S::ZERO;
    for (x_k, y_k) in x.iter().zip(y) {
        sum += *x_k * *y_k;
    }
    sum
}

kernel! {
    /// Computes out = onto + A x, or onto + A^T x if `TRANSPOSED`, for M vectors (out, onto, x): A is read once.
    fn products as Products<'a, S: Scalar, const M: usize, const TRANSPOSED: bool>(
        k: usize,
        a: &'a [S],
        vectors: [Operands<'a, S>; M],
    ) {
        let (mut xs, mut i) = ([a; M], 0);
        for c in 0..M {
            xs[c] = or_return!(vectors[c].2.get(..k));
        }
        tiles!(i < k, N in [9, 5, 3, 1], {
            let mut sums = [[S::ZERO; N]; M];
            for c in 0..M {
                if !vectors[c].1.is_zero() {
                    sums[c] = copied(or_return!(chunk_at(vectors[c].1.source(vectors[c].0), i)));
                }
            }
            let (mut rows, mut columns) = (rest_from(a, i), [a; N]);
            if TRANSPOSED {
                for n in 0..N {
                    columns[n] = or_return!(part(a, (i + n) * k, k));
                }
            }
            for l in 0..k {
                let mut a_l = [S::ZERO; N];
                if TRANSPOSED {
                    for n in 0..N {
                        a_l[n] = *or_return!(columns[n].get(l));
                    }
                } else {
                    (a_l, rows) = (copied(or_return!(rows.first_chunk())), rest_from(rows, k));
                }
                for n in 0..N {
                    for c in 0..M {
                        sums[c][n] += a_l[n] * *or_return!(xs[c].get(l));
                    }
                }
            }
            for c in 0..M {
                set_numbers(vectors[c].0, i, &sums[c]);
            }
        });
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
        tiles!(i < k, N in [3, SMALL], {
            let mut j = if SYMMETRIC { i } else { 0 };
            tiles!(j < k, M in [3, SMALL], {
                let mut sums = [[S::ZERO; N]; M];
                let (mut a_columns, mut b_columns) = ([a; N], [b; M]);
                for c in 0..M {
                    if !onto.is_zero() {
                        sums[c] = copied(or_return!(chunk_at(onto.source(m), (j + c) * k + i)));
                    }
                    if !B_TRANSPOSED {
                        b_columns[c] = or_return!(part(b, (j + c) * k, k));
                    }
                }
                if A_TRANSPOSED {
                    for n in 0..N {
                        a_columns[n] = or_return!(part(a, (i + n) * k, k));
                    }
                }
                let (mut a_rows, mut b_rows) = (rest_from(a, i), rest_from(b, j));
                for l in 0..k {
                    let (mut a_l, mut b_l) = ([S::ZERO; N], [S::ZERO; M]);
                    if A_TRANSPOSED {
                        for n in 0..N {
                            a_l[n] = *or_return!(a_columns[n].get(l));
                        }
                    } else {
                        (a_l, a_rows) = (copied(or_return!(a_rows.first_chunk())), rest_from(a_rows, k));
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
            });
        });
        if SYMMETRIC {
            mirror(k, m);
        }
    }
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

kernel! {
    /// Computes M += sum over the pairs of x y^T, one pair after the other.
    pub(crate) fn add_outers as AddOuters<'a, S: Scalar, const N: usize>(
        k: usize,
        m: &'a mut [S],
        pairs: [(&'a [S], &'a [S]); N],
    ) {
        let pairs = or_return!(cut(k, pairs));
        let mut y_j = [S::ZERO; N];
        for j in 0..k {
            for p in 0..N {
                y_j[p] = *or_return!(pairs[p].1.get(j));
            }
            let column = or_return!(part_mut(m, j * k, k));
            for i in 0..k {
                keep_apart::<S>();
                let to = or_return!(column.get_mut(i));
                let mut sum = *to;
                for p in 0..N {
                    sum += *or_return!(pairs[p].0.get(i)) * y_j[p];
                }
                *to = sum;
            }
        }
    }
}

kernel! {
    /// Computes M = the sum over the pairs of (x y^T + y x^T): exactly symmetric, as each bracket is.
    pub(crate) fn symmetric_outers as SymmetricOuters<'a, S: Scalar, const N: usize>(
        k: usize,
        m: &'a mut [S],
        pairs: [(&'a [S], &'a [S]); N],
    ) {
        let pairs = or_return!(cut(k, pairs));
        let (mut x_j, mut y_j) = ([S::ZERO; N], [S::ZERO; N]);
        for j in 0..k {
            for p in 0..N {
                (x_j[p], y_j[p]) = (*or_return!(pairs[p].0.get(j)), *or_return!(pairs[p].1.get(j)));
            }
            let column = or_return!(part_mut(m, j * k, k));
            for i in 0..=j {
                keep_apart::<S>();
                let to = or_return!(column.get_mut(i));
                let mut sum = S::ZERO;
                for p in 0..N {
                    sum += *or_return!(pairs[p].0.get(i)) * y_j[p] + *or_return!(pairs[p].1.get(i)) * x_j[p];
                }
                *to = sum;
            }
        }
        mirror(k, m);
    }
}

/// Cuts vectors to their length, so that the compiler doubts no index later.
#[inline(always)]
fn cut<'a, const N: usize, S>(
    k: usize,
    mut pairs: [(&'a [S], &'a [S]); N],
) -> Option<[(&'a [S], &'a [S]); N]> {
    for p in 0..N {
        pairs[p] = (pairs[p].0.get(..k)?, pairs[p].1.get(..k)?);
    }
    Some(pairs)
}

#[inline(always)]
pub(crate) fn mirror<S: Scalar>(k: usize, m: &mut [S]) {
    for j in 1..k {
        for i in 0..j {
            keep_apart::<S>();
            let x = m.get(j * k + i).copied();
            if let (Some(to), Some(x)) = (m.get_mut(i * k + j), x) {
                *to = x;
            }
        }
    }
}
