//! `ictd export` and `ictd inspect`: models as the bytes that firmware links.

use crate::error::{Error, InFile as _, WithContext as _};
use crate::files::{self, Kind};
use crate::model_file::{self, Typed};
use crate::options;
use crate::run::report::lines;
use crate::run::{Report, Session, records};
use compute::recipe::check_discount;
use ictd_core::model::ConstructionSettings;
use ictd_core::model::{AttentionKind, Header, MAGIC};
use judge::construction::Construction;
use judge::stored;
use serde_json::json;
use std::path::{Path, PathBuf};

const LAMBDA: f64 = 0.5;

/// Write a model as the bytes that firmware links with `include_bytes!`
///
/// This is the universal model, a trained one, or a construction. `ictd_core::model` documents the bytes.
#[derive(Clone, Debug, clap::Args)]
pub struct Export {
    /// `universal`, a training run (--seed chooses the seed), one seed's folder, or a file of parameters
    #[arg(
        value_name = "universal|RUN_DIR",
        required_unless_present = "construction",
        conflicts_with_all = ["construction", "dim", "alpha", "trace_decay", "beta"]
    )]
    pub source: Option<PathBuf>,
    /// A construction instead of a trained model
    #[arg(long, value_parser = options::word::<Construction>())]
    pub construction: Option<Construction>,
    /// Feature dimension d of a construction
    #[arg(long, default_value = "4", value_parser = options::integer(1..=16))]
    pub dim: usize,
    #[command(flatten)]
    pub typed: Typed,
    /// Learning rate alpha of a construction, C = alpha I
    #[arg(long, default_value = "0.2", value_parser = options::real(-1e6..=1e6))]
    pub alpha: f64,
    /// Trace decay of `td-lambda` (the paper's lambda)
    #[arg(long, default_value_t = LAMBDA, value_parser = options::real(0.0..=1.0))]
    pub trace_decay: f64,
    /// Beta of `preconditioned-td`, whose step l has C = alpha (I - beta Sigma)^l
    #[arg(long, value_parser = options::real(-1e6..=1e6))]
    pub beta: Option<f64>,
    /// The file to write (other commands: a directory)
    // Named like the option of every command, which it replaces.
    #[arg(long, value_name = "FILE", default_value = "model.ictd")]
    pub out: PathBuf,
    /// Replace a file that is not a stored model
    #[arg(long)]
    pub force: bool,
}

/// Show what a stored model holds, after checking its header and checksum
#[derive(Clone, Debug, clap::Args)]
pub struct Inspect {
    /// A file that `ictd export` wrote
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

pub fn export(options: &Export, session: &Session) -> Result<Report, Error> {
    model_file::check_seed(&options.source, session.seed)?;
    check_discount("gamma", options.typed.gamma.unwrap_or(0.0))?;
    let bytes = match (&options.source, options.construction) {
        (Some(source), _) => {
            let model = options.typed.estimator(source, session.seed)?;
            stored::to_bytes(&model).context("the model")?
        }
        (None, Some(construction)) => constructed(construction, options)?,
        // clap requires one of the two.
        (None, None) => return Err(Error::option("RUN_DIR", "a model is needed")),
    };
    if !options.force && files::kind(&options.out) == Kind::File {
        let found = files::open(&options.out, files::STREAM)
            .and_then(|file| files::first_bytes(&file, 4))
            .in_file(&options.out)?;
        if !found.starts_with(&MAGIC) {
            let reason = "is not a stored model: --force replaces it";
            return Err(Error::file(&options.out, reason));
        }
    }
    records::write_atomic(&options.out, &bytes)?;
    let mut report = describe(&options.out, &bytes, "export")?;
    report.files.push(options.out.clone());
    Ok(report)
}

fn constructed(construction: Construction, options: &Export) -> Result<Vec<u8>, Error> {
    if construction != Construction::TdLambda && options.trace_decay != LAMBDA {
        let reason = format!("{}: it needs `--construction td-lambda`", options.trace_decay);
        return Err(Error::option("--trace-decay", reason));
    }
    if construction == Construction::AverageReward && options.typed.gamma.is_some() {
        return Err(Error::option("--gamma", "average-reward has no discount"));
    }
    if options.beta.is_some() != (construction == Construction::PreconditionedTd) {
        return Err(Error::option(
            "--beta",
            "it belongs to `--construction preconditioned-td`, which needs it",
        ));
    }
    let (layers, gamma) = options.typed.of_construction()?;
    // The range of --layers is the format's.
    let depth = u16::try_from(layers).unwrap_or(u16::MAX);
    let settings =
        ConstructionSettings::new(gamma as f32).step_size(options.alpha as f32).depth(depth);
    let (trace_decay, beta) = (options.trace_decay as f32, options.beta.unwrap_or(0.0) as f32);
    stored::constructed(construction, options.dim, settings, trace_decay, beta).context("the model")
}

pub fn inspect(options: &Inspect) -> Result<Report, Error> {
    let bytes = files::read(&options.file, files::TEXT).in_file(&options.file)?;
    describe(&options.file, &bytes, "inspect")
}

fn describe(file: &Path, bytes: &[u8], command: &str) -> Result<Report, Error> {
    let header = Header::parse(bytes).map_err(|e| Error::file(file, e))?;
    let numbers = &bytes[12..bytes.len() - 4];
    let numbers: Vec<f64> = match header.scalar_bytes {
        4 => numbers.as_chunks().0.iter().map(|x| f32::from_le_bytes(*x).into()).collect(),
        _ => numbers.as_chunks().0.iter().map(|x| f64::from_le_bytes(*x)).collect(),
    };
    let is_universal = header.is_universal();
    let parameters = &numbers[2..];
    let attention = match header.attention {
        AttentionKind::TwoHead => "two-head",
        AttentionKind::Softmax => "softmax",
        _ => "linear",
    };
    let checksum = ictd_core::model::crc32(&bytes[..bytes.len() - 4]);
    let found = json!({
        "file": file,
        "bytes": bytes.len(),
        "scalar": if header.scalar_bytes == 4 { "f32" } else { "f64" },
        "attention": attention,
        "mode": format!("{:?}", header.mode).to_lowercase(),
        "dim": if is_universal { json!("any") } else { json!(header.feature_dimension) },
        "layers": header.depth,
        "gamma": numbers[0],
        "trace_decay": numbers[1],
        "parameters": parameters.len(),
        "nonzero_parameters": parameters.iter().filter(|x| **x != 0.0).count(),
        "largest_parameter": parameters.iter().fold(0.0f64, |a, x| a.max(x.abs())),
        "crc32": format!("{checksum:08x}"),
        // The parameters follow the first trace decay: the second one, then the learned ones.
        "numbers": is_universal.then_some(parameters),
    });
    let mut report = Report::of(command, &found);
    report.text = lines(&found);
    Ok(report)
}
