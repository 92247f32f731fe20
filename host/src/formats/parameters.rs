//! P and Q, and what files say of them beside their numbers, by whatever names: `params.json`, the metadata of a
//! `.safetensors` file, the header of a stored model.

use super::error::excerpt;
use super::{FormatError, Problem};
use clap::ValueEnum;
use ictd_core::layer::{EquivariantLayer, Layer};
use ictd_core::scalar::{Real, Scalar};
use nalgebra::SMatrix;
use serde::Deserialize;
use std::path::Path;
pub use trainer::recipe::{Attention, Mode, ParameterSet};

/// The largest token size that a reader accepts: d = 64.
pub const MAX_TOKEN_SIZE: usize = 129;

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
    /// Whether the layers share their parameters.
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
    /// What was trained of each layer; of ten numbers P and Q are the dense form.
    pub set: ParameterSet,
    /// n_0 of contexts that are read without units; none for contexts as they are.
    pub prior_count: Option<f64>,
}

impl LayerParameters {
    /// p1 to p5 and q1 to q5, if P and Q are exactly their dense form.
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
    /// From a layer of the core, rounded to `f32`.
    pub fn from_layer<R: Real, const K: usize>(layer: &Layer<R, K>) -> Self {
        let row_major = |m: &SMatrix<R, K, K>| -> Vec<f32> {
            (0..K * K).map(|i| m[(i / K, i % K)].to_f64() as f32).collect()
        };
        LayerParameters { p: row_major(&layer.p), q: row_major(&layer.q) }
    }

    /// As a layer of the core for the token size K or more, with zeros for the features that it does not have;
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
    /// d.
    pub fn feature_dimension(&self) -> usize {
        (self.token_size - 1) / 2
    }

    /// The ten numbers of each layer, if those were trained.
    pub fn ten_numbers(&self) -> Option<Vec<EquivariantLayer<f32>>> {
        let d = self.feature_dimension();
        let of_ten = self.set == ParameterSet::Equivariant;
        of_ten.then(|| self.layers.iter().map(|layer| layer.ten_numbers(d)).collect())?
    }

    /// Refuses parameters that no transformer of the core can have.
    /// Errors: [`Problem::Unusable`] for a token size that is not 2d + 1, a wrong number of
    /// numbers, NaN or an infinity (with its row and column), or matrices that are not of the ten numbers
    /// that the file speaks of.
    pub fn check(&self) -> Result<(), Problem> {
        let k = self.token_size;
        check_token_size("P", k)?;
        for (l, layer) in self.layers.iter().enumerate() {
            for (matrix, x) in [("P", &layer.p), ("Q", &layer.q)] {
                let name = match self.mode {
                    Mode::Autoregressive => matrix.to_owned(),
                    Mode::Sequential => format!("{matrix} of layer {l}"),
                };
                if x.len() != k * k {
                    let reason = format!("{} numbers", x.len());
                    return Err(Problem::array(&name, reason, format!("{k} x {k} numbers")));
                }
                if let Some(i) = x.iter().position(|x| !x.is_finite()) {
                    let reason = format!("{} in row {}, column {}", x[i], i / k, i % k);
                    return Err(Problem::array(&name, reason, "finite numbers (in f32)"));
                }
            }
        }
        if self.set == ParameterSet::Equivariant && self.ten_numbers().is_none() {
            let accepted = "full, as P and Q are not the dense form of ten numbers";
            return Err(Problem::entry("parameters", "equivariant", accepted));
        }
        Ok(())
    }
}

/// The most layers that a file may say: as many as a stored model can have.
const MOST_LAYERS: usize = 65_535;

/// What is needed here of a `params.json`, which may be foreign; each may be absent.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct PartialParams {
    /// d.
    pub d: Option<usize>,
    /// n.
    pub n: Option<usize>,
    /// L.
    pub l: Option<usize>,
    /// The discount.
    pub gamma: Option<f64>,
    /// The trace decay of TD(lambda)'s mask; absent for TD(0)'s.
    pub lambda: Option<f64>,
    /// `equivariant` if ten numbers a layer were trained; absent for all of P and Q.
    pub parameters: Option<String>,
    /// n_0 of contexts that are read without units; absent for contexts as they are.
    pub prior_count: Option<f64>,
    /// `identity` or `softmax`.
    pub activation: Option<String>,
    /// `auto` or `sequential`.
    pub mode: Option<String>,
}

impl PartialParams {
    /// Reads the content of a `params.json`; `file` is for messages.
    /// Errors: [`Problem::Malformed`], saying line and column.
    pub fn from_json(file: &Path, bytes: &[u8]) -> Result<Self, FormatError> {
        serde_json::from_slice(bytes)
            .map_err(|error| Problem::malformed("params.json", error).in_file(file))
    }

    /// The mode, if it is said.
    pub(super) fn mode(&self) -> Result<Option<Mode>, Problem> {
        named("mode", self.mode.as_deref(), "auto or sequential")
    }

    /// These layers, with what is said of them; `l` and `attention` are the names that the file has for L and
    /// the attention. The numbers are not looked at: [`Parameters::check`].
    /// Errors: [`Problem::Unusable`] for what contradicts the layers, or what no transformer of the core has.
    pub(crate) fn describe(
        &self,
        [l, attention]: [&str; 2],
        token_size: usize,
        layers: Vec<LayerParameters>,
        mode: Mode,
    ) -> Result<Parameters, Problem> {
        // `d` only repeats what the shapes say; a contradiction means that the file is not what it seems.
        let d = (token_size - 1) / 2;
        if let Some(other) = self.d.filter(|x| *x != d) {
            return Err(Problem::entry("d", other, format!("{d}, as P has it")));
        }
        // 0 says nothing.
        let said = self.l.filter(|l| *l > 0);
        if let Some(other) = said.filter(|l| *l > MOST_LAYERS) {
            return Err(Problem::entry(l, other, format!("an integer from 1 to {MOST_LAYERS}")));
        }
        let stored = (mode == Mode::Sequential).then_some(layers.len());
        if let (Some(other), Some(stored)) = (said.filter(|_| said != stored), stored) {
            return Err(Problem::entry(l, other, format!("{stored}, the layers of P")));
        }
        if let Some(gamma) = self.gamma.filter(|g| !(0.0..1.0).contains(g)) {
            return Err(Problem::entry("gamma", gamma, "a number in [0, 1)"));
        }
        let lambda = self.lambda.unwrap_or_default();
        if !(0.0..=1.0).contains(&lambda) {
            return Err(Problem::entry("lambda", lambda, "a number in [0, 1]"));
        }
        if let Some(n) = self.prior_count.filter(|n| !(*n > 0.0 && *n < f64::INFINITY)) {
            return Err(Problem::entry("prior_count", n, "a number above 0"));
        }
        // The authors' name for it.
        let activation =
            self.activation.as_deref().map(|x| if x == "identity" { "linear" } else { x });
        Ok(Parameters {
            token_size,
            layers,
            mode,
            depth: stored.or(said),
            attention: named(attention, activation, "linear (or identity) or softmax")?,
            gamma: self.gamma,
            context_length: self.n,
            lambda,
            set: named::<ParameterSet>(
                "parameters",
                self.parameters.as_deref(),
                "full or equivariant",
            )?
            .unwrap_or_default(),
            prior_count: self.prior_count,
        })
    }
}

/// An option's word, if it is there.
fn named<T: ValueEnum>(
    entry: &str,
    text: Option<&str>,
    accepted: &str,
) -> Result<Option<T>, Problem> {
    let refuse = |text: &str| Problem::entry(entry, format!("`{}`", excerpt(text)), accepted);
    text.map(|text| T::from_str(text, false).map_err(|_| refuse(text))).transpose()
}

/// K = 2d + 1 for a d from 1 to 64.
pub(super) fn check_token_size(array: &str, k: usize) -> Result<(), Problem> {
    if k % 2 == 1 && (3..=MAX_TOKEN_SIZE).contains(&k) {
        return Ok(());
    }
    let accepted = format!("2d + 1 rows and columns, from 3 to {MAX_TOKEN_SIZE}");
    Err(Problem::array(array, format!("matrices of {k} rows"), accepted))
}
