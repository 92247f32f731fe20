//! A transformer from a file of any kind: `.safetensors`, `data.npz`, a stored model, a run's folder.

use crate::dimension::{self, for_dimension};
use crate::error::{Doing, Error};
use crate::formats::npz::Npz;
use crate::formats::parameters::{Attention, LayerParameters, Mode, Parameters};
use crate::formats::seed_run::{self, PartialParams, SeedLog};
use crate::formats::{FormatError, Problem, read_at_most};
use ictd_core::UniversalModel;
use ictd_core::attention::{self, Mask, SoftmaxAttention, TdLambda};
use ictd_core::layer::{EquivariantLayer, Layer, UniversalLayer};
use ictd_core::model::{self, AttentionKind, Header, Model};
use ictd_core::scalar::{Real, Scalar};
use ictd_core::transformer::Transformer;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The most layers with parameters of their own.
pub const MAX_STORED_LAYERS: usize = 16;

/// A file of parameters beyond this size is none: 256 MiB.
const MAX_BYTES: u64 = 256 << 20;

/// The name of the parameters in a run's folder.
pub const PARAMETERS_FILE: &str = "parameters.safetensors";

/// What stands for the model that ships, where a model's file is asked for.
pub const UNIVERSAL: &str = "universal";

/// A model without a feature dimension, in the precision of the commands.
pub type Universal = UniversalModel<f64, TdLambda<f64>, MAX_STORED_LAYERS>;

/// The model that ships, or a stored model without a feature dimension; none for a source of another kind.
/// `gamma` goes before that of the file; of the model that ships it is 0.9 by default.
///
/// # Errors
/// [`Error::Format`] for a damaged file; the core's refusals.
pub fn universal(path: &Path, gamma: Option<f64>) -> Result<Option<Universal>, Error> {
    let model = if path == Path::new(UNIVERSAL) && !path.exists() {
        let gamma = gamma.unwrap_or(0.9);
        let model = UniversalModel::<f64>::universal(gamma).doing("the model")?;
        let transformer = Transformer::sequential(model.transformer().layers());
        let transformer = transformer.doing("the model")?;
        UniversalModel::new(transformer, *model.mask(), model.prior_count(), gamma)
    } else {
        let mut front = [0; 5];
        let is_read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut front)).is_ok();
        if path.is_dir() || !is_read || front[..4] != model::MAGIC || front[4] != 2 {
            return Ok(None);
        }
        let bytes = read_at_most(MAX_BYTES, path).map_err(|e| e.in_file(path))?;
        let stored: UniversalModel<f32, TdLambda, MAX_STORED_LAYERS> =
            UniversalModel::from_bytes(&bytes)
                .map_err(|e| Problem::malformed("stored model", e).in_file(path))?;
        converted(&stored, gamma.unwrap_or(stored.gamma().into()), f64::from)
    };
    model.doing("the model").map(Some)
}

/// The model in another precision, for a discount.
pub fn converted<A: Real, B: Real>(
    model: &UniversalModel<A, TdLambda<A>, MAX_STORED_LAYERS>,
    gamma: B,
    number: impl Fn(A) -> B + Copy,
) -> Result<UniversalModel<B, TdLambda<B>, MAX_STORED_LAYERS>, ictd_core::Error> {
    let ten = |layer: EquivariantLayer<A>| EquivariantLayer {
        p: layer.p.map(number),
        q: layer.q.map(number),
    };
    let layers: Vec<_> = (model.transformer().layers().iter())
        .map(|layer| UniversalLayer { base: ten(layer.base), early: ten(layer.early) })
        .collect();
    let transformer = match layers.as_slice() {
        [layer] => Transformer::autoregressive(*layer, model.transformer().depth())?,
        layers => Transformer::sequential(layers)?,
    };
    let mask = TdLambda::new(number(Mask::lambda(model.mask())))?;
    UniversalModel::new(transformer, mask, number(model.prior_count()), gamma)
}

/// A transformer as a file has it.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelFile {
    /// The parameters, and what the file says about them.
    pub parameters: Parameters,
    /// The log that they are the end (or the chosen point) of, if the file has one.
    pub log: Option<SeedLog>,
    /// The index of that point.
    pub point: usize,
}

/// Reads a file by its content, or a folder by the file in it. `point` chooses a log point of a
/// `data.npz` (default: the last), whose settings are read from the `params.json` beside it.
/// Errors: [`Error::Format`].
pub fn open(path: &Path, point: Option<usize>) -> Result<ModelFile, Error> {
    let file = file_of(path)?;
    let refuse = |problem: Problem| problem.in_file(&file);
    let mut magic = Vec::new();
    fs::File::open(&file)
        .and_then(|f| f.take(4).read_to_end(&mut magic))
        .map_err(|e| refuse(e.into()))?;
    // ZIP files, and so .npz, begin with these two letters.
    if magic.starts_with(b"PK") {
        return Ok(from_npz(&file, point)?);
    }
    let bytes = read_at_most(MAX_BYTES, &file).map_err(refuse)?;
    if let Some(point) = point {
        let problem = Problem::entry("--log-point", point, "left out: this file has no log");
        return Err(refuse(problem).into());
    }
    let parameters = if magic == model::MAGIC {
        from_stored_model(&file, &bytes)?
    } else {
        Parameters::from_safetensors(&file, &bytes).map_err(|error| {
            match error.problem {
                // Neither its first bytes nor its name say what it was meant to be.
                Problem::Malformed { .. }
                    if file.extension().is_none_or(|e| e != "safetensors") =>
                {
                    let accepted = "a .safetensors, .npz or stored model file, or a run's folder";
                    refuse(Problem::entry("model", "a file of another kind", accepted))
                }
                _ => error,
            }
        })?
    };
    Ok(ModelFile { parameters, log: None, point: 0 })
}

/// The folder of a seed if the source is a training run, the source itself otherwise.
/// Errors: [`Error::Option`] if the run has no such seed.
pub fn seed_of_run(source: &Path, seed: u64) -> Result<PathBuf, Error> {
    let mut seeds: Vec<u64> = fs::read_dir(source)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| entry.file_name().to_str()?.strip_prefix("seed_")?.parse().ok())
        .collect();
    if seeds.is_empty() {
        return Ok(source.to_owned());
    }
    seeds.sort_unstable();
    if seeds.contains(&seed) {
        return Ok(source.join(format!("seed_{seed}")));
    }
    let accepted = seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let reason = format!("{} has no seed {seed}; accepted is one of {accepted}", source.display());
    Err(Error::option("--seed", reason))
}

/// The layers as a transformer of the core; `depth` is for an autoregressive one.
/// Errors: the core's.
pub fn transformer<S: Scalar, const K: usize, const C: usize>(
    parameters: &Parameters,
    depth: usize,
) -> Result<Transformer<Layer<S, K>, C>, ictd_core::Error> {
    let layers: Vec<_> = parameters.layers.iter().filter_map(LayerParameters::to_layer).collect();
    match (parameters.mode, layers.first()) {
        (Mode::Autoregressive, Some(&layer)) => Transformer::autoregressive(layer, depth),
        _ => Transformer::sequential(&layers),
    }
}

/// [`transformer`] of a file, in `f64`.
/// Errors: [`Error::Format`] for more layers than fit.
pub fn transformer_of<const K: usize>(
    file: &Path,
    parameters: &Parameters,
    depth: usize,
) -> Result<Transformer<Layer<f64, K>, MAX_STORED_LAYERS>, Error> {
    let accepted = format!("finite parameters of 1 to {MAX_STORED_LAYERS} layers");
    let refuse = |error| Problem::entry("layers", error, accepted).in_file(file).into();
    transformer(parameters, depth).map_err(refuse)
}

/// Reads the content of a stored model; `file` is for messages.
/// Errors: [`Problem::Malformed`] with the core's reason.
pub fn from_stored_model(file: &Path, bytes: &[u8]) -> Result<Parameters, FormatError> {
    let malformed =
        |reason: &dyn std::fmt::Display| Problem::malformed("stored model", reason).in_file(file);
    let header = Header::of(bytes).map_err(|e| malformed(&e))?;
    let d = usize::from(header.feature_dimension);
    for_dimension!(d, read_stored_model(bytes))
        .ok_or_else(|| malformed(&format!("d = {d}; accepted is {}", dimension::ACCEPTED)))?
        .map_err(|e| malformed(&e))
}

fn read_stored_model<const D: usize, const K: usize, const A: usize>(
    bytes: &[u8],
) -> Result<Parameters, ictd_core::Error> {
    match Header::of(bytes)?.attention {
        AttentionKind::Softmax => of_type::<D, K, SoftmaxAttention>(Attention::Softmax, bytes),
        // Trace decay 0 is TD(0)'s mask. Two heads are refused by name.
        _ => of_type::<D, K, TdLambda>(Attention::Linear, bytes),
    }
}

fn of_type<const D: usize, const K: usize, A>(
    attention: Attention,
    bytes: &[u8],
) -> Result<Parameters, ictd_core::Error>
where
    A: attention::Attention<f32, K, Layer = Layer<f32, K>>,
{
    let model = Model::<f32, D, K, MAX_STORED_LAYERS, A>::from_bytes(bytes)?;
    let header = model.header();
    Ok(Parameters {
        token_size: K,
        layers: model.transformer().layers().iter().map(LayerParameters::from_layer).collect(),
        mode: match header.mode {
            model::Mode::Autoregressive => Mode::Autoregressive,
            model::Mode::Sequential => Mode::Sequential,
        },
        depth: Some(usize::from(header.depth)),
        attention: Some(attention),
        gamma: Some(model.gamma().into()),
        context_length: None,
        lambda: model.attention().trace_decay().into(),
    })
}

/// The stored model, in f32, that firmware links.
/// Errors: [`Error::Usage`] naming what cannot be stored.
pub fn to_bytes<const D: usize, const K: usize, const C: usize>(
    transformer: Transformer<Layer<f32, K>, C>,
    attention: Attention,
    gamma: f64,
    lambda: f64,
) -> Result<Vec<u8>, Error> {
    let (gamma, lambda) = (gamma as f32, lambda as f32);
    match attention {
        Attention::Linear => {
            // Trace decay 0 is TD(0)'s mask.
            let mask = TdLambda::new(lambda).doing("the model")?;
            stored(Model::<f32, D, K, C, _>::new(transformer, mask, gamma))
        }
        Attention::Softmax => {
            let softmax: Result<SoftmaxAttention, _> =
                attention::Attention::<f32, K>::of_trace_decay(lambda);
            stored(Model::<f32, D, K, C, _>::new(transformer, softmax.doing("the model")?, gamma))
        }
    }
}

/// What a model stores.
/// Errors: [`Error::Usage`] naming what is wrong with the model.
pub fn stored<const D: usize, const K: usize, const C: usize, A: attention::Attention<f32, K>>(
    model: Result<Model<f32, D, K, C, A>, ictd_core::Error>,
) -> Result<Vec<u8>, Error> {
    let model = model.doing("the model")?;
    let mut bytes = vec![0; model.byte_len()];
    model.write(&mut bytes).doing("the model")?;
    Ok(bytes)
}

/// The file meant by a path: itself, or the first of the known names in a folder.
fn file_of(path: &Path) -> Result<PathBuf, FormatError> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let names = [PARAMETERS_FILE, seed_run::DATA_FILE];
    names.into_iter().map(|name| path.join(name)).find(|file| file.is_file()).ok_or_else(|| {
        let accepted = format!("a folder with {} or {}", names[0], names[1]);
        Problem::entry("model", "a folder without parameters", accepted).in_file(path)
    })
}

fn from_npz(file: &Path, point: Option<usize>) -> Result<ModelFile, FormatError> {
    let log = SeedLog::from_npz(&mut Npz::open(file)?)?;
    let beside = file.with_file_name(seed_run::PARAMS_FILE);
    let settings = match fs::read(&beside) {
        Ok(bytes) => PartialParams::from_json(&beside, &bytes)?,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => PartialParams::default(),
        Err(e) => return Err(Problem::Io(e).in_file(&beside)),
    };
    // No file is read as a log without points.
    let last = log.points.len().saturating_sub(1);
    let point = point.unwrap_or(last);
    let Some(chosen) = log.points.get(point) else {
        let accepted = format!("an integer from 0 to {last}");
        return Err(Problem::entry("--log-point", point, accepted).in_file(file));
    };
    let parameters = log.parameters(chosen, &settings).map_err(|e| e.in_file(&beside))?;
    parameters.check().map_err(|e| e.in_file(file))?;
    Ok(ModelFile { parameters, log: Some(log), point })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_model_is_read_as_parameters() {
        let model = ictd_core::Model::<2>::td0(0.2, 15, 0.9).unwrap();
        let mut buffer = [0; 1024];
        let bytes = model.write(&mut buffer).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("model.ictd");
        fs::write(&path, bytes).unwrap();
        let read = open(&path, None).unwrap();
        assert_eq!(read.parameters.depth, Some(15));
        assert_eq!(read.parameters.layers[0].p[24], 1.0);
        assert_eq!(read.parameters.attention, Some(Attention::Linear));
        assert_eq!(read.parameters.gamma, Some(f64::from(0.9_f32)));
        // A truncated one is named, with the core's reason.
        fs::write(&path, &bytes[..40]).unwrap();
        let message = open(&path, None).unwrap_err().to_string();
        assert!(
            message.contains("model.ictd: not a readable stored model file: 40 bytes"),
            "{message}"
        );
    }

    #[test]
    fn a_folder_without_parameters_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let message = open(directory.path(), None).unwrap_err().to_string();
        assert!(message.contains("a folder with parameters.safetensors or data.npz"), "{message}");
    }
}
