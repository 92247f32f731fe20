//! P and Q, and the settings that files store with them, under different names: `params.json`, the metadata of a `.safetensors`
//! file, the header of a stored model.

use super::error::excerpt;
use crate::error::{Error, InFile as _, Problem};
pub use compute::recipe::{AttentionKind, LayerSharing};
use compute::words::Word;
pub use judge::parameters::{LayerParameters, Parameters};
use serde::Deserialize;
use std::path::Path;

/// The largest token size that a reader accepts: d = 64.
pub const MAX_TOKEN_SIZE: usize = 129;

pub(crate) fn check(parameters: Parameters) -> Result<Parameters, Problem> {
    let k = parameters.token_size;
    check_token_size("P", k)?;
    for (l, layer) in parameters.layers.iter().enumerate() {
        for (matrix, x) in [("P", &layer.p), ("Q", &layer.q)] {
            let name = match parameters.layer_sharing {
                LayerSharing::Autoregressive => matrix.to_owned(),
                LayerSharing::Sequential => format!("{matrix} of layer {l}"),
            };
            if x.len() != k * k {
                let reason = format!("{} numbers", x.len());
                return Err(Problem::array(&name, reason, format!("{k} x {k} numbers")));
            }
            if let Some(i) = x.iter().position(|x| !x.is_finite()) {
                let reason = format!("{} in row {}, column {}", x[i], i / k + 1, i % k + 1);
                return Err(Problem::array(&name, reason, "finite numbers (in f32)"));
            }
        }
    }
    Ok(parameters)
}

/// The largest number of layers in a file: as many as a stored model can have.
const MOST_LAYERS: usize = 65_535;

/// The fields of a `params.json` that are used. It may be another program's, and each field may be absent.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct PartialParams {
    pub d: Option<usize>,
    pub n: Option<usize>,
    pub l: Option<usize>,
    pub gamma: Option<f64>,
    /// The trace decay of TD(lambda)'s mask; absent for TD(0)'s.
    #[serde(rename = "lambda")]
    pub trace_decay: Option<f64>,
    /// `identity` or `softmax`.
    pub activation: Option<String>,
    /// `auto` or `sequential`.
    pub mode: Option<String>,
}

impl PartialParams {
    pub fn from_json(file: &Path, bytes: &[u8]) -> Result<Self, Error> {
        let read = serde_json::from_slice(bytes);
        read.map_err(|error| Problem::malformed("params.json", error)).in_file(file)
    }

    pub(super) fn mode(&self) -> Result<Option<LayerSharing>, Problem> {
        // The authors' name for it.
        let mode = self.mode.as_deref().map(|x| if x == "auto" { "autoregressive" } else { x });
        named("mode", mode, "autoregressive (or auto) or sequential")
    }

    /// Combines the layers with the settings from the file; `l` and `attention` are the file's names for L and the attention.
    /// Does not [`check`] the numbers.
    pub(crate) fn describe(
        &self,
        [l, attention]: [&str; 2],
        token_size: usize,
        layers: Vec<LayerParameters>,
        layer_sharing: LayerSharing,
    ) -> Result<Parameters, Problem> {
        // `d` only repeats the shapes; a contradiction means that the file is of another kind.
        let d = (token_size - 1) / 2;
        if let Some(other) = self.d.filter(|x| *x != d) {
            return Err(Problem::entry("d", other, format!("{d}, as P has it")));
        }
        // 0 means that L is not stated.
        let said = self.l.filter(|l| *l > 0);
        if let Some(other) = said.filter(|l| *l > MOST_LAYERS) {
            return Err(Problem::entry(l, other, format!("an integer from 1 to {MOST_LAYERS}")));
        }
        let stored = (layer_sharing == LayerSharing::Sequential).then_some(layers.len());
        if let (Some(other), Some(stored)) = (said.filter(|_| said != stored), stored) {
            return Err(Problem::entry(l, other, format!("{stored}, the layers of P")));
        }
        if let Some(gamma) = self.gamma.filter(|g| !(0.0..1.0).contains(g)) {
            return Err(Problem::entry("gamma", gamma, "a number in [0, 1)"));
        }
        let trace_decay = self.trace_decay.unwrap_or_default();
        if !(0.0..=1.0).contains(&trace_decay) {
            return Err(Problem::entry("lambda", trace_decay, "a number in [0, 1]"));
        }
        // The authors' name for it.
        let activation =
            self.activation.as_deref().map(|x| if x == "identity" { "linear" } else { x });
        Ok(Parameters {
            token_size,
            layers,
            layer_sharing,
            depth: stored.or(said),
            attention: named(attention, activation, "linear (or identity) or softmax")?,
            gamma: self.gamma,
            context_length: self.n,
            trace_decay,
        })
    }
}

fn named<T: Word>(entry: &str, text: Option<&str>, expected: &str) -> Result<Option<T>, Problem> {
    let refuse = |text: &str| Problem::entry(entry, format!("`{}`", excerpt(text)), expected);
    text.map(|text| T::from_word(text).ok_or_else(|| refuse(text))).transpose()
}

/// Checks that K = 2d + 1 for a d from 1 to 64.
pub(super) fn check_token_size(array: &str, k: usize) -> Result<(), Problem> {
    if k % 2 == 1 && (3..=MAX_TOKEN_SIZE).contains(&k) {
        return Ok(());
    }
    let expected = format!("2d + 1 rows and columns, from 3 to {MAX_TOKEN_SIZE}");
    Err(Problem::array(array, format!("matrices of {k} rows"), expected))
}
