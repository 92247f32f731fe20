use super::{LayerForm, LayerParameters};
use crate::linalg::{add_identity, mul_to, zeros};
use crate::scalar::Scalar;
use crate::statistic::Statistic;
use nalgebra::SMatrix;

/// The parameters of one attention layer, theta_l = (P_l, Q_l), each (K, K).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Layer<S: Scalar, const K: usize> {
    /// P_l, (K, K): it projects the attended columns.
    pub p: SMatrix<S, K, K>,
    /// Q_l: which context tokens write how much.
    pub q: SMatrix<S, K, K>,
}

impl<S: Scalar, const K: usize> Layer<S, K> {
    /// Returns the parameters in one lane.
    pub fn lane(&self, lane: usize) -> Layer<S::Element, K> {
        Layer { p: self.p.map(|x| x.lane(lane)), q: self.q.map(|x| x.lane(lane)) }
    }

    /// Computes B_l = I + (1/n) P_l G_l Q_l, the map that this layer applies to every column of Z.
    pub fn column_map(&self, statistic: &Statistic<S, K>) -> SMatrix<S, K, K> {
        let mut b = zeros();
        self.column_map_to(&statistic.g, statistic.inverse_len, &mut b);
        b
    }

    /// Writes [`Layer::column_map`] into a matrix, so that a chip copies no result.
    #[cfg_attr(target_os = "none", inline(never))]
    #[cfg_attr(not(target_os = "none"), inline(always))]
    pub(crate) fn column_map_to(
        &self,
        g: &SMatrix<S, K, K>,
        inverse_len: S,
        b: &mut SMatrix<S, K, K>,
    ) {
        // b holds (1/n) P until it is overwritten.
        let entries = b.data.0.as_flattened_mut().iter_mut();
        for (scaled, p) in entries.zip(self.p.data.0.as_flattened()) {
            *scaled = inverse_len * *p;
        }
        let mut p_g = zeros();
        mul_to(b, g, &mut p_g);
        mul_to(&p_g, &self.q, b);
        add_identity(b);
    }
}

impl<S: Scalar, const K: usize> LayerParameters for Layer<S, K> {
    type Scalar = S;
    const NAMES: &'static [&'static str] = &["P", "Q"];
    const ZERO: Self = Layer { p: zeros(), q: zeros() };

    fn form(&self) -> LayerForm {
        let (p, (phi, rest)) = (self.p.data.0.as_flattened(), self.q.data.0.split_at(K / 2));
        let last = p.split_last().map_or(p, |(_, others)| others);
        let opposite = are_opposite(phi.as_flattened(), rest.as_flattened());
        let zeros = rest.last().is_some_and(|column| are_zero(column)) && are_zero(last);
        // The reward's row, of phi's columns, and so of those opposite.
        let row = phi.iter().all(|column| column.last() == Some(&S::ZERO));
        if K.is_multiple_of(2) || !(opposite && zeros && row) {
            return LayerForm::Dense;
        }
        let alpha = phi.first().and_then(|column| column.first());
        // Down the diagonal the next alpha comes K + 1 numbers later.
        let plain = phi.as_flattened().chunks(K + 1).all(|diagonal| {
            let (first, others) = (diagonal.first(), diagonal.get(1..).unwrap_or(&[]));
            first == alpha && are_zero(others)
        });
        if plain { LayerForm::Td } else { LayerForm::PreconditionedTd }
    }

    #[inline(always)]
    fn matrices(&self) -> impl Iterator<Item = &[S]> {
        [&self.p, &self.q].into_iter().map(|m| m.data.0.as_flattened())
    }

    #[inline(always)]
    fn matrices_mut(&mut self) -> impl Iterator<Item = &mut [S]> {
        [&mut self.p, &mut self.q].into_iter().map(|m| m.data.0.as_flattened_mut())
    }
}

// On a chip these are two small functions: a black box in their loops keeps LLVM from unrolling them.
#[cfg_attr(target_os = "none", inline(never))]
fn are_zero<S: Scalar>(x: &[S]) -> bool {
    x.iter().all(|x| {
        core::hint::black_box(&());
        *x == S::ZERO
    })
}

#[cfg_attr(target_os = "none", inline(never))]
fn are_opposite<S: Scalar>(x: &[S], y: &[S]) -> bool {
    x.iter().zip(y).all(|(x, y)| {
        core::hint::black_box(&());
        *x == -*y
    })
}
