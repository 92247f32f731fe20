//! The functions that the page calls. A function that changes something returns 0 on success, else an error code, for which the
//! page has the message.

use crate::{Kind, Live, MAX_STATES, Signals};
use core::cell::RefCell;
use ictd_core::error::Error;

/// What the page shows, and the weights of the row that [`edit`] will set.
struct Page {
    live: Live,
    signals: Signals,
    row: [f32; MAX_STATES],
}

struct Cell(RefCell<Option<Page>>);

// SAFETY: a WebAssembly module without threads: there is one caller at a time.
unsafe impl Sync for Cell {}

static PAGE: Cell = Cell(RefCell::new(None));

impl Page {
    fn new() -> Result<Self, Error> {
        Ok(Page { live: Live::new()?, signals: Signals::new(0)?, row: [0.0; MAX_STATES] })
    }
}

fn change(f: impl FnOnce(&mut Page) -> Result<(), Error>) -> u32 {
    let Ok(mut page) = PAGE.0.try_borrow_mut() else { return 3 };
    if page.is_none() {
        *page = Page::new().ok();
    }
    match page.as_mut().map(f) {
        Some(Ok(())) => 0,
        Some(Err(Error::Singular { .. })) => 1,
        Some(Err(Error::NonFinite { .. })) => 2,
        Some(Err(_)) | None => 3,
    }
}

fn read_page<R>(f: impl FnOnce(&Page) -> Option<R>) -> Option<R> {
    PAGE.0.try_borrow().ok().and_then(|page| page.as_ref().and_then(f))
}

#[unsafe(no_mangle)]
extern "C" fn sample(kind: u32, states: u32, seed: u32) -> u32 {
    let kind = match kind {
        0 => Kind::RandomMdp,
        1 => Kind::BoyanChain,
        2 => Kind::Loop,
        _ => Kind::Ring,
    };
    change(|page| page.live.sample(kind, states as usize, seed))
}

#[unsafe(no_mangle)]
extern "C" fn weight(next: u32, weight: f32) {
    change(|page| Ok(page.row.iter_mut().skip(next as usize).take(1).for_each(|w| *w = weight)));
}

#[unsafe(no_mangle)]
extern "C" fn edit(state: u32, reward: f32) -> u32 {
    change(|page| page.live.edit(state as usize, &page.row, reward))
}

#[unsafe(no_mangle)]
extern "C" fn construct(alpha: f32, depth: u32) -> u32 {
    change(|page| page.live.construct(alpha, depth.min(u16::MAX.into()) as u16))
}

#[unsafe(no_mangle)]
extern "C" fn reset() -> u32 {
    change(|page| Ok(page.live.reset()))
}

#[unsafe(no_mangle)]
extern "C" fn step() -> u32 {
    change(|page| page.live.step())
}

/// Returns a number that the page shows; `live.js` has the list of names.
#[unsafe(no_mangle)]
extern "C" fn read(what: u32, i: u32, j: u32) -> f32 {
    let (i, j) = (i as usize, j as usize);
    let number = |page: &Page| {
        let live = &page.live;
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
    read_page(number).unwrap_or(f32::NAN)
}

/// Returns the digest of everything since the last reset.
#[unsafe(no_mangle)]
extern "C" fn digest() -> u64 {
    read_page(|page| Some(page.live.digest.value())).unwrap_or(0)
}

#[unsafe(no_mangle)]
extern "C" fn signals_reset(seed: u32) -> u32 {
    change(|page| Signals::new(seed).map(|signals| page.signals = signals))
}

/// Observes the next sample of the random signals.
#[unsafe(no_mangle)]
extern "C" fn signals_next() -> u32 {
    change(|page| Ok(page.signals.advance()))
}

/// Observes the next sample (x, y).
#[unsafe(no_mangle)]
extern "C" fn signals_observe(x: f32, y: f32) -> u32 {
    change(|page| Ok(page.signals.observe([x, y])))
}

/// Returns a signal's value (0) or surprise (1) or, at a horizon, its prediction's mean (2) or the lower (3) or upper end (4)
/// of its band.
#[unsafe(no_mangle)]
extern "C" fn signals_read(what: u32, s: u32, horizon: u32) -> f32 {
    let (s, horizon) = (s as usize, horizon as usize);
    let number = |page: &Page| {
        let signals = &page.signals;
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
    read_page(number).unwrap_or(f32::NAN)
}

#[unsafe(no_mangle)]
extern "C" fn signals_digest() -> u64 {
    read_page(|page| Some(page.signals.digest.value())).unwrap_or(0)
}

#[unsafe(no_mangle)]
extern "C" fn story() -> u64 {
    crate::story().unwrap_or(0)
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    core::arch::wasm32::unreachable()
}
