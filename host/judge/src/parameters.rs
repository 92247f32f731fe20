//! P and Q as stored in files, and the core's models built from them, padded with zeros to the models' capacity.

use ictd_core::Result;
use ictd_core::UniversalModel;
use ictd_core::layer::Layer;
use ictd_core::mask::{Mask as _, Td0Trace};
use ictd_core::model::{AttentionKind, LayerSharing};
use ictd_core::scalar::Scalar;
use ictd_core::transformer::Transformer;
use nalgebra::SMatrix;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

/// The largest number of layers with separate parameters.
pub const MAX_STORED_LAYERS: usize = 32;

/// The universal model, in the precision of the commands.
pub type Universal = UniversalModel<f64>;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerParameters {
    /// P, (K, K), row-major.
    pub p: Vec<f32>,
    /// Q, (K, K), row-major.
    pub q: Vec<f32>,
}

/// The parameters of a transformer, and the settings that its file states; others are `None`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// K = 2d + 1.
    pub token_size: usize,
    /// One layer if autoregressive, L if sequential.
    pub layers: Vec<LayerParameters>,
    pub layer_sharing: LayerSharing,
    /// The number of layers L, if the file states it (always if sequential).
    pub depth: Option<usize>,
    pub attention: Option<AttentionKind>,
    pub gamma: Option<f64>,
    /// The context length n in training, if the file states it.
    pub context_length: Option<usize>,
    /// The trace decay of the mask; 0 if the file does not state it.
    pub trace_decay: f64,
}

impl LayerParameters {
    /// Returns the core's layer for token size K, padded with zeros; `None` if the layer is larger, or if P and Q are not
    /// square and of one size.
    pub fn to_layer<S: Scalar, const K: usize>(&self) -> Option<Layer<S, K>> {
        let k = self.p.len().isqrt();
        if !(3..=K).contains(&k) || [&self.p, &self.q].iter().any(|x| x.len() != k * k) {
            return None;
        }
        let d = (k - 1) / 2;
        // The index in the large token of an entry of phi, phi' or r in the small one.
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
    pub fn feature_dimension(&self) -> usize {
        (self.token_size - 1) / 2
    }

    /// Builds the core's transformer (`depth` applies only to an autoregressive one). Returns the core's error for more than C
    /// layers.
    pub fn transformer<S: Scalar, const K: usize, const C: usize>(
        &self,
        depth: usize,
    ) -> Result<Transformer<Layer<S, K>, C>> {
        let layers: Vec<_> = self.layers.iter().filter_map(LayerParameters::to_layer).collect();
        match (self.layer_sharing, layers.first()) {
            (LayerSharing::Autoregressive, Some(&layer)) => {
                Transformer::autoregressive(layer, depth)
            }
            _ => Transformer::sequential(&layers),
        }
    }
}

/// Reads a stored universal model; `gamma` overrides the file's. Returns the core's error for bytes that are not such a model.
pub fn universal_from_bytes(bytes: &[u8], gamma: Option<f64>) -> Result<Universal> {
    let stored = UniversalModel::<f32>::from_bytes(bytes)?;
    if let Some(gamma) = gamma {
        return UniversalModel::<f64>::new(gamma);
    }
    let [trace_decay, _] = stored.mask().trace_decays().map(f64::from);
    UniversalModel::with_mask(stored.gamma().into(), Td0Trace::new(trace_decay)?)
}

/// Serialises a universal model as its discount in `f64` and its stored bytes.
pub(crate) mod as_bytes {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(model: &Universal, to: S) -> Result<S::Ok, S::Error> {
        // A discount may be nearer to 1 than a single can be.
        let stored = Universal::new(0.0).and_then(|model| universal_to_bytes(&model));
        (model.gamma(), stored.map_err(ser::Error::custom)?).serialize(to)
    }

    pub(crate) fn deserialize<'a, D: Deserializer<'a>>(
        from: D,
    ) -> Result<Box<Universal>, D::Error> {
        let (gamma, bytes) = <(f64, Vec<u8>)>::deserialize(from)?;
        universal_from_bytes(&bytes, Some(gamma)).map(Box::new).map_err(de::Error::custom)
    }
}

/// Returns the stored bytes of a universal model, in `f32`. Returns the core's error for parameters outside the range of `f32`.
pub fn universal_to_bytes(model: &Universal) -> Result<Vec<u8>> {
    let [trace_decay, _] = model.mask().trace_decays().map(|x| x as f32);
    let model = UniversalModel::with_mask(model.gamma() as f32, Td0Trace::new(trace_decay)?)?;
    let mut bytes = vec![0; model.byte_len()];
    model.write(&mut bytes)?;
    Ok(bytes)
}
