//! The functions that the page calls. A function that changes something returns 0 on success, else an error code, for which the
//! page has the message.

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

    fn read<R>(&self, f: impl FnOnce(&T) -> R) -> Option<R> {
        self.0.try_borrow().ok().and_then(|page| page.as_ref().map(f))
    }
}

fn change(f: impl FnOnce(&mut Live) -> Result<(), Error>) -> u32 {
    PAGE.change(Live::new, f)
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

/// Returns a number that the page shows; `live.js` has the list of names.
#[unsafe(no_mangle)]
extern "C" fn read(what: u32, i: u32, j: u32) -> f32 {
    let (i, j) = (i as usize, j as usize);
    let number = |live: &Live| {
        let (chain, prediction) = (&live.chain, live.predictions.get(i));
        match what {
            0 => Some(chain.task.states() as f32),
            1 => Some(live.state as f32),
            2 => Some(live.context.len() as f32),
            3 => Some(chain.least_msve),
            4 => chain.task.transition_from(i).get(j).copied(),
            5 => chain.task.reward().get(i).copied(),
            6 => chain.value.get(i).copied(),
            7 => prediction.map(|of| of.msve),
            8 => prediction?.values.get(j).copied(),
            9 => live.token.get(i).copied(),
            _ => Some(live.statistic(i, j)),
        }
    };
    PAGE.read(number).flatten().unwrap_or(f32::NAN)
}

/// Returns the digest of everything since the last reset.
#[unsafe(no_mangle)]
extern "C" fn digest() -> u64 {
    PAGE.read(|live| live.digest.value()).unwrap_or(0)
}

#[unsafe(no_mangle)]
extern "C" fn signals_reset(seed: u32) -> u32 {
    let Ok(mut page) = SIGNALS.0.try_borrow_mut() else { return 3 };
    *page = Signals::new(seed).ok();
    if page.is_some() { 0 } else { 3 }
}

/// Observes the next sample of the random signals.
#[unsafe(no_mangle)]
extern "C" fn signals_next() -> u32 {
    SIGNALS.change(|| Signals::new(0), |signals| Ok(signals.advance()))
}

/// Observes the next sample (x, y).
#[unsafe(no_mangle)]
extern "C" fn signals_observe(x: f32, y: f32) -> u32 {
    SIGNALS.change(|| Signals::new(0), |signals| Ok(signals.observe([x, y])))
}

/// Returns a signal's value (0) or surprise (1) or, at a horizon, its prediction's mean (2) or the lower (3) or upper end (4)
/// of its band.
#[unsafe(no_mangle)]
extern "C" fn signals_read(what: u32, s: u32, horizon: u32) -> f32 {
    let (s, horizon) = (s as usize, horizon as usize);
    let number = |signals: &Signals| {
        let seen = signals.seen.as_ref().and_then(|seen| seen.get(s));
        let prediction = || seen?.predictions.get(horizon);
        match what {
            0 => signals.values.get(s).copied(),
            1 => Some(seen?.surprise),
            2 => Some(prediction()?.mean),
            3 => Some(prediction()?.low),
            _ => Some(prediction()?.high),
        }
    };
    SIGNALS.read(number).flatten().unwrap_or(f32::NAN)
}

#[unsafe(no_mangle)]
extern "C" fn signals_digest() -> u64 {
    SIGNALS.read(|signals| signals.digest.value()).unwrap_or(0)
}

#[unsafe(no_mangle)]
extern "C" fn story() -> u64 {
    crate::story().unwrap_or(0)
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    core::arch::wasm32::unreachable()
}
