//! Contexts of 1 to 16 features, and the universal model's value of a state.

use crate::{Handle, ictd_status, kind, make_in, status, stored, write_to};
use core::mem::MaybeUninit;
use core::slice::from_raw_parts;
use ictd_core::context::{Context, Forgetting, Growing, Memory};
use ictd_core::mask::Td0Trace;
#[cfg(feature = "trainer")]
use ictd_core::statistic::Statistic;
use ictd_core::universal::Estimate;
use ictd_core::{Error, UniversalModel};

/// A context that transitions stream into: the first member of ICTD_CONTEXT and ICTD_FORGETTING, which are its storage.
#[repr(C)]
pub struct ictd_context {
    /// Belongs to the library.
    opaque: [u64; 1],
}

/// The most features.
pub const ICTD_MAX_FEATURES: usize = 16;

/// The value function that the universal model estimates from a context: v(s) = level + <weights, features>, clipped. Without the level, the weights give no value.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ictd_value_function {
    /// The number of features.
    pub features: u32,
    /// How far values look linear in the features, from 0 to 1 (also 1 if no level was subtracted). Near 0, better features would help.
    pub linearity: f32,
    /// The value where all features are 0.
    pub level: f32,
    /// The lowest and the highest value.
    pub value_clip: [f32; 2],
    /// One weight for each feature; zeros beyond.
    pub weights: [f32; ICTD_MAX_FEATURES],
    /// Largest absolute value of each feature of a query; larger ones are clipped to it.
    pub feature_clip: [f32; ICTD_MAX_FEATURES],
}

/// The context in a handle, with its discount: a model makes its traces from that.
struct OfFeatures<const D: usize, W: Memory<f32>> {
    gamma: f32,
    context: Context<D, Td0Trace, W>,
}

/// Returns the features, with zeros for those that there is only room for.
fn padded<const D: usize>(features: &[f32]) -> [f32; D] {
    let mut phi = [0.0; D];
    phi.iter_mut().zip(features).for_each(|(to, from)| *to = *from);
    phi
}

/// What can be done with a context. Each function is one of its own for each size, so that a call takes the stack of its size alone.
impl<const D: usize, W: Memory<f32>> OfFeatures<D, W> {
    #[inline(never)]
    fn new_in(place: &mut MaybeUninit<Self>, gamma: f32, retention: f32) -> Result<(), Error> {
        let mask = *UniversalModel::<f32>::new(gamma)?.mask();
        let memory = W::from_retention(retention)?;
        place.write(OfFeatures { gamma, context: Context::with_memory(mask, memory) });
        Ok(())
    }

    #[inline(never)]
    fn observe(&mut self, phi: &[f32], reward: f32, next: Option<&[f32]>) -> Result<(), Error> {
        match next {
            Some(next) => self.context.observe(&padded(phi), reward, &padded(next)),
            None => self.context.observe_terminal(&padded(phi), reward),
        }
    }

    #[inline(never)]
    fn estimate(&self, out: &mut ictd_value_function) -> Result<(), Error> {
        let model = UniversalModel::<f32>::new(self.gamma)?;
        let Estimate { value_function, linearity } = model.estimate(&self.context, model.gvf(0))?;
        out.linearity = linearity;
        out.value_clip = value_function.value_clip;
        out.level = value_function.level;
        out.weights = padded(value_function.weights.as_slice());
        out.feature_clip = padded(&value_function.feature_clip);
        Ok(())
    }

    #[inline(never)]
    fn write(&self, features: usize, buffer: &mut [u8]) -> Result<usize, Error> {
        let Some((first, rest)) = buffer.split_first_mut() else {
            return Ok(self.context.write(buffer)?.len());
        };
        *first = features as u8;
        Ok(1 + self.context.write(rest)?.len())
    }

    #[inline(never)]
    fn read(&mut self, features: usize, bytes: &[u8]) -> Result<(), Error> {
        match bytes.split_first() {
            Some((first, _)) if usize::from(*first) != features => {
                Err(Error::Mismatch { parameter: "features" })
            }
            first => self.context.read(first.map_or(bytes, |(_, rest)| rest)),
        }
    }
}

#[cfg(feature = "trainer")]
impl<W: Memory<f32>> OfFeatures<4, W> {
    fn statistic(&self, gamma: f32) -> Result<(Statistic<f32, 9>, f32), ictd_status> {
        if gamma != self.gamma {
            return Err(ictd_status::Mismatch);
        }
        Ok((self.context.statistic(gamma, 0)?, self.context.max_abs_reward(0)))
    }
}

/// Returns the kind of a context: its number of features, and 256 if it forgets.
const fn kind_of(features: usize, forgets: bool) -> u32 {
    features as u32 | if forgets { 256 } else { 0 }
}

/// Evaluates an expression with the type of the contexts of a kind; another one if the build has none.
macro_rules! of_kind {
    ($kind:expr, $Of:ident => $call:expr, else $none:expr) => {
        of_kind!(@ $kind, $Of => $call, else $none;
            1..=4, 0, 4, Growing, "capacity-4", "growing";
            5..=8, 0, 8, Growing, "capacity-8", "growing";
            9..=16, 0, 16, Growing, "capacity-16", "growing";
            1..=4, 1, 4, Forgetting, "capacity-4", "forgetting";
            5..=8, 1, 8, Forgetting, "capacity-8", "forgetting";
            9..=16, 1, 16, Forgetting, "capacity-16", "forgetting")
    };
    (@ $kind:expr, $Of:ident => $call:expr, else $none:expr;
        $($features:pat, $forgets:literal, $d:literal, $Window:ident, $capacity:literal, $window:literal);*) => {
        match ($kind & 255, $kind >> 8) {
            $(
                #[cfg(all(feature = $capacity, feature = $window))]
                ($features, $forgets) => {
                    type $Of = OfFeatures<$d, $Window>;
                    $call
                }
            )*
            _ => $none,
        }
    };
}

/// Calls a method of the context in a handle.
macro_rules! with_context {
    ($context:expr, |$value:ident, $features:ident| $call:expr) => {
        // SAFETY: it is null or initialised storage, by the rules in ictd.h.
        unsafe { kind($context.cast()) }.and_then(|kind| {
            let $features = (kind & 255) as usize;
            of_kind!(kind, Of => {
                // SAFETY: the pointer is not null, and the kind names the type of the value.
                let $value = unsafe { &mut (*$context.cast::<Handle<Of>>()).value };
                $call
            }, else Err(ictd_status::BadHandle))
        })
    };
}

/// Makes a context in storage of `bytes` bytes, for 1 to 16 features and a discount gamma in [0, 1). With a retention
/// of 1 it remembers every transition (ICTD_CONTEXT); a retention in (0, 1) multiplies the weight of the past at
/// each transition (ICTD_FORGETTING): 0.995 remembers about the last 200. What the build leaves out is out of range.
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
    if !(1..=ICTD_MAX_FEATURES).contains(&features) {
        return ictd_status::OutOfRange;
    }
    let kind = kind_of(features, retention != 1.0);
    // SAFETY: `storage` is null or what the caller says, by the rules in ictd.h.
    of_kind!(kind, Of => unsafe {
        make_in(storage.cast(), bytes, kind, |place| Of::new_in(place, gamma, retention))
    }, else ictd_status::OutOfRange)
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
    status(with_context!(context, |context, features| {
        if phi.is_null() {
            return Err(ictd_status::Null);
        }
        // SAFETY: not null, and the caller keeps the rules.
        let (phi, next) = unsafe {
            let next = (!phi_next.is_null()).then(|| from_raw_parts(phi_next, features));
            (from_raw_parts(phi, features), next)
        };
        Ok(context.observe(phi, reward, next)?)
    }))
}

/// Ends an episode that did not terminate: the next transition does not follow the last one.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_context_end_episode(context: *mut ictd_context) -> ictd_status {
    status(with_context!(context, |context, _features| {
        context.context.end_episode();
        Ok(())
    }))
}

/// Forgets every transition.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_context_clear(context: *mut ictd_context) -> ictd_status {
    status(with_context!(context, |context, _features| {
        context.context.clear();
        Ok(())
    }))
}

/// Returns how many transitions were observed; 0 if the pointer is not a context.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_context_len(context: *const ictd_context) -> u64 {
    // The caller keeps the rules; nothing is changed.
    let context = context.cast_mut();
    with_context!(context, |context, _features| Ok(context.context.len())).unwrap_or(0)
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
    // The caller keeps the rules; nothing is changed.
    let context = context.cast_mut();
    status(with_context!(context, |context, features| {
        if value_function.is_null() {
            return Err(ictd_status::Null);
        }
        let zeros = [0.0; ICTD_MAX_FEATURES];
        let features = features as u32;
        let mut read = ictd_value_function {
            features,
            linearity: 0.0,
            level: 0.0,
            value_clip: [0.0; 2],
            weights: zeros,
            feature_clip: zeros,
        };
        context.estimate(&mut read)?;
        // SAFETY: not null, and the caller keeps the rules.
        unsafe { value_function.write(read) };
        Ok(())
    }))
}

/// Returns the statistic and the largest reward of a context of `features` features, 1 to 4, whose discount must be gamma.
///
/// # Safety
/// The rules at the head of ictd.h.
#[cfg(feature = "trainer")]
pub(crate) unsafe fn statistic(
    context: *const ictd_context,
    features: u32,
    gamma: f32,
) -> Result<(Statistic<f32, 9>, f32), ictd_status> {
    // SAFETY: it is null or initialised storage, by the rules in ictd.h.
    let kind = unsafe { kind(context.cast()) }?;
    if kind & 255 != features || !(1..=4).contains(&features) {
        return Err(ictd_status::Mismatch);
    }
    match kind >> 8 {
        #[cfg(feature = "growing")]
        // SAFETY: the pointer is not null, and the kind names the type of the value.
        0 => unsafe { &(*context.cast::<Handle<OfFeatures<4, Growing>>>()).value }.statistic(gamma),
        #[cfg(feature = "forgetting")]
        // SAFETY: the pointer is not null, and the kind names the type of the value.
        1 => unsafe { &(*context.cast::<Handle<OfFeatures<4, Forgetting>>>()).value }
            .statistic(gamma),
        _ => Err(ictd_status::BadHandle),
    }
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
        weights: of.weights.into(),
        level: of.level,
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
    // The caller keeps the rules; nothing is changed.
    let context = context.cast_mut();
    status(with_context!(context, |context, features| {
        // SAFETY: both are null or what they mean, by the rules in ictd.h.
        unsafe { write_to(buffer, len, written, |to| context.write(features, to)) }
    }))
}

/// Reads a stored context of `len` bytes into a context with the same features, discount and retention. It then continues like
/// the stored context, with the same bits.
///
/// # Safety
/// The rules at the head of ictd.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ictd_context_from_bytes(
    context: *mut ictd_context,
    bytes: *const u8,
    len: usize,
) -> ictd_status {
    status(with_context!(context, |context, features| {
        // SAFETY: null or readable, by the rules in ictd.h.
        Ok(context.read(features, unsafe { stored(bytes, len) }.ok_or(ictd_status::Null)?)?)
    }))
}

/// Fails the build unless the header's types have room for the contexts, and are aligned like them.
const _: () = {
    const fn fits<const D: usize>() {
        assert!(size_of::<Handle<OfFeatures<D, Growing>>>() <= 8 * growing_words(D));
        assert!(size_of::<Handle<OfFeatures<D, Forgetting>>>() <= 8 * forgetting_words(D));
        assert!(align_of::<Handle<OfFeatures<D, Growing>>>() <= align_of::<ictd_context>());
        assert!(align_of::<Handle<OfFeatures<D, Forgetting>>>() <= align_of::<ictd_context>());
    }
    fits::<4>();
    fits::<8>();
    fits::<16>();
};

/// Returns the words of 8 bytes of a context that remembers every transition, for a capacity of d features: the header has them.
pub const fn growing_words(d: usize) -> usize {
    12 * d * d + 23 * d + 28
}

/// Returns the words of a context that forgets.
pub const fn forgetting_words(d: usize) -> usize {
    3 * d * d + 7 * d + 20
}
