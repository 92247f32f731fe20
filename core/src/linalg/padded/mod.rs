//! The products of the training batch: K x K matrices and K vectors of any size, known when they run,
//! every sum in ascending order of its index.
//!
//! Matrices are K columns behind each other. With lanes a column is K registers. With `f32` it is padded
//! to a multiple of the register width, so that a product runs along it ([`Size`]). Rows beyond K are
//! never read back, so they change no bit of the others.
//!
//! How a product is computed, [`lanes`] and [`alone`] say. Each product is a
//! [kernel](crate::scalar::Kernel), compiled once; inside it nothing is a call of a closure over rows:
//! what is not inlined would lose the kernel's instructions.

#![allow(clippy::manual_memcpy, reason = "a call of memcpy, where a loop is a few registers")]

mod alone;
mod lanes;

use super::keep_apart;
use crate::scalar::{Scalar, kernel};

/// How large the matrices of a product are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// K.
    pub(crate) k: usize,
    /// The length of a vector and of a matrix's column, of which K count.
    pub(crate) rows: usize,
    /// True where the compiler sees that this is [`Size::PAPER`], in a kernel: a short product is then
    /// worth less than its call.
    pub(crate) known: bool,
}

impl Size {
    /// The paper's tokens, d = 4, for one number.
    pub(crate) const PAPER: Self =
        Size { k: 9, rows: if cfg!(target_os = "none") { 9 } else { 16 }, known: true };

    /// Columns of whole registers for one number; no longer than K for lanes, each of which is a
    /// register, and on a microcontroller, which has no registers to fill.
    pub(crate) const fn of<S: Scalar>(k: usize) -> Self {
        let packed = S::LANES > 1 || cfg!(target_os = "none");
        Size { k, rows: if packed { k } else { k.next_multiple_of(8) }, known: false }
    }

    /// The numbers of a matrix.
    #[inline(always)]
    pub(crate) const fn matrix(self) -> usize {
        self.k * self.rows
    }
}

/// N numbers from one on.
#[inline(always)]
fn numbers_at<const N: usize, S: Scalar>(x: &[S], at: usize) -> [S; N] {
    let x = &x[at..][..N];
    let mut numbers = [S::ZERO; N];
    for n in 0..N {
        numbers[n] = x[n];
    }
    numbers
}

/// What is left from a number on, if anything is.
#[inline(always)]
fn from<S>(x: &[S], at: usize) -> &[S] {
    x.get(at..).unwrap_or_default()
}

/// Writes N numbers from one on.
#[inline(always)]
fn set_numbers<const N: usize, S: Scalar>(x: &mut [S], at: usize, numbers: &[S; N]) {
    let x = &mut x[at..][..N];
    for n in 0..N {
        x[n] = numbers[n];
    }
}

/// What a product is added to: a matrix or a vector.
#[derive(Clone, Copy)]
pub(crate) enum Onto<'a, S: Scalar> {
    Zeros,
    /// What the result holds already.
    Itself,
    Other(&'a [S]),
}

impl<S: Scalar> Onto<'_, S> {
    /// N numbers from one on, of a result that holds `itself`.
    #[inline(always)]
    fn numbers<const N: usize>(&self, itself: &[S], at: usize) -> [S; N] {
        match self {
            Onto::Zeros => [S::ZERO; N],
            Onto::Itself => numbers_at(itself, at),
            Onto::Other(m) => numbers_at(m, at),
        }
    }

    /// Rows i to i + N - 1 of columns j to j + M - 1.
    #[inline(always)]
    fn square<const N: usize, const M: usize>(
        &self,
        itself: &[S],
        i: usize,
        j: usize,
        rows: usize,
    ) -> [[S; N]; M] {
        let mut square = [[S::ZERO; N]; M];
        for c in 0..M {
            square[c] = self.numbers(itself, (j + c) * rows + i);
        }
        square
    }

    /// So many numbers from one on, for a result that is cut there.
    #[inline(always)]
    fn cut(self, at: usize, len: usize) -> Self {
        match self {
            Onto::Other(m) => Onto::Other(&m[at..][..len]),
            onto => onto,
        }
    }
}

/// What the file of the number's kind says.
macro_rules! by_kind {
    ($S:ident, $product:ident($($arg:expr),*)) => {
        if $S::LANES > 1 { lanes::$product($($arg),*) } else { alone::$product($($arg),*) }
    };
}

/// The same, for one number with a copy for the size of the paper's tokens.
macro_rules! by_size {
    ($S:ident, $size:ident, $product:ident($($arg:expr),*)) => {
        if $S::LANES > 1 {
            lanes::$product($($arg),*)
        } else if $size.k == Size::PAPER.k && $size.rows == Size::PAPER.rows {
            let $size = Size::PAPER;
            alone::$product($($arg),*)
        } else {
            alone::$product($($arg),*)
        }
    };
}

/// out = s x.
#[inline(always)]
pub(crate) fn scaled<S: Scalar>(out: &mut [S], s: S, x: &[S]) {
    by_kind!(S, scaled(out, s, x))
}

/// x += y.
#[inline(always)]
pub(crate) fn add<S: Scalar>(x: &mut [S], y: &[S]) {
    by_kind!(S, add(x, y))
}

/// <x, y>.
#[inline(always)]
pub(crate) fn dot<S: Scalar>(size: Size, x: &[S], y: &[S]) -> S {
    let mut sum = S::ZERO;
    for (x_k, y_k) in x.iter().zip(y).take(size.k) {
        sum += *x_k * *y_k;
    }
    sum
}

/// [`mul_vector`], in the kernel that asks for it if that knows the size.
#[inline(always)]
pub(crate) fn short_mul_vector<S: Scalar>(
    size: Size,
    out: &mut [S],
    onto: Onto<S>,
    a: &[S],
    x: &[S],
) {
    if size.known {
        by_kind!(S, mul_vector(size, out, onto, a, x))
    } else {
        mul_vector(size, out, onto, a, x)
    }
}

kernel! {
    /// out = onto + A x.
    pub(crate) fn mul_vector as MulVector<'a, S: Scalar>(
        size: Size,
        out: &'a mut [S],
        onto: Onto<'a, S>,
        a: &'a [S],
        x: &'a [S],
    ) {
        by_size!(S, size, mul_vector(size, out, onto, a, x))
    }
}

/// [`mul_vectors`], likewise.
#[inline(always)]
pub(crate) fn short_mul_vectors<S: Scalar>(
    size: Size,
    outs: [&mut [S]; 2],
    ontos: [Onto<S>; 2],
    a: &[S],
    xs: [&[S]; 2],
) {
    if size.known {
        by_kind!(S, mul_vectors(size, outs, ontos, a, xs))
    } else {
        mul_vectors(size, outs, ontos, a, xs)
    }
}

kernel! {
    /// [`mul_vector`] with two vectors: A is read once.
    pub(crate) fn mul_vectors as MulVectors<'a, S: Scalar>(
        size: Size,
        outs: [&'a mut [S]; 2],
        ontos: [Onto<'a, S>; 2],
        a: &'a [S],
        xs: [&'a [S]; 2],
    ) {
        by_size!(S, size, mul_vectors(size, outs, ontos, a, xs))
    }
}

kernel! {
    /// M = onto + A B.
    pub(crate) fn mul as Mul<'a, S: Scalar>(
        size: Size,
        m: &'a mut [S],
        onto: Onto<'a, S>,
        a: &'a [S],
        b: &'a [S],
    ) {
        by_size!(S, size, mul(size, m, onto, a, b))
    }
}

kernel! {
    /// M = onto + A B^T.
    pub(crate) fn mul_transpose as MulTranspose<'a, S: Scalar>(
        size: Size,
        m: &'a mut [S],
        onto: Onto<'a, S>,
        a: &'a [S],
        b: &'a [S],
    ) {
        by_size!(S, size, mul_transpose(size, m, onto, a, b))
    }
}

kernel! {
    /// M = onto + A B^T where that is symmetric: exactly so.
    pub(crate) fn mul_transpose_symmetric as MulTransposeSymmetric<'a, S: Scalar>(
        size: Size,
        m: &'a mut [S],
        onto: Onto<'a, S>,
        a: &'a [S],
        b: &'a [S],
    ) {
        by_size!(S, size, mul_transpose_upper(size, m, onto, a, b));
        mirror(size, m);
    }
}

kernel! {
    /// M += sum over the pairs of x y^T, one pair after the other.
    pub(crate) fn add_outers as AddOuters<'a, S: Scalar, const N: usize>(
        size: Size,
        m: &'a mut [S],
        pairs: [(&'a [S], &'a [S]); N],
    ) {
        by_size!(S, size, add_outers(size, m, pairs))
    }
}

kernel! {
    /// M = the sum over the pairs of (x y^T + y x^T): exactly symmetric, as each bracket is.
    pub(crate) fn symmetric_outers as SymmetricOuters<'a, S: Scalar, const N: usize>(
        size: Size,
        m: &'a mut [S],
        pairs: [(&'a [S], &'a [S]); N],
    ) {
        by_size!(S, size, symmetric_outers(size, m, pairs));
        mirror(size, m);
    }
}

/// Copies the upper triangle of a symmetric matrix to its lower one.
#[inline(always)]
pub(crate) fn mirror<S: Scalar>(Size { k, rows, .. }: Size, m: &mut [S]) {
    let m = &mut m[..k * rows];
    for j in 1..k {
        for i in 0..j {
            keep_apart::<S>();
            m[i * rows + j] = m[j * rows + i];
        }
    }
}

kernel! {
    /// out = A^T.
    pub(crate) fn transpose as TransposeMatrix<'a, S: Scalar>(size: Size, out: &'a mut [S], a: &'a [S]) {
        let Size { k, rows, .. } = size;
        let (out, a) = (&mut out[..k * rows], &a[..k * rows]);
        for j in 0..k {
            for i in 0..k {
                keep_apart::<S>();
                out[i * rows + j] = a[j * rows + i];
            }
        }
    }
}

/// A matrix that is multiplied from both sides: a padded scalar column needs the transpose at hand,
/// lanes read the matrix itself by rows.
#[derive(Clone, Copy)]
pub(crate) struct TwoSided<'a, S> {
    pub(crate) m: &'a [S],
    transpose: &'a [S],
}

impl<'a, S: Scalar> TwoSided<'a, S> {
    /// How many matrices it takes.
    pub(crate) const MATRICES: usize = if S::LANES == 1 { 2 } else { 1 };

    /// The matrix `m`, and room for one more where that is needed, which has its transpose or gets it.
    #[inline(always)]
    pub(crate) fn of(m: &'a [S], transpose: &'a [S]) -> Self {
        TwoSided { m, transpose }
    }

    /// The two in one piece.
    #[inline(always)]
    pub(crate) fn within(size: Size, both: &'a [S]) -> Self {
        let (m, transpose) = both.split_at(size.matrix());
        TwoSided { m, transpose }
    }

    /// After a change of the matrix, which comes first.
    #[inline(always)]
    pub(crate) fn update(size: Size, both: &mut [S]) {
        if S::LANES == 1 {
            let (m, out) = both.split_at_mut(size.matrix());
            transpose(size, out, m);
        }
    }

    /// out = onto + A^T x.
    #[inline(always)]
    pub(crate) fn transpose_mul_vector(&self, size: Size, out: &mut [S], onto: Onto<S>, x: &[S]) {
        if S::LANES == 1 {
            short_mul_vector(size, out, onto, self.transpose, x)
        } else {
            transpose_mul_vector(size, out, onto, self.m, x)
        }
    }

    /// [`TwoSided::transpose_mul_vector`] onto zeros, with two vectors.
    #[inline(always)]
    pub(crate) fn transpose_mul_vectors(&self, size: Size, outs: [&mut [S]; 2], xs: [&[S]; 2]) {
        let ontos = [Onto::Zeros; 2];
        if S::LANES == 1 {
            short_mul_vectors(size, outs, ontos, self.transpose, xs)
        } else {
            transpose_mul_vectors(size, outs, ontos, self.m, xs)
        }
    }

    /// M = onto + A^T B.
    #[inline(always)]
    pub(crate) fn transpose_mul(&self, size: Size, m: &mut [S], onto: Onto<S>, b: &[S]) {
        if S::LANES == 1 {
            mul(size, m, onto, self.transpose, b)
        } else {
            transpose_mul(size, m, onto, self.m, b)
        }
    }
}

kernel! {
    /// out = onto + A^T x, for lanes.
    fn transpose_mul_vector as TransposeMulVector<'a, S: Scalar>(
        size: Size,
        out: &'a mut [S],
        onto: Onto<'a, S>,
        a: &'a [S],
        x: &'a [S],
    ) {
        lanes::transpose_mul_vector(size, out, onto, a, x)
    }
}

kernel! {
    /// [`transpose_mul_vector`] with two vectors.
    fn transpose_mul_vectors as TransposeMulVectors<'a, S: Scalar>(
        size: Size,
        outs: [&'a mut [S]; 2],
        ontos: [Onto<'a, S>; 2],
        a: &'a [S],
        xs: [&'a [S]; 2],
    ) {
        lanes::transpose_mul_vectors(size, outs, ontos, a, xs)
    }
}

/// out = onto + A x for a symmetric A: by whichever is faster.
#[inline(always)]
pub(crate) fn symmetric_mul_vector<S: Scalar>(
    size: Size,
    out: &mut [S],
    onto: Onto<S>,
    a: &[S],
    x: &[S],
) {
    if S::LANES == 1 {
        short_mul_vector(size, out, onto, a, x)
    } else {
        transpose_mul_vector(size, out, onto, a, x)
    }
}

/// [`symmetric_mul_vector`] with two vectors.
#[inline(always)]
pub(crate) fn symmetric_mul_vectors<S: Scalar>(
    size: Size,
    outs: [&mut [S]; 2],
    ontos: [Onto<S>; 2],
    a: &[S],
    xs: [&[S]; 2],
) {
    if S::LANES == 1 {
        short_mul_vectors(size, outs, ontos, a, xs)
    } else {
        transpose_mul_vectors(size, outs, ontos, a, xs)
    }
}

kernel! {
    /// M = onto + A^T B, for lanes.
    fn transpose_mul as TransposeMul<'a, S: Scalar>(
        size: Size,
        m: &'a mut [S],
        onto: Onto<'a, S>,
        a: &'a [S],
        b: &'a [S],
    ) {
        lanes::transpose_mul(size, m, onto, a, b)
    }
}
