//! `ictd export` and `ictd inspect`: models as the bytes that firmware links.

use crate::error::{Doing, Error};
use crate::formats::parameters::{Attention, LayerParameters, Mode, Parameters};
use crate::options;
use crate::records;
use crate::report::Report;
use ictd_core::constructions;
use ictd_core::model::{AttentionKind, Header, Model};
use ictd_core::transformer::{Layer, Transformer};
use serde_json::json;
use std::path::{Path, PathBuf};

/// The most layers of a sequential model that this command stores.
const LAYERS: usize = 32;

/// A construction of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Construction {
    /// Theorem 1
    Td0,
    /// The corollary for the residual gradient
    ResidualGradient,
    /// The corollary for TD(lambda), under the mask with the trace decay --lambda
    TdLambda,
}

/// Write a model as the bytes that firmware links with `include_bytes!`
///
/// From a trained model (SOURCE: a .safetensors file, or the folder that holds
/// parameters.safetensors), or from a construction of the paper. The byte format stands in the
/// documentation of `ictd_core::model`.
#[derive(Clone, Debug, clap::Args)]
pub struct Export {
    /// A .safetensors file of parameters, or the folder of a run or seed that holds one
    #[arg(
        value_name = "SOURCE",
        required_unless_present = "construction",
        conflicts_with_all = ["construction", "dim", "alpha", "lambda"]
    )]
    pub source: Option<PathBuf>,
    /// A construction instead of a trained model
    #[arg(long, value_enum)]
    pub construction: Option<Construction>,
    /// Feature dimension d of a construction
    #[arg(long, default_value = "4", value_parser = options::integer(1..=16))]
    pub dim: usize,
    /// Layers L of a construction, or of a source that does not say [default: 15]
    #[arg(long, value_parser = options::integer(1..=65_535))]
    pub layers: Option<usize>,
    /// Learning rate alpha of a construction, C = alpha I
    #[arg(long, default_value = "0.2", value_parser = options::real(-1e6..=1e6))]
    pub alpha: f64,
    /// Discount gamma of a construction, or of a source that does not say [default: 0.9]
    #[arg(long, value_parser = options::real(0.0..1.0))]
    pub gamma: Option<f64>,
    /// Trace decay lambda of `td-lambda`
    #[arg(long, default_value = "0.5", value_parser = options::real(0.0..=1.0))]
    pub lambda: f64,
    /// The file to write (instead of the directory of other commands)
    #[arg(long, value_name = "FILE", default_value = "model.ictd")]
    pub file: PathBuf,
}

/// Show what a stored model holds, after checking every byte of it
#[derive(Clone, Debug, clap::Args)]
pub struct Inspect {
    /// A file that `ictd export` wrote
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// Calls a function with D and K = 2 D + 1 for a feature dimension known at run time.
macro_rules! with_dimension {
    ($d:expr, $function:ident ( $($argument:expr),* ), otherwise $otherwise:expr) => {
        with_dimension!(@ $d, $function ( $($argument),* ), $otherwise,
            1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16)
    };
    (@ $d:expr, $function:ident $arguments:tt, $otherwise:expr, $($n:literal)*) => {
        match $d {
            $($n => $function::<$n, { 2 * $n + 1 }> $arguments,)*
            _ => $otherwise,
        }
    };
}

/// Writes the model.
///
/// # Errors
/// [`Error::File`] for a source that holds no model, [`Error::Option`] for one that cannot be
/// stored, [`Error::Write`].
pub fn export(options: &Export) -> Result<Report, Error> {
    let gamma = options.gamma.unwrap_or(0.9);
    let bytes = match (&options.source, options.construction) {
        (None, Some(construction)) => with_dimension!(
            options.dim,
            constructed(construction, options, gamma),
            otherwise Err(Error::Option {
                option: "--dim",
                reason: "accepted is an integer from 1 to 16".into(),
            })
        ),
        (Some(source), _) => trained(source, options),
        (None, None) => Err(Error::Option {
            option: "SOURCE",
            reason: "a trained model or --construction is needed".into(),
        }),
    }?;
    records::write_atomic(&options.file, &bytes)?;
    let mut report = describe(&options.file, &bytes, "export")?;
    report.files.push(options.file.clone());
    Ok(report)
}

fn constructed<const D: usize, const K: usize>(
    construction: Construction,
    options: &Export,
    gamma: f64,
) -> Result<Vec<u8>, Error> {
    let c = constructions::learning_rate::<f32, D>(options.alpha as f32);
    let layer: Layer<f32, K> = match construction {
        Construction::Td0 => constructions::td0(&c),
        Construction::ResidualGradient => constructions::residual_gradient(&c),
        Construction::TdLambda => constructions::td_lambda(&c),
    };
    let lambda = if construction == Construction::TdLambda { options.lambda } else { 0.0 };
    let depth = options.layers.unwrap_or(15);
    let transformer =
        Transformer::<f32, K, 1>::autoregressive(layer, depth).doing("the construction")?;
    store::<D, K, 1>(transformer, AttentionKind::Linear, gamma, lambda)
}

fn trained(source: &Path, options: &Export) -> Result<Vec<u8>, Error> {
    let file =
        if source.is_dir() { source.join("parameters.safetensors") } else { source.to_owned() };
    let bytes = std::fs::read(&file).map_err(|e| Error::file(&file, e))?;
    let parameters = Parameters::from_safetensors(&file, &bytes)?;
    let d = parameters.feature_dimension();
    with_dimension!(
        d,
        trained_of(&file, &parameters, options),
        otherwise Err(Error::file(&file, format!("d = {d}: 1 to 16 can be stored")))
    )
}

fn trained_of<const D: usize, const K: usize>(
    file: &Path,
    parameters: &Parameters,
    options: &Export,
) -> Result<Vec<u8>, Error> {
    let layers: Option<Vec<Layer<f32, K>>> =
        parameters.layers.iter().map(LayerParameters::to_layer).collect();
    let layers = layers.ok_or_else(|| Error::file(file, "layers of different sizes"))?;
    let attention = match parameters.attention {
        Some(Attention::Softmax) => AttentionKind::Softmax,
        Some(Attention::Linear) | None => AttentionKind::Linear,
    };
    let gamma = parameters.gamma.or(options.gamma).unwrap_or(0.9);
    let depth = parameters.depth.or(options.layers);
    match (parameters.mode, layers.as_slice()) {
        (Mode::Autoregressive, [layer, ..]) => {
            let depth = depth
                .ok_or_else(|| Error::file(file, "does not say how many layers: pass --layers"))?;
            let transformer =
                Transformer::<f32, K, 1>::autoregressive(*layer, depth).doing("the model")?;
            store::<D, K, 1>(transformer, attention, gamma, 0.0)
        }
        _ => {
            let transformer =
                Transformer::<f32, K, LAYERS>::sequential(&layers).doing("the model")?;
            store::<D, K, LAYERS>(transformer, attention, gamma, 0.0)
        }
    }
}

fn store<const D: usize, const K: usize, const C: usize>(
    transformer: Transformer<f32, K, C>,
    attention: AttentionKind,
    gamma: f64,
    lambda: f64,
) -> Result<Vec<u8>, Error> {
    let model = Model::<f32, D, K, C>::new(transformer, attention, gamma as f32, lambda as f32)
        .doing("the model")?;
    let mut bytes = vec![0; model.byte_len()];
    let refuse = |e: ictd_core::model::ModelError| Error::Usage(e.to_string());
    model.write(&mut bytes).map_err(refuse)?;
    Ok(bytes)
}

/// Checks a stored model and says what it holds.
///
/// # Errors
/// [`Error::File`], naming what is wrong with the file.
pub fn inspect(options: &Inspect) -> Result<Report, Error> {
    let bytes = std::fs::read(&options.file).map_err(|e| Error::file(&options.file, e))?;
    describe(&options.file, &bytes, "inspect")
}

fn describe(file: &Path, bytes: &[u8], command: &str) -> Result<Report, Error> {
    let header = Header::of(bytes).map_err(|e| Error::file(file, e))?;
    let width = usize::from(header.scalar_bytes);
    let numbers: Vec<f64> = bytes[12..bytes.len() - 4]
        .chunks_exact(width)
        .map(|x| match x.try_into() {
            Ok(x) => f64::from_le_bytes(x),
            Err(_) => x.try_into().map_or(f64::NAN, |x| f32::from_le_bytes(x).into()),
        })
        .collect();
    if let Some(at) = numbers.iter().position(|x| !x.is_finite()) {
        return Err(Error::file(file, format!("number {at} is NaN or infinite")));
    }
    let (gamma, lambda, parameters) = (numbers[0], numbers[1], &numbers[2..]);
    if !(0.0..1.0).contains(&gamma) || !(0.0..=1.0).contains(&lambda) {
        let reason = format!("gamma {gamma}, lambda {lambda}: [0, 1) and [0, 1] are accepted");
        return Err(Error::file(file, reason));
    }
    let largest = parameters.iter().fold(0.0f64, |a, x| a.max(x.abs()));
    let nonzero = parameters.iter().filter(|x| **x != 0.0).count();
    let scalar = if width == 4 { "f32" } else { "f64" };
    let attention = format!("{:?}", header.attention).to_lowercase();
    let mode = format!("{:?}", header.mode).to_lowercase();
    let (d, layers) = (header.feature_dimension, header.depth);
    let checksum = ictd_core::model::crc32(&bytes[..bytes.len() - 4]);
    let mut report = Report::new(command);
    for (key, value) in [
        ("file", json!(file)),
        ("bytes", json!(bytes.len())),
        ("scalar", json!(scalar)),
        ("attention", json!(attention)),
        ("mode", json!(mode)),
        ("dim", json!(d)),
        ("layers", json!(layers)),
        ("gamma", json!(gamma)),
        ("lambda", json!(lambda)),
        ("parameters", json!(parameters.len())),
        ("nonzero_parameters", json!(nonzero)),
        ("largest_parameter", json!(largest)),
        ("crc32", json!(format!("{checksum:08x}"))),
    ] {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        report.text.push_str(&format!("{key:<20}{text}\n"));
        report.results.insert(key.into(), value);
    }
    Ok(report)
}
