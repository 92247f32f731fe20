//! Dates and times of day, as the cells of a table have them.

use crate::predict::usual_steps;
use toml_datetime::{Datetime, Offset};

/// The years of dates without separators; other integers of eight digits are numbers.
const COMPACT: std::ops::Range<&str> = "1900".."2100";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeForm {
    /// ISO 8601, also with `/` or `.`, without a day, or without seconds.
    Iso,
    /// A day, a month and a year.
    DayFirst,
    /// A month, a day and a year.
    MonthFirst,
    /// 20240301, also with hours, minutes and seconds: 20240301120000, 20240301T1200.
    Compact,
    /// A time of day without a date.
    OfDay,
    /// A number, in any unit.
    Number,
}

impl TimeForm {
    /// Returns the seconds since 1970 or since midnight, or the number. 24:00 is the end of the day.
    pub fn read(self, cell: &[u8]) -> Option<f64> {
        let text = std::str::from_utf8(cell).ok()?.trim();
        if self == TimeForm::Number {
            return text.parse().ok().filter(|x: &f64| x.is_finite());
        }
        let text = Some(text.to_ascii_uppercase()).filter(|text| text.is_ascii())?;
        let text = text.trim_end_matches(" UTC").trim_end_matches(" GMT");
        let halves = [("AM", 0.0), ("PM", 43_200.0)];
        let half = halves.iter().find_map(|(name, more)| Some((text.strip_suffix(name)?, *more)));
        let (text, half) = half.map_or((text, None), |(text, more)| (text.trim_end(), Some(more)));
        let (date, clock) = match text.split_once([' ', 'T', ',']) {
            _ if self == TimeForm::OfDay => ("", text),
            Some((date, clock)) => (date, clock.trim_start()),
            None if self == TimeForm::Compact && text.len() > 8 => text.split_at(8),
            None => (text, ""),
        };
        let parts: Vec<&str> = date.split(['-', '/', '.']).collect();
        let date = match (self, &parts[..]) {
            (TimeForm::OfDay, _) => String::new(),
            (TimeForm::Iso, [y, m]) if y.len() == 4 => format!("{y}-{m:0>2}-01"),
            (TimeForm::Iso, [y, m, d]) if y.len() == 4 => format!("{y}-{m:0>2}-{d:0>2}"),
            // With points the day is first.
            (TimeForm::MonthFirst, _) if date.contains('.') => return None,
            (TimeForm::DayFirst, [d, m, y]) | (TimeForm::MonthFirst, [m, d, y]) if y.len() == 4 => {
                format!("{y}-{m:0>2}-{d:0>2}")
            }
            (TimeForm::Compact, [all]) if all.len() == 8 && COMPACT.contains(all) => {
                format!("{}-{}-{}", &all[..4], &all[4..6], &all[6..])
            }
            _ => return None,
        };
        let (clock, zone) = clock.split_at(clock.rfind(['+', '-']).unwrap_or(clock.len()));
        // +0100, as `strftime` writes a zone, and +01, as PostgreSQL does.
        let zone = match zone.len() {
            3 => format!("{zone}:00"),
            5 => [&zone[..3], ":", &zone[3..]].concat(),
            _ => zone.to_owned(),
        };
        let digits = clock.bytes().take_while(u8::is_ascii_digit).count();
        let clock = match (self, clock.split_at(digits)) {
            (TimeForm::Compact, (hour, rest)) if digits == 2 && !rest.starts_with(':') => {
                format!("{hour}:00{rest}")
            }
            (TimeForm::Compact, (all, rest)) if digits == 4 || digits == 6 => {
                let second = if digits == 6 { format!(":{}", &all[4..]) } else { String::new() };
                format!("{}:{}{second}{rest}", &all[..2], &all[2..4])
            }
            _ if digits == 1 => format!("0{clock}"),
            _ => clock.replace(',', "."),
        };
        let (clock, next_day) = match clock.strip_prefix("24:00") {
            Some(rest) => (format!("00:00{rest}"), 86_400.0),
            None => (clock, 0.0),
        };
        let clock = [clock.trim_end(), &zone].concat();
        let separator = if date.is_empty() || clock.is_empty() { "" } else { "T" };
        let Datetime { date, time, offset } = [&date, separator, &clock].concat().parse().ok()?;
        let days = date.map_or(0, |d| days(d.year.into(), d.month.into(), d.day.into()));
        let minutes = match offset {
            Some(Offset::Custom { minutes }) => f64::from(minutes),
            _ => 0.0,
        };
        let seconds = time.map_or(0.0, |time| {
            // 12:30 AM is half past midnight.
            let hour = if half.is_some() { time.hour % 12 } else { time.hour };
            let whole = 3600.0 * f64::from(hour) + 60.0 * f64::from(time.minute);
            let nanoseconds = f64::from(time.nanosecond.unwrap_or(0));
            whole + f64::from(time.second.unwrap_or(0)) + 1e-9 * nanoseconds
        });
        Some(86_400.0 * days as f64 + next_day + seconds + half.unwrap_or(0.0) - 60.0 * minutes)
    }

    /// Returns the form of a text, if it is a date or a time of day. One text does not determine whether the day or the month
    /// is first.
    pub fn of(cell: &[u8]) -> Option<Self> {
        use TimeForm::*;
        let forms = [Iso, DayFirst, MonthFirst, OfDay, Compact];
        forms.into_iter().find(|form| form.read(cell).is_some())
    }

    /// Returns the form that makes all of these dates or times of day. If the order of day and month is ambiguous, it is the
    /// one with more regular steps, or else with the smaller time span; `None` if neither tells them apart.
    pub(crate) fn of_all(cells: &[&[u8]]) -> Option<Self> {
        let form = TimeForm::of(cells.first()?)?;
        let fit = |form: TimeForm| {
            let times = cells.iter().map(|cell| form.read(cell)).collect::<Option<Vec<f64>>>()?;
            let low = times.iter().copied().fold(f64::INFINITY, f64::min);
            let high = times.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            Some((usual_steps(&times).0, low - high))
        };
        if !matches!(form, TimeForm::DayFirst | TimeForm::MonthFirst) {
            return fit(form).map(|_| form);
        }
        match [TimeForm::DayFirst, TimeForm::MonthFirst].map(fit) {
            [Some(day), Some(month)] if day == month => None,
            [day, month] if day > month => day.map(|_| TimeForm::DayFirst),
            [_, month] => month.map(|_| TimeForm::MonthFirst),
        }
    }
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
