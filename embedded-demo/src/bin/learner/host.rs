//! The device on the host, and the long run that makes its checkpoint.

use crate::EXPECTED;
use crate::console::line;
use crate::learning::{End, Flash, NO_WORK, PAGE, STORED_TASKS, error_of, model, run, trainer};
use ictd_core::model::ConstructionSettings;
use ictd_core::{Error, Model};
use std::path::Path;
use std::process::ExitCode;

/// Pages that are erased when the power comes for the first time.
struct Pages([[u8; PAGE]; 2]);

impl Flash for Pages {
    fn page(&self, page: usize) -> &[u8; PAGE] {
        &self.0[page]
    }

    fn erase(&mut self, page: usize) {
        self.0[page] = [0xff; PAGE];
    }

    fn write(&mut self, page: usize, at: usize, word: u32) {
        self.0[page][4 * at..][..4].copy_from_slice(&word.to_le_bytes());
    }
}

pub(crate) fn main() -> ExitCode {
    let result = match std::env::args_os().nth(1) {
        None => device(),
        Some(file) => train(Path::new(&file)).map(|()| true),
    };
    match result {
        Ok(is_expected) => ExitCode::from(u8::from(!is_expected)),
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

/// Runs the device until it is done; true if its digest is the expected one.
fn device() -> Result<bool, String> {
    let mut flash = Pages([[0xff; PAGE]; 2]);
    loop {
        if let End::Digest(digest) =
            run(&mut flash, |trainer| trainer.train_batch()).map_err(text)?
        {
            line!("digest ", digest);
            return Ok(digest == EXPECTED);
        }
    }
}

/// Trains from nothing, shows how the error falls, and writes the checkpoint.
fn train(file: &Path) -> Result<(), String> {
    const TASKS: std::ops::Range<u64> = 2_000_000..2_000_400;
    let mut work = NO_WORK;
    let mut trainer = trainer(&mut work).map_err(text)?;
    for tasks in [0, 40, 500, 1000, 2000, STORED_TASKS] {
        while trainer.tasks_done < tasks {
            trainer.train_task().map_err(text)?;
        }
        let error = model(&trainer).and_then(|model| error_of(&model, TASKS)).map_err(text)?;
        line!("after ", tasks as u32, " tasks: ", error);
    }
    let mut bytes = [0; PAGE];
    let bytes = trainer.write(&mut bytes).map_err(text)?;
    std::fs::write(file, bytes).map_err(|error| format!("{}: {error}", file.display()))?;
    // The weights that nobody trained have two numbers, the best on these tasks.
    let of = |alpha, beta| {
        let settings = ConstructionSettings::new(0.9).step_size(alpha).depth(3);
        let model = Model::<2>::preconditioned_td(settings, beta).ok()?;
        error_of(&model, TASKS).ok()
    };
    let steps = || (1..=50).map(|step| 0.2 * step as f32);
    let best = |pairs: &mut dyn Iterator<Item = (f32, f32)>| {
        let errors = pairs.filter_map(|(alpha, beta)| Some((of(alpha, beta)?, alpha, beta)));
        errors.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or_default()
    };
    let (error, alpha, _) = best(&mut steps().map(|alpha| (alpha, 0.0)));
    line!("Theorem 1, alpha ", alpha, ": ", error);
    let pairs = steps().flat_map(|alpha| (0..=30).map(move |step| (alpha, 0.1 * step as f32)));
    let (error, alpha, beta) = best(&mut { pairs });
    line!("preconditioned TD, alpha ", alpha, ", beta ", beta, ": ", error);
    Ok(())
}

fn text(error: Error) -> String {
    error.to_string()
}
