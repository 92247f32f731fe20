//! A transformer from a file of any kind: `.safetensors`, `data.npz`, a stored model, a run's folder.

use crate::error::{Error, InFile as _, Problem, WithContext as _};
use crate::files::{self, Kind, limits::MODEL};
pub use crate::formats::seed_run::seed_folder;
use crate::formats::seed_run::{PartialParams, SeedLog};
use crate::formats::{LayerParameters, Npz, Parameters, parameters, safetensors, seed_run};
use crate::options::{self, Word as _};
use crate::train::directory;
use compute::LogPoint;
use compute::recipe::LayerSharing;
use ictd_core::StoredError;
use ictd_core::model::{self, AttentionKind, Header};
use judge::estimator::{Estimator, Method};
use serde::Serialize;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use judge::parameters::{MAX_STORED_LAYERS, Universal};

/// The multiplications of a streaming model's value function: about a thousandth of a second.
const STREAMING_WORK: usize = 1_000_000;

const PICKLE: &str = "a pickle, as torch.save writes it: expected .safetensors (safetensors.torch.save_file), or .npz with the \
                       arrays P and Q (numpy.savez)";

pub const UNIVERSAL: &str = "universal";

#[derive(Clone, Debug)]
pub enum AnyModel {
    Universal(Box<Universal>),
    /// P and Q for d features, and the log that ends with them; empty if the file has none.
    Dense(Box<Parameters>, Vec<LogPoint>),
}

/// The typed settings of a model. A setting that contradicts the file is an error, except the number of layers that share their
/// parameters: they can be applied any number of times.
#[derive(Clone, Debug, Default, clap::Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Typed {
    /// Number of layers L, if the model file does not specify it, or if its layers share their parameters
    /// [default: the file's; 15 for a construction]
    #[arg(long, value_parser = options::integer(1..=65_535))]
    pub layers: Option<usize>,
    /// Discount gamma, if the model file does not specify it, or for `universal` [default: the
    /// file's; 0.9 for `universal` and for a construction]
    #[arg(long, value_parser = options::real(0.0..1.0))]
    pub gamma: Option<f64>,
    /// Attention, if the model file does not specify it
    #[arg(long, value_parser = options::word::<AttentionKind>())]
    pub attention: Option<AttentionKind>,
}

fn either<T: PartialEq, D: Display>(
    option: &'static str,
    typed: Option<T>,
    said: Option<T>,
    show: impl Fn(&T) -> D,
    expected: &str,
) -> Result<T, Error> {
    let reason = match (&typed, &said) {
        (Some(typed), Some(said)) if typed != said => {
            format!("{} contradicts the model's file, which has {}", show(typed), show(said))
        }
        _ => match typed.or(said) {
            Some(value) => return Ok(value),
            None => format!("the model's file does not have it; expected {expected}"),
        },
    };
    Err(Error::option(option, reason))
}

/// Returns the number of applied layers: the typed one if the layers share their parameters, else the file's.
fn depth(typed: Option<usize>, parameters: &Parameters) -> Result<usize, Error> {
    let shared = parameters.layer_sharing == LayerSharing::Autoregressive;
    let said = parameters.depth.filter(|_| !shared || typed.is_none());
    either("--layers", typed, said, usize::clone, "an integer")
}

impl Typed {
    pub fn of_construction(&self) -> Result<(usize, f64), Error> {
        if self.attention == Some(AttentionKind::Softmax) {
            let reason = "softmax: the constructions are of linear attention";
            return Err(Error::option("--attention", reason));
        }
        Ok((self.layers.unwrap_or(15), self.gamma.unwrap_or(0.9)))
    }

    pub fn complete(&self, parameters: Parameters) -> Result<Estimator, Error> {
        let layers = depth(self.layers, &parameters)?;
        let said = parameters.gamma;
        // A stored model has gamma in single precision.
        let is_same = |typed: &f64| said.is_none_or(|said| said as f32 == *typed as f32);
        let said = self.gamma.filter(is_same).or(said);
        let gamma = either("--gamma", self.gamma, said, f64::clone, "a number in [0, 1)")?;
        let said = parameters.attention;
        let attention =
            either("--attention", self.attention, said, |x| x.word(), "linear or softmax")?;
        let method = Method::Trained { parameters: Box::new(parameters), attention };
        Ok(Estimator { method, gamma, layers })
    }

    pub fn estimator(&self, source: &Path, seed: u64) -> Result<Estimator, Error> {
        let model = match open(&seed_of_run(source, seed)?, self.gamma)? {
            AnyModel::Universal(model) => model,
            AnyModel::Dense(parameters, _) => return self.complete(*parameters),
        };
        either("--attention", self.attention, Some(AttentionKind::Linear), |x| x.word(), "linear")?;
        universal(model, self.layers)
    }
}

fn universal(model: Box<Universal>, layers: Option<usize>) -> Result<Estimator, Error> {
    if layers.is_some() {
        let reason = "the universal model has no layers: leave it out";
        return Err(Error::option("--layers", reason));
    }
    let gamma = model.gamma();
    Ok(Estimator { method: Method::Universal(model), gamma, layers: 1 })
}

/// Reads a model by its content, or the model in a folder. For a universal model, `gamma` overrides the file's; that of
/// the name `universal` is 0.9 by default. The settings of a `data.npz` are in the `params.json` next to it.
pub fn open(path: &Path, gamma: Option<f64>) -> Result<AnyModel, Error> {
    if path == Path::new(UNIVERSAL) && files::kind(path) == Kind::Nothing {
        return shipped(gamma.unwrap_or(0.9)).map(|model| AnyModel::Universal(Box::new(model)));
    }
    let folder = if files::is_folder(path) { path } else { files::parent(path) };
    directory::restore(folder)?;
    let file = file_of(path)?;
    let magic = files::open(&file, files::STREAM)
        .and_then(|file| files::first_bytes(&file, 4))
        .in_file(&file)?;
    // ZIP files, and so .npz, begin with these two letters.
    if magic.starts_with(b"PK") {
        if Npz::open(&file)?.names().iter().any(|name| name.ends_with("data.pkl")) {
            return Err(Error::file(&file, PICKLE));
        }
        return from_npz(&file);
    }
    let bytes = files::read(&file, MODEL).in_file(&file)?;
    if magic == model::MAGIC && bytes.get(4).is_some_and(|version| *version != 1) {
        let model = judge::parameters::universal_from_bytes(&bytes, gamma)
            .map_err(|e| Problem::malformed("stored model", e));
        return Ok(AnyModel::Universal(Box::new(model.in_file(&file)?)));
    }
    let parameters = match magic == model::MAGIC {
        true => from_stored_model(&file, &bytes)?,
        // Older files of torch.save are a bare pickle, of protocol 2 to 5.
        false => safetensors::from_bytes(&file, &bytes)
            .map_err(|e| if magic.starts_with(&[0x80]) { Error::file(&file, PICKLE) } else { e })?,
    };
    Ok(AnyModel::Dense(Box::new(parameters), Vec::new()))
}

pub fn shipped(gamma: f64) -> Result<Universal, Error> {
    Universal::new(gamma).context("the model")
}

/// Returns a model for a stream of d features and a discount, from a source of [`open`]; layers that share their parameters are
/// applied `layers` times.
pub fn streaming(
    path: &Path,
    d: usize,
    gamma: f64,
    layers: Option<usize>,
) -> Result<Estimator, Error> {
    let parameters = match open(path, Some(gamma))? {
        AnyModel::Universal(model) => return universal(model, layers),
        AnyModel::Dense(parameters, _) => parameters,
    };
    let refuse =
        |reason: &str| Err(Error::option("--model", format!("{}: {reason}", path.display())));
    let of_model = parameters.feature_dimension();
    if of_model != d {
        return refuse(&format!("d = {of_model}; expected {d}, the number of features here"));
    }
    if parameters.attention == Some(AttentionKind::Softmax) {
        return refuse("softmax attention; expected linear attention, which can stream");
    }
    if layers.or(parameters.depth).is_none() {
        return refuse("its file does not say how many layers it has; expected one that does");
    }
    let option = if layers.is_some() { "--layers" } else { "--model" };
    let layers = depth(layers, &parameters)?;
    check_depth(option, layers, (2 * d + 1).pow(3), [STREAMING_WORK, MAX_STORED_LAYERS])?;
    let method = Method::Trained { parameters, attention: AttentionKind::Linear };
    Ok(Estimator { method, gamma, layers })
}

/// Rejects a discount other than the model's, if its file has one; in single precision, as a stored model has it.
pub fn check_discount(estimator: &Estimator, gamma: f64) -> Result<(), Error> {
    let Method::Trained { parameters, .. } = &estimator.method else { return Ok(()) };
    match parameters.gamma.filter(|said| *said as f32 != gamma as f32) {
        Some(said) => {
            let reason = format!("gamma = {said} in the model, {gamma} here: expected the same");
            Err(Error::option("--model", reason))
        }
        None => Ok(()),
    }
}

/// Returns the folder of a seed if the source is a training run, the source itself otherwise.
pub fn seed_of_run(source: &Path, seed: u64) -> Result<PathBuf, Error> {
    let seeds = seeds_of_run(source)?;
    if seeds.is_empty() {
        return Ok(source.to_owned());
    }
    if seeds.contains(&seed) {
        return Ok(seed_folder(source, seed));
    }
    let expected = seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let reason = format!("{} has no seed {seed}; expected one of {expected}", source.display());
    Err(Error::option("--seed", reason))
}

/// Returns the seeds of a training run in ascending order; empty for a source of another kind.
pub fn seeds_of_run(source: &Path) -> Result<Vec<u64>, Error> {
    let inside = if files::is_folder(source) { files::list(source) } else { Ok(Vec::new()) };
    let mut seeds: Vec<u64> = (inside.in_file(source)?.into_iter())
        .filter(|(_, kind)| *kind == Kind::Folder)
        .filter_map(|(name, _)| name.to_str()?.strip_prefix("seed_")?.parse().ok())
        .collect();
    seeds.sort_unstable();
    Ok(seeds)
}

/// Rejects a depth that would run for minutes (a tiny file may claim any): at most `work` multiplications at `cost` per layer,
/// but always `least` layers.
pub fn check_depth(
    option: &'static str,
    layers: usize,
    cost: usize,
    [work, least]: [usize; 2],
) -> Result<(), Error> {
    let most = (work / cost).max(least);
    if layers <= most {
        return Ok(());
    }
    Err(Error::option(option, format!("{layers} layers; expected at most {most} here")))
}

/// Rejects a seed that has no effect, as none of these models is a folder.
pub fn check_seed<'a>(
    models: impl IntoIterator<Item = &'a PathBuf>,
    seed: u64,
) -> Result<(), Error> {
    if seed == 0 || models.into_iter().any(|path| files::is_folder(path)) {
        return Ok(());
    }
    let reason = format!("{seed} chooses one model of a run; expected the folder of a run");
    Err(Error::option("--seed", reason))
}

pub fn from_stored_model(file: &Path, bytes: &[u8]) -> Result<Parameters, Error> {
    let malformed = |reason: &dyn Display| Problem::malformed("stored model", reason).in_file(file);
    let header = Header::parse(bytes).map_err(|e| malformed(&e))?;
    let mismatch = |part, found: u8, expected: u8| {
        let (found, expected) = (found.into(), expected.into());
        malformed(&StoredError::Mismatch { part, found, expected })
    };
    let attention = match header.attention {
        _ if header.is_universal() => return Err(mismatch("format version", header.version(), 1)),
        kind @ (AttentionKind::Linear | AttentionKind::Softmax) => kind,
        kind => return Err(mismatch("attention", kind as u8, AttentionKind::Linear as u8)),
    };
    if header.mask != 0 {
        return Err(mismatch("mask", header.mask, 0));
    }
    if header.scalar_bytes != 4 {
        return Err(mismatch("bytes per number", header.scalar_bytes, 4));
    }
    let token_size = header.token_size() as usize;
    let mut numbers =
        bytes[12..bytes.len() - 4].as_chunks().0.iter().map(|x| f32::from_le_bytes(*x));
    let mut take = |count: usize| numbers.by_ref().take(count).collect::<Vec<_>>();
    let beside = take(2);
    let layers = (0..header.stored_layers()).map(|_| LayerParameters {
        p: take(token_size * token_size),
        q: take(token_size * token_size),
    });
    let settings = PartialParams {
        l: Some(usize::from(header.depth)),
        gamma: Some(beside[0].into()),
        trace_decay: Some(beside[1].into()),
        ..PartialParams::default()
    };
    let described =
        settings.describe(["L", "attention"], token_size, layers.collect(), header.mode);
    let parameters = described.map(|of| Parameters { attention: Some(attention), ..of });
    parameters.and_then(parameters::check).in_file(file)
}

/// Returns the file of a path: the path itself, or the first of the known names in a folder.
fn file_of(path: &Path) -> Result<PathBuf, Error> {
    if !files::is_folder(path) {
        return Ok(path.to_owned());
    }
    let names = [seed_run::PARAMETERS_FILE, seed_run::DATA_FILE];
    let is_there = |file: &PathBuf| files::kind(file) == Kind::File;
    names.into_iter().map(|name| path.join(name)).find(is_there).ok_or_else(|| {
        let expected = format!("a folder with {} or {}", names[0], names[1]);
        Problem::entry("model", "a folder without parameters", expected).in_file(path)
    })
}

fn from_npz(file: &Path) -> Result<AnyModel, Error> {
    let log = SeedLog::from_npz(&mut Npz::open(file)?)?;
    let beside = file.with_file_name(seed_run::PARAMS_FILE);
    let settings = match files::if_there(files::read(&beside, files::TEXT)).in_file(&beside)? {
        Some(bytes) => PartialParams::from_json(&beside, &bytes)?,
        None => PartialParams::default(),
    };
    let none = || Problem::array("P", "no log point", "at least one").in_file(file);
    let last = log.points.last().ok_or_else(none)?;
    let parameters = log.parameters(last, &settings).in_file(&beside)?;
    let parameters = parameters::check(parameters).in_file(file)?;
    Ok(AnyModel::Dense(Box::new(parameters), log.points))
}
