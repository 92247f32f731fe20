use super::{LayerForm, LayerParameters};
use crate::linalg::{add_identity, add_scaled, mul, scale, zeros};
use crate::scalar::Scalar;
use crate::statistic::Statistic;
use nalgebra::SMatrix;

/// The parameters of one two-head layer; K = 2 D + 2, every matrix (K, K).
///
/// The paper's W_l, (K, 2 K), is stored as its halves: W_l = \[w1 w2\].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TwoHeadLayer<S: Scalar, const K: usize> {
    /// P^(1), of the head with the mask M^(1) ([`MeanCentred`](crate::mask::MeanCentred)).
    pub p1: SMatrix<S, K, K>,
    /// Q^(1).
    pub q1: SMatrix<S, K, K>,
    /// The columns of W that take head 1.
    pub w1: SMatrix<S, K, K>,
    /// P^(2), of the head with the mask M^(2) ([`Td0`](crate::mask::Td0)).
    pub p2: SMatrix<S, K, K>,
    /// Q^(2).
    pub q2: SMatrix<S, K, K>,
    /// The columns of W that take head 2.
    pub w2: SMatrix<S, K, K>,
}

impl<S: Scalar, const K: usize> TwoHeadLayer<S, K> {
    /// Computes B = I + (1/n) (W1 P1 G1 Q1 + W2 P2 G2 Q2), the map applied to every column.
    pub fn column_map(&self, [head1, head2]: &[Statistic<S, K>; 2]) -> SMatrix<S, K, K> {
        let head = |w, p, statistic: &Statistic<S, K>, q| {
            mul(&mul(&scale(statistic.inverse_len, &mul(w, p)), &statistic.g), q)
        };
        let mut b = head(&self.w1, &self.p1, head1, &self.q1);
        add_scaled(&mut b, S::ONE, &head(&self.w2, &self.p2, head2, &self.q2));
        add_identity(&mut b);
        b
    }
}

impl<S: Scalar, const K: usize> LayerParameters for TwoHeadLayer<S, K> {
    type Scalar = S;
    const NAMES: &'static [&'static str] = &["P1", "Q1", "W", "P2", "Q2", "W"];
    const ZERO: Self = {
        let m = zeros();
        TwoHeadLayer { p1: m, q1: m, w1: m, p2: m, q2: m, w2: m }
    };

    fn form(&self) -> LayerForm {
        let ((reward, memory), d, alpha) = ((K - 2, K - 1), (K - 2) / 2, -self.q1[(0, 0)]);
        let mut td = Self::ZERO;
        (td.p1[(reward, reward)], td.w1[(memory, reward)]) = (S::ONE, S::ONE);
        (td.p2[(memory, memory)], td.w2[(memory, memory)]) = (S::ONE, S::ONE);
        for i in 0..d {
            (td.q1[(i, i)], td.q1[(i, d + i)]) = (-alpha, alpha);
        }
        td.q2 = td.q1;
        if *self == td { LayerForm::Td } else { LayerForm::Dense }
    }

    fn matrices(&self) -> impl Iterator<Item = &[S]> {
        [&self.p1, &self.q1, &self.w1, &self.p2, &self.q2, &self.w2]
            .into_iter()
            .map(|m| m.data.0.as_flattened())
    }

    fn matrices_mut(&mut self) -> impl Iterator<Item = &mut [S]> {
        [&mut self.p1, &mut self.q1, &mut self.w1, &mut self.p2, &mut self.q2, &mut self.w2]
            .into_iter()
            .map(|m| m.data.0.as_flattened_mut())
    }
}
