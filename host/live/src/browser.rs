//! The functions that the page calls. They return 0 for done, else the code of a refusal, whose words the page has.

use crate::{Kind, Live, MAX_STATES, Signals};
use core::cell::RefCell;
use core::sync::atomic::{AtomicU32, Ordering};
use ictd_core::error::Error;

struct Page<T>(RefCell<Option<T>>);

// SAFETY: a WebAssembly module without threads: there is one caller at a time.
unsafe impl<T> Sync for Page<T> {}

static PAGE: Page<Live> = Page(RefCell::new(None));
static SIGNALS: Page<Signals> = Page(RefCell::new(None));

/// The weights of the row that [`edit`] will set, as bits.
static ROW: [AtomicU32; MAX_STATES] = [const { AtomicU32::new(0) }; MAX_STATES];

fn code(result: Result<(), Error>) -> u32 {
    match result {
        Ok(()) => 0,
        Err(Error::Singular { .. }) => 1,
        Err(Error::NonFinite { .. }) => 2,
        Err(_) => 3,
    }
}

impl<T> Page<T> {
    fn change(
        &self,
        new: impl FnOnce() -> Result<T, Error>,
        f: impl FnOnce(&mut T) -> Result<(), Error>,
    ) -> u32 {
        let Ok(mut page) = self.0.try_borrow_mut() else { return 3 };
        if page.is_none() {
            *page = new().ok();
        }
        page.as_mut().map_or(3, |it| code(f(it)))
    }

    fn read<R: Default>(&self, f: impl FnOnce(&T) -> R) -> R {
        self.0.try_borrow().ok().and_then(|page| page.as_ref().map(f)).unwrap_or_default()
    }
}

fn change(f: impl FnOnce(&mut Live) -> Result<(), Error>) -> u32 {
    PAGE.change(Live::new, f)
}

fn read<T: Default>(f: impl FnOnce(&Live) -> T) -> T {
    PAGE.read(f)
}

#[unsafe(no_mangle)]
extern "C" fn sample(kind: u32, states: u32, seed: u32) -> u32 {
    let kind = match kind {
        0 => Kind::RandomMdp,
        1 => Kind::BoyanChain,
        2 => Kind::Loop,
        _ => Kind::Ring,
    };
    change(|live| live.sample(kind, states as usize, seed))
}

#[unsafe(no_mangle)]
extern "C" fn weight(next: u32, weight: f32) {
    if let Some(w) = ROW.get(next as usize) {
        w.store(weight.to_bits(), Ordering::Relaxed);
    }
}

#[unsafe(no_mangle)]
extern "C" fn edit(state: u32, reward: f32) -> u32 {
    let row = ROW.each_ref().map(|w| f32::from_bits(w.load(Ordering::Relaxed)));
    change(|live| live.edit(state as usize, &row, reward))
}

#[unsafe(no_mangle)]
extern "C" fn construct(alpha: f32, depth: u32) -> u32 {
    change(|live| live.construct(alpha, depth.min(u16::MAX.into()) as u16))
}

#[unsafe(no_mangle)]
extern "C" fn reset() -> u32 {
    change(|live| {
        live.reset();
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn step() -> u32 {
    change(Live::step)
}

#[unsafe(no_mangle)]
extern "C" fn states() -> u32 {
    read(|live| live.states() as u32)
}

#[unsafe(no_mangle)]
extern "C" fn probability(s: u32, next: u32) -> f32 {
    read(|live| live.probability(s as usize, next as usize))
}

#[unsafe(no_mangle)]
extern "C" fn reward(s: u32) -> f32 {
    read(|live| live.reward(s as usize))
}

#[unsafe(no_mangle)]
extern "C" fn true_value(s: u32) -> f32 {
    read(|live| live.true_value(s as usize))
}

#[unsafe(no_mangle)]
extern "C" fn least_msve() -> f32 {
    read(Live::least_msve)
}

#[unsafe(no_mangle)]
extern "C" fn state() -> u32 {
    read(|live| live.state() as u32)
}

#[unsafe(no_mangle)]
extern "C" fn len() -> u32 {
    read(|live| live.len() as u32)
}

#[unsafe(no_mangle)]
extern "C" fn value(model: u32, s: u32) -> f32 {
    read(|live| live.prediction(model as usize).values.get(s as usize).copied().unwrap_or(f32::NAN))
}

#[unsafe(no_mangle)]
extern "C" fn msve(model: u32) -> f32 {
    read(|live| live.prediction(model as usize).msve)
}

#[unsafe(no_mangle)]
extern "C" fn token(i: u32) -> f32 {
    read(|live| live.token().get(i as usize).copied().unwrap_or(0.0))
}

#[unsafe(no_mangle)]
extern "C" fn statistic(i: u32, j: u32) -> f32 {
    read(|live| live.statistic(i as usize, j as usize))
}

/// Returns the digest of everything since the last reset.
#[unsafe(no_mangle)]
extern "C" fn digest() -> u64 {
    read(Live::digest)
}

#[unsafe(no_mangle)]
extern "C" fn signals_reset(seed: u32) -> u32 {
    let Ok(mut page) = SIGNALS.0.try_borrow_mut() else { return 3 };
    *page = Signals::new(seed).ok();
    if page.is_some() { 0 } else { 3 }
}

/// Takes the next sample of the random signals.
#[unsafe(no_mangle)]
extern "C" fn signals_next() -> u32 {
    SIGNALS.change(|| Signals::new(0), |signals| Ok(signals.advance()))
}

/// Takes the next sample (x, y).
#[unsafe(no_mangle)]
extern "C" fn signals_observe(x: f32, y: f32) -> u32 {
    SIGNALS.change(|| Signals::new(0), |signals| Ok(signals.observe([x, y])))
}

#[unsafe(no_mangle)]
extern "C" fn signals_value(s: u32) -> f32 {
    SIGNALS.read(|signals| signals.values().get(s as usize).copied().unwrap_or(f32::NAN))
}

/// Returns a prediction's mean (0), or the lower (1) or upper end (2) of its band.
#[unsafe(no_mangle)]
extern "C" fn signals_prediction(s: u32, horizon: u32, part: u32) -> f32 {
    SIGNALS.read(|signals| {
        let of_signal = signals.seen().and_then(|seen| seen.predictions.get(s as usize).copied());
        match (of_signal.and_then(|p| p.get(horizon as usize).copied()), part) {
            (Some(p), 0) => p.mean,
            (Some(p), 1) => p.low,
            (Some(p), _) => p.high,
            (None, _) => f32::NAN,
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn signals_surprise(s: u32) -> f32 {
    SIGNALS.read(|signals| {
        let surprise = signals.seen().and_then(|seen| seen.surprise.get(s as usize).copied());
        surprise.unwrap_or(f32::NAN)
    })
}

#[unsafe(no_mangle)]
extern "C" fn signals_digest() -> u64 {
    SIGNALS.read(Signals::digest)
}

/// See [`crate::story`].
#[unsafe(no_mangle)]
extern "C" fn story() -> u64 {
    crate::story().unwrap_or(0)
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    core::arch::wasm32::unreachable()
}
