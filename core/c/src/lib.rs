//! The C interface of ictd-core: a predictor of signals, and contexts with the universal model for those who bring their own
//! features, 1 to 16 of them. The caller owns all storage; nothing is allocated. `ictd.h` beside this crate's README is its
//! header.
#![cfg_attr(target_os = "none", no_std)]
#![deny(missing_docs, unsafe_op_in_unsafe_fn)]
#![allow(non_camel_case_types)]

#[cfg(target_os = "none")]
use panic_never as _;

mod context;
mod predictor;

pub use context::*;
pub use predictor::*;

use core::ffi::{CStr, c_char};
use core::slice::{from_raw_parts, from_raw_parts_mut};
use ictd_core::{Error, StoredError};

/// The version of the interface: it changes where a program has to.
pub const ICTD_VERSION: u32 = 3;

/// The result of a call. After every result but ICTD_STATUS_OK the call has written nothing.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ictd_status {
    /// The call has done what it says.
    Ok = 0,
    /// A pointer is null.
    Null,
    /// A number is NaN or infinite, or too large to be summed.
    NonFinite,
    /// A parameter lies outside its range.
    OutOfRange,
    /// The context has no transition yet.
    Empty,
    /// The storage is too small, or does not begin at a multiple of 8.
    Storage,
    /// The pointer is not what an init or a read function has returned, or that was overwritten.
    Foreign,
    /// The bytes are not what this library has written.
    NotStored,
    /// The bytes are of another number of features, signals or horizons, or of another version.
    Another,
    /// The bytes are damaged, or not all there; or the buffer is too short.
    Damaged,
    /// The numbers do not determine a value.
    Singular,
}

impl From<Error> for ictd_status {
    fn from(error: Error) -> Self {
        match error {
            Error::NonFinite { .. } => ictd_status::NonFinite,
            Error::Empty { .. } => ictd_status::Empty,
            Error::Singular { .. } => ictd_status::Singular,
            Error::Stored(StoredError::Magic { .. } | StoredError::Unknown { .. }) => {
                ictd_status::NotStored
            }
            Error::Stored(StoredError::Mismatch { .. } | StoredError::Layers { .. }) => {
                ictd_status::Another
            }
            Error::Stored(_) => ictd_status::Damaged,
            _ => ictd_status::OutOfRange,
        }
    }
}

/// A status in words, in the order of [`ictd_status`].
const MESSAGES: [&CStr; 11] = [
    c"done",
    c"a pointer is null",
    c"a number is NaN, infinite or too large to be summed",
    c"a parameter lies outside its range",
    c"the context has no transition yet",
    c"the storage is too small, or not aligned to 8 bytes",
    c"the pointer is not one that an init or read function has returned",
    c"the bytes are not what this library has written",
    c"the bytes are of another number of features, signals or horizons, or of another version",
    c"the bytes are damaged or not all there, or the buffer is too short",
    c"the numbers do not determine a value",
];

/// Returns a status in words: a string that is always there.
// An integer: C may pass one that is no status.
#[unsafe(no_mangle)]
pub extern "C" fn ictd_message(status: i32) -> *const c_char {
    let message = usize::try_from(status).ok().and_then(|status| MESSAGES.get(status));
    message.unwrap_or(&c"no status").as_ptr()
}

/// Returns the version of the library, which should be the header's ICTD_VERSION.
#[unsafe(no_mangle)]
pub extern "C" fn ictd_version() -> u32 {
    ICTD_VERSION
}

/// What lies in the caller's storage.
#[repr(C, align(8))]
struct Handle<T> {
    /// [`MAGIC`], and what T is.
    kind: [u32; 2],
    value: T,
}

/// The first word of what the library has made.
const MAGIC: u32 = u32::from_le_bytes(*b"ictd");

/// Makes a handle in the caller's storage.
///
/// # Safety
/// Storage is null, or has so many bytes, which nobody else uses meanwhile.
unsafe fn make<T>(
    storage: *mut u64,
    bytes: usize,
    kind: u32,
    value: Result<T, Error>,
) -> ictd_status {
    let to = storage.cast::<Handle<T>>();
    match value {
        _ if storage.is_null() => ictd_status::Null,
        _ if bytes < size_of::<Handle<T>>() || !to.is_aligned() => ictd_status::Storage,
        Err(error) => error.into(),
        Ok(value) => {
            // SAFETY: it is not null, aligned, and has the room.
            unsafe { to.write(Handle { kind: [MAGIC, kind], value }) };
            ictd_status::Ok
        }
    }
}

/// Returns what a handle is.
///
/// # Safety
/// It is null, or points to storage of 8 bytes or more.
unsafe fn kind(handle: *const u64) -> Result<u32, ictd_status> {
    // SAFETY: the caller keeps the rule; any bits are two integers.
    match unsafe { handle.cast::<[u32; 2]>().as_ref() } {
        None => Err(ictd_status::Null),
        Some([MAGIC, kind]) => Ok(*kind),
        Some(_) => Err(ictd_status::Foreign),
    }
}

/// Returns the bytes at a pointer; none if it is null.
///
/// # Safety
/// It is null, or so many bytes lie there while the result is in use.
unsafe fn stored<'a>(bytes: *const u8, len: usize) -> Option<&'a [u8]> {
    // SAFETY: not null, and any bytes will do.
    (!bytes.is_null()).then(|| unsafe { from_raw_parts(bytes, len) })
}

/// Writes bytes to a buffer, and their number.
///
/// # Safety
/// Each pointer is null, or there is room for so many bytes, and for a number.
unsafe fn write_to(
    buffer: *mut u8,
    len: usize,
    written: *mut usize,
    write: impl FnOnce(&mut [u8]) -> Result<usize, Error>,
) -> ictd_status {
    if buffer.is_null() || written.is_null() {
        return ictd_status::Null;
    }
    // SAFETY: not null, and the caller says how long it is.
    match write(unsafe { from_raw_parts_mut(buffer, len) }) {
        Ok(bytes) => {
            // SAFETY: not null.
            unsafe { written.write(bytes) };
            ictd_status::Ok
        }
        Err(error) => error.into(),
    }
}

fn status(result: Result<(), ictd_status>) -> ictd_status {
    result.err().unwrap_or(ictd_status::Ok)
}
