use super::LayerParameters;
use crate::linalg::{add_identity, mul_to, zeros};
use crate::scalar::Scalar;
use crate::statistic::Statistic;
use nalgebra::SMatrix;

/// The parameters of one attention layer, theta_l = (P_l, Q_l), each (K, K).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Layer<S: Scalar, const K: usize> {
    /// P_l: what is written.
    pub p: SMatrix<S, K, K>,
    /// Q_l: which context tokens write how much.
    pub q: SMatrix<S, K, K>,
}

impl<S: Scalar, const K: usize> Layer<S, K> {
    /// The parameters in one lane.
    pub fn lane(&self, lane: usize) -> Layer<S::Element, K> {
        Layer { p: self.p.map(|x| x.lane(lane)), q: self.q.map(|x| x.lane(lane)) }
    }

    /// B_l = I + (1/n) P_l G_l Q_l: the map that this layer applies to every column of Z.
    pub fn column_map(&self, statistic: &Statistic<S, K>) -> SMatrix<S, K, K> {
        let mut b = zeros();
        self.column_map_to(statistic, &mut b);
        b
    }

    /// [`Layer::column_map`] into a matrix that is there: a chip copies no result.
    #[cfg_attr(not(target_os = "none"), inline(always))]
    pub(crate) fn column_map_to(&self, statistic: &Statistic<S, K>, b: &mut SMatrix<S, K, K>) {
        // (1/n) P stands in b until b itself does.
        let entries = b.data.0.as_flattened_mut().iter_mut();
        for (scaled, p) in entries.zip(self.p.data.0.as_flattened()) {
            *scaled = statistic.inverse_len * *p;
        }
        let mut p_g = zeros();
        mul_to(b, &statistic.g, &mut p_g);
        mul_to(&p_g, &self.q, b);
        add_identity(b);
    }
}

impl<S: Scalar, const K: usize> LayerParameters for Layer<S, K> {
    type Scalar = S;
    const NAMES: &'static [&'static str] = &["P", "Q"];
    const ZERO: Self = Layer { p: zeros(), q: zeros() };

    #[inline(always)]
    fn matrices(&self) -> impl Iterator<Item = &[S]> {
        [&self.p, &self.q].into_iter().map(|m| m.data.0.as_flattened())
    }

    #[inline(always)]
    fn matrices_mut(&mut self) -> impl Iterator<Item = &mut [S]> {
        [&mut self.p, &mut self.q].into_iter().map(|m| m.data.0.as_flattened_mut())
    }
}
