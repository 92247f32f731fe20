//! Contexts of 1 to 16 features, and the universal model's value of a state.

use crate::{Handle, ictd_status, kind, make, status, stored, write_to};
use core::slice::from_raw_parts;
use ictd_core::context::{Context, Forgetting, Growing, Memory};
use ictd_core::mask::TwoTraces;
use ictd_core::universal::Estimate;
use ictd_core::{Error, UniversalModel};

/// A context that transitions stream into, in storage of the caller's.
pub type ictd_context = u64;

/// The most features.
pub const ICTD_MAX_FEATURES: usize = 16;

/// The value function that the universal model estimates from a context: v(s) = <weights, features>, clipped.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ictd_value_function {
    /// The number of features.
    pub features: u32,
    /// How far values look linear in the features, from 0 to 1. Near 0, better features would help.
    pub linearity: f32,
    /// The largest size of a value.
    pub value_clip: f32,
    /// One weight for each feature; zeros beyond.
    pub weights: [f32; ICTD_MAX_FEATURES],
    /// Largest absolute value of each feature of a query; larger ones are clipped to it.
    pub feature_clip: [f32; ICTD_MAX_FEATURES],
}

/// The context in a handle, with its discount: a model makes its traces from that.
struct OfFeatures<const D: usize, W: Memory<f32>> {
    gamma: f32,
    context: Context<D, TwoTraces, W>,
}

/// What can be done with a context of any capacity and window.
trait AnyContext {
    fn observe(&mut self, phi: &[f32], reward: f32, next: Option<&[f32]>) -> Result<(), Error>;
    fn end_episode(&mut self);
    fn clear(&mut self);
    fn len(&self) -> u64;
    fn read(&self, out: &mut ictd_value_function) -> Result<(), Error>;
    fn write(&self, buffer: &mut [u8]) -> Result<usize, Error>;
}

/// Returns the features, with zeros for those that there is only room for.
fn padded<const D: usize>(features: &[f32]) -> [f32; D] {
    let mut phi = [0.0; D];
    phi.iter_mut().zip(features).for_each(|(to, from)| *to = *from);
    phi
}

impl<const D: usize, W: Memory<f32>> AnyContext for OfFeatures<D, W> {
    fn observe(&mut self, phi: &[f32], reward: f32, next: Option<&[f32]>) -> Result<(), Error> {
        match next {
            Some(next) => self.context.observe(&padded(phi), reward, &padded(next)),
            None => self.context.observe_terminal(&padded(phi), reward),
        }
    }

    fn end_episode(&mut self) {
        self.context.end_episode();
    }

    fn clear(&mut self) {
        self.context.clear();
    }

    fn len(&self) -> u64 {
        self.context.len()
    }

    fn read(&self, out: &mut ictd_value_function) -> Result<(), Error> {
        let model = UniversalModel::<f32>::pretrained(self.gamma)?;
        let Estimate { value_function, linearity } = model.estimate(&self.context, model.gvf(0))?;
        out.linearity = linearity;
        out.value_clip = value_function.value_clip;
        out.weights = padded(value_function.value_function.weights.as_slice());
        out.feature_clip = padded(&value_function.feature_clip);
        Ok(())
    }

    fn write(&self, buffer: &mut [u8]) -> Result<usize, Error> {
        Ok(self.context.write(buffer)?.len())
    }
}

/// Returns the kind of a context: its number of features, and 256 if it forgets.
const fn kind_of(features: usize, forgets: bool) -> u32 {
    features as u32 | if forgets { 256 } else { 0 }
}

/// Returns the context in a handle, and its number of features.
///
/// # Safety
/// It is null, or storage of 8 bytes or more; behind the first 8 is what the kind says.
unsafe fn any<'a>(
    context: *mut ictd_context,
) -> Result<(&'a mut dyn AnyContext, usize), ictd_status> {
    // SAFETY: `context` is null or initialised storage, by the rules in ictd.h.
    let kind = unsafe { kind(context) }?;
    let (features, forgets) = ((kind & 255) as usize, kind >> 8);
    macro_rules! of {
        ($d:literal, $window:ty) => {{
            // SAFETY: the kind says what lies there, and it is not null.
            let handle = unsafe { &mut *context.cast::<Handle<OfFeatures<$d, $window>>>() };
            Ok((&mut handle.value as &mut dyn AnyContext, features))
        }};
    }
    match (features, forgets) {
        (1..=4, 0) => of!(4, Growing),
        (5..=8, 0) => of!(8, Growing),
        (9..=16, 0) => of!(16, Growing),
        (1..=4, 1) => of!(4, Forgetting),
        (5..=8, 1) => of!(8, Forgetting),
        (9..=16, 1) => of!(16, Forgetting),
        _ => Err(ictd_status::BadHandle),
    }
}

/// Calls a function with room for the features.
macro_rules! with_room {
    ($features:expr, $f:ident $([$window:ty])? ($($argument:expr),*)) => {
        match $features {
            // SAFETY: the caller of the macro keeps the rules.
            1..=4 => unsafe { $f::<4 $(, $window)?>($($argument),*) },
            5..=8 => unsafe { $f::<8 $(, $window)?>($($argument),*) },
            9..=ICTD_MAX_FEATURES => unsafe { $f::<16 $(, $window)?>($($argument),*) },
            _ => ictd_status::OutOfRange,
        }
    };
}

/// Makes a context in storage of `bytes` bytes, for 1 to 16 features and a discount gamma in [0, 1). With a retention
/// of 1 it remembers every transition (ICTD_CONTEXT_WORDS); a retention in (0, 1) multiplies the weight of the past at
/// each transition (ICTD_FORGETTING_WORDS): 0.995 remembers about the last 200.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_context_init(
    storage: *mut ictd_context,
    bytes: usize,
    features: usize,
    gamma: f32,
    retention: f32,
) -> ictd_status {
    unsafe fn of<const D: usize>(
        storage: *mut u64,
        bytes: usize,
        features: usize,
        gamma: f32,
        retention: f32,
    ) -> ictd_status {
        let model = UniversalModel::<f32>::pretrained(gamma);
        if retention == 1.0 {
            let made = model.map(|m| OfFeatures::<D, _> { gamma, context: m.context() });
            // SAFETY: `context` is null or initialised storage, by the rules in ictd.h.
            return unsafe { make(storage, bytes, kind_of(features, false), made) };
        }
        let made =
            model.and_then(|m| Ok(OfFeatures::<D, _> { gamma, context: m.forgetting(retention)? }));
        // SAFETY: `context` is null or initialised storage, by the rules in ictd.h.
        unsafe { make(storage, bytes, kind_of(features, true), made) }
    }
    with_room!(features, of(storage, bytes, features, gamma, retention))
}

/// Adds the transition from a state with features phi to one with features phi_next.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_context_observe(
    context: *mut ictd_context,
    phi: *const f32,
    reward: f32,
    phi_next: *const f32,
) -> ictd_status {
    if phi_next.is_null() {
        return ictd_status::Null;
    }
    // SAFETY: `context` is null or initialised storage, by the rules in ictd.h.
    unsafe { observe(context, phi, reward, phi_next) }
}

/// Adds the last transition of an episode, from a state with features phi.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_context_observe_terminal(
    context: *mut ictd_context,
    phi: *const f32,
    reward: f32,
) -> ictd_status {
    // SAFETY: `context` is null or initialised storage, by the rules in ictd.h.
    unsafe { observe(context, phi, reward, core::ptr::null()) }
}

/// # Safety
/// The rules at the head of ictd.h.
unsafe fn observe(
    context: *mut ictd_context,
    phi: *const f32,
    reward: f32,
    phi_next: *const f32,
) -> ictd_status {
    // SAFETY: `context` is null or initialised storage, by the rules in ictd.h.
    status(unsafe { any(context) }.and_then(|(context, features)| {
        if phi.is_null() {
            return Err(ictd_status::Null);
        }
        // SAFETY: not null, and the caller keeps the rules.
        let (phi, next) = unsafe {
            let next = (!phi_next.is_null()).then(|| from_raw_parts(phi_next, features));
            (from_raw_parts(phi, features), next)
        };
        context.observe(phi, reward, next).map_err(ictd_status::from)
    }))
}

/// Ends an episode that did not terminate: the next transition does not follow the last one.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_context_end_episode(context: *mut ictd_context) -> ictd_status {
    // SAFETY: `context` is null or initialised storage, by the rules in ictd.h.
    status(unsafe { any(context) }.map(|(context, _)| context.end_episode()))
}

/// Forgets every transition.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_context_clear(context: *mut ictd_context) -> ictd_status {
    // SAFETY: `context` is null or initialised storage, by the rules in ictd.h.
    status(unsafe { any(context) }.map(|(context, _)| context.clear()))
}

/// Returns how many transitions were observed; 0 if the pointer is not a context.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_context_len(context: *const ictd_context) -> u64 {
    // SAFETY: the caller keeps the rules; nothing is changed.
    unsafe { any(context.cast_mut()) }.map_or(0, |(context, _)| context.len())
}

/// Reads the value function out of a context.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_context_value_function(
    context: *const ictd_context,
    value_function: *mut ictd_value_function,
) -> ictd_status {
    // SAFETY: the caller keeps the rules; nothing is changed.
    status(unsafe { any(context.cast_mut()) }.and_then(|(context, features)| {
        if value_function.is_null() {
            return Err(ictd_status::Null);
        }
        let zeros = [0.0; ICTD_MAX_FEATURES];
        let features = features as u32;
        let mut read = ictd_value_function {
            features,
            linearity: 0.0,
            value_clip: 0.0,
            weights: zeros,
            feature_clip: zeros,
        };
        context.read(&mut read)?;
        // SAFETY: not null, and the caller keeps the rules.
        unsafe { value_function.write(read) };
        Ok(())
    }))
}

/// Returns the value of the state with features phi; NaN if a pointer is null.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_value_function_at(
    value_function: *const ictd_value_function,
    phi: *const f32,
) -> f32 {
    // SAFETY: `context` is null or initialised storage, by the rules in ictd.h.
    let Some(of) = (unsafe { value_function.as_ref() }) else { return f32::NAN };
    if phi.is_null() || of.features as usize > ICTD_MAX_FEATURES {
        return f32::NAN;
    }
    // SAFETY: not null, and the caller keeps the rules.
    let phi = padded::<ICTD_MAX_FEATURES>(unsafe { from_raw_parts(phi, of.features as usize) });
    let value_function = ictd_core::value_function::ClippedValueFunction {
        value_function: ictd_core::ValueFunction { weights: of.weights.into() },
        feature_clip: of.feature_clip,
        value_clip: of.value_clip,
    };
    value_function.at(&phi)
}

/// Writes a context to the front of a buffer of `len` bytes, for example before a deep sleep, and how many bytes it took; its
/// storage's size and 64 are enough.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_context_to_bytes(
    context: *const ictd_context,
    buffer: *mut u8,
    len: usize,
    written: *mut usize,
) -> ictd_status {
    // SAFETY: the caller keeps the rules; nothing is changed.
    match unsafe { any(context.cast_mut()) } {
        // SAFETY: `context` is null or initialised storage, by the rules in ictd.h.
        Ok((context, _)) => unsafe { write_to(buffer, len, written, |to| context.write(to)) },
        Err(status) => status,
    }
}

/// Reads what was written, `len` bytes, into a context of the same features, discount and retention, which goes on where that
/// one stood, to the same bits.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_context_from_bytes(
    context: *mut ictd_context,
    bytes: *const u8,
    len: usize,
) -> ictd_status {
    unsafe fn of<const D: usize, W: Memory<f32>>(
        context: *mut ictd_context,
        bytes: &[u8],
    ) -> ictd_status {
        // SAFETY: the kind says what lies there.
        let handle = unsafe { &mut *context.cast::<Handle<OfFeatures<D, W>>>() };
        match Context::<D, TwoTraces, W>::from_bytes(bytes) {
            Ok(read) if read.mask() != handle.value.context.mask() => ictd_status::Mismatch,
            Ok(read) if read.memory() != handle.value.context.memory() => ictd_status::Mismatch,
            Ok(read) => {
                handle.value.context = read;
                ictd_status::Ok
            }
            Err(error) => error.into(),
        }
    }
    // SAFETY: `context` is null or initialised storage, by the rules in ictd.h.
    let (kind, bytes) = match unsafe { (any(context), stored(bytes, len)) } {
        (Err(status), _) => return status,
        (_, None) => return ictd_status::Null,
        // SAFETY: it is a context.
        (Ok(_), Some(bytes)) => (unsafe { kind(context) }.unwrap_or(0), bytes),
    };
    let features = (kind & 255) as usize;
    if kind >> 8 == 0 {
        with_room!(features, of[Growing](context, bytes))
    } else {
        with_room!(features, of[Forgetting](context, bytes))
    }
}

/// Fails the build unless the header's macros have room for what lies in the storage.
const _: () = {
    const fn fits<const D: usize>() {
        assert!(size_of::<Handle<OfFeatures<D, Growing>>>() <= 8 * growing_words(D));
        assert!(size_of::<Handle<OfFeatures<D, Forgetting>>>() <= 8 * forgetting_words(D));
    }
    fits::<4>();
    fits::<8>();
    fits::<16>();
};

/// ICTD_CONTEXT_WORDS and ICTD_FORGETTING_WORDS for a capacity.
const fn growing_words(d: usize) -> usize {
    16 * d * d + 18 * d + 20
}
const fn forgetting_words(d: usize) -> usize {
    4 * d * d + 6 * d + 16
}
