//! The predictor of a signal.

use crate::{Handle, ictd_status, kind, make_in, status, stored, write_to};
use core::slice::from_raw_parts;
use ictd_core::predictor::{Outlook, Prediction, Predictor, SampleStatus};

/// A predictor of a signal; several signals have one each.
#[repr(C)]
pub struct ictd_predictor {
    /// Belongs to the library.
    opaque: [u64; ICTD_PREDICTOR_WORDS],
}

const ICTD_PREDICTOR_WORDS: usize = predictor_words(ICTD_MAX_HORIZONS);

/// Returns the words of 8 bytes of a predictor of so many horizons: the header has them.
pub const fn predictor_words(horizons: usize) -> usize {
    84 + 20 * horizons
}

/// The most horizons of a predictor, as the library is built.
pub(crate) const ICTD_MAX_HORIZONS: usize = match () {
    _ if cfg!(feature = "horizons-4") => 4,
    _ if cfg!(feature = "horizons-3") => 3,
    _ if cfg!(feature = "horizons-2") => 2,
    _ => 1,
};

type OfSignal = Predictor<ICTD_MAX_HORIZONS>;

/// A prediction of the weighted mean of the next samples, and a band that contains this mean nine times in ten.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ictd_prediction {
    /// In the signal's unit.
    pub mean: f32,
    /// The lower end of the band; minus infinity while nothing is known.
    pub low: f32,
    /// The upper end of the band; infinity while nothing is known.
    pub high: f32,
    /// Not 0 once the band has ends: the horizon has been seen ten times, and the signal's sizes are between 1e-18 and 5e11.
    pub known: u32,
}

/// What became of a sample.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ictd_sample_status {
    /// The predictor learned from the sample.
    Taken = 0,
    /// There was no sample; its prediction takes its place.
    Missing,
    /// The sample is a probable glitch, outside of the limits, or beyond 1e12; its prediction takes its place.
    HeldBack,
    /// The predictor learned from the sample, and the signal has moved to its level for good.
    Moved,
}

/// The answer to a sample.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ictd_outlook {
    /// A prediction for each horizon; beyond the number of horizons, the last one is repeated.
    pub predictions: [ictd_prediction; 4],
    /// How surprising the last samples were, -ln p; it does not saturate. 0 for a sample that is missing.
    pub depth: f32,
    /// The depth as a number in [0, 1): a threshold of 0.999 means a false alarm in about 1,000 samples. An event passes 0.999
    /// and 0.9999 once each; its other samples stay below 0.999.
    pub surprise: f32,
    /// The largest surprise of the 25 to 50 samples before; as long as an event goes on, its alarm's. An event counts once if an alarm needs surprise > threshold and
    /// recent <= threshold.
    pub recent: f32,
    /// What became of the sample.
    pub status: ictd_sample_status,
}

impl From<Outlook<ICTD_MAX_HORIZONS>> for ictd_outlook {
    fn from(seen: Outlook<ICTD_MAX_HORIZONS>) -> Self {
        let of = |p: Prediction| ictd_prediction {
            mean: p.mean,
            low: p.low,
            high: p.high,
            known: p.known.into(),
        };
        let [.., last] = seen.predictions;
        let mut predictions = [of(last); 4];
        predictions.iter_mut().zip(seen.predictions).for_each(|(to, from)| *to = of(from));
        ictd_outlook {
            predictions,
            depth: seen.depth,
            surprise: seen.surprise,
            recent: seen.recent,
            status: match seen.status {
                SampleStatus::Taken => ictd_sample_status::Taken,
                SampleStatus::Missing => ictd_sample_status::Missing,
                SampleStatus::HeldBack => ictd_sample_status::HeldBack,
                SampleStatus::Moved => ictd_sample_status::Moved,
            },
        }
    }
}

/// The code of a predictor, which nothing else has.
const KIND: u32 = 1 << 16;

/// Returns the predictor in a handle.
///
/// # Safety
/// It is null, or storage of 8 bytes or more; behind the first 8 is what the kind says.
unsafe fn of<'a>(predictor: *mut ictd_predictor) -> Result<&'a mut OfSignal, ictd_status> {
    // SAFETY: `predictor` is null or initialised storage, by the rules in ictd.h.
    if unsafe { kind(predictor.cast()) }? != KIND {
        return Err(ictd_status::BadHandle);
    }
    // SAFETY: the pointer is not null, and the kind names the type of the value.
    Ok(unsafe { &mut (*predictor.cast::<Handle<OfSignal>>()).value })
}

/// Makes a predictor in its storage of `bytes` bytes, for 1 to 4 horizons of 1 to 1,000,000 samples: `count` floats. If they are
/// fewer, the last one is repeated. More than the library was built for are out of range; storage that was declared for fewer is
/// refused as too small.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_predictor_init(
    storage: *mut ictd_predictor,
    bytes: usize,
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
    // The last horizon fills the places of those that are not used.
    let mut horizons = [given.last().copied().unwrap_or(1.0); ICTD_MAX_HORIZONS];
    horizons.iter_mut().zip(given).for_each(|(to, from)| *to = *from);
    // SAFETY: `storage` is null or what the caller says, by the rules in ictd.h.
    unsafe {
        make_in(storage.cast(), bytes, KIND, |place| OfSignal::new_in(place, horizons).map(|_| ()))
    }
}

/// Sets what the sensor can measure, `low` < `high`: samples outside of it are never learned from.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_predictor_set_limits(
    predictor: *mut ictd_predictor,
    low: f32,
    high: f32,
) -> ictd_status {
    // SAFETY: `predictor` is null or initialised storage, by the rules in ictd.h.
    status(unsafe { of(predictor) }.and_then(|predictor| Ok(predictor.set_limits(low, high)?)))
}

/// Takes the next sample, and writes the predictions. NaN means that the sample is missing; with compilers that assume that
/// there is no NaN, call ictd_predictor_observe_missing instead.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_predictor_observe(
    predictor: *mut ictd_predictor,
    sample: f32,
    outlook: *mut ictd_outlook,
) -> ictd_status {
    // SAFETY: the caller keeps the rules.
    unsafe { observe(predictor, Some(sample), outlook) }
}

/// Takes note that the next sample is missing, and writes the predictions.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_predictor_observe_missing(
    predictor: *mut ictd_predictor,
    outlook: *mut ictd_outlook,
) -> ictd_status {
    // SAFETY: the caller keeps the rules.
    unsafe { observe(predictor, None, outlook) }
}

/// Takes a sample or none.
///
/// # Safety
/// The rules at the head of ictd.h.
unsafe fn observe(
    predictor: *mut ictd_predictor,
    sample: Option<f32>,
    outlook: *mut ictd_outlook,
) -> ictd_status {
    // SAFETY: `predictor` is null or initialised storage, by the rules in ictd.h.
    status(unsafe { of(predictor) }.and_then(|predictor| {
        // SAFETY: null or writable, by the rules in ictd.h.
        let outlook = unsafe { outlook.as_mut() }.ok_or(ictd_status::Null)?;
        *outlook = predictor.observe(sample).into();
        Ok(())
    }))
}

/// Forgets all that was observed; horizons and limits stay.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_predictor_reset(predictor: *mut ictd_predictor) -> ictd_status {
    // SAFETY: `predictor` is null or initialised storage, by the rules in ictd.h.
    status(unsafe { of(predictor) }.map(Predictor::reset))
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
    status(unsafe { of(predictor.cast_mut()) }.and_then(|predictor| {
        // SAFETY: null or writable, by the rules in ictd.h.
        unsafe { write_to(buffer, len, written, |to| Ok(predictor.write(to)?.len())) }
    }))
}

/// Reads a stored predictor from the start of `len` bytes. The predictor then continues like the stored one, with the same
/// bits.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_predictor_from_bytes(
    predictor: *mut ictd_predictor,
    bytes: *const u8,
    len: usize,
) -> ictd_status {
    // SAFETY: both are null or what they mean, by the rules in ictd.h.
    status(unsafe { of(predictor) }.and_then(|predictor| {
        // SAFETY: null or readable, by the rules in ictd.h.
        let bytes = unsafe { stored(bytes, len) }.ok_or(ictd_status::Null)?;
        Ok(predictor.read(bytes)?)
    }))
}

/// Fails the build unless the header's type has room for the predictor, and is aligned like it.
const _: () = {
    assert!(size_of::<Handle<OfSignal>>() <= size_of::<ictd_predictor>());
    assert!(align_of::<Handle<OfSignal>>() <= align_of::<ictd_predictor>());
};
