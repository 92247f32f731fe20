//! The two-head transformer of average-reward TD.

use crate::attention::linear_attend;
use crate::context::{Context, TwoHeadContext};
use crate::error::Error;
use crate::linalg::{
    add_identity, add_scaled, identity, is_finite, mul, mul_transpose, mul_vector, scale,
    transpose_mul_vector, zeros,
};
use crate::mask::{MeanCentred, Td0};
use crate::prompt::Prompt;
use crate::scalar::Scalar;
use crate::statistic::Statistic;
use crate::value_function::ValueFunction;
use nalgebra::{SMatrix, SVector};

/// The parameters of one two-head layer; K = 2 D + 2, every matrix (K, K).
///
/// The paper's W_l, (K, 2 K), is stored as its halves: W_l = \[w1 w2\].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TwoHeadLayer<S: Scalar, const K: usize> {
    /// P^(1), of the head with the mask M^(1) ([`MeanCentred`]).
    pub p1: SMatrix<S, K, K>,
    /// Q^(1).
    pub q1: SMatrix<S, K, K>,
    /// The columns of W that take head 1.
    pub w1: SMatrix<S, K, K>,
    /// P^(2), of the head with the mask M^(2) ([`Td0`]).
    pub p2: SMatrix<S, K, K>,
    /// Q^(2).
    pub q2: SMatrix<S, K, K>,
    /// The columns of W that take head 2.
    pub w2: SMatrix<S, K, K>,
}

impl<S: Scalar, const K: usize> TwoHeadLayer<S, K> {
    pub(crate) const ZERO: Self = TwoHeadLayer {
        p1: zeros(),
        q1: zeros(),
        w1: zeros(),
        p2: zeros(),
        q2: zeros(),
        w2: zeros(),
    };

    /// P1, Q1, W's columns for head 1, then the same of head 2: the order of a stored model.
    pub(crate) fn matrices(&self) -> [&SMatrix<S, K, K>; 6] {
        [&self.p1, &self.q1, &self.w1, &self.p2, &self.q2, &self.w2]
    }

    /// [`TwoHeadLayer::matrices`], to be filled.
    pub(crate) fn matrices_mut(&mut self) -> [&mut SMatrix<S, K, K>; 6] {
        [&mut self.p1, &mut self.q1, &mut self.w1, &mut self.p2, &mut self.q2, &mut self.w2]
    }

    /// Eq. "Z two-head update", literally on all columns:
    /// Z + (1/n) W \[LinAttn(Z; P1, Q1, M1); LinAttn(Z; P2, Q2, M2)\].
    ///
    /// # Errors
    /// [`Error::Empty`] if the prompt has no context.
    pub fn apply<const N: usize>(&self, prompt: &mut Prompt<S, K, N>) -> Result<(), Error> {
        let inverse_len = prompt.inverse_len()?;
        let head1 = linear_attend(&MeanCentred, &self.q1, prompt);
        let head2 = linear_attend(&Td0, &self.q2, prompt);
        prompt.add_columns(inverse_len, &mul(&self.w1, &self.p1), &head1);
        prompt.add_columns(inverse_len, &mul(&self.w2, &self.p2), &head2);
        Ok(())
    }

    /// B = I + (1/n) (W1 P1 G1 Q1 + W2 P2 G2 Q2): the map applied to every column.
    pub fn column_map(&self, head1: &Statistic<S, K>, head2: &Statistic<S, K>) -> SMatrix<S, K, K> {
        let head = |w, p, statistic: &Statistic<S, K>, q| {
            mul(&mul(&scale(statistic.inverse_len, &mul(w, p)), &statistic.g), q)
        };
        let mut b = head(&self.w1, &self.p1, head1, &self.q1);
        add_scaled(&mut b, S::ONE, &head(&self.w2, &self.p2, head2, &self.q2));
        add_identity(&mut b);
        b
    }
}

/// A transformer of L two-head layers; C is the capacity for stored layers.
#[derive(Clone, Debug, PartialEq)]
pub struct TwoHeadTransformer<S: Scalar, const K: usize, const C: usize> {
    /// A plain array, so that a transformer can be a constant; layers beyond `stored` are 0.
    layers: [TwoHeadLayer<S, K>; C],
    stored: usize,
    depth: usize,
}

impl<S: Scalar, const K: usize> TwoHeadTransformer<S, K, 1> {
    /// [`TwoHeadTransformer::autoregressive`] for a constant; the caller has checked the layer and
    /// that `depth` > 0.
    pub(crate) const fn constant(layer: TwoHeadLayer<S, K>, depth: usize) -> Self {
        TwoHeadTransformer { layers: [layer], stored: 1, depth }
    }
}

impl<S: Scalar, const K: usize, const C: usize> TwoHeadTransformer<S, K, C> {
    /// `depth` layers that share their parameters.
    ///
    /// # Errors
    /// [`Error::NonFinite`] for a bad parameter, [`Error::Empty`] for depth 0.
    pub fn autoregressive(layer: TwoHeadLayer<S, K>, depth: usize) -> Result<Self, Error> {
        let mut transformer = Self::sequential(&[layer])?;
        if depth == 0 {
            return Err(Error::Empty { parameter: "layers" });
        }
        transformer.depth = depth;
        Ok(transformer)
    }

    /// Layers with their own parameters, in order.
    ///
    /// # Errors
    /// [`Error::NonFinite`] for a bad parameter, [`Error::Empty`] without layers,
    /// [`Error::CapacityExceeded`] beyond C.
    pub fn sequential(layers: &[TwoHeadLayer<S, K>]) -> Result<Self, Error> {
        if layers.is_empty() {
            return Err(Error::Empty { parameter: "layers" });
        }
        if layers.len() > C {
            return Err(Error::CapacityExceeded { parameter: "layers", capacity: C });
        }
        let mut stored = [TwoHeadLayer::ZERO; C];
        for (to, from) in stored.iter_mut().zip(layers) {
            *to = *from;
        }
        Self::from_stored(stored, layers.len(), layers.len())
    }

    /// The first `stored` layers of an array: one, passed `depth` times, or `depth`, each passed once.
    pub(crate) fn from_stored(
        layers: [TwoHeadLayer<S, K>; C],
        stored: usize,
        depth: usize,
    ) -> Result<Self, Error> {
        for layer in layers.iter().take(stored) {
            for (m, parameter) in
                layer.matrices().into_iter().zip(["P1", "Q1", "W", "P2", "Q2", "W"])
            {
                if !is_finite(m) {
                    return Err(Error::NonFinite { parameter });
                }
            }
        }
        Ok(TwoHeadTransformer { layers, stored, depth })
    }

    /// L.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The stored layers: one if autoregressive, L if sequential.
    pub fn layers(&self) -> &[TwoHeadLayer<S, K>] {
        self.layers.get(..self.stored).unwrap_or(&self.layers)
    }

    fn pass(&self) -> impl Iterator<Item = &TwoHeadLayer<S, K>> {
        // Sequential layers each come once, the one autoregressive layer L times.
        (0..self.depth).map(|l| self.layers().get(l).unwrap_or(&self.layers[0]))
    }

    /// The literal forward pass on all columns: shows Z_1 to Z_L to `observe_layer`.
    ///
    /// # Errors
    /// [`Error::Empty`] if the prompt has no context.
    pub fn forward<const N: usize>(
        &self,
        prompt: &mut Prompt<S, K, N>,
        mut observe_layer: impl FnMut(&Prompt<S, K, N>),
    ) -> Result<(), Error> {
        for layer in self.pass() {
            layer.apply(prompt)?;
            observe_layer(prompt);
        }
        Ok(())
    }

    /// TF_L(Z_0) by the literal forward pass (eq. "tf output convention").
    ///
    /// # Errors
    /// [`Error::Empty`] if the prompt has no context.
    pub fn value<const N: usize>(&self, prompt: &Prompt<S, K, N>) -> Result<S, Error> {
        let mut prompt = prompt.clone();
        self.forward(&mut prompt, |_| ())?;
        Ok(prompt.output())
    }

    /// The streaming forward pass: shows the map B_l of each layer.
    pub fn column_maps(
        &self,
        head1: &Statistic<S, K>,
        head2: &Statistic<S, K>,
        mut observe_layer: impl FnMut(&SMatrix<S, K, K>),
    ) {
        let (mut head1, mut head2) = (*head1, *head2);
        for layer in self.pass() {
            let b = layer.column_map(&head1, &head2);
            observe_layer(&b);
            head1.g = mul_transpose(&mul(&b, &head1.g), &b);
            head2.g = mul_transpose(&mul(&b, &head2.g), &b);
        }
    }

    /// The outputs of layers 1 to L for one query column, streaming form: -h_l of the theorem.
    pub fn values_by_layer(
        &self,
        head1: &Statistic<S, K>,
        head2: &Statistic<S, K>,
        query: &SVector<S, K>,
        mut observe_value: impl FnMut(S),
    ) {
        let mut z = *query;
        self.column_maps(head1, head2, |b| {
            z = mul_vector(b, &z);
            observe_value(-z[K - 1]);
        });
    }

    /// The differential value function computed from a context: exactly linear in the features.
    ///
    /// # Errors
    /// [`Error::Empty`] before the first transition; [`Error::NonFinite`] if the layers blow up.
    pub fn value_function<const D: usize, A, B>(
        &self,
        context: &TwoHeadContext<A, B>,
    ) -> Result<ValueFunction<S, D>, Error>
    where
        A: Context<S, D, K>,
        B: Context<S, D, K>,
    {
        let mut product = identity();
        self.column_maps(&context.head1.statistic()?, &context.head2.statistic()?, |b| {
            product = mul(b, &product);
        });
        let mut e_k = zeros::<S, K, 1>();
        e_k[K - 1] = S::ONE;
        ValueFunction::from_readout(&transpose_mul_vector(&product, &e_k))
    }
}
