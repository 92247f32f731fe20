//! The products of training: (K, K) matrices, slices of K columns behind each other, and K vectors whose size is a value,
//! every sum in ascending order of its index.
//!
//! A product works on few rows and columns at a time, so that its sums stay in registers: each is a register of lanes, or, of
//! a seed that trains alone, one of neighbouring rows ([`Scalar::ROWS_IN_REGISTER`]). Inside
//! a kernel nothing is a call of a closure, since code that is not inlined would lose the kernel's instructions. An operand
//! that is too short ends a product: no slice is cut by a call that could panic.

#![allow(clippy::manual_memcpy, reason = "a call of memcpy, where a loop is a few registers")]

mod products;

use super::keep_apart;
use crate::scalar::{Scalar, kernel};
pub(crate) use products::{
    Operands, mul, mul_transpose, mul_transpose_symmetric, mul_vectors, transpose_mul,
    transpose_mul_vectors,
};

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

/// Runs the body for tiles of N indices below `$end`. Each size is taken as long as it fits and leaves no index, or at least
/// `$least`. (For 4, 7 or 8 the compiler looks for vectors across rows, which rows in registers want.)
macro_rules! tiles {
    ($i:ident < $end:expr, $N:ident in [$($n:expr),*], $body:expr) => {
        tiles!($i < $end, $N in [$($n),*] leaving 1, $body)
    };
    ($i:ident < $end:expr, $N:ident in [$($n:expr),*] leaving $least:expr, $body:expr) => {
        $({
            const $N: usize = $n;
            while $crate::linalg::any_size::fits($i + $N, $end, $least) {
                $body;
                $i += $N;
            }
        })*
    };
}

pub(crate) use tiles;

/// Returns whether a tile that ends at this index leaves no indices below `end`, or enough of them.
#[inline(always)]
pub(crate) const fn fits(next: usize, end: usize, least: usize) -> bool {
    next == end || next + least <= end
}

/// Returns from a kernel without a value unless there is one.
macro_rules! or_return {
    ($option:expr) => {
        match $option {
            Some(value) => value,
            None => return,
        }
    };
}

use or_return;

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
    /// Computes M += sum over the pairs of x y^T, one pair after the other.
    pub(crate) fn add_outers as AddOuters<'a, S: Scalar, const N: usize>(
        k: usize,
        m: &'a mut [S],
        pairs: [(&'a [S], &'a [S]); N],
    ) {
        let pairs = or_return!(cut(k, pairs));
        if S::ROWS_IN_REGISTER {
            let mut i = 0;
            tiles!(i < k.saturating_sub(9), R in [8], add_outers_in_rows::<S, R, N>(k, m, pairs, i));
            tiles!(i < k, R in [9, 8, 1], add_outers_in_rows::<S, R, N>(k, m, pairs, i));
            return;
        }
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
        if S::ROWS_IN_REGISTER {
            let mut i = 0;
            tiles!(i < k.saturating_sub(9), R in [8], symmetric_outers_in_rows::<S, R, N>(k, m, pairs, i));
            tiles!(i < k, R in [9, 8, 1], symmetric_outers_in_rows::<S, R, N>(k, m, pairs, i));
            return;
        }
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

/// Computes rows i to i + R of [`add_outers`].
#[inline(always)]
fn add_outers_in_rows<S: Scalar, const R: usize, const N: usize>(
    k: usize,
    m: &mut [S],
    pairs: [(&[S], &[S]); N],
    i: usize,
) {
    let mut x = [[S::ZERO; R]; N];
    for p in 0..N {
        x[p] = copied(or_return!(chunk_at(pairs[p].0, i)));
    }
    let mut rest = or_return!(m.get_mut(i..));
    for j in 0..k {
        let mut sums: [S; R] = copied(or_return!(rest.first_chunk()));
        for p in 0..N {
            let y_j = *or_return!(pairs[p].1.get(j));
            for r in 0..R {
                sums[r] += x[p][r] * y_j;
            }
        }
        set_numbers(rest, 0, &sums);
        rest = rest.get_mut(k..).unwrap_or_default();
    }
}

/// Computes rows i to i + R of [`symmetric_outers`], in all columns.
#[inline(always)]
fn symmetric_outers_in_rows<S: Scalar, const R: usize, const N: usize>(
    k: usize,
    m: &mut [S],
    pairs: [(&[S], &[S]); N],
    i: usize,
) {
    let (mut x, mut y) = ([[S::ZERO; R]; N], [[S::ZERO; R]; N]);
    for p in 0..N {
        x[p] = copied(or_return!(chunk_at(pairs[p].0, i)));
        y[p] = copied(or_return!(chunk_at(pairs[p].1, i)));
    }
    let mut rest = or_return!(m.get_mut(i..));
    for j in 0..k {
        let mut sums = [S::ZERO; R];
        for p in 0..N {
            let (x_j, y_j) = (*or_return!(pairs[p].0.get(j)), *or_return!(pairs[p].1.get(j)));
            for r in 0..R {
                sums[r] += x[p][r] * y_j + y[p][r] * x_j;
            }
        }
        set_numbers(rest, 0, &sums);
        rest = rest.get_mut(k..).unwrap_or_default();
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
        let Some((before, column)) = m.split_at_mut_checked(j * k) else { return };
        let (mut row, mut i) = (before, 0);
        while let (Some(to), Some(x)) = (row.get_mut(j), column.get(i)) {
            keep_apart::<S>();
            *to = *x;
            row = row.get_mut(k..).unwrap_or_default();
            i += 1;
        }
    }
}

/// A matrix that many products take transposed: where rows fill registers, and if there is room, with its transposed.
#[derive(Clone, Copy)]
pub(crate) struct Transposable<'a, S> {
    m: &'a [S],
    transposed: Option<&'a [S]>,
}

impl<'a, S: Scalar> Transposable<'a, S> {
    #[inline(always)]
    pub(crate) fn new(k: usize, m: &'a [S], room: &'a mut [S]) -> Self {
        if !S::ROWS_IN_REGISTER || room.len() < m.len() {
            return Transposable { m, transposed: None };
        }
        for (j, column) in m.chunks_exact(k).enumerate() {
            let mut row = &mut *room;
            for x in column {
                if let Some(to) = row.get_mut(j) {
                    *to = *x;
                }
                row = row.get_mut(k..).unwrap_or_default();
            }
        }
        Transposable { m, transposed: Some(room) }
    }

    #[inline(always)]
    pub(crate) fn mul_vectors<const M: usize>(&self, k: usize, vectors: [Operands<S>; M]) {
        mul_vectors(k, self.m, vectors);
    }

    #[inline(always)]
    pub(crate) fn transpose_mul_vectors<const M: usize>(
        &self,
        k: usize,
        vectors: [Operands<S>; M],
    ) {
        match self.transposed {
            Some(transposed) if S::ROWS_IN_REGISTER => mul_vectors(k, transposed, vectors),
            _ => transpose_mul_vectors(k, self.m, vectors),
        }
    }
}
