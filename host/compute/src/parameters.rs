//! P and Q as files hold them, and the core's models made of them: with zeros for features that there is more room for.

use crate::recipe::{Attention, Mode, ParameterSet};
use ictd_core::layer::{EquivariantLayer, Layer, LayerParameters as _, UniversalLayer};
use ictd_core::mask::{Mask, TdLambda};
use ictd_core::scalar::{Real, Scalar};
use ictd_core::transformer::Transformer;
use ictd_core::{Error, UniversalModel};
use nalgebra::SMatrix;

/// The most layers with parameters of their own.
pub const MAX_STORED_LAYERS: usize = 16;

/// A model without a feature dimension, in the precision of the commands.
pub type Universal = UniversalModel<f64, TdLambda<f64>, MAX_STORED_LAYERS>;

/// The parameters of one layer.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerParameters {
    /// P, (K, K), row-major.
    pub p: Vec<f32>,
    /// Q, (K, K), row-major.
    pub q: Vec<f32>,
}

/// The parameters of a transformer, and what is known about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// K = 2d + 1.
    pub token_size: usize,
    /// One layer if autoregressive, L if sequential.
    pub layers: Vec<LayerParameters>,
    /// The layers' parameters: shared, or each layer's own.
    pub mode: Mode,
    /// L, if the file says so (always if sequential).
    pub depth: Option<usize>,
    /// The attention, if the file says so.
    pub attention: Option<Attention>,
    /// gamma, if the file says so.
    pub gamma: Option<f64>,
    /// n, the context length that was trained with, if the file says so.
    pub context_length: Option<usize>,
    /// The trace decay of the mask that they were made for; 0 if the file says nothing.
    pub lambda: f64,
    /// The parameters of a layer that were trained; P and Q are the dense form of ten numbers.
    pub set: ParameterSet,
    /// n_0 of contexts that are read without units; none for contexts as they are.
    pub prior_count: Option<f64>,
}

impl LayerParameters {
    /// Returns p1 to p5 and q1 to q5, if P and Q are exactly their dense form.
    pub fn ten_numbers(&self, d: usize) -> Option<EquivariantLayer<f32>> {
        let k = 2 * d + 1;
        let five = |m: &[f32]| {
            let at = |i: usize, j: usize| m[i * k + j];
            let x = [at(0, 0), at(0, d), at(d, 0), at(d, d), at(2 * d, 2 * d)];
            let entry = |i: usize, j: usize| match (i, j) {
                _ if i == 2 * d && j == 2 * d => x[4],
                _ if i == 2 * d || j == 2 * d || i % d != j % d => 0.0,
                _ => x[i / d * 2 + j / d],
            };
            (0..k * k).all(|at| m[at] == entry(at / k, at % k)).then_some(x)
        };
        Some(EquivariantLayer { p: five(&self.p)?, q: five(&self.q)? })
    }

    /// Makes a layer of the core for the token size K or more, with zeros for the features that it does not have;
    /// none for less.
    pub fn to_layer<S: Scalar, const K: usize>(&self) -> Option<Layer<S, K>> {
        let k = self.p.len().isqrt();
        if !(3..=K).contains(&k) || [&self.p, &self.q].iter().any(|x| x.len() != k * k) {
            return None;
        }
        let d = (k - 1) / 2;
        // phi, phi' and r of the small token among those of the large one.
        let place = |i: usize| i + i / d * ((K - k) / 2);
        let matrix = |x: &[f32]| {
            let mut m = SMatrix::from_element(S::ZERO);
            for (at, x) in x.iter().enumerate() {
                m[(place(at / k), place(at % k))] = S::from_f64((*x).into());
            }
            m
        };
        Some(Layer { p: matrix(&self.p), q: matrix(&self.q) })
    }
}

impl Parameters {
    /// Returns d.
    pub fn feature_dimension(&self) -> usize {
        (self.token_size - 1) / 2
    }

    /// Returns the ten numbers of each layer, if those were trained.
    pub fn ten_numbers(&self) -> Option<Vec<EquivariantLayer<f32>>> {
        let d = self.feature_dimension();
        let of_ten = self.set == ParameterSet::Equivariant;
        of_ten.then(|| self.layers.iter().map(|layer| layer.ten_numbers(d)).collect())?
    }

    /// Makes a transformer of the core; `depth` is for an autoregressive one.
    ///
    /// # Errors
    /// The core's, for more layers than there is room for.
    pub fn transformer<S: Scalar, const K: usize, const C: usize>(
        &self,
        depth: usize,
    ) -> Result<Transformer<Layer<S, K>, C>, Error> {
        let layers: Vec<_> = self.layers.iter().filter_map(LayerParameters::to_layer).collect();
        match (self.mode, layers.first()) {
            (Mode::Autoregressive, Some(&layer)) => Transformer::autoregressive(layer, depth),
            _ => Transformer::sequential(&layers),
        }
    }

    /// Makes a model without a feature dimension, if ten numbers a layer were trained for contexts without units,
    /// and the depth and the discount are known.
    pub fn universal(&self, gamma: Option<f64>) -> Option<Result<Universal, Error>> {
        let (prior_count, layers) = (self.prior_count?, self.ten_numbers()?);
        let (depth, gamma) = (self.depth?, gamma.or(self.gamma)?);
        let number = |layer: &EquivariantLayer<f32>| UniversalLayer {
            base: EquivariantLayer { p: layer.p.map(f64::from), q: layer.q.map(f64::from) },
            early: EquivariantLayer::ZERO,
        };
        let layers: Vec<_> = layers.iter().map(number).collect();
        let transformer = match self.mode {
            Mode::Autoregressive => Transformer::autoregressive(*layers.first()?, depth),
            Mode::Sequential => Transformer::sequential(&layers),
        };
        let mask = TdLambda::new(self.lambda);
        Some(transformer.and_then(|t| UniversalModel::new(t, mask?, prior_count, gamma)))
    }
}

/// Returns the model that ships, for a discount.
///
/// # Errors
/// The core's refusal of the discount.
pub fn shipped(gamma: f64) -> Result<Universal, Error> {
    let model = UniversalModel::<f64>::universal(gamma)?;
    let transformer = Transformer::sequential(model.transformer().layers())?;
    UniversalModel::new(transformer, *model.mask(), model.prior_count(), gamma)
}

/// Returns the model for another discount.
///
/// # Errors
/// The core's refusal of the discount.
pub fn with_gamma(model: &Universal, gamma: f64) -> Result<Universal, Error> {
    converted(model, gamma, |x| x)
}

/// Reads the bytes of a stored model without a feature dimension; `gamma` goes before that of the file.
///
/// # Errors
/// The core's, for bytes that are no such model.
pub fn universal_from_bytes(bytes: &[u8], gamma: Option<f64>) -> Result<Universal, Error> {
    let stored = UniversalModel::<f32, TdLambda, MAX_STORED_LAYERS>::from_bytes(bytes)?;
    converted(&stored, gamma.unwrap_or(stored.gamma().into()), f64::from)
}

/// Returns the bytes of a model in the precision of a chip.
///
/// # Errors
/// The core's, for numbers that leave the range of `f32`.
pub fn universal_to_bytes(model: &Universal) -> Result<Vec<u8>, Error> {
    let model = converted(model, model.gamma() as f32, |x| x as f32)?;
    let mut bytes = vec![0; model.byte_len()];
    model.write(&mut bytes)?;
    Ok(bytes)
}

fn converted<A: Real, B: Real>(
    model: &UniversalModel<A, TdLambda<A>, MAX_STORED_LAYERS>,
    gamma: B,
    number: impl Fn(A) -> B + Copy,
) -> Result<UniversalModel<B, TdLambda<B>, MAX_STORED_LAYERS>, Error> {
    let ten = |layer: EquivariantLayer<A>| EquivariantLayer {
        p: layer.p.map(number),
        q: layer.q.map(number),
    };
    let layers: Vec<_> = (model.transformer().layers().iter())
        .map(|layer| UniversalLayer { base: ten(layer.base), early: ten(layer.early) })
        .collect();
    let transformer = match layers.as_slice() {
        [layer] => Transformer::autoregressive(*layer, model.transformer().depth())?,
        layers => Transformer::sequential(layers)?,
    };
    let mask = TdLambda::new(number(Mask::lambda(model.mask())))?;
    UniversalModel::new(transformer, mask, number(model.prior_count()), gamma)
}
