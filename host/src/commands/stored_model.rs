//! `ictd export` and `ictd inspect`: models as the bytes that firmware links.

use crate::commands::model_file::{self, ModelFile};
use crate::construction::{Construction, LAMBDA};
use crate::dimension::for_dimension;
use crate::error::{Doing, Error};
use crate::formats::parameters::{Attention, LayerParameters, Mode};
use crate::options;
use crate::run::records;
use crate::run::report::{Report, shortest};
use crate::run::session::Session;
use ictd_core::attention::{AverageReward, TdLambda};
use ictd_core::layer::Layer;
use ictd_core::model::{AttentionKind, Header, Model};
use ictd_core::transformer::Transformer;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The most layers of a sequential model that this command stores.
const LAYERS: usize = 32;

/// Write a model as the bytes that firmware links with `include_bytes!`
///
/// From a trained model (RUN_DIR), or from a construction of the paper. The byte format stands in the
/// documentation of `ictd_core::model`.
#[derive(Clone, Debug, clap::Args)]
pub struct Export {
    /// A training run (its seed --seed is taken), one seed's folder, or a file of parameters
    #[arg(
        value_name = "RUN_DIR",
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
    #[arg(long, default_value_t = LAMBDA, value_parser = options::real(0.0..=1.0))]
    pub lambda: f64,
    /// The file to write (other commands: a directory)
    // The same name as the option of every command, which it stands in for.
    #[arg(long, value_name = "FILE", default_value = "model.ictd")]
    pub out: PathBuf,
}

/// Show what a stored model holds, after checking every byte of it
#[derive(Clone, Debug, clap::Args)]
pub struct Inspect {
    /// A file that `ictd export` wrote
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// Writes the model.
///
/// # Errors
/// [`Error::File`] or [`Error::Format`] for a source that holds no model, or one that cannot be
/// stored; [`Error::Option`]; [`Error::Write`].
pub fn export(options: &Export, session: &Session) -> Result<Report, Error> {
    let bytes = match (&options.source, options.construction) {
        (None, Some(construction)) => {
            Construction::check(Some(construction), options.lambda, options.gamma)?;
            for_dimension!(stored options.dim, constructed(construction, options)).unwrap_or_else(
                || {
                    let reason = "accepted is an integer from 1 to 16".into();
                    Err(Error::Option { option: "--dim", reason })
                },
            )
        }
        (Some(source), _) => trained(source, session.seed, options),
        (None, None) => Err(Error::Option {
            option: "RUN_DIR",
            reason: "a trained model or --construction is needed".into(),
        }),
    }?;
    records::write_atomic(&options.out, &bytes)?;
    let mut report = describe(&options.out, &bytes, "export")?;
    report.files.push(options.out.clone());
    Ok(report)
}

fn constructed<const D: usize, const K: usize, const A: usize>(
    construction: Construction,
    options: &Export,
) -> Result<Vec<u8>, Error> {
    let alpha = options.alpha as f32;
    let (gamma, lambda) = (options.gamma.unwrap_or(0.9) as f32, options.lambda as f32);
    // The range of --layers is that of the format.
    let depth = u16::try_from(options.layers.unwrap_or(15)).unwrap_or(u16::MAX);
    match construction {
        Construction::Td0 => model_file::stored(Model::<f32, D, K, 1>::td0(alpha, depth, gamma)),
        Construction::ResidualGradient => {
            model_file::stored(Model::<f32, D, K, 1>::residual_gradient(alpha, depth, gamma))
        }
        Construction::TdLambda => model_file::stored(Model::<f32, D, K, 1, TdLambda>::td_lambda(
            alpha, depth, gamma, lambda,
        )),
        Construction::AverageReward => {
            model_file::stored(Model::<f32, D, A, 1, AverageReward>::average_reward(alpha, depth))
        }
    }
}

fn trained(source: &Path, seed: u64, options: &Export) -> Result<Vec<u8>, Error> {
    let source = model_file::seed_of_run(source, seed)?;
    let model = model_file::open(&source, None)?;
    let d = model.parameters.feature_dimension();
    for_dimension!(stored d, trained_of(&source, &model, options))
        .unwrap_or_else(|| Err(Error::file(&source, format!("d = {d}: 1 to 16 can be stored"))))
}

/// Refuses an option that contradicts the source, rather than write what was not asked for. Compared, and
/// shown, in the single precision of a stored model.
fn agree(
    option: &'static str,
    name: &str,
    typed: Option<f64>,
    said: Option<f64>,
) -> Result<(), Error> {
    match (typed.map(|x| x as f32), said.map(|x| x as f32)) {
        (Some(typed), Some(said)) if typed != said => Err(Error::Option {
            option,
            reason: format!("{typed}: the source says {name} {said}; accepted is the same"),
        }),
        _ => Ok(()),
    }
}

fn trained_of<const D: usize, const K: usize, const A: usize>(
    file: &Path,
    model: &ModelFile,
    options: &Export,
) -> Result<Vec<u8>, Error> {
    let parameters = &model.parameters;
    let layers: Option<Vec<Layer<f32, K>>> =
        parameters.layers.iter().map(LayerParameters::to_layer).collect();
    let layers = layers.ok_or_else(|| Error::file(file, "layers of different sizes"))?;
    let attention = parameters.attention.unwrap_or(Attention::Linear);
    let sequential = parameters.mode == Mode::Sequential;
    let depth = if sequential { Some(layers.len()) } else { parameters.depth };
    let number = |layers: Option<usize>| layers.map(|l| l as f64);
    agree("--gamma", "gamma", options.gamma, parameters.gamma)?;
    agree("--layers", "L =", number(options.layers), number(depth))?;
    let gamma = parameters.gamma.or(options.gamma).unwrap_or(0.9);
    let depth = depth.or(options.layers);
    match (parameters.mode, layers.as_slice()) {
        (Mode::Autoregressive, [layer, ..]) => {
            let depth = depth
                .ok_or_else(|| Error::file(file, "does not say how many layers: pass --layers"))?;
            let transformer = Transformer::<_, 1>::autoregressive(*layer, depth);
            model_file::to_bytes::<D, K, 1>(
                transformer.doing("the model")?,
                attention,
                gamma,
                model.lambda,
            )
        }
        _ => {
            let transformer = Transformer::<_, LAYERS>::sequential(&layers).doing("the model")?;
            model_file::to_bytes::<D, K, LAYERS>(transformer, attention, gamma, model.lambda)
        }
    }
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
    let (attention, in_range, accepted) = match header.attention {
        AttentionKind::TwoHead => ("two-head", gamma == 1.0 && lambda == 0.0, "1 and 0"),
        kind => {
            let name = if kind == AttentionKind::Softmax { "softmax" } else { "linear" };
            let in_range = (0.0..1.0).contains(&gamma) && (0.0..=1.0).contains(&lambda);
            (name, in_range, "[0, 1) and [0, 1]")
        }
    };
    if !in_range {
        let reason = format!("gamma {gamma}, lambda {lambda}: {accepted} are accepted");
        return Err(Error::file(file, reason));
    }
    let largest = parameters.iter().fold(0.0f64, |a, x| a.max(x.abs()));
    let nonzero = parameters.iter().filter(|x| **x != 0.0).count();
    let checksum = ictd_core::model::crc32(&bytes[..bytes.len() - 4]);
    let found = Found {
        file,
        bytes: bytes.len(),
        scalar: if width == 4 { "f32" } else { "f64" },
        attention,
        mode: format!("{:?}", header.mode).to_lowercase(),
        dim: header.feature_dimension,
        layers: header.depth,
        gamma,
        lambda,
        parameters: parameters.len(),
        nonzero_parameters: nonzero,
        largest_parameter: largest,
        crc32: format!("{checksum:08x}"),
    };
    Ok(Report { text: found.text(), ..Report::of(command, &found) })
}

/// What a stored model holds.
#[derive(Serialize)]
struct Found<'a> {
    file: &'a Path,
    bytes: usize,
    scalar: &'a str,
    attention: &'a str,
    mode: String,
    dim: u16,
    layers: u16,
    gamma: f64,
    lambda: f64,
    parameters: usize,
    nonzero_parameters: usize,
    largest_parameter: f64,
    crc32: String,
}

impl Found<'_> {
    /// For a human.
    fn text(&self) -> String {
        let rows = [
            ("file", self.file.display().to_string()),
            ("bytes", self.bytes.to_string()),
            ("scalar", self.scalar.to_owned()),
            ("attention", self.attention.to_owned()),
            ("mode", self.mode.clone()),
            ("dim", self.dim.to_string()),
            ("layers", self.layers.to_string()),
            ("gamma", shortest(self.gamma)),
            ("lambda", shortest(self.lambda)),
            ("parameters", self.parameters.to_string()),
            ("nonzero_parameters", self.nonzero_parameters.to_string()),
            ("largest_parameter", shortest(self.largest_parameter)),
            ("crc32", self.crc32.clone()),
        ];
        rows.iter().map(|(name, value)| format!("{name:<20}{value}\n")).collect()
    }
}
