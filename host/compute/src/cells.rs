//! Cells of a table: numbers, marks and times, and why a text is none of them.

use std::fmt::Write as _;
use toml_datetime::{Datetime, Offset};

/// The largest number of characters of a cell in a message.
const SHOWN: usize = 40;
/// Below this one double precision holds every integer.
const LARGEST_INTEGER: f64 = 9_007_199_254_740_992.0;
/// Texts that stand for a missing number.
const MISSING: [&str; 9] = ["", "na", "n/a", "#n/a", "null", "none", "nan", "-", "?"];
/// Numbers in these ranges are taken for times: seconds, and milliseconds, since 1970 (2001 to 2096).
const EPOCHS: [std::ops::Range<f64>; 2] = [1e9..4e9, 1e12..4e12];
/// Names of columns that hold a time.
const TIMES: [&str; 8] =
    ["time", "timestamp", "timestamps", "datetime", "date", "date_time", "epoch", "unix"];

/// Returns the finite number in a cell.
///
/// # Errors
/// The cell as messages show it, with the likely cause.
pub(crate) fn number(cell: &[u8]) -> Result<f64, String> {
    let text = std::str::from_utf8(cell).unwrap_or_default().trim();
    match text.parse::<f64>().ok().filter(|x| x.is_finite()) {
        Some(x) if x.abs() < LARGEST_INTEGER || text.contains(['.', 'e', 'E']) => Ok(x),
        Some(_) => Err(format!("`{}`, an integer of 2^53 or more", shown(cell))),
        None if cell.trim_ascii().is_empty() => Err("empty".to_owned()),
        None if cell.contains(&b'\n') => Err("a line break (an open quote?)".to_owned()),
        None => {
            let mut reason = format!("`{}`", shown(cell));
            // Nobody writes a number of more characters, and the causes are looked for in each beginning.
            let cause = if text.len() <= SHOWN { cause(text) } else { None };
            if let Some(cause) = cause {
                // A String does not refuse.
                let _ = write!(reason, ", {cause}");
            }
            Err(reason)
        }
    }
}

/// Returns why a text that is not a number may have been meant as one.
fn cause(text: &str) -> Option<&'static str> {
    let is_number = |text: &str| text.parse::<f64>().is_ok_and(f64::is_finite);
    let is_sign = |c: char| c.is_ascii_digit() || "+-.".contains(c);
    let (first, rest) = text.split_once(',').unwrap_or((text, ""));
    let bare: String = text.chars().filter(|c| !", '\u{a0}\u{202f}".contains(*c)).collect();
    let mut groups = text.split_whitespace().skip(1).peekable();
    let of_three = |group: &str| group.split('.').next().is_some_and(|digits| digits.len() == 3);
    // As many write one million: 1 000 000.
    let is_spaced = groups.peek().is_none() || groups.all(of_three);
    let is_grouped = |rest: &str| rest.len() == 3 && rest.bytes().all(|b| b.is_ascii_digit());
    if time(text.as_bytes()).is_some() {
        Some("a date or a time")
    } else if text.split_whitespace().all(is_number) && !is_spaced {
        Some("numbers with blanks between them (the separator is `,`, `;` or a tab)")
    } else if first.len() <= 3 && is_number(first) && is_grouped(rest) {
        Some("a decimal comma or a separator of thousands (write a point, or leave it out)")
    } else if is_number(&text.replace('.', "").replacen(',', ".", 1)) {
        Some("a decimal comma (write a point)")
    } else if !first.is_empty() && is_number(&bare) {
        Some("a separator of thousands (leave it out)")
    } else if text.starts_with(is_sign) && is_number(number_in_front(text)) {
        Some("a number with a unit (leave the unit out)")
    } else if text.len() > 1 && is_number(text.trim_start_matches(|c| !is_sign(c))) {
        Some("a unit with a number (leave the unit out)")
    } else {
        None
    }
}

/// Returns the longest beginning of a text that is a number.
fn number_in_front(text: &str) -> &str {
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
    let found = ends.rev().find(|end| text[..*end].parse::<f64>().is_ok_and(f64::is_finite));
    &text[..found.unwrap_or(0)]
}

/// Returns the seconds since 1970 of a date, a time of a date, or a time of day, in ISO 8601 or with `/` in the date.
pub fn time(cell: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(cell).ok()?.trim().replace('/', "-");
    let Datetime { date, time, offset } = text.parse().ok()?;
    let days = date.map_or(0, |date| days(date.year.into(), date.month.into(), date.day.into()));
    let minutes = match offset {
        Some(Offset::Custom { minutes }) => f64::from(minutes),
        _ => 0.0,
    };
    let seconds = time.map_or(0.0, |time| {
        let whole = 3600.0 * f64::from(time.hour) + 60.0 * f64::from(time.minute);
        let nanoseconds = f64::from(time.nanosecond.unwrap_or(0));
        whole + f64::from(time.second.unwrap_or(0)) + 1e-9 * nanoseconds
    });
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

/// Returns whether a column of this name with this first cell holds times: dates, or numbers that are called so or, in the
/// first column, look like seconds or milliseconds since 1970.
pub fn is_time(name: &str, is_first: bool, cell: &[u8]) -> bool {
    let Ok(x) = number(cell) else { return time(cell).is_some() };
    let is_epoch = || x.fract() == 0.0 && EPOCHS.iter().any(|range| range.contains(&x));
    TIMES.contains(&name.to_lowercase().as_str()) || is_first && is_epoch()
}

/// Reads a mark: 0 or 1, also as other tools write them: 1.0, True.
pub(crate) fn mark(cell: &[u8]) -> Result<bool, String> {
    let cell = cell.trim_ascii();
    if cell.eq_ignore_ascii_case(b"true") || cell.eq_ignore_ascii_case(b"false") {
        return Ok(cell.len() == 4);
    }
    match number(cell)? {
        0.0 => Ok(false),
        1.0 => Ok(true),
        other => Err(format!("`{other}`")),
    }
}

/// Says why a cell is neither a number nor one of the texts that stand for a missing one.
///
/// # Errors
/// As of a number.
pub fn number_or_gap(cell: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(cell).trim().to_lowercase();
    match number(cell) {
        Err(reason) if !MISSING.contains(&text.as_str()) && text.parse::<f64>().is_err() => {
            Err(reason)
        }
        _ => Ok(()),
    }
}

/// Returns a cell for messages.
pub(crate) fn shown(cell: &[u8]) -> String {
    excerpt(String::from_utf8_lossy(cell).trim())
}

/// Returns the beginning of a text, for messages.
pub fn excerpt(text: &str) -> String {
    let mut out: String = text.chars().take(SHOWN).collect();
    if text.chars().nth(SHOWN).is_some() {
        out.push('…');
    }
    out
}
