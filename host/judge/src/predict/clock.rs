//! The times of a series' rows: which rows do not come one usual step after the last one.

/// A step this many times longer than the usual one has rows missing in it.
const LONG: f64 = 1.5;
/// Steps are regular if at least this share of them is near the usual one.
const REGULAR: f64 = 0.9;

const DAY: f64 = 86_400.0;

/// The number of rows of a kind, and the number of the first.
pub type Count = Option<(u64, u64)>;

#[derive(Clone, Debug, Default)]
pub struct Clock {
    /// The usual step, if steps are regular.
    step: Option<f64>,
    /// Whether times are times of day, which start again after midnight.
    is_of_day: bool,
    midnights: f64,
    last: Option<f64>,
    latest: Option<f64>,
    /// The rows without a time since `last`.
    untimed: u64,
    /// Rows that are earlier than the row before.
    pub earlier: Count,
    /// Rows of the same time as the row before.
    pub equal: Count,
    /// Rows before which others are missing.
    pub after_gap: Count,
    pub missing: f64,
    pub unreadable: Count,
}

fn count(rows: &mut Count, row: u64) {
    let (found, first) = rows.unwrap_or((0, row));
    *rows = Some((found + 1, first));
}

/// Returns the number of steps near the median of those that go ahead, the number of these, and the median.
pub(crate) fn usual_steps(times: &[f64]) -> (usize, usize, f64) {
    let mut steps: Vec<f64> = times.windows(2).map(|t| t[1] - t[0]).collect();
    steps.retain(|step| *step > 0.0);
    steps.sort_by(f64::total_cmp);
    let median = steps.get(steps.len() / 2).copied().unwrap_or_default();
    let is_usual = |step: &&f64| **step * LONG > median && **step < LONG * median;
    (steps.iter().filter(is_usual).count(), steps.len(), median)
}

impl Clock {
    /// Returns the clock of a series, with the usual step, the median, of its first times; `is_of_day` if these are times of
    /// day.
    pub fn new(times: &[f64], is_of_day: bool) -> Self {
        let (usual, all, median) = usual_steps(times);
        let step = Some(median).filter(|_| all > 0 && usual as f64 >= REGULAR * all as f64);
        Clock { step, is_of_day, ..Clock::default() }
    }

    /// Returns `None` if a row of this time follows the row before, or else how many rows are missing between them: 1 if the time
    /// is not later, 0 if it cannot be read (only the first of such rows does not follow).
    pub fn gap_before(&mut self, row: u64, time: f64) -> Option<u64> {
        if time.is_nan() {
            count(&mut self.unreadable, row);
            self.untimed += 1;
            return (self.last.is_some() && self.untimed == 1).then_some(0);
        }
        let untimed = std::mem::take(&mut self.untimed) as f64;
        let is_new_day = |last: f64| self.is_of_day && time + self.midnights < last - DAY / 2.0;
        self.midnights += if self.last.is_some_and(is_new_day) { DAY } else { 0.0 };
        let time = time + self.midnights;
        let last = self.last.replace(time)?;
        let step = time - last;
        // After a row that was too early, compare the next one with the rows before it.
        let latest = self.latest.map_or(last, |latest| latest.max(last));
        self.latest = Some(latest.max(time));
        let ahead = if time > latest { time - latest } else { step };
        let steps = self.step.map_or(0.0, |usual| ahead / usual - untimed);
        if step < 0.0 {
            count(&mut self.earlier, row);
        } else if step == 0.0 {
            count(&mut self.equal, row);
        } else if steps > LONG {
            count(&mut self.after_gap, row);
            let missing = (steps + 0.5).floor() - 1.0;
            self.missing += missing;
            return Some(missing as u64);
        } else {
            return None;
        }
        Some(1)
    }

    pub fn is_regular(&self) -> bool {
        self.step.is_some()
    }
}
