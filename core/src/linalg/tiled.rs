//! The product of two matrices for a chip: by tiles of 3 x 3 entries, for which it loads 6 numbers
//! per 9 multiplications, not 10. Each entry is the same ascending sum: the same bits.

use super::combine;
use crate::scalar::Scalar;
use nalgebra::SMatrix;

/// out = A B, (R, K) times (K, C).
#[inline(never)]
pub(crate) fn mul_to<S: Scalar, const R: usize, const K: usize, const C: usize>(
    a: &SMatrix<S, R, K>,
    b: &SMatrix<S, K, C>,
    out: &mut SMatrix<S, R, C>,
) {
    let (threes, rest) = b.data.0.as_chunks::<3>();
    let (out_threes, out_rest) = out.data.0.as_chunks_mut::<3>();
    for (to, x) in out_threes.iter_mut().zip(threes) {
        for tile in 0..R / 3 {
            let sums = tile_of(&a.data.0, x, tile);
            for (to, sums) in to.iter_mut().zip(sums) {
                if let Some(to) = to.as_chunks_mut::<3>().0.get_mut(tile) {
                    *to = sums;
                }
            }
        }
        for i in R / 3 * 3..R {
            for (to, x) in to.iter_mut().zip(x) {
                to[i] = a.data.0[0][i] * x[0];
                for k in 1..K {
                    to[i] += a.data.0[k][i] * x[k];
                }
            }
        }
    }
    for (to, x) in out_rest.iter_mut().zip(rest) {
        *to = combine(&a.data.0, x);
    }
}

/// Three neighbouring rows of A times three columns x.
#[inline(always)]
fn tile_of<S: Scalar, const R: usize, const K: usize>(
    a: &[[S; R]; K],
    x: &[[S; K]; 3],
    tile: usize,
) -> [[S; 3]; 3] {
    let mut sums = [[S::ZERO; 3]; 3];
    for k in 0..K {
        let Some(rows) = a[k].as_chunks::<3>().0.get(tile) else { continue };
        for n in 0..3 {
            for r in 0..3 {
                if k == 0 {
                    sums[n][r] = rows[r] * x[n][k];
                } else {
                    sums[n][r] += rows[r] * x[n][k];
                }
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::zeros;
    use crate::rng::Rng;

    #[test]
    fn tiles_are_nalgebras_own_bits() {
        fn check<const R: usize, const K: usize, const C: usize>() {
            let mut rng = Rng::new(1);
            for _ in 0..20 {
                // With zeros of both signs, whose sums must keep their sign.
                let mut number = || {
                    let x: f32 = rng.uniform_in(-1.0, 1.0);
                    if x.abs() < 0.1 { 0.0 * x } else { x }
                };
                let a = SMatrix::<f32, R, K>::from_fn(|_, _| number());
                let b = SMatrix::<f32, K, C>::from_fn(|_, _| number());
                let mut out = zeros();
                mul_to(&a, &b, &mut out);
                assert_eq!(out.map(f32::to_bits), (a * b).map(f32::to_bits));
            }
        }
        check::<9, 9, 9>();
        check::<5, 4, 7>();
        check::<7, 5, 4>();
        check::<3, 1, 3>();
        check::<2, 2, 2>();
    }
}
