//! `ictd export` and `ictd inspect`: models as the bytes that firmware links.

use crate::construction::{self, Construction, LAMBDA};
use crate::error::{Doing, Error};
use crate::files;
use crate::formats::parameters::{Attention, Mode};
use crate::model_file::{self, AnyModel};
use crate::options;
use crate::run::records;
use crate::run::report::{Report, shortest};
use crate::run::session::Session;
use compute::parameters::universal_to_bytes;
use compute::stored;
use ictd_core::model::{AttentionKind, Header};
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Write a model as the bytes that firmware links with `include_bytes!`
///
/// The model that ships (`universal`), a trained one, or a construction of the paper. The byte format stands in the
/// documentation of `ictd_core::model`.
#[derive(Clone, Debug, clap::Args)]
pub struct Export {
    /// `universal`, the model that ships; or a training run (its seed --seed is taken), one seed's folder, or
    /// a file of parameters
    #[arg(
        value_name = "universal|RUN_DIR",
        required_unless_present = "construction",
        conflicts_with_all = ["construction", "dim", "alpha", "lambda"]
    )]
    pub source: Option<PathBuf>,
    /// A construction instead of a trained model
    #[arg(long, value_parser = options::words::<Construction>(Construction::WORDS))]
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
/// Errors: [`Error::File`] or [`Error::Format`] for a source that holds no model, or one that
/// cannot be stored; [`Error::Option`]; [`Error::Write`].
pub fn export(options: &Export, session: &Session) -> Result<Report, Error> {
    model_file::check_seed(&options.source, session.seed)?;
    let bytes = match (&options.source, options.construction) {
        (None, Some(construction)) => {
            construction::check(Some(construction), options.lambda, options.gamma)?;
            let settings = [options.alpha, options.gamma.unwrap_or(0.9), options.lambda];
            // The range of --layers is that of the format.
            let depth = u16::try_from(options.layers.unwrap_or(15)).unwrap_or(u16::MAX);
            let settings = settings.map(|x| x as f32);
            stored::constructed(construction, options.dim, depth, settings).doing("the model")
        }
        (Some(source), _) => trained_model(source, session.seed, options),
        (None, None) => {
            Err(Error::option("RUN_DIR", "a trained model or --construction is needed"))
        }
    }?;
    records::write_atomic(&options.out, &bytes)?;
    let mut report = describe(&options.out, &bytes, "export")?;
    report.files.push(options.out.clone());
    Ok(report)
}

/// Returns the bytes of a trained model, or of the one that ships.
fn trained_model(source: &Path, seed: u64, options: &Export) -> Result<Vec<u8>, Error> {
    let source = model_file::seed_of_run(source, seed)?;
    let parameters = match model_file::model(&source, options.gamma)? {
        AnyModel::Universal(model) => {
            if options.layers.is_some() {
                let reason = "the universal model has no layers: leave it out";
                return Err(Error::option("--layers", reason));
            }
            return universal_to_bytes(&model).doing("the model");
        }
        AnyModel::Dense(file) => file.parameters,
    };
    if parameters.prior_count.is_some() {
        let reason =
            "reads contexts without units; accepted for export are models of contexts as they are";
        return Err(Error::file(&source, reason));
    }
    let is_sequential = parameters.mode == Mode::Sequential;
    let depth = if is_sequential { Some(parameters.layers.len()) } else { parameters.depth };
    let number = |layers: Option<usize>| layers.map(|l| l as f64);
    agree("--gamma", "gamma", options.gamma, parameters.gamma)?;
    agree("--layers", "L =", number(options.layers), number(depth))?;
    let depth = depth
        .or(options.layers)
        .ok_or_else(|| Error::file(&source, "does not say how many layers: pass --layers"))?;
    let attention = parameters.attention.unwrap_or(Attention::Linear);
    let gamma = parameters.gamma.or(options.gamma).unwrap_or(0.9);
    model_file::to_bytes(&parameters, depth, attention, gamma)
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
        (Some(typed), Some(said)) if typed != said => {
            let reason = format!("{typed}: the source says {name} {said}; accepted is the same");
            Err(Error::option(option, reason))
        }
        _ => Ok(()),
    }
}

/// Checks a stored model and says what it holds.
/// Errors: [`Error::File`], naming what is wrong with the file.
pub fn inspect(options: &Inspect) -> Result<Report, Error> {
    let bytes =
        files::read(&options.file, files::TEXT).map_err(|e| Error::file(&options.file, e))?;
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
    let (gamma, lambda) = (numbers[0], numbers[1]);
    let (second, parameters) = numbers[2..].split_at(usize::from(header.is_universal()));
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
        dim: (!header.is_universal()).then_some(header.feature_dimension),
        second_lambda: second.first().copied(),
        numbers: header.is_universal().then(|| parameters.to_vec()),
        layers: header.depth,
        gamma,
        lambda,
        parameters: parameters.len(),
        nonzero_parameters: nonzero,
        largest_parameter: largest,
        crc32: format!("{checksum:08x}"),
    };
    let mut report = Report::of(command, &found);
    for (name, value) in report.results.iter().filter(|(name, _)| *name != "command") {
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Null => "any".into(),
            number if number.is_f64() => number.as_f64().map_or_else(String::new, shortest),
            other => other.to_string(),
        };
        report.text.push_str(&format!("{name:<20}{value}\n"));
    }
    Ok(report)
}

/// The content of a stored model.
#[derive(Serialize)]
struct Found<'a> {
    file: &'a Path,
    bytes: usize,
    scalar: &'a str,
    attention: &'a str,
    mode: String,
    /// None if any will do.
    dim: Option<u16>,
    layers: u16,
    gamma: f64,
    lambda: f64,
    parameters: usize,
    nonzero_parameters: usize,
    largest_parameter: f64,
    crc32: String,
    /// The decay of a universal model's second trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    second_lambda: Option<f64>,
    /// Its learned numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    numbers: Option<Vec<f64>>,
}
