//! Reads and writes one seed's training in the form of the authors' code: a folder `seed_N/` with `data.npz` and `params.json`,
//! which their plotting code can read.
//!
//! `data.npz`, T being the number of log points and l the number of stored layers (1 if
//! autoregressive, L if sequential):
//!
//! | array | dtype and shape | |
//! |---|---|---|
//! | `xs` | int64 (T) | tasks (MRPs) trained on so far |
//! | `alpha` | float64 (T) | learning rate of the batch-TD reference transformer |
//! | `v_tf v_td msve` | float64 (T) | value difference, VD |
//! | `implicit_weight_sim` | float64 (T) | implicit weight similarity, IWS |
//! | `sensitivity cos sim` | float64 (T) | sensitivity similarity, SS |
//! | `P`, `Q` | float32 (T, l, 2d+1, 2d+1) | the parameters, unaligned and unscaled |

use super::npy::tuple;
use super::npz::{self, Npz};
pub use super::parameters::PartialParams;
use super::parameters::{LayerParameters, LayerSharing, Parameters, check_token_size};
use super::{Array, Data};
use crate::error::{Error, InFile as _, Problem};
use compute::log::{LogPoint, Matrices, SeedRun};
use judge::measure::matrices;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

pub const DATA_FILE: &str = "data.npz";

pub const PARAMS_FILE: &str = "params.json";

pub const PARAMETERS_FILE: &str = "parameters.safetensors";

/// Returns the folder of a seed in the directory of its run.
pub fn seed_folder(run: &Path, seed: u64) -> PathBuf {
    run.join(format!("seed_{seed}"))
}

#[derive(Clone, Debug, PartialEq)]
pub struct SeedLog {
    /// K = 2d + 1.
    pub token_size: usize,
    pub layer_sharing: LayerSharing,
    /// The log, of which only the tasks, alpha, and the layers with their element-wise metrics are known.
    pub points: Vec<LogPoint>,
}

/// Returns the content of `data.npz`. Equal logs give equal bytes.
pub fn to_npz(run: &SeedRun) -> io::Result<Vec<u8>> {
    if !run.has_whole_matrices() {
        let reason =
            "the log points of a seed must have the same number of layers, of the same size";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    let (points, k) = (&run.points, run.token_size);
    let stored = points.first().map_or(1, |p| p.layers.len());
    let array = |data| Array { shape: vec![points.len()], data };
    let column = |of: fn(&LogPoint) -> f64| array(Data::F64(points.iter().map(of).collect()));
    let matrices = |of: fn(&Matrices) -> &[f32]| Array {
        shape: vec![points.len(), stored, k, k],
        data: Data::F32(points.iter().flat_map(|p| &p.layers).flat_map(of).copied().collect()),
    };
    npz::to_bytes(&[
        (XS, &array(Data::I64(points.iter().map(|p| p.tasks as i64).collect()))),
        (ALPHA, &column(|p| p.alpha)),
        ("v_tf v_td msve", &column(|p| p.vd)),
        ("implicit_weight_sim", &column(|p| p.iws)),
        ("sensitivity cos sim", &column(|p| p.ss)),
        ("P", &matrices(|m| &m.p)),
        ("Q", &matrices(|m| &m.q)),
    ])
}

/// Returns a log point that says nothing but P and Q, with their element-wise metrics, and alpha.
pub fn log_point(tasks: u64, alpha: f64, layers: &[LayerParameters]) -> LogPoint {
    let [loss, vd, iws, ss, msve] = [f64::NAN; 5];
    let layers = layers.iter().map(matrices).collect();
    LogPoint { tasks, alpha, loss, vd, iws, ss, msve, layers }
}

impl SeedLog {
    /// Reads `data.npz`, or any `.npz` with P and Q of shape (T, l, K, K), (l, K, K) or (K, K). A missing `alpha` is NaN;
    /// missing `xs` are the indices of the log points.
    pub fn from_npz<R: Read + Seek>(npz: &mut Npz<R>) -> Result<Self, Error> {
        let (shape, p) = stack(npz, "P")?;
        let (shape_of_q, q) = stack(npz, "Q")?;
        if shape != shape_of_q {
            let expected = format!("{}, the shape of `P`", tuple(&p.shape));
            return Err(Problem::array("Q", q.describe(), expected).in_file(&npz.file));
        }
        let [p, q] = [p, q].map(|of| Vec::from_iter(of.to_f64().into_iter().map(|x| x as f32)));
        let [points, stored, k] = shape;
        let (xs, alpha) = (column(npz, XS, points)?, column(npz, ALPHA, points)?);
        let matrix = |numbers: &[f32], t: usize, l: usize| {
            numbers[(t * stored + l) * k * k..][..k * k].to_vec()
        };
        let layer = |t, l| LayerParameters { p: matrix(&p, t, l), q: matrix(&q, t, l) };
        let points = (0..points).map(|t| {
            let tasks = xs.as_ref().map_or(t as f64, |xs| xs[t]) as u64;
            let alpha = alpha.as_ref().map_or(f64::NAN, |alpha| alpha[t]);
            log_point(tasks, alpha, &(0..stored).map(|l| layer(t, l)).collect::<Vec<_>>())
        });
        let layer_sharing =
            if stored > 1 { LayerSharing::Sequential } else { LayerSharing::Autoregressive };
        Ok(SeedLog { token_size: k, layer_sharing, points: points.collect() })
    }

    /// Returns the parameters at a log point, with the settings of `params.json`. Does not check the numbers.
    pub fn parameters(
        &self,
        point: &LogPoint,
        settings: &PartialParams,
    ) -> Result<Parameters, Problem> {
        let stored = point.layers.len();
        // A single stored layer may be sequential or shared.
        let mode = settings.mode()?.unwrap_or(self.layer_sharing);
        if mode == LayerSharing::Autoregressive && stored > 1 {
            let expected = format!("sequential, since `P` has {stored} layers");
            return Err(Problem::entry("mode", "`auto`", expected));
        }
        let layers =
            point.layers.iter().map(|m| LayerParameters { p: m.p.clone(), q: m.q.clone() });
        settings.describe(["l", "activation"], self.token_size, layers.collect(), mode)
    }
}

const XS: &str = "xs";
const ALPHA: &str = "alpha";

/// Returns P or Q at every log point, of shape (T, l, K, K): T, l and K, and the array.
fn stack<R: Read + Seek>(npz: &mut Npz<R>, name: &str) -> Result<([usize; 3], Array), Error> {
    let array = npz.array(name)?;
    let refuse =
        |expected: &str| Problem::array(name, array.describe(), expected).in_file(&npz.file);
    let shape = match *array.shape {
        [t, l, a, b] if a == b => [t, l, a],
        [l, a, b] if a == b => [1, l, a],
        [a, b] if a == b => [1, 1, a],
        _ => return Err(refuse("(T, l, K, K), (l, K, K) or (K, K), with K = 2d + 1")),
    };
    if shape.contains(&0) {
        return Err(refuse("at least one log point and one layer"));
    }
    check_token_size(name, shape[2]).in_file(&npz.file)?;
    Ok((shape, array))
}

fn column<R: Read + Seek>(
    npz: &mut Npz<R>,
    name: &str,
    points: usize,
) -> Result<Option<Vec<f64>>, Error> {
    let Some(array) = npz.optional_array(name)? else { return Ok(None) };
    // Some files store each metric as a column of a matrix.
    let numbers = array.to_f64();
    if numbers.len() == points && array.shape.first() == Some(&points) {
        return Ok(Some(numbers));
    }
    let expected = format!("({points},): one number for each log point of `P`");
    Err(Problem::array(name, array.describe(), expected).in_file(&npz.file))
}
