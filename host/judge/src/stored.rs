//! Models as the bytes that firmware links: trained parameters, and constructions.

use crate::construction::Construction;
use crate::estimator::{Estimator, Method};
use crate::parameters::universal_to_bytes;
use ictd_core::attention::{AverageReward, Linear, SoftmaxAttention, Td0, TdLambda};
use ictd_core::constructions;
use ictd_core::model::{
    AttentionKind, AttentionMechanism, ConstructionSettings, Header, Model, crc32,
};
use ictd_core::transformer::Transformer;
use ictd_core::{Error, Result};

/// The sizes in bytes of the header, and of the checksum at the end.
const HEADER: usize = 12;
const CHECKSUM: usize = 4;

/// Returns a transformer as a stored model, in `f32`. Returns the core's error, naming the parameter, if it cannot be stored.
pub fn to_bytes(estimator: &Estimator) -> Result<Vec<u8>> {
    let refuse = |parameter, expected| Err(Error::OutOfRange { parameter, expected });
    let (parameters, attention) = match &estimator.method {
        Method::Universal(model) => return universal_to_bytes(model),
        Method::Trained { parameters, attention } => (parameters, *attention),
        _ => return refuse("method", "a transformer"),
    };
    let Ok(depth) = u16::try_from(estimator.layers) else {
        return refuse("layers", "1 to 65535");
    };
    let (gamma, trace_decay) = (estimator.gamma as f32, parameters.trace_decay as f32);
    // The core validates the parameters other than P and Q.
    let settings = ConstructionSettings::new(gamma).step_size(1.0).depth(depth);
    match attention {
        AttentionKind::Softmax => {
            let _: SoftmaxAttention = AttentionMechanism::<f32, 3>::from_trace_decay(trace_decay)?;
            Model::<f32, 1, 3, 1>::td0(settings)?;
        }
        _ => {
            Model::<f32, 1, 3, 1, Linear<TdLambda>>::td_lambda(settings, trace_decay)?;
        }
    }
    let header = Header {
        scalar_bytes: 4,
        attention,
        mask: 0,
        mode: parameters.layer_sharing,
        feature_dimension: parameters.feature_dimension() as u16,
        numbers: 0,
        depth,
    };
    let layers = parameters.layers.iter().flat_map(|layer| layer.p.iter().chain(&layer.q));
    Ok(bytes(&header, [gamma, trace_decay].iter().chain(layers).copied()))
}

fn bytes(header: &Header, numbers: impl Iterator<Item = f32>) -> Vec<u8> {
    let mut bytes = header.to_bytes().to_vec();
    numbers.for_each(|x| bytes.extend(x.to_le_bytes()));
    bytes.extend(crc32(&bytes).to_le_bytes());
    bytes
}

/// Returns the stored model of a construction with C = alpha I, or of preconditioned TD, for d features: the model for one feature, each entry expanded
/// to the diagonal of a (d, d) block. Returns the core's error, naming the parameter, if it cannot be stored.
pub fn constructed(
    construction: Construction,
    d: usize,
    settings: ConstructionSettings,
    trace_decay: f32,
    beta: f32,
) -> Result<Vec<u8>> {
    let ConstructionSettings { step_size: alpha, depth, gamma, .. } = settings;
    let (of_td, c) = (Model::<f32, 1, 3, 1>::td0, constructions::scaled_identity::<f32, 1>(alpha));
    let of_one = match construction {
        Construction::Td0 => stored(&of_td(settings)?),
        Construction::PreconditionedTd => {
            stored(&Model::<f32, 1, 3, 1>::preconditioned_td(settings, beta)?)
        }
        Construction::TdLambda => {
            stored(&Model::<f32, 1, 3, 1, Linear<TdLambda>>::td_lambda(settings, trace_decay)?)
        }
        Construction::ResidualGradient => {
            of_td(settings)?;
            let layer = constructions::residual_gradient(&c);
            let layers = Transformer::autoregressive(layer, depth.into())?;
            stored(&Model::<f32, 1, 3, 1>::new(layers, Linear(Td0), gamma)?)
        }
        Construction::AverageReward => {
            of_td(settings.gamma(0.0))?;
            let layer = constructions::average_reward(&c);
            let layers = Transformer::autoregressive(layer, depth.into())?;
            stored(&Model::<f32, 1, 4, 1, AverageReward>::new(layers, AverageReward, 1.0)?)
        }
    }?;
    let header = Header::parse(&of_one)?;
    let numbers = of_one[HEADER..of_one.len() - CHECKSUM].as_chunks().0;
    let numbers: Vec<f32> = numbers.iter().map(|x| f32::from_le_bytes(*x)).collect();
    let (beside, matrices) = numbers.split_at(2);
    // Rows and columns beyond those of phi and phi'.
    let small = header.token_size() as usize;
    let large = 2 * d + small - 2;
    let block = |i: usize| if i < 2 * d { (i / d, i % d) } else { (i - 2 * d + 2, d) };
    let entry = |matrix: &[f32], i: usize, j: usize| {
        let ((row, of_row), (column, of_column)) = (block(i), block(j));
        if of_row == of_column { matrix[row * small + column] } else { 0.0 }
    };
    let numbers = matrices
        .chunks(small * small)
        .flat_map(|matrix| (0..large * large).map(move |at| entry(matrix, at / large, at % large)));
    let header = Header { feature_dimension: d as u16, ..header };
    Ok(bytes(&header, beside.iter().copied().chain(numbers)))
}

fn stored<const D: usize, const K: usize, A: AttentionMechanism<f32, K>>(
    model: &Model<f32, D, K, 1, A>,
) -> Result<Vec<u8>> {
    let mut bytes = vec![0; model.byte_len()];
    model.write(&mut bytes)?;
    Ok(bytes)
}
