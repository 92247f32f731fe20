//! P and Q as files hold them, and the core's models made of them: with zeros for features that there is more room for.

use crate::recipe::{AttentionKind, LayerSharing};
use ictd_core::layer::Layer;
use ictd_core::mask::{Mask as _, TwoTraces};
use ictd_core::scalar::Scalar;
use ictd_core::transformer::Transformer;
use ictd_core::{Error, UniversalModel};
use nalgebra::SMatrix;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

/// The most layers with parameters of their own.
pub const MAX_STORED_LAYERS: usize = 16;

/// A model without a feature dimension, in the precision of the commands.
pub type Universal = UniversalModel<f64>;

/// The parameters of one layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerParameters {
    /// P, (K, K), row-major.
    pub p: Vec<f32>,
    /// Q, (K, K), row-major.
    pub q: Vec<f32>,
}

/// The parameters of a transformer, and what is known about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// K = 2d + 1.
    pub token_size: usize,
    /// One layer if autoregressive, L if sequential.
    pub layers: Vec<LayerParameters>,
    /// The layers' parameters: shared, or each layer's own.
    pub layer_sharing: LayerSharing,
    /// L, if the file says so (always if sequential).
    pub depth: Option<usize>,
    /// The attention, if the file says so.
    pub attention: Option<AttentionKind>,
    /// gamma, if the file says so.
    pub gamma: Option<f64>,
    /// n, the context length that was trained with, if the file says so.
    pub context_length: Option<usize>,
    /// The trace decay of the mask that they were made for; 0 if the file says nothing.
    pub trace_decay: f64,
}

impl LayerParameters {
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

    /// Makes a transformer of the core; `depth` is for an autoregressive one.
    /// Errors: the core's, for more layers than there is room for.
    pub fn transformer<S: Scalar, const K: usize, const C: usize>(
        &self,
        depth: usize,
    ) -> Result<Transformer<Layer<S, K>, C>, Error> {
        let layers: Vec<_> = self.layers.iter().filter_map(LayerParameters::to_layer).collect();
        match (self.layer_sharing, layers.first()) {
            (LayerSharing::Autoregressive, Some(&layer)) => {
                Transformer::autoregressive(layer, depth)
            }
            _ => Transformer::sequential(&layers),
        }
    }
}

/// Reads the bytes of a stored model without a feature dimension; `gamma` goes before that of the file.
/// Errors: the core's, for bytes that are no such model.
pub fn universal_from_bytes(bytes: &[u8], gamma: Option<f64>) -> Result<Universal, Error> {
    let stored = UniversalModel::<f32>::from_bytes(bytes)?;
    let [low, high] = stored.mask().trace_decays().map(f64::from);
    let numbers = stored.parameters().map(f64::from);
    let model = UniversalModel::new(stored.gamma().into(), TwoTraces::new(low, high)?, numbers)?;
    gamma.map_or(Ok(model), |gamma| model.with_gamma(gamma))
}

/// Serialises a model without a feature dimension: its discount, and its bytes, which hold all else of it.
pub(crate) mod as_bytes {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(model: &Universal, to: S) -> Result<S::Ok, S::Error> {
        (model.gamma(), universal_to_bytes(model).map_err(ser::Error::custom)?).serialize(to)
    }

    pub(crate) fn deserialize<'a, D: Deserializer<'a>>(
        from: D,
    ) -> Result<Box<Universal>, D::Error> {
        let (gamma, bytes) = <(f64, Vec<u8>)>::deserialize(from)?;
        universal_from_bytes(&bytes, Some(gamma)).map(Box::new).map_err(de::Error::custom)
    }
}

/// Returns the bytes of a model in the precision of a chip.
/// Errors: the core's, for numbers that leave the range of `f32`.
pub fn universal_to_bytes(model: &Universal) -> Result<Vec<u8>, Error> {
    let [low, high] = model.mask().trace_decays().map(|x| x as f32);
    let numbers = model.parameters().map(|x| x as f32);
    let model = UniversalModel::new(model.gamma() as f32, TwoTraces::new(low, high)?, numbers)?;
    let mut bytes = vec![0; model.byte_len()];
    model.write(&mut bytes)?;
    Ok(bytes)
}
