use crate::layer::LayerParameters;
use crate::linalg::zeros;
use crate::scalar::{Real, Scalar as _};
use nalgebra::SMatrix;

/// Returns all signed permutations g, (D, D), 2^d d! of them; the first is the identity. Meant for d <= 3 (8 and 48).
pub fn signed_permutations<R: Real, const D: usize>()
-> impl Iterator<Item = SMatrix<R, D, D>> + Clone {
    const {
        assert!(D >= 1 && D <= 12, "2^d d! signed permutations: d from 1 to 12");
    }
    let order: u64 = (1..=D as u64).map(|i| 2 * i).product();
    (0..order).map(|index| {
        let (mut g, mut sources) = (zeros::<R, D, D>(), core::array::from_fn::<_, D, _>(|i| i));
        let mut rest = index;
        for i in 0..D {
            // One of the features that are left, and its sign.
            let left = (D - i) as u64;
            sources.swap(i, i + (rest % left) as usize);
            rest /= left;
            g[(i, sources[i])] = if rest.is_multiple_of(2) { R::ONE } else { -R::ONE };
            rest /= 2;
        }
        g
    })
}

/// Returns the part of a layer of dense matrices that commutes with every S_g, its nearest: of each (D, D) block the
/// mean of the diagonal, of the rows and columns beyond 2 D their own block.
pub fn commuting_part<const D: usize, L>(layer: &L) -> L
where
    L: LayerParameters<Scalar: Real>,
{
    let mut part = *layer;
    for m in part.matrices_mut() {
        let k = m.len().isqrt();
        // Column by column: the diagonal of the block at (row, column) is every (K + 1)-th number.
        for at in [0, D, D * k, D * k + D] {
            let diagonal = (0..D).map(|i| at + i * (k + 1));
            let mut sum = L::Scalar::ZERO;
            diagonal.clone().for_each(|i| sum += m[i]);
            let mean = sum / L::Scalar::from_count(D as u64);
            diagonal.for_each(|i| m[i] = mean);
        }
        for (at, x) in m.iter_mut().enumerate() {
            let (row, column) = (at % k, at / k);
            let features = [row < 2 * D, column < 2 * D];
            if features[0] != features[1] || (features[0] && row % D != column % D) {
                *x = L::Scalar::ZERO;
            }
        }
    }
    part
}

/// Returns the distance of layers from the set: the share of the energy (the sum of squares of all numbers) that is
/// in no layer's [`commuting_part`]; 0 of zeros.
///
/// ```
/// use ictd_core::invariant_set::{share_outside, theta_star};
///
/// let mut layer = theta_star::<f64, 2, 5>(3.0, 0.0, 0.0);
/// assert_eq!(share_outside::<2, _>(&[layer]), 0.0);
/// layer.q[(4, 0)] = -1.0;
/// assert_eq!(share_outside::<2, _>(&[layer]), 0.1);
/// ```
pub fn share_outside<const D: usize, L>(layers: &[L]) -> L::Scalar
where
    L: LayerParameters<Scalar: Real>,
{
    let (mut outside, mut all) = (L::Scalar::ZERO, L::Scalar::ZERO);
    for layer in layers {
        let part = commuting_part::<D, L>(layer);
        for (m, m_inside) in layer.matrices().zip(part.matrices()) {
            for (x, x_inside) in m.iter().zip(m_inside) {
                outside += (*x - *x_inside) * (*x - *x_inside);
                all += *x * *x;
            }
        }
    }
    if all > L::Scalar::ZERO { outside / all } else { L::Scalar::ZERO }
}
