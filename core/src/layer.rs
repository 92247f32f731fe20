//! The parameters of a layer, theta_l, and the map that it applies to every column of Z.

use crate::chip::not_unrolled;
use crate::error::{Error, Result, ensure};
use crate::linalg::{add_identity, add_scaled, mul, mul_to, zeros};
use crate::scalar::Scalar;
use crate::statistic::Statistic;
use core::fmt::Debug;
use nalgebra::SMatrix;

/// The parameters of one attention layer: (K, K) matrices. They are stored, initialised and trained in the same
/// order.
pub trait LayerParameters: Copy + Debug + PartialEq {
    /// The type of the matrices' entries.
    type Scalar: Scalar;

    /// The name of each matrix, in order.
    const NAMES: &'static [&'static str];

    /// A layer that changes nothing.
    const ZERO: Self;

    /// Returns the matrices in order, each column by column.
    fn matrices(&self) -> impl Iterator<Item = &[Self::Scalar]>;

    /// Returns the matrices as [`LayerParameters::matrices`] does, to be changed.
    fn matrices_mut(&mut self) -> impl Iterator<Item = &mut [Self::Scalar]>;

    /// Returns the layer of these numbers, matrix after matrix, each column by column.
    #[cfg(feature = "research")]
    fn from_numbers<'a>(numbers: impl IntoIterator<Item = &'a Self::Scalar>) -> Self
    where
        Self::Scalar: 'a,
    {
        let mut layer = Self::ZERO;
        layer.matrices_mut().flatten().zip(numbers).for_each(|(to, from)| *to = *from);
        layer
    }

    /// Returns the form that the parameters have.
    fn form(&self) -> LayerForm {
        LayerForm::Dense
    }

    /// Refuses NaN and infinities, naming the matrix.
    fn check(&self) -> Result<()> {
        for (m, parameter) in self.matrices().zip(Self::NAMES) {
            // Not `linalg::is_finite`, which is faster but takes more flash: this check runs once per model.
            let is_finite = m.iter().all(|x| {
                not_unrolled();
                x.is_finite()
            });
            ensure(is_finite, Error::NonFinite { parameter })?;
        }
        Ok(())
    }
}

/// The form of a layer's parameters. Layers that share parameters of these forms are iterated in products of a matrix with a
/// vector, others are multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(not(feature = "research"), doc(hidden))]
pub enum LayerForm {
    /// Any.
    Dense,
    /// TD(0)'s and TD(lambda)'s with C = alpha I: P has its bottom-right entry alone, Q has -alpha I and
    /// alpha I in its first row of blocks. For two heads, average-reward TD with such a C.
    Td,
    /// Theorem 1's with any C, or the residual gradient's: Q = \[X -X 0; Y -Y 0; 0 0 0\].
    AnyC,
    /// [Preconditioned TD](crate::td::preconditioned)'s: Q as in `Td`, and P's block \[phi', phi\] is a multiple of I.
    PreconditionedTd,
}

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

    /// Writes B_l = I + (1/n) P_l G_l Q_l, the map that this layer applies to every column of Z.
    #[inline(never)]
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
        let (p, (phi, rest)) = (self.p.data.0.split_at(K / 2), self.q.data.0.split_at(K / 2));
        let (p_phi, p_rest) = (p.0.as_flattened(), p.1.as_flattened());
        let last = p_rest.split_last().map_or(p_rest, |(_, others)| others);
        let opposite = are_opposite(phi.as_flattened(), rest.as_flattened());
        let zeros = rest.last().is_some_and(|column| are_zero(column)) && are_zero(last);
        // The reward's row, of phi's columns, and so of those opposite.
        let row = phi.iter().all(|column| column.last() == Some(&S::ZERO));
        if K.is_multiple_of(2) || !(opposite && zeros && row) {
            return LayerForm::Dense;
        }
        let plain = is_diagonal::<S, K>(phi.as_flattened());
        let (above, block) = p_phi.split_at_checked(K / 2).unwrap_or((p_phi, &[]));
        match (plain, are_zero(p_phi)) {
            (true, true) => LayerForm::Td,
            (false, true) => LayerForm::AnyC,
            (true, false) if are_zero(above) && is_diagonal::<S, K>(block) => {
                LayerForm::PreconditionedTd
            }
            _ => LayerForm::Dense,
        }
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

/// Returns true if the entries, of columns of K, have one number down the diagonal from the first on and zeros elsewhere.
#[inline(never)]
fn is_diagonal<S: Scalar, const K: usize>(entries: &[S]) -> bool {
    // Down the diagonal the next number comes K + 1 entries later.
    entries.chunks(K + 1).all(|diagonal| {
        let others = diagonal.get(1..).unwrap_or(&[]);
        diagonal.first() == entries.first() && are_zero(others)
    })
}

#[inline(never)]
fn are_zero<S: Scalar>(x: &[S]) -> bool {
    x.iter().all(|x| {
        not_unrolled();
        *x == S::ZERO
    })
}

#[inline(never)]
fn are_opposite<S: Scalar>(x: &[S], y: &[S]) -> bool {
    x.iter().zip(y).all(|(x, y)| {
        not_unrolled();
        *x == -*y
    })
}

/// The parameters of one two-head layer; K = 2 D + 2, every matrix (K, K).
///
/// The paper's W_l, (K, 2 K), is stored as its halves: W_l = \[w1 w2\].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(not(feature = "research"), doc(hidden))]
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
        let head = |w: &SMatrix<S, K, K>, p, statistic: &Statistic<S, K>, q| {
            mul(&mul(&mul(w, p).map(|x| statistic.inverse_len * x), &statistic.g), q)
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
