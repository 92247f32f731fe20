//! P and Q as a `.safetensors` file.
//!
//! The tensors have the names of the authors' PyTorch module, so that its `load_state_dict(safetensors.torch.load_file(path))`
//! loads the file:
//!
//! | tensor | dtype and shape | |
//! |---|---|---|
//! | `attn.P`, `attn.Q` | F32 (2d+1, 2d+1) | autoregressive: the one pair that all layers share |
//! | `layers.0.P`, `layers.0.Q`, `layers.1.P`, ... | F32 (2d+1, 2d+1) | sequential: a pair per layer |
//!
//! The file's metadata (all strings) contains `d`, `L`, `mode` (`autoregressive`, `sequential`), `attention` (`linear`,
//! `softmax`), `gamma`, `n` (the context length in training), `lambda` (the trace decay of TD(lambda)'s mask), and `crc32` over
//! everything, since the format has no checksum. The reader also accepts files without metadata, F64 tensors (rounded to F32),
//! and the plain names `P` and `Q` with shape (2d+1, 2d+1) or (L, 2d+1, 2d+1).

use super::error::{excerpt, names as listed};
use super::npz::missing;
use super::parameters::{
    LayerParameters, LayerSharing, Parameters, PartialParams, check, check_token_size,
};
use crate::error::{Error, InFile as _, Problem};
use compute::words::Word as _;
use safetensors::{Dtype, SafeTensors};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::str::FromStr;

/// Returns the content of a file with these parameters. Equal parameters give equal bytes.
pub fn to_bytes(parameters: &Parameters) -> Vec<u8> {
    let shape = [parameters.token_size; 2];
    let tensors: Vec<_> = (parameters.layers.iter().enumerate())
        .flat_map(|(l, layer)| {
            let prefix = match parameters.layer_sharing {
                LayerSharing::Autoregressive => "attn".to_owned(),
                LayerSharing::Sequential => format!("layers.{l}"),
            };
            [(format!("{prefix}.P"), &layer.p), (format!("{prefix}.Q"), &layer.q)]
        })
        .map(|(name, x)| (name, x.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>()))
        .collect();
    let mut metadata = metadata(parameters);
    let of_file = tensors.iter().map(|(name, bytes)| (&**name, Dtype::F32, &shape[..], &**bytes));
    metadata.insert(CHECKSUM.to_owned(), checksum(&metadata, of_file.collect()));

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

pub fn from_bytes(file: &Path, bytes: &[u8]) -> Result<Parameters, Error> {
    read(bytes).in_file(file)
}

fn metadata(of: &Parameters) -> BTreeMap<String, String> {
    let entries = [
        ("format", Some("pt".to_owned())),
        ("d", Some(of.feature_dimension().to_string())),
        ("mode", Some(of.layer_sharing.word().to_owned())),
        ("L", of.depth.map(|x| x.to_string())),
        ("attention", of.attention.map(|kind| kind.word().to_owned())),
        ("gamma", of.gamma.map(|x| x.to_string())),
        ("n", of.context_length.map(|x| x.to_string())),
        ("lambda", (of.trace_decay != 0.0).then(|| of.trace_decay.to_string())),
    ];
    entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
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
        let views = tensors.tensors();
        let of_file = views.iter().map(|(name, t)| (&**name, t.dtype(), t.shape(), t.data()));
        if checksum(&metadata, of_file.collect()) != expected {
            return Err(Problem::malformed(FORMAT, "its checksum is wrong: the file is damaged"));
        }
    }
    let text = |key: &str| metadata.get(key).cloned();
    let settings = PartialParams {
        d: number(&metadata, "d", "an integer")?,
        n: number(&metadata, "n", "an integer")?,
        l: number(&metadata, "L", "an integer from 1")?,
        gamma: number(&metadata, "gamma", "a number in [0, 1)")?,
        trace_decay: number(&metadata, "lambda", "a number in [0, 1]")?,
        activation: text("attention"),
        mode: text("mode"),
    };
    let (mode, token_size, layers) = find_layers(&tensors)?;
    if let Some(other) = settings.mode()?.filter(|said| *said != mode) {
        let expected = format!("`{}`, as the tensors' names have it", mode.word());
        return Err(Problem::entry("mode", format!("`{}`", other.word()), expected));
    }
    check(settings.describe(["L", "attention"], token_size, layers, mode)?)
}

/// Returns the layers under the names of the authors' module, or under plain ones, with their mode and K.
fn find_layers(
    tensors: &SafeTensors,
) -> Result<(LayerSharing, usize, Vec<LayerParameters>), Problem> {
    let names: BTreeSet<&str> = tensors.names().into_iter().collect();
    let has = |name: &str| names.contains(name);
    let (is_numbered, is_of_module) = (has("layers.0.P"), has("attn.P") || !has("P"));
    let (mut read, mut ps, mut qs) = (Vec::new(), Vec::new(), Vec::new());
    while read.is_empty() || is_numbered && has(&format!("layers.{}.P", ps.len())) {
        let prefix = match is_numbered {
            true => format!("layers.{}.", ps.len()),
            false => if is_of_module { "attn." } else { "" }.to_owned(),
        };
        for (matrix, all) in [("P", &mut ps), ("Q", &mut qs)] {
            let name = format!("{prefix}{matrix}");
            all.extend(stack(tensors, &name)?);
            read.push(name);
        }
    }
    let is_shared = !is_numbered && (is_of_module || ps.len() < 2);
    let mode = if is_shared { LayerSharing::Autoregressive } else { LayerSharing::Sequential };
    // A tensor that was not read is a layer left out, half a layer, or one under another name.
    if let Some(other) = names.iter().find(|name| !read.iter().any(|read| read == *name)) {
        let expected = format!("{} alone", listed(&read));
        return Err(Problem::array(other, "not part of the model", expected));
    }
    let token_size = ps.first().map_or(0, |p| p.0);
    let same = ps.len() == qs.len() && ps.iter().chain(&qs).all(|m| m.0 == token_size);
    if !same || (mode == LayerSharing::Autoregressive && ps.len() != 1) {
        let expected = format!("P and Q of one shape, ({token_size}, {token_size}) in each layer");
        return Err(Problem::array("Q", "not of the shape of P", expected));
    }
    let layers = ps.into_iter().zip(qs).map(|(p, q)| LayerParameters { p: p.1, q: q.1 });
    Ok((mode, token_size, layers.collect()))
}

/// Returns the square matrices of a tensor of shape (K, K) or (l, K, K): K and the numbers of each.
fn stack(tensors: &SafeTensors, name: &str) -> Result<Vec<(usize, Vec<f32>)>, Problem> {
    let Ok(tensor) = tensors.tensor(name) else {
        let mut present: Vec<String> = tensors.names().into_iter().map(str::to_owned).collect();
        present.sort_unstable();
        return Err(missing(name, &present));
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
        Dtype::F32 => decode(tensor.data(), f32::from_le_bytes),
        Dtype::F64 => decode(tensor.data(), |b| f64::from_le_bytes(b) as f32),
        other => return Err(Problem::array(name, format!("dtype {other:?}"), "F32 or F64")),
    };
    Ok(numbers.chunks_exact(k * k).map(|m| (k, m.to_vec())).collect())
}

fn decode<const N: usize>(bytes: &[u8], number: impl Fn([u8; N]) -> f32) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|&chunk| number(chunk)).collect()
}

fn number<T: FromStr>(
    metadata: &BTreeMap<String, String>,
    key: &str,
    expected: &str,
) -> Result<Option<T>, Problem> {
    let parse = |text: &String| text.parse();
    let refuse = |text: &String| Problem::entry(key, excerpt(text), expected);
    metadata.get(key).map(|text| parse(text).map_err(|_| refuse(text))).transpose()
}

type Tensor<'a> = (&'a str, Dtype, &'a [usize], &'a [u8]);

/// Returns CRC-32 over the metadata and the tensors, in the order of their names; each piece with its length, so that
/// no two sequences look alike.
fn checksum(metadata: &BTreeMap<String, String>, mut tensors: Vec<Tensor>) -> String {
    let mut checksum = crc32fast::Hasher::new();
    let mut add = |bytes: &[u8]| {
        checksum.update(&(bytes.len() as u64).to_le_bytes());
        checksum.update(bytes);
    };
    for (key, value) in metadata {
        add(key.as_bytes());
        add(value.as_bytes());
    }
    tensors.sort_unstable_by_key(|tensor| tensor.0);
    for (name, dtype, shape, bytes) in tensors {
        add(name.as_bytes());
        add(format!("{dtype:?} {shape:?}").as_bytes());
        add(bytes);
    }
    format!("{:08x}", checksum.finalize())
}
