//! The C interface of ictd-core: a predictor of a signal, and contexts with the universal model for those who bring their own
//! features, 1 to 16 of them, or with a model that the device trains. The caller owns all storage; nothing is allocated. Its header is `ictd.h`, in the
//! folder of this crate.
#![cfg_attr(target_os = "none", no_std)]
#![deny(missing_docs, unsafe_op_in_unsafe_fn)]
#![allow(non_camel_case_types)]

#[cfg(target_os = "none")]
use panic_never as _;

// Without a size of theirs there are no contexts.
#[cfg(any(feature = "capacity-4", feature = "capacity-8", feature = "capacity-16"))]
mod context;
mod predictor;
#[cfg(feature = "trainer")]
mod trainer;

#[cfg(any(feature = "capacity-4", feature = "capacity-8", feature = "capacity-16"))]
pub use context::*;
pub use predictor::*;
#[cfg(feature = "trainer")]
pub use trainer::*;

use core::ffi::{CStr, c_char, c_void};
use core::mem::MaybeUninit;
use core::slice::{from_raw_parts, from_raw_parts_mut};
use ictd_core::{Error, StoredError};

/// The version of the interface that the header describes: ictd_abi_version() returns it.
pub const ICTD_ABI_VERSION: u32 = 8;

/// The result of a call. Unless it is ICTD_STATUS_OK, the call has written nothing.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ictd_status {
    /// The call succeeded.
    Ok = 0,
    /// A pointer is null.
    Null,
    /// A number is NaN or infinite, or too large to be summed.
    NonFinite,
    /// A parameter lies outside its range.
    OutOfRange,
    /// The context has no transition yet.
    Empty,
    /// The storage is smaller than the library needs, or is not aligned like a uint64_t.
    BadStorage,
    /// The storage was not set up by an init or from_bytes function, or was overwritten.
    BadHandle,
    /// The bytes were not written by this library.
    BadMagic,
    /// The bytes were stored for a different number of features or horizons, or by another version.
    Mismatch,
    /// The bytes are damaged or incomplete, or the buffer is too short.
    Damaged,
    /// The data do not determine a value.
    Singular,
    /// The processor does not round to nearest after each operation, or flushes subnormal numbers to zero.
    Arithmetic,
}

impl From<Error> for ictd_status {
    fn from(error: Error) -> Self {
        match error {
            Error::NonFinite { .. } => ictd_status::NonFinite,
            Error::Empty { .. } => ictd_status::Empty,
            Error::Singular { .. } => ictd_status::Singular,
            Error::Stored(StoredError::Magic { .. } | StoredError::Unknown { .. }) => {
                ictd_status::BadMagic
            }
            Error::Stored(StoredError::Mismatch { .. } | StoredError::Layers { .. })
            | Error::Mismatch { .. } => ictd_status::Mismatch,
            Error::Stored(_) => ictd_status::Damaged,
            _ => ictd_status::OutOfRange,
        }
    }
}

/// The messages of the statuses, in the order of [`ictd_status`].
const MESSAGES: [&CStr; 12] = [
    c"done",
    c"a pointer is null",
    c"a number is NaN, infinite or too large to be summed",
    c"a parameter lies outside its range",
    c"the context has no transition yet",
    c"the storage is smaller than the library needs, or is not aligned like a uint64_t",
    c"the storage was not set up by an init or from_bytes function, or was overwritten",
    c"the bytes were not written by this library",
    c"the bytes were stored for a different number of features or horizons, or by another version",
    c"the bytes are damaged or incomplete, or the buffer is too short",
    c"the data do not determine a value",
    c"the processor does not round to nearest after each operation, or flushes subnormal numbers to zero",
];

/// Returns a status in words, as a static string.
// The parameter is an integer, since C may pass any.
#[unsafe(no_mangle)]
pub extern "C" fn ictd_message(status: i32) -> *const c_char {
    let message = usize::try_from(status).ok().and_then(|status| MESSAGES.get(status));
    message.unwrap_or(&c"not a status").as_ptr()
}

/// Returns the library's ICTD_ABI_VERSION, which should be the header's.
#[unsafe(no_mangle)]
pub extern "C" fn ictd_abi_version() -> u32 {
    ICTD_ABI_VERSION
}

/// Checks by a few computations that this thread's arithmetic gives the bits of every other platform: a program that depends on
/// them calls this once, when it starts. FPSCR's FZ bit, another rounding mode or the start-up code of -ffast-math would change them.
#[unsafe(no_mangle)]
pub extern "C" fn ictd_check_environment() -> ictd_status {
    ictd_core::environment().map_or(ictd_status::Arithmetic, |()| ictd_status::Ok)
}

/// The content of the caller's storage.
#[repr(C)]
struct Handle<T> {
    /// The code of T, and its complement under [`MAGIC`]: one of them that was overwritten does not fit the other.
    kind: [u32; 2],
    value: T,
}

/// Marks storage that the library has set up.
const MAGIC: u32 = u32::from_le_bytes(*b"ictd");

/// Sets up a handle in the caller's storage: `make` writes the value there, since the stack may have no room for it, unless it fails.
///
/// # Safety
/// `storage` is null, or points to `bytes` bytes that nothing else accesses during the call.
unsafe fn make_in<T>(
    storage: *mut c_void,
    bytes: usize,
    kind: u32,
    make: impl FnOnce(&mut MaybeUninit<T>) -> Result<(), Error>,
) -> ictd_status {
    let to = storage.cast::<Handle<MaybeUninit<T>>>();
    if storage.is_null() {
        return ictd_status::Null;
    }
    if bytes < size_of::<Handle<T>>() || !to.is_aligned() {
        return ictd_status::BadStorage;
    }
    // SAFETY: `storage` is not null, is aligned and is large enough; any bytes are a `MaybeUninit`.
    if let Err(error) = make(unsafe { &mut (*to).value }) {
        return error.into();
    }
    // SAFETY: as above.
    unsafe { (&raw mut (*to).kind).write([kind, !kind ^ MAGIC]) };
    ictd_status::Ok
}

/// Returns the code of a handle's type.
///
/// # Safety
/// `handle` is null, or points to at least 8 bytes of storage.
unsafe fn kind(handle: *const c_void) -> Result<u32, ictd_status> {
    // SAFETY: `handle` is null or points to 8 bytes, and any bits are two integers.
    match unsafe { handle.cast::<[u32; 2]>().as_ref() } {
        None => Err(ictd_status::Null),
        Some([kind, complement]) if *complement == !kind ^ MAGIC => Ok(*kind),
        Some(_) => Err(ictd_status::BadHandle),
    }
}

/// Returns the bytes at a pointer; `None` if it is null.
///
/// # Safety
/// `bytes` is null, or points to `len` bytes that live as long as the result.
unsafe fn stored<'a>(bytes: *const u8, len: usize) -> Option<&'a [u8]> {
    // SAFETY: `bytes` is not null and points to `len` bytes.
    (!bytes.is_null()).then(|| unsafe { from_raw_parts(bytes, len) })
}

/// Writes bytes to a buffer, and their number to `written`.
///
/// # Safety
/// `buffer` is null or points to `len` writable bytes; `written` is null or points to a writable number.
unsafe fn write_to(
    buffer: *mut u8,
    len: usize,
    written: *mut usize,
    write: impl FnOnce(&mut [u8]) -> Result<usize, Error>,
) -> Result<(), ictd_status> {
    if buffer.is_null() || written.is_null() {
        return Err(ictd_status::Null);
    }
    // SAFETY: `buffer` is not null and points to `len` writable bytes.
    let bytes = write(unsafe { from_raw_parts_mut(buffer, len) })?;
    // SAFETY: `written` is not null and writable.
    unsafe { written.write(bytes) };
    Ok(())
}

fn status(result: Result<(), ictd_status>) -> ictd_status {
    result.err().unwrap_or(ictd_status::Ok)
}
