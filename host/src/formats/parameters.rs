//! P and Q as a `.safetensors` file.
//!
//! The tensors bear the names of the authors' PyTorch module, so that its
//! `load_state_dict(safetensors.torch.load_file(path))` takes the file as it is:
//!
//! | tensor | dtype and shape | |
//! |---|---|---|
//! | `attn.P`, `attn.Q` | F32 (2d+1, 2d+1) | autoregressive: the one pair that all layers share |
//! | `layers.0.P`, `layers.0.Q`, `layers.1.P`, ... | F32 (2d+1, 2d+1) | sequential: a pair per layer |
//!
//! The file's metadata (all strings) say the rest: `d`, `L`, `mode` (`auto`, `sequential`),
//! `attention` (`linear`, `softmax`), `gamma`, `n` (the context length trained with), `lambda` (of TD(lambda)'s
//! mask), `parameters` (`equivariant`: each layer is the dense form of ten numbers), `prior_count` (of contexts
//! that are read without units), and `crc32` over all of it, since the format has no checksum of its own. The
//! reader also takes files without metadata, F64 tensors (rounded to F32), F16 and BF16 ones, and the plain
//! names `P` and `Q` with shape (2d+1, 2d+1) or
//! (L, 2d+1, 2d+1).

use super::error::Names;
use super::npy::float16;
use super::{FormatError, Problem};
use crate::options::typed;
use clap::ValueEnum;
use ictd_core::layer::{EquivariantLayer, Layer};
use ictd_core::scalar::{Real, Scalar};
use nalgebra::SMatrix;
use safetensors::{Dtype, SafeTensors};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::str::FromStr;
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

/// The mode of that name; otherwise what is accepted.
pub(super) fn mode_named(text: &str) -> Result<Mode, &'static str> {
    Mode::from_str(text, false).map_err(|_| "auto or sequential")
}

/// The attention of that name, also by the authors'; otherwise what is accepted.
pub(super) fn attention_named(text: &str) -> Result<Attention, &'static str> {
    let text = if text == "identity" { "linear" } else { text };
    Attention::from_str(text, false).map_err(|_| "linear (or identity) or softmax")
}

/// The set of that name; otherwise what is accepted.
pub(super) fn set_named(text: &str) -> Result<ParameterSet, &'static str> {
    ParameterSet::from_str(text, false).map_err(|_| "full or equivariant")
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

    /// The content of a `.safetensors` file. Equal parameters make equal bytes.
    pub fn to_safetensors(&self) -> Vec<u8> {
        let shape = [self.token_size; 2];
        let tensors: Vec<_> = (self.layers.iter().enumerate())
            .flat_map(|(l, layer)| {
                let prefix = match self.mode {
                    Mode::Autoregressive => "attn".to_owned(),
                    Mode::Sequential => format!("layers.{l}"),
                };
                [(format!("{prefix}.P"), &layer.p), (format!("{prefix}.Q"), &layer.q)]
            })
            .map(|(name, x)| (name, x.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>()))
            .collect();
        let mut metadata = self.metadata();
        let mut checksum = Checksum::new(&metadata);
        let mut by_name: Vec<_> = tensors.iter().collect();
        by_name.sort_unstable();
        for (name, bytes) in by_name {
            checksum.add_tensor(name, Dtype::F32, &shape, bytes);
        }
        metadata.insert(CHECKSUM.to_owned(), checksum.finish());

        // The crate's own writer orders the metadata at random.
        let mut header = Map::new();
        header.insert("__metadata__".to_owned(), json!(metadata));
        let mut end = 0;
        for (name, bytes) in &tensors {
            let start = end;
            end += bytes.len();
            let info = json!({ "dtype": "F32", "shape": shape, "data_offsets": [start, end] });
            header.insert(name.clone(), info);
        }
        let mut header = Value::Object(header).to_string().into_bytes();
        header.resize(header.len().next_multiple_of(8), b' ');
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend(header);
        tensors.into_iter().for_each(|(_, bytes)| file.extend(bytes));
        file
    }

    /// Reads the content of a `.safetensors` file; `file` is for messages.
    /// Errors: [`Problem::Malformed`], [`Problem::MissingArray`], [`Problem::Unusable`].
    pub fn from_safetensors(file: &Path, bytes: &[u8]) -> Result<Self, FormatError> {
        read(bytes).map_err(|problem| problem.in_file(file))
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

    fn metadata(&self) -> BTreeMap<String, String> {
        let mut metadata = BTreeMap::from([
            ("format".to_owned(), "pt".to_owned()),
            ("d".to_owned(), self.feature_dimension().to_string()),
            ("mode".to_owned(), typed(&self.mode)),
        ]);
        let mut put = |key: &str, value: Option<String>| {
            if let Some(value) = value {
                metadata.insert(key.to_owned(), value);
            }
        };
        put("L", self.depth.map(|x| x.to_string()));
        put("attention", self.attention.as_ref().map(typed));
        put("gamma", self.gamma.map(|x| x.to_string()));
        put("n", self.context_length.map(|x| x.to_string()));
        put("lambda", (self.lambda != 0.0).then(|| self.lambda.to_string()));
        put("parameters", (self.set != ParameterSet::Full).then(|| typed(&self.set)));
        put("prior_count", self.prior_count.map(|x| x.to_string()));
        metadata
    }
}

/// The most layers that a file may say: as many as a stored model can have.
const MOST_LAYERS: usize = 65_535;

/// Refuses a number of layers that no model has; 0 says nothing.
pub(super) fn check_depth(entry: &str, depth: Option<usize>) -> Result<Option<usize>, Problem> {
    match depth.filter(|l| *l > 0) {
        Some(l) if l > MOST_LAYERS => {
            Err(Problem::entry(entry, l, format!("an integer from 1 to {MOST_LAYERS}")))
        }
        depth => Ok(depth),
    }
}

/// Refuses a discount outside [0, 1).
pub(crate) fn check_gamma(gamma: Option<f64>) -> Result<(), Problem> {
    match gamma.filter(|g| !(0.0..1.0).contains(g)) {
        Some(gamma) => Err(Problem::entry("gamma", gamma, "a number in [0, 1)")),
        None => Ok(()),
    }
}

/// A trace decay from a file; 0 if it says nothing.
pub(crate) fn check_lambda(lambda: Option<f64>) -> Result<f64, Problem> {
    let lambda = lambda.unwrap_or_default();
    if (0.0..=1.0).contains(&lambda) {
        return Ok(lambda);
    }
    Err(Problem::entry("lambda", lambda, "a number in [0, 1]"))
}

/// A prior count from a file, if it has one.
pub(super) fn check_prior_count(prior_count: Option<f64>) -> Result<Option<f64>, Problem> {
    match prior_count.filter(|n| !(*n > 0.0 && *n < f64::INFINITY)) {
        Some(n) => Err(Problem::entry("prior_count", n, "a number above 0")),
        None => Ok(prior_count),
    }
}

/// K = 2d + 1 for a d from 1 to 64.
pub(super) fn check_token_size(array: &str, k: usize) -> Result<(), Problem> {
    if k % 2 == 1 && (3..=MAX_TOKEN_SIZE).contains(&k) {
        return Ok(());
    }
    let accepted = format!("2d + 1 rows and columns, from 3 to {MAX_TOKEN_SIZE}");
    Err(Problem::array(array, format!("matrices of {k} rows"), accepted))
}

const FORMAT: &str = ".safetensors";
const CHECKSUM: &str = "crc32";

fn read(bytes: &[u8]) -> Result<Parameters, Problem> {
    let tensors = SafeTensors::deserialize(bytes).map_err(|e| Problem::malformed(FORMAT, e))?;
    let (_, header) =
        SafeTensors::read_metadata(bytes).map_err(|e| Problem::malformed(FORMAT, e))?;
    let mut metadata: BTreeMap<String, String> =
        header.metadata().clone().unwrap_or_default().into_iter().collect();
    if let Some(expected) = metadata.remove(CHECKSUM) {
        let mut checksum = Checksum::new(&metadata);
        let mut names = tensors.names();
        names.sort_unstable();
        for name in names {
            let tensor = tensors.tensor(name).map_err(|e| Problem::malformed(FORMAT, e))?;
            checksum.add_tensor(name, tensor.dtype(), tensor.shape(), tensor.data());
        }
        if checksum.finish() != expected {
            return Err(Problem::malformed(FORMAT, "its checksum is wrong: the file is damaged"));
        }
    }
    let mut parameters = find_layers(&tensors)?;
    let entry = |key: &str| metadata.get(key).map(String::as_str);
    // `d` only repeats what the shapes say; a contradiction means that the file is not what it seems.
    let d = parameters.feature_dimension();
    if let Some(other) = number::<usize>("d", entry("d"), "an integer")?.filter(|&x| x != d) {
        return Err(Problem::entry("d", other, format!("{d}, as the tensors have it")));
    }
    if let Some(mode) = entry("mode") {
        let mode = named("mode", mode, mode_named)?;
        if mode != parameters.mode {
            let accepted = format!("`{}`, as the tensors' names have it", typed(&parameters.mode));
            return Err(Problem::entry("mode", format!("`{}`", typed(&mode)), accepted));
        }
    }
    let depth = check_depth("L", number("L", entry("L"), "an integer from 1")?)?;
    if let (Some(depth), Some(stored)) = (depth, parameters.depth)
        && depth != stored
    {
        return Err(Problem::entry("L", depth, format!("{stored}, as there are tensors")));
    }
    parameters.depth = parameters.depth.or(depth);
    let attention = entry("attention").map(|x| named("attention", x, attention_named));
    parameters.attention = attention.transpose()?;
    parameters.gamma = number("gamma", entry("gamma"), "a number in [0, 1)")?;
    parameters.context_length = number("n", entry("n"), "an integer")?;
    check_gamma(parameters.gamma)?;
    parameters.lambda = check_lambda(number("lambda", entry("lambda"), "a number in [0, 1]")?)?;
    if let Some(set) = entry("parameters") {
        parameters.set = named("parameters", set, set_named)?;
    }
    let prior_count = number("prior_count", entry("prior_count"), "a number above 0")?;
    parameters.prior_count = check_prior_count(prior_count)?;
    parameters.check()?;
    Ok(parameters)
}

/// The layers under the names of the authors' module, or under plain ones.
fn find_layers(tensors: &SafeTensors) -> Result<Parameters, Problem> {
    let names: BTreeSet<&str> = tensors.names().into_iter().collect();
    let has = |name: &str| names.contains(name);
    let mut read = Vec::new();
    let mut pair = |p: &str, q: &str| -> Result<_, Problem> {
        read.extend([p.to_owned(), q.to_owned()]);
        Ok((stack(tensors, p)?, stack(tensors, q)?))
    };
    let (mode, (ps, qs)) = if has("layers.0.P") {
        let (mut ps, mut qs) = (Vec::new(), Vec::new());
        while has(&format!("layers.{}.P", ps.len())) {
            let l = ps.len();
            let (p, q) = pair(&format!("layers.{l}.P"), &format!("layers.{l}.Q"))?;
            ps.extend(p);
            qs.extend(q);
        }
        (Mode::Sequential, (ps, qs))
    } else if has("attn.P") || !has("P") {
        (Mode::Autoregressive, pair("attn.P", "attn.Q")?)
    } else {
        let (ps, qs) = pair("P", "Q")?;
        (if ps.len() > 1 { Mode::Sequential } else { Mode::Autoregressive }, (ps, qs))
    };
    // A layer that is left out, half a layer or another naming is no part of this model.
    if let Some(other) = names.iter().find(|name| !read.iter().any(|read| read == *name)) {
        let accepted = format!("{} alone", Names(read));
        return Err(Problem::array(other, "not part of the model", accepted));
    }
    let token_size = ps.first().map_or(0, |p| p.0);
    let same = ps.len() == qs.len() && ps.iter().chain(&qs).all(|m| m.0 == token_size);
    if !same || (mode == Mode::Autoregressive && ps.len() != 1) {
        let accepted = format!("P and Q of one shape, ({token_size}, {token_size}) in each layer");
        return Err(Problem::array("Q", "not of the shape of P", accepted));
    }
    let layers: Vec<_> =
        ps.into_iter().zip(qs).map(|(p, q)| LayerParameters { p: p.1, q: q.1 }).collect();
    Ok(Parameters {
        token_size,
        depth: (mode == Mode::Sequential).then_some(layers.len()),
        layers,
        mode,
        attention: None,
        gamma: None,
        context_length: None,
        lambda: 0.0,
        set: ParameterSet::Full,
        prior_count: None,
    })
}

/// The square matrices of a tensor of shape (K, K) or (l, K, K): K and the numbers of each.
fn stack(tensors: &SafeTensors, name: &str) -> Result<Vec<(usize, Vec<f32>)>, Problem> {
    let Ok(tensor) = tensors.tensor(name) else {
        let mut present: Vec<String> = tensors.names().into_iter().map(str::to_owned).collect();
        present.sort_unstable();
        return Err(Problem::MissingArray { array: name.to_owned(), present: Names(present) });
    };
    let k = match *tensor.shape() {
        [a, b] if a == b => a,
        [_, a, b] if a == b => a,
        _ => {
            let reason = format!("shape {:?}", tensor.shape());
            return Err(Problem::array(name, reason, "(K, K) or (L, K, K) with K = 2d + 1"));
        }
    };
    check_token_size(name, k)?;
    let numbers: Vec<f32> = match tensor.dtype() {
        Dtype::F16 => decode(tensor.data(), |b| float16(u16::from_le_bytes(b))),
        Dtype::BF16 => {
            decode(tensor.data(), |b| f32::from_bits(u32::from(u16::from_le_bytes(b)) << 16))
        }
        Dtype::F32 => decode(tensor.data(), f32::from_le_bytes),
        Dtype::F64 => decode(tensor.data(), |b| f64::from_le_bytes(b) as f32),
        other => {
            return Err(Problem::array(name, format!("dtype {other:?}"), "F16, BF16, F32 or F64"));
        }
    };
    Ok(numbers.chunks_exact(k * k).map(|m| (k, m.to_vec())).collect())
}

fn decode<const N: usize>(bytes: &[u8], number: impl Fn([u8; N]) -> f32) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|&chunk| number(chunk)).collect()
}

fn number<T: FromStr>(key: &str, text: Option<&str>, accepted: &str) -> Result<Option<T>, Problem> {
    let refuse = |text: &str| Problem::entry(key, super::error::excerpt(text), accepted);
    text.map(|text| text.parse().map_err(|_| refuse(text))).transpose()
}

fn named<T>(
    key: &str,
    text: &str,
    read: fn(&str) -> Result<T, &'static str>,
) -> Result<T, Problem> {
    read(text).map_err(|accepted| Problem::entry(key, super::error::excerpt(text), accepted))
}

/// CRC-32 over the metadata and the tensors, in the order of their names.
struct Checksum(crc32fast::Hasher);

impl Checksum {
    fn new(metadata: &BTreeMap<String, String>) -> Self {
        let mut checksum = Checksum(crc32fast::Hasher::new());
        for (key, value) in metadata {
            checksum.add(key.as_bytes());
            checksum.add(value.as_bytes());
        }
        checksum
    }

    fn add_tensor(&mut self, name: &str, dtype: Dtype, shape: &[usize], bytes: &[u8]) {
        self.add(name.as_bytes());
        self.add(format!("{dtype:?} {shape:?}").as_bytes());
        self.add(bytes);
    }

    /// Each piece with its length, so that no two sequences look alike.
    fn add(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn finish(self) -> String {
        format!("{:08x}", self.0.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{FILE, assert_survives_corruption};
    use super::*;

    fn example(mode: Mode) -> Parameters {
        let layer = |x: f32| LayerParameters {
            p: (0..9).map(|i| x + i as f32).collect(),
            q: (0..9).map(|i| x - i as f32 / 7.0).collect(),
        };
        let layers = match mode {
            Mode::Autoregressive => vec![layer(0.5)],
            Mode::Sequential => vec![layer(0.5), layer(-3.0)],
        };
        Parameters {
            token_size: 3,
            depth: Some(2),
            layers,
            mode,
            attention: Some(Attention::Softmax),
            gamma: Some(0.9),
            context_length: Some(30),
            lambda: if mode == Mode::Sequential { 0.5 } else { 0.0 },
            set: ParameterSet::Full,
            prior_count: None,
        }
    }

    /// The dense form of ten numbers a layer, for d = 2.
    fn equivariant() -> Parameters {
        let layer = |x: f32| EquivariantLayer {
            p: [x, -0.5, 0.25, 0.75, 1.5],
            q: [0.0, x, 0.0, -1.0, 0.125],
        };
        let dense = |x| LayerParameters::from_layer(&layer(x).dense::<2, 5>());
        Parameters {
            token_size: 5,
            layers: vec![dense(0.5), dense(-2.0)],
            attention: Some(Attention::Linear),
            set: ParameterSet::Equivariant,
            prior_count: Some(6.0),
            ..example(Mode::Sequential)
        }
    }

    #[test]
    fn ten_numbers_are_read_back_from_their_dense_form_and_from_no_other() {
        let parameters = equivariant();
        assert_eq!(read(&parameters.to_safetensors()).unwrap(), parameters);
        let numbers = parameters.ten_numbers().unwrap();
        assert_eq!((numbers[1].p[0], numbers[1].p[1], numbers[0].q[1]), (-2.0, -0.5, 0.5));
        for at in 0..25 {
            let mut other = parameters.clone();
            other.layers[1].q[at] += 1.0;
            let is_read = read(&other.to_safetensors()).is_ok();
            // q5 stands alone.
            assert_eq!(is_read, at == 24, "{at}");
        }
        let negative = Parameters { prior_count: Some(-1.0), ..parameters };
        let message = read(&negative.to_safetensors()).unwrap_err().to_string();
        assert!(message.contains("`prior_count`: -1; accepted is a number above 0"), "{message}");
    }

    fn read(bytes: &[u8]) -> Result<Parameters, FormatError> {
        Parameters::from_safetensors(Path::new(FILE), bytes)
    }

    /// P and Q alone: what a damaged name of a metadata entry must not change.
    fn read_layers(bytes: &[u8]) -> Result<Vec<LayerParameters>, FormatError> {
        Ok(read(bytes)?.layers)
    }

    #[test]
    fn what_is_written_is_read_back() {
        for mode in [Mode::Autoregressive, Mode::Sequential] {
            let parameters = example(mode);
            let bytes = parameters.to_safetensors();
            assert_eq!(read(&bytes).unwrap(), parameters);
            assert_eq!(bytes, parameters.to_safetensors());
        }
    }

    #[test]
    fn every_truncation_and_bit_flip_is_an_error_or_changes_nothing() {
        for mode in [Mode::Autoregressive, Mode::Sequential] {
            assert_survives_corruption(&example(mode).to_safetensors(), read_layers);
            assert_survives_corruption(&example(mode).to_safetensors(), read);
        }
        assert_survives_corruption(&equivariant().to_safetensors(), read);
    }

    #[test]
    fn files_of_others_are_read_without_metadata() {
        let plain = |name: &str, dtype: &str, numbers: &[f64]| {
            let data: Vec<u8> = match dtype {
                "F64" => numbers.iter().flat_map(|x| x.to_le_bytes()).collect(),
                _ => numbers.iter().flat_map(|&x| (x as f32).to_le_bytes()).collect(),
            };
            (name.to_owned(), dtype.to_owned(), data)
        };
        let numbers: Vec<f64> = (0..18).map(f64::from).collect();
        let tensors = [plain("P", "F64", &numbers), plain("Q", "F32", &numbers)];
        let mut header = Map::new();
        let mut body: Vec<u8> = Vec::new();
        for (name, dtype, data) in &tensors {
            let offsets = [body.len(), body.len() + data.len()];
            body.extend(data);
            header.insert(
                name.clone(),
                json!({ "dtype": dtype, "shape": [2, 3, 3], "data_offsets": offsets }),
            );
        }
        let header = Value::Object(header).to_string();
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.extend(body);
        let parameters = read(&bytes).unwrap();
        assert_eq!((parameters.mode, parameters.depth), (Mode::Sequential, Some(2)));
        assert_eq!(parameters.layers[1].p[8], 17.0);
        assert_eq!(parameters.gamma, None);
    }

    #[test]
    fn a_number_that_is_not_finite_is_named_by_row_and_column() {
        let mut parameters = example(Mode::Sequential);
        parameters.layers[1].q[5] = f32::NAN;
        let message = read(&parameters.to_safetensors()).unwrap_err().to_string();
        assert!(message.contains("`Q of layer 1`: NaN in row 1, column 2"), "{message}");
    }

    #[test]
    fn missing_tensors_are_named() {
        let message = read(b"\x02\0\0\0\0\0\0\0{}").unwrap_err().to_string();
        assert!(message.contains("`attn.P` is missing"), "{message}");
    }
}
