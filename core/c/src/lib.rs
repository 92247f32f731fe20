//! The C interface of ictd-core: contexts and models as opaque structs that the caller owns, of 1 to 16
//! features, without allocation. `ictd.h` beside this crate's README is its header.
//!
//! C has no generics, so `build.rs` writes the items of each feature dimension from `dimension.rs.in`, `context.rs.in`
//! and `signal.rs.in`, and those of each number of signals from `predictor.rs.in`.
#![cfg_attr(target_os = "none", no_std)]
#![deny(missing_docs, unsafe_op_in_unsafe_fn)]
#![allow(non_camel_case_types)]

#[cfg(target_os = "none")]
use panic_never as _;

use core::ffi::{CStr, c_char};
use ictd_core::context::{Context, Forgetting, Growing, Window};
use ictd_core::mask::TdLambda;
use ictd_core::nalgebra::SVector;
use ictd_core::predictor::{Prediction, Predictor};
use ictd_core::signal::Signal;
use ictd_core::value_function::{BoundedValueFunction, ValueFunction};
use ictd_core::{Error, Model, StoredError, UniversalModel};

/// The result of a call. After every result but ICTD_STATUS_OK the call has written nothing.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ictd_status {
    /// Done.
    Ok = 0,
    /// A pointer is null.
    Null,
    /// A number is NaN or infinite, or too large to be summed.
    NonFinite,
    /// A parameter lies outside its range.
    OutOfRange,
    /// The context has no transition yet.
    Empty,
    /// Model and context have two trace decays.
    Mismatch,
    /// The layers diverge on this context: a smaller step size, or smaller features, are needed.
    Diverges,
    /// The bytes are not a model that this library knows.
    NotAModel,
    /// The model is for another number of features, type of numbers, attention or number of layers.
    AnotherModel,
    /// The bytes of the model are damaged, or not all there.
    Damaged,
    /// Anything else.
    Other,
}

impl From<Error> for ictd_status {
    fn from(error: Error) -> Self {
        match error {
            Error::NonFinite { .. } => ictd_status::NonFinite,
            Error::OutOfRange { .. } => ictd_status::OutOfRange,
            Error::Empty { .. } => ictd_status::Empty,
            Error::Mismatch { .. } => ictd_status::Mismatch,
            Error::Diverges => ictd_status::Diverges,
            Error::Stored(StoredError::Magic { .. } | StoredError::Unknown { .. }) => {
                ictd_status::NotAModel
            }
            Error::Stored(StoredError::Mismatch { .. } | StoredError::Layers { .. }) => {
                ictd_status::AnotherModel
            }
            Error::Stored(StoredError::Length { .. } | StoredError::Checksum { .. }) => {
                ictd_status::Damaged
            }
            _ => ictd_status::Other,
        }
    }
}

/// The weighted mean of what is coming, and the band in which it lies nine times in ten; infinite while nothing is known.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ictd_prediction {
    /// In the signal's unit.
    pub mean: f32,
    /// The lower end of the band.
    pub low: f32,
    /// The upper end of the band.
    pub high: f32,
}

impl From<Prediction> for ictd_prediction {
    fn from(Prediction { mean, low, high }: Prediction) -> Self {
        ictd_prediction { mean, low, high }
    }
}

/// A status in words, in the order of [`ictd_status`].
const MESSAGES: [&CStr; 11] = [
    c"done",
    c"a pointer is null",
    c"a number is NaN, infinite or too large to be summed",
    c"a parameter lies outside its range",
    c"the context has no transition yet",
    c"model and context have two trace decays",
    c"the layers diverge: take a smaller step size, or smaller features",
    c"the bytes are not a model that this library knows",
    c"the model is for another number of features, type or layers",
    c"the bytes of the model are damaged, or not all there",
    c"refused",
];

/// A status in words: a string that is always there.
// An integer: C may pass one that is no status.
#[unsafe(no_mangle)]
pub extern "C" fn ictd_message(status: i32) -> *const c_char {
    let message = usize::try_from(status).ok().and_then(|status| MESSAGES.get(status));
    message.unwrap_or(&c"no status").as_ptr()
}

/// The model of ten numbers a layer: for any number of features, length of a context and unit.
#[repr(C)]
pub struct ictd_universal {
    private: [u64; 36],
}

const _: () = fits::<ictd_universal, UniversalModel>();

/// The model that ships, for a discount in [0, 1).
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_universal_init(
    model: *mut ictd_universal,
    gamma: f32,
) -> ictd_status {
    // SAFETY: the caller keeps the rules.
    unsafe { put(model.cast(), UniversalModel::<f32>::universal(gamma)) }
}

/// Reads a stored model of ten numbers a layer, of at most 3 layers: `len` bytes, which are needed no longer
/// afterwards.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_universal_read(
    model: *mut ictd_universal,
    bytes: *const u8,
    len: usize,
) -> ictd_status {
    // SAFETY: the caller keeps the rules.
    match unsafe { stored(bytes, len) } {
        // SAFETY: the caller keeps the rules.
        Some(bytes) => unsafe { put(model.cast(), UniversalModel::<f32>::from_bytes(bytes)) },
        None => ictd_status::Null,
    }
}

/// The trace decay that a context for this model must have; NaN if the pointer is null.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_universal_lambda(model: *const ictd_universal) -> f32 {
    use ictd_core::mask::Mask as _;
    // SAFETY: the caller keeps the rules.
    match unsafe { model.cast::<UniversalModel>().as_ref() } {
        Some(model) => model.mask().lambda(),
        None => f32::NAN,
    }
}

include!(concat!(env!("OUT_DIR"), "/dimensions.rs"));

/// Fails the build unless an opaque struct has room for what lies in it.
const fn fits<Opaque, T>() {
    assert!(size_of::<T>() <= size_of::<Opaque>() && align_of::<T>() <= align_of::<Opaque>());
    // And not much more than it needs, where a usize is shorter, too.
    assert!(size_of::<Opaque>() <= size_of::<T>() + 72);
}

/// The features at a pointer; none if it is null.
///
/// # Safety
/// It is null, or D floats lie there while the result is in use.
unsafe fn features<'a, const D: usize>(phi: *const f32) -> Option<&'a [f32; D]> {
    // SAFETY: an array has the alignment of its elements, and all bits are floats.
    unsafe { phi.cast::<[f32; D]>().as_ref() }
}

/// The bytes at a pointer; none if it is null.
///
/// # Safety
/// It is null, or so many bytes lie there while the result is in use.
unsafe fn stored<'a>(bytes: *const u8, len: usize) -> Option<&'a [u8]> {
    // SAFETY: not null, and any bytes will do.
    (!bytes.is_null()).then(|| unsafe { core::slice::from_raw_parts(bytes, len) })
}

/// Writes a result to where it belongs.
///
/// # Safety
/// The pointer is null, or there is room for a T that nobody reads meanwhile.
unsafe fn put<T>(to: *mut T, result: Result<T, Error>) -> ictd_status {
    match result {
        Err(error) => error.into(),
        Ok(_) if to.is_null() => ictd_status::Null,
        Ok(value) => {
            // SAFETY: not null, and `fits` has checked size and alignment of the opaque structs.
            unsafe { to.write(value) };
            ictd_status::Ok
        }
    }
}

/// # Safety
/// The rules at the head of ictd.h.
unsafe fn observe<const D: usize, W: Window<f32>>(
    context: *mut Context<D, TdLambda, W>,
    phi: *const f32,
    reward: f32,
    phi_next: *const f32,
) -> ictd_status {
    // SAFETY: the caller keeps the rules.
    match unsafe { (context.as_mut(), features::<D>(phi), features::<D>(phi_next)) } {
        (Some(context), Some(phi), Some(phi_next)) => {
            status(context.observe(phi, reward, phi_next))
        }
        _ => ictd_status::Null,
    }
}

/// # Safety
/// The rules at the head of ictd.h.
unsafe fn observe_terminal<const D: usize, W: Window<f32>>(
    context: *mut Context<D, TdLambda, W>,
    phi: *const f32,
    reward: f32,
) -> ictd_status {
    // SAFETY: the caller keeps the rules.
    match unsafe { (context.as_mut(), features::<D>(phi)) } {
        (Some(context), Some(phi)) => status(context.observe_terminal(phi, reward)),
        _ => ictd_status::Null,
    }
}

/// # Safety
/// The rules at the head of ictd.h.
unsafe fn end_episode<const D: usize, W: Window<f32>>(
    context: *mut Context<D, TdLambda, W>,
) -> ictd_status {
    // SAFETY: the caller keeps the rules.
    match unsafe { context.as_mut() } {
        Some(context) => {
            context.end_episode();
            ictd_status::Ok
        }
        None => ictd_status::Null,
    }
}

fn status(result: Result<(), Error>) -> ictd_status {
    match result {
        Ok(()) => ictd_status::Ok,
        Err(error) => error.into(),
    }
}
