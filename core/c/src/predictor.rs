//! The predictor of 1 to 4 signals.

use crate::{Handle, ictd_status, kind, make, status, stored, write_to};
use core::slice::{from_raw_parts, from_raw_parts_mut};
use ictd_core::Error;
use ictd_core::predictor::{Prediction, Predictor};

/// A predictor of signals, in storage of the caller's.
pub type ictd_predictor = u64;

/// The most signals of a predictor.
pub const ICTD_MAX_SIGNALS: usize = 4;
/// The most horizons of a predictor.
pub const ICTD_MAX_HORIZONS: usize = 4;

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

/// What can be done with a predictor of any number of signals.
trait AnyPredictor {
    fn observe(&mut self, samples: &[f32], out: &mut [ictd_prediction], surprise: &mut [f32]);
    fn reset(&mut self);
    fn write(&self, buffer: &mut [u8]) -> Result<usize, Error>;
}

impl<const N: usize, const D: usize, const H: usize> AnyPredictor for Predictor<N, D, H> {
    fn observe(&mut self, samples: &[f32], out: &mut [ictd_prediction], surprise: &mut [f32]) {
        let mut all = [f32::NAN; N];
        all.iter_mut().zip(samples).for_each(|(to, from)| *to = *from);
        let seen = Predictor::observe(self, all);
        // The caller's horizons are the first of each signal's.
        let horizons = out.len() / N;
        let mut out = out.iter_mut();
        for from in &seen.predictions {
            for (to, Prediction { mean, low, high }) in out.by_ref().take(horizons).zip(from) {
                *to = ictd_prediction { mean: *mean, low: *low, high: *high };
            }
        }
        surprise.iter_mut().zip(&seen.surprise).for_each(|(to, from)| *to = *from);
    }

    fn reset(&mut self) {
        Predictor::reset(self);
    }

    fn write(&self, buffer: &mut [u8]) -> Result<usize, Error> {
        Ok(Predictor::write(self, buffer)?.len())
    }
}

/// Returns the kind of a predictor: its signals, its horizons, and a mark that it is one.
const fn kind_of(signals: usize, horizons: usize) -> u32 {
    signals as u32 | (horizons as u32) << 8 | 1 << 16
}

/// Calls a macro with the type for some signals.
macro_rules! with_signals {
    ($signals:expr, $otherwise:expr, $of:ident) => {
        match $signals {
            1 => $of!(Predictor<1, 4, 4>),
            2 => $of!(Predictor<2, 6, 4>),
            3 => $of!(Predictor<3, 6, 4>),
            4 => $of!(Predictor<4, 8, 4>),
            _ => $otherwise,
        }
    };
}

/// The predictor in a handle, with its signals and horizons.
type Any<'a> = (&'a mut dyn AnyPredictor, usize, usize);

/// Returns the predictor in a handle.
///
/// # Safety
/// It is null, or storage of 8 bytes or more; behind the first 8 is what the kind says.
unsafe fn any<'a>(predictor: *mut ictd_predictor) -> Result<Any<'a>, ictd_status> {
    // SAFETY: `predictor` is null or initialised storage, by the rules in ictd.h.
    let kind = unsafe { kind(predictor) }?;
    let (signals, horizons) = ((kind & 255) as usize, (kind >> 8 & 255) as usize);
    if kind >> 16 != 1 {
        return Err(ictd_status::BadHandle);
    }
    macro_rules! of {
        ($type:ty) => {{
            // SAFETY: the kind says what lies there, and it is not null.
            let handle = unsafe { &mut *predictor.cast::<Handle<$type>>() };
            Ok((&mut handle.value as &mut dyn AnyPredictor, signals, horizons))
        }};
    }
    with_signals!(signals, Err(ictd_status::BadHandle), of)
}

/// Makes a predictor of 1 to 4 signals in storage of `bytes` bytes (ICTD_PREDICTOR_WORDS), for 1 to 4 horizons of 1 to
/// 1,000,000 samples: `count` floats. Fewer than four horizons are padded by repeating the last one.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_predictor_init(
    storage: *mut ictd_predictor,
    bytes: usize,
    signals: usize,
    horizons: *const f32,
    count: usize,
) -> ictd_status {
    if horizons.is_null() {
        return ictd_status::Null;
    }
    if !(1..=ICTD_MAX_HORIZONS).contains(&count) {
        return ictd_status::OutOfRange;
    }
    // SAFETY: not null, and the caller keeps the rules.
    let given = unsafe { from_raw_parts(horizons, count) };
    // Horizons that are not asked for are the last one again.
    let mut horizons = [given.last().copied().unwrap_or(1.0); ICTD_MAX_HORIZONS];
    horizons.iter_mut().zip(given).for_each(|(to, from)| *to = *from);
    macro_rules! of {
        ($type:ty) => {{
            let made = <$type>::of_signals(horizons);
            // SAFETY: `predictor` is null or initialised storage, by the rules in ictd.h.
            unsafe { make(storage, bytes, kind_of(signals, count), made) }
        }};
    }
    with_signals!(signals, ictd_status::OutOfRange, of)
}

/// Takes the next sample of each signal, of which NaN is one that is missing, and writes a prediction for each signal and each
/// of its horizons, and for each signal a surprise in [0, 1): a threshold of 0.999 means a false alarm in about 1,000 samples.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_predictor_observe(
    predictor: *mut ictd_predictor,
    samples: *const f32,
    predictions: *mut ictd_prediction,
    surprise: *mut f32,
) -> ictd_status {
    // SAFETY: `predictor` is null or initialised storage, by the rules in ictd.h.
    status(unsafe { any(predictor) }.and_then(|(predictor, signals, horizons)| {
        if samples.is_null() || predictions.is_null() || surprise.is_null() {
            return Err(ictd_status::Null);
        }
        // SAFETY: not null, and the caller keeps the rules.
        let (samples, predictions, surprise) = unsafe {
            let predictions = from_raw_parts_mut(predictions, signals * horizons);
            (from_raw_parts(samples, signals), predictions, from_raw_parts_mut(surprise, signals))
        };
        predictor.observe(samples, predictions, surprise);
        Ok(())
    }))
}

/// Forgets all that was observed.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_predictor_reset(predictor: *mut ictd_predictor) -> ictd_status {
    // SAFETY: `predictor` is null or initialised storage, by the rules in ictd.h.
    status(unsafe { any(predictor) }.map(|(predictor, ..)| predictor.reset()))
}

/// Writes a predictor to the front of a buffer of `len` bytes, for example before a deep sleep, and how many bytes it took; its
/// storage's size and 64 are enough.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_predictor_to_bytes(
    predictor: *const ictd_predictor,
    buffer: *mut u8,
    len: usize,
    written: *mut usize,
) -> ictd_status {
    // SAFETY: the caller keeps the rules; nothing is changed.
    match unsafe { any(predictor.cast_mut()) } {
        // SAFETY: `predictor` is null or initialised storage, by the rules in ictd.h.
        Ok((predictor, ..)) => unsafe { write_to(buffer, len, written, |to| predictor.write(to)) },
        Err(status) => status,
    }
}

/// Reads what was written, from the start of `len` bytes, into a predictor of the same number of signals, which goes on where
/// that one stood, to the same bits.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_predictor_from_bytes(
    predictor: *mut ictd_predictor,
    bytes: *const u8,
    len: usize,
) -> ictd_status {
    // SAFETY: `predictor` is null or initialised storage, by the rules in ictd.h.
    let (signals, bytes) = match unsafe { (any(predictor), stored(bytes, len)) } {
        (Err(status), _) => return status,
        (_, None) => return ictd_status::Null,
        (Ok((_, signals, _)), Some(bytes)) => (signals, bytes),
    };
    macro_rules! of {
        ($type:ty) => {{
            // SAFETY: the kind says what lies there.
            let handle = unsafe { &mut *predictor.cast::<Handle<$type>>() };
            match <$type>::from_bytes(bytes) {
                Ok(read) => {
                    handle.value = read;
                    ictd_status::Ok
                }
                Err(error) => error.into(),
            }
        }};
    }
    with_signals!(signals, ictd_status::BadHandle, of)
}

/// Fails the build unless ICTD_PREDICTOR_WORDS has room for what lies in the storage.
const _: () = {
    macro_rules! of {
        ($type:ty) => {
            size_of::<Handle<$type>>()
        };
    }
    let mut signals = 1;
    while signals <= ICTD_MAX_SIGNALS {
        assert!(with_signals!(signals, 0, of) <= 8 * (160 + 200 * signals));
        signals += 1;
    }
};
