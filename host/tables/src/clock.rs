//! The times of rows: how many rows are missing between two of them.

use toml_datetime::{Datetime, Offset};

/// A step this many times longer than the usual one has rows missing in it.
const LONG: f64 = 1.5;
/// Steps are regular if at least this share of them is near the usual one.
const REGULAR: f64 = 0.9;

/// Counts missing rows by the usual step of their times.
#[derive(Clone, Debug)]
pub struct Clock {
    step: f64,
    last: f64,
}

impl Clock {
    /// Returns a clock with the usual step, which is the median of the first times' steps; `None` if the steps are not regular.
    pub fn new(times: &[f64]) -> Option<Self> {
        let mut steps: Vec<f64> = times.windows(2).map(|t| t[1] - t[0]).collect();
        steps.sort_by(f64::total_cmp);
        let step = steps.get(steps.len() / 2).copied().unwrap_or(1.0);
        let is_usual = |x: &&f64| **x * LONG > step && **x < LONG * step;
        let usual = steps.iter().filter(is_usual).count();
        let is_regular = usual as f64 >= REGULAR * steps.len() as f64;
        is_regular.then_some(Clock { step, last: f64::NAN })
    }

    /// Returns the number of rows that are missing before a row of this time; `None` if the time is not later than the last one.
    pub fn missing_before(&mut self, time: f64) -> Option<u64> {
        let step = time - std::mem::replace(&mut self.last, time);
        // The first row has no step.
        (step.is_nan() || step > 0.0).then(|| match step / self.step {
            steps if steps > LONG => (steps + 0.5) as u64 - 1,
            _ => 0,
        })
    }
}

/// Returns a number, or the seconds since 1970 of an ISO 8601 date, with or without a time of day and a zone.
pub(crate) fn time(cell: &str) -> Option<f64> {
    if let Ok(x) = cell.parse::<f64>() {
        return Some(x).filter(|x| x.is_finite());
    }
    let Datetime { date, time, offset } = cell.parse().ok()?;
    let date = date?;
    let minutes = match offset {
        Some(Offset::Custom { minutes }) => f64::from(minutes),
        _ => 0.0,
    };
    let seconds = time.map_or(0.0, |time| {
        let whole = 3600.0 * f64::from(time.hour) + 60.0 * f64::from(time.minute);
        let fraction = 1e-9 * f64::from(time.nanosecond.unwrap_or(0));
        whole + f64::from(time.second.unwrap_or(0)) + fraction
    });
    let days = days(date.year.into(), date.month.into(), date.day.into());
    Some(86_400.0 * days as f64 + seconds - 60.0 * minutes)
}

/// Returns the days from 1970-01-01 to a date of the Gregorian calendar (H. Hinnant, `days_from_civil`).
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that a leap day is the last one.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    365 * year + year.div_euclid(4) - year.div_euclid(100)
        + year.div_euclid(400)
        + (153 * month + 2) / 5
        + day
        - 1
        - 719_468
}
