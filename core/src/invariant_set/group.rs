use crate::layer::LayerParameters;
use crate::linalg::zeros;
use crate::scalar::{Real, Scalar as _};
use nalgebra::SMatrix;

/// A signed permutation: (g phi)_i = sign_i phi_{source_i}.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignedPermutation<const D: usize> {
    source: [usize; D],
    negated: [bool; D],
}

impl<const D: usize> SignedPermutation<D> {
    /// The number of them: 2^d d!, for d up to 12.
    pub const ORDER: u64 = {
        assert!(D >= 1 && D <= 12, "2^d d! signed permutations: d from 1 to 12");
        let (mut order, mut i) = (1, 1);
        while i <= D {
            order *= 2 * i as u64;
            i += 1;
        }
        order
    };

    /// Number `index` of them (modulo their number); 0 is the identity.
    pub fn number(index: u64) -> Self {
        let mut rest = index % Self::ORDER;
        let mut g = SignedPermutation { source: [0; D], negated: [false; D] };
        let mut taken = [false; D];
        for i in 0..D {
            let free = (D - i) as u64;
            let choice = rest % (2 * free);
            rest /= 2 * free;
            g.negated[i] = choice >= free;
            // The choice-th of the sources that are still free.
            let mut skip = choice % free;
            for source in 0..D {
                if !taken[source] {
                    if skip == 0 {
                        g.source[i] = source;
                        taken[source] = true;
                        break;
                    }
                    skip -= 1;
                }
            }
        }
        g
    }

    /// g, (D, D).
    pub fn matrix<R: Real>(&self) -> SMatrix<R, D, D> {
        let mut g = zeros::<R, D, D>();
        for i in 0..D {
            g[(i, self.source[i])] = if self.negated[i] { -R::ONE } else { R::ONE };
        }
        g
    }

    /// Returns all of them, as matrices: meant for d <= 3 (8 and 48).
    pub fn all<R: Real>() -> impl Iterator<Item = SMatrix<R, D, D>> + Clone {
        (0..Self::ORDER).map(|index| Self::number(index).matrix())
    }
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
