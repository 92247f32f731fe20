//! TD on the stream of a device, and the value functions of the model that it trains.

use crate::context::{ICTD_MAX_FEATURES, ictd_context, ictd_value_function, statistic};
use crate::{Handle, ictd_status, kind, make_in, status, stored, write_to};
use core::slice::from_raw_parts;
use ictd_core::Model;
use ictd_core::layer::{Layer, LayerParameters};
use ictd_core::model::ConstructionSettings;
use ictd_core::training::{StreamTd, StreamTdSettings};

/// The room for features, and the size of a token of so many.
const D: usize = 4;
const K: usize = 2 * D + 1;
/// The layers that share P and Q.
const LAYERS: usize = 3;
/// The states of the ring, for contexts of 16 transitions.
const STATES: usize = 18;

type Trainer = StreamTd<f32, D, K, LAYERS, STATES>;

/// A trainer of a model, by TD on the stream that it observes.
#[repr(C)]
pub struct ictd_trainer {
    /// Belongs to the library.
    opaque: [u64; ICTD_TRAINER_WORDS],
}

/// The size of a trainer in words of 8 bytes.
pub const ICTD_TRAINER_WORDS: usize = 560;

/// What is in a trainer's storage.
struct OfStream {
    features: usize,
    gamma: f32,
    trainer: Trainer,
}

/// A transformer: three layers that share P and Q, and read a context's sums over their trace. It is plain data, and may be copied, stored and compiled in.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ictd_model {
    /// The number of features, 1 to 4.
    pub features: u32,
    /// The discount that it is for.
    pub gamma: f32,
    /// P, row by row. Rows and columns are those of a token: 4 features, 4 of the next state, and the reward; zeros where there are
    /// fewer features.
    pub p: [[f32; 9]; 9],
    /// Q, row by row.
    pub q: [[f32; 9]; 9],
}

/// The code of a trainer, which nothing else has.
const KIND: u32 = 2 << 16;

/// Returns the trainer in a handle.
///
/// # Safety
/// It is null, or storage of 8 bytes or more; behind the first 8 is what the kind says.
unsafe fn of<'a>(trainer: *mut ictd_trainer) -> Result<&'a mut OfStream, ictd_status> {
    // SAFETY: `trainer` is null or initialised storage, by the rules in ictd.h.
    if unsafe { kind(trainer.cast()) }? != KIND {
        return Err(ictd_status::BadHandle);
    }
    // SAFETY: the pointer is not null, and the kind names the type of the value.
    Ok(unsafe { &mut (*trainer.cast::<Handle<OfStream>>()).value })
}

/// Makes a trainer in its storage of `bytes` bytes, for 1 to 4 features and a discount gamma in [0, 1). Its model begins as Theorem 1's:
/// three steps of TD with a step size above 0, such as 1.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_trainer_init(
    storage: *mut ictd_trainer,
    bytes: usize,
    features: usize,
    gamma: f32,
    step_size: f32,
) -> ictd_status {
    if !(1..=D).contains(&features) || step_size.is_nan() || step_size <= 0.0 {
        return ictd_status::OutOfRange;
    }
    // SAFETY: `storage` is null or what the caller says, by the rules in ictd.h.
    unsafe {
        make_in(storage.cast(), bytes, KIND, |place| {
            let settings = StreamTdSettings::default().gamma(gamma);
            let trainer = Trainer::new(settings, theorem_1(step_size))?;
            place.write(OfStream { features, gamma, trainer });
            Ok(())
        })
    }
}

/// Returns the layer of Theorem 1 with C = alpha I.
fn theorem_1(alpha: f32) -> Layer<f32, K> {
    let mut layer = Layer::ZERO;
    layer.p.data.0[K - 1][K - 1] = 1.0;
    for i in 0..D {
        layer.q.data.0[i][i] = -alpha;
        layer.q.data.0[D + i][i] = alpha;
    }
    layer
}

/// Takes the features of the next state, and the reward on the way to it (that of the first state is ignored), and trains. What it
/// has trained is judged on what comes next before it replaces the model.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_trainer_observe(
    trainer: *mut ictd_trainer,
    phi: *const f32,
    reward: f32,
) -> ictd_status {
    // SAFETY: `trainer` is null or initialised storage, by the rules in ictd.h.
    status(unsafe { of(trainer) }.and_then(|of| {
        if phi.is_null() {
            return Err(ictd_status::Null);
        }
        let mut padded = [0.0; D];
        // SAFETY: not null, and the caller keeps the rules.
        let phi = unsafe { from_raw_parts(phi, of.features) };
        padded.iter_mut().zip(phi).for_each(|(to, from)| *to = *from);
        Ok(of.trainer.observe(&padded, reward)?)
    }))
}

/// Writes the model that has predicted best so far.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_trainer_model(
    trainer: *const ictd_trainer,
    model: *mut ictd_model,
) -> ictd_status {
    // SAFETY: `trainer` is null or initialised storage, by the rules in ictd.h; nothing is changed.
    status(unsafe { of(trainer.cast_mut()) }.and_then(|of| {
        if model.is_null() {
            return Err(ictd_status::Null);
        }
        let trained = with_layer(of.trainer.layer(), of.features, of.gamma);
        // SAFETY: not null, and the caller keeps the rules.
        unsafe { model.write(trained) };
        Ok(())
    }))
}

/// Writes the model of preconditioned TD, for 1 to 4 features and a discount gamma in [0, 1): three steps of TD, of which step l (0, 1,
/// 2) is preconditioned by alpha (I - beta Sigma)^l, where alpha is above 0 and Sigma is the second moment of the context's features.
/// With beta = 0 they are Theorem 1's. Multi-task training leads to about alpha = 2.4 and beta = 0.44.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_model_preconditioned_td(
    model: *mut ictd_model,
    features: usize,
    gamma: f32,
    alpha: f32,
    beta: f32,
) -> ictd_status {
    if model.is_null() {
        return ictd_status::Null;
    }
    if !(1..=D).contains(&features) {
        return ictd_status::OutOfRange;
    }
    let settings = ConstructionSettings::new(gamma).step_size(alpha).depth(LAYERS as u16);
    let made = Model::<D>::preconditioned_td(settings, beta);
    status(made.map_err(ictd_status::from).map(|made| {
        let layer = made.transformer().layers().first().copied().unwrap_or(Layer::ZERO);
        // SAFETY: not null, and the caller keeps the rules.
        unsafe { model.write(with_layer(&layer, features, gamma)) };
    }))
}

fn with_layer(Layer { p, q }: &Layer<f32, K>, features: usize, gamma: f32) -> ictd_model {
    let (p, q) = (transposed(&p.data.0), transposed(&q.data.0));
    ictd_model { features: features as u32, gamma, p, q }
}

fn transposed(matrix: &[[f32; K]; K]) -> [[f32; K]; K] {
    let mut out = [[0.0; K]; K];
    for i in 0..K {
        for j in 0..K {
            out[i][j] = matrix[j][i];
        }
    }
    out
}

/// Reads the value function that a model computes from a context of as many features and with its discount. Values are clipped at
/// what the largest reward seen adds up to; the linearity is 1.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_model_value_function(
    model: *const ictd_model,
    context: *const ictd_context,
    value_function: *mut ictd_value_function,
) -> ictd_status {
    // SAFETY: null or readable, by the rules in ictd.h.
    let Some(model) = (unsafe { model.as_ref() }) else { return ictd_status::Null };
    // SAFETY: `context` is null or initialised storage, by the rules in ictd.h; nothing is changed.
    let statistic = unsafe { statistic(context, model.features, model.gamma) };
    status(statistic.and_then(|(statistic, largest_reward)| {
        if value_function.is_null() {
            return Err(ictd_status::Null);
        }
        let mut layer = Layer::ZERO;
        (layer.p.data.0, layer.q.data.0) = (transposed(&model.p), transposed(&model.q));
        let value = Trainer::value_function(layer, statistic)?;
        let mut weights = [0.0; ICTD_MAX_FEATURES];
        weights.iter_mut().zip(&value.weights.data.0[0]).for_each(|(to, w)| *to = *w);
        let most = largest_reward / (1.0 - model.gamma);
        let read = ictd_value_function {
            features: model.features,
            linearity: 1.0,
            level: 0.0,
            value_clip: [-most, most],
            weights,
            feature_clip: [f32::INFINITY; ICTD_MAX_FEATURES],
        };
        // SAFETY: not null, and the caller keeps the rules.
        unsafe { value_function.write(read) };
        Ok(())
    }))
}

/// Writes a trainer to the front of a buffer of `len` bytes, to be stored, and how many bytes it took; its storage's size is enough.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_trainer_to_bytes(
    trainer: *const ictd_trainer,
    buffer: *mut u8,
    len: usize,
    written: *mut usize,
) -> ictd_status {
    // SAFETY: the caller keeps the rules; nothing is changed.
    status(unsafe { of(trainer.cast_mut()) }.and_then(|of| {
        let write = |buffer: &mut [u8]| {
            let Some((first, rest)) = buffer.split_first_mut() else {
                return Ok(of.trainer.write(buffer)?.len());
            };
            *first = of.features as u8;
            Ok(1 + of.trainer.write(rest)?.len())
        };
        // SAFETY: null or writable, by the rules in ictd.h.
        unsafe { write_to(buffer, len, written, write) }
    }))
}

/// Reads a stored trainer of `len` bytes into a trainer with the same features and discount. It then continues like the stored one,
/// with the same bits.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_trainer_from_bytes(
    trainer: *mut ictd_trainer,
    bytes: *const u8,
    len: usize,
) -> ictd_status {
    // SAFETY: both are null or what they mean, by the rules in ictd.h.
    status(unsafe { of(trainer) }.and_then(|of| {
        // SAFETY: null or readable, by the rules in ictd.h.
        let bytes = unsafe { stored(bytes, len) }.ok_or(ictd_status::Null)?;
        match bytes.split_first() {
            Some((first, _)) if usize::from(*first) != of.features => Err(ictd_status::Mismatch),
            first => Ok(of.trainer.read(first.map_or(bytes, |(_, rest)| rest))?),
        }
    }))
}

/// Fails the build unless the header's type has room for the trainer, and is aligned like it.
const _: () = {
    assert!(size_of::<Handle<OfStream>>() <= size_of::<ictd_trainer>());
    assert!(align_of::<Handle<OfStream>>() <= align_of::<ictd_trainer>());
};
