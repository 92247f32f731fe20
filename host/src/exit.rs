//! Ends every command with one of the [exit codes](crate::guide::commands) and, with `--json`, one object on stdout.

use crate::error::Error;
use crate::program::{printable, printable_json};
use crate::run::{lock, progress};
use std::any::Any;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

static JSON: AtomicBool = AtomicBool::new(false);
/// A lock that is held while the answer is printed; true afterwards, so that only one answer is printed.
static ANSWERED: Mutex<bool> = Mutex::new(false);
static PANICKED: Mutex<Option<String>> = Mutex::new(None);

/// The time in which a command must stop by itself; most stop after the current task.
const GRACE: Duration = Duration::from_secs(2);

pub fn begin(json: bool) {
    JSON.store(json, Ordering::Relaxed);
    *ANSWERED.lock().unwrap_or_else(PoisonError::into_inner) = false;
}

/// Prints the command's result, and returns the exit code. A closed pipe (`ictd | head`) is not an error.
pub fn answer(text: &str, code: u8) -> u8 {
    let text = if is_json() { printable_json(text) } else { printable(text) };
    let mut answered = ANSWERED.lock().unwrap_or_else(PoisonError::into_inner);
    if std::mem::replace(&mut *answered, true) {
        return code;
    }
    match print(&text) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            line(&Error::Stdout(error));
            2
        }
        _ => code,
    }
}

pub fn answer_text(text: &str) -> u8 {
    let object = serde_json::json!({ "text": text.trim_end() }).to_string();
    answer(if is_json() { &object } else { text }, 0)
}

pub fn fail(error: &Error) -> u8 {
    let code = error.exit_code();
    line(error);
    if is_json() {
        let object = serde_json::json!({ "error": error.one_line(), "exit_code": code });
        return answer(&object.to_string(), code);
    }
    *ANSWERED.lock().unwrap_or_else(PoisonError::into_inner) = true;
    code
}

fn is_json() -> bool {
    JSON.load(Ordering::Relaxed)
}

fn line(error: &Error) {
    let _ = writeln!(io::stderr(), "error: {}", error.one_line());
}

fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        stdout.write_all(b"\n")?;
    }
    stdout.flush()
}

pub fn catch_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|at| format!(" ({}:{})", at.file(), at.line()));
        let text = format!("{}{}", said(panic.payload()), place.unwrap_or_default());
        PANICKED.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(text);
    }));
}

pub fn panicked(payload: &(dyn Any + Send)) -> Error {
    let place = PANICKED.lock().unwrap_or_else(PoisonError::into_inner).take();
    Error::Defect(place.unwrap_or_else(|| said(payload)))
}

fn said(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no reason".into())
}

/// Installs handlers: the first Ctrl-C (SIGTERM, SIGHUP) makes the command stop; if it does not within two seconds, or at the
/// second one, the process ends. A signal that is ignored stays so: `nohup`.
pub fn catch_interrupts() {
    static CAUGHT: AtomicBool = AtomicBool::new(false);
    if CAUGHT.swap(true, Ordering::SeqCst) {
        return;
    }
    let interrupted = move || {
        if progress::interrupt() {
            stop();
        }
        beside(move || {
            std::thread::sleep(GRACE);
            stop();
        });
    };
    #[cfg(unix)]
    {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
        // A file beyond the size that the shell allows is then an error of the write.
        let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
        let caught = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal));
        // Without a handler a signal ends the process at once.
        let Ok(mut signals) = signal_hook::iterator::Signals::new(caught) else { return };
        beside(move || signals.forever().for_each(|_| interrupted()));
    }
    #[cfg(not(unix))]
    {
        let flag = Arc::new(AtomicBool::new(false));
        let _ = signal_hook::flag::register(signal_hook::consts::SIGINT, flag.clone());
        beside(move || {
            loop {
                std::thread::sleep(Duration::from_millis(50));
                if flag.swap(false, Ordering::SeqCst) {
                    interrupted();
                }
            }
        });
    }
}

/// Runs `work` on a new thread. If the system cannot start one, a signal has its default effect.
fn beside(work: impl FnOnce() + Send + 'static) {
    let _ = std::thread::Builder::new().stack_size(1 << 20).spawn(work);
}

/// Ends the process at any point, unless it has printed its answer and ends by itself.
fn stop() {
    for _ in 0..20 {
        let answered = ANSWERED.try_lock().map(|answered| *answered);
        if let Ok(false) = answered {
            fail(&Error::Stopped);
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    lock::release_all();
    std::process::exit(130);
}

#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = crate::files::read("/proc/self/status".as_ref(), crate::files::TEXT);
    let status = String::from_utf8(status.unwrap_or_default()).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // If the mask is unknown, count SIGHUP as ignored: no handler is installed, so it ends the process, as by default.
    mask.map_or(signal == signal_hook::consts::SIGHUP, |mask| mask >> (signal - 1) & 1 == 1)
}
