//! Small dense linear systems whose size is a value. (nalgebra's decompositions need dimension bounds that would show in
//! every signature that is generic over the number of states.)

use super::is_finite;
#[cfg(feature = "research")]
use super::zeros;
use crate::error::{Error, Result, ensure};
use crate::scalar::Real;
use nalgebra::{SMatrix, SVector};

/// Returns the solution x of A x = b for the leading `size` rows and columns of A (entries beyond are
/// ignored, and 0 in x), by Gaussian elimination with partial pivoting.
/// Returns [`Error::CapacityExceeded`] if `size` > M, [`Error::NonFinite`] if A or b holds NaN or an infinity,
/// [`Error::Singular`] if a pivot vanishes against rounding. All name `system`.
pub fn solve<R: Real, const M: usize>(
    mut a: SMatrix<R, M, M>,
    mut b: SVector<R, M>,
    size: usize,
    system: &'static str,
) -> Result<SVector<R, M>> {
    ensure(size <= M, Error::capacity(system, M))?;
    let smallest_pivot = largest_entry(&a, size, size, &b, system)? * epsilon(size);
    let singular = || Error::Singular { system };
    eliminate(&mut a.data.0, &mut b.data.0, size, smallest_pivot).ok_or_else(singular)?;
    for i in size..M {
        b[i] = R::ZERO;
    }
    if is_finite(&b) { Ok(b) } else { Err(singular()) }
}

/// Solves for the leading `size` unknowns of each right-hand side in place; the matrix is stored column by column. Returns `None` if a pivot is not
/// above the smallest allowed one.
#[inline(always)]
pub(crate) fn eliminate<R: Real, const M: usize, const K: usize>(
    m: &mut [[R; M]; M],
    right: &mut [[R; M]; K],
    size: usize,
    smallest_pivot: R,
) -> Option<()> {
    let size = size.min(M);
    for k in 0..size {
        let (mut pivot, mut largest) = (k, m[k][k].abs());
        for i in k + 1..size {
            if m[k][i].abs() > largest {
                (pivot, largest) = (i, m[k][i].abs());
            }
        }
        if !(largest > smallest_pivot) {
            return None;
        }
        if pivot > k {
            // Always in bounds; `min` lets the compiler see it and drop the panic.
            let pivot = pivot.min(M - 1);
            for j in k..size {
                (m[j][pivot], m[j][k]) = (m[j][k], m[j][pivot]);
            }
            for x in &mut *right {
                (x[pivot], x[k]) = (x[k], x[pivot]);
            }
        }
        for i in k + 1..size {
            let factor = m[k][i] / m[k][k];
            // Features of unused capacity have rows of zeros.
            if factor == R::ZERO {
                continue;
            }
            for j in k + 1..size {
                let of_k = m[j][k];
                m[j][i] -= factor * of_k;
            }
            for x in &mut *right {
                let x_k = x[k];
                x[i] -= factor * x_k;
            }
        }
    }
    for x in right {
        for i in (0..size).rev() {
            let mut sum = x[i];
            for j in i + 1..size {
                sum -= m[j][i] * x[j];
            }
            x[i] = sum / m[i][i];
        }
    }
    Some(())
}

/// Returns argmin_x ||A x - b|| by Householder QR. Only the leading `rows` and `columns` of A count: other entries of
/// A and b are ignored, and those of x are 0.
/// Returns [`Error::CapacityExceeded`] for more rows or columns than M and N, [`Error::NonFinite`] if A or b holds NaN or an
/// infinity, [`Error::Singular`] if A lacks full column rank. All name `system`.
#[cfg(feature = "research")]
pub fn least_squares<R: Real, const M: usize, const N: usize>(
    mut a: SMatrix<R, M, N>,
    mut b: SVector<R, M>,
    [rows, columns]: [usize; 2],
    system: &'static str,
) -> Result<SVector<R, N>> {
    for (size, capacity) in [(rows, M), (columns, N)] {
        ensure(size <= capacity, Error::CapacityExceeded { parameter: system, capacity })?;
    }
    ensure(rows >= columns, Error::Singular { system })?;
    let smallest_pivot = largest_entry(&a, rows, columns, &b, system)? * epsilon(rows);
    let mut diagonal = zeros::<R, N, 1>();
    for k in 0..columns {
        let mut squares = R::ZERO;
        for i in k..rows {
            squares += a[(i, k)] * a[(i, k)];
        }
        let norm = squares.sqrt();
        ensure(!(norm <= smallest_pivot), Error::Singular { system })?;
        // The reflection that sends column k to (diagonal_k, 0, ..): away from cancellation.
        diagonal[k] = if a[(k, k)] > R::ZERO { -norm } else { norm };
        a[(k, k)] -= diagonal[k];
        let (done, later) = a.data.0.split_at_mut(k + 1);
        let v = &done[k];
        // v^T v = -2 diagonal_k v_k for this v.
        let half_squares = -(diagonal[k] * v[k]);
        let reflect = |x: &mut [R; M]| {
            let mut projection = R::ZERO;
            for i in k..rows {
                projection += v[i] * x[i];
            }
            let factor = projection / half_squares;
            for i in k..rows {
                x[i] -= factor * v[i];
            }
        };
        later.iter_mut().take(columns - k - 1).for_each(reflect);
        reflect(&mut b.data.0[0]);
    }
    let mut x = zeros::<R, N, 1>();
    for i in (0..columns).rev() {
        let mut sum = b[i];
        for j in i + 1..columns {
            sum -= a[(i, j)] * x[j];
        }
        x[i] = sum / diagonal[i];
    }
    if is_finite(&x) { Ok(x) } else { Err(Error::Singular { system }) }
}

/// Returns the unit roundoff times the size: what elimination cannot tell from 0, relative to A.
pub(crate) fn epsilon<R: Real>(size: usize) -> R {
    let ulp = if R::BYTES == 4 { f32::EPSILON.into() } else { f64::EPSILON };
    R::from_f64(ulp) * R::from_count(size as u64)
}

fn largest_entry<R: Real, const M: usize, const N: usize>(
    a: &SMatrix<R, M, N>,
    rows: usize,
    columns: usize,
    b: &SVector<R, M>,
    system: &'static str,
) -> Result<R> {
    // (No indices: at opt-level "s" their checks would stay.)
    let columns = a.data.0.iter().take(columns).map(|column| column.iter().take(rows));
    let mut largest = R::ZERO;
    let mut finite = b.data.0[0].iter().take(rows).all(|x| x.is_finite());
    for x in columns.flatten() {
        finite &= x.is_finite();
        largest = largest.max(x.abs());
    }
    if finite { Ok(largest) } else { Err(Error::NonFinite { parameter: system }) }
}
