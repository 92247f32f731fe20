//! Cells of a table: numbers and marks, the reason why a text is neither, and the contents of a column.

use crate::predict::Clock;
use crate::times::TimeForm;
use compute::options::{SHOWN, excerpt};

/// The largest number of characters of a cell in a message.
/// Below this number, double precision represents every integer.
const LARGEST_INTEGER: f64 = 9_007_199_254_740_992.0;
/// Words for a missing number; texts without letters or digits such as `-`, `?`, `.`, and `\N`, `<NA>`, `#DIV/0!` are others.
const MISSING: [&str; 8] = ["na", "n/a", "null", "none", "nan", "nat", "inf", "infinity"];
/// Numbers in this range are times in seconds since 1970 (2001 to 2096), or in thousandths of seconds, and so on.
const EPOCH: std::ops::Range<f64> = 1e9..4e9;
/// Names of columns that hold a time, by their letters.
const TIMES: [&str; 7] = ["time", "timestamp", "timestamps", "datetime", "date", "epoch", "unix"];
/// Names of columns of integers that hold a part of a date, by their letters.
const PARTS: [&str; 19] = [
    "year",
    "yr",
    "quarter",
    "month",
    "mnth",
    "week",
    "weekofyear",
    "day",
    "dayofweek",
    "dayofmonth",
    "dayofyear",
    "dateofmonth",
    "weekday",
    "dow",
    "doy",
    "hour",
    "hourofday",
    "minute",
    "second",
];
/// Steps that differ by less than this share are equal up to rounding.
const COUNTING: f64 = 1e-6;
/// With fewer rows, steps that differ are not interpreted.
const FEW: usize = 24;
/// A value that denotes missing ones is this many times farther away than the others are from each other.
const FAR: f64 = 3.0;

/// What a text that is not a number may have been meant as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meant {
    Number,
    /// A number with a decimal comma, or a comma between thousands.
    NumberWithComma,
    Time,
}

/// Returns the finite number in a cell; the error is the cell as messages show it, with the likely cause.
pub fn number(cell: &[u8]) -> Result<f64, String> {
    plain(cell).ok_or_else(|| unreadable(cell).0)
}

/// Returns a cell without a number as messages show it, and what it may have been meant as.
fn unreadable(cell: &[u8]) -> (String, Option<Meant>) {
    let text = std::str::from_utf8(cell).unwrap_or_default().trim();
    let reason = if cell.trim_ascii().is_empty() {
        "empty"
    } else if cell.contains(&b'\n') {
        "a line break (an open quote?)"
    } else if cell.contains(&0) {
        "a NUL byte (a damaged file?)"
    } else {
        // No number has more characters, and the search for a cause tries each beginning.
        return match Some(text).filter(|text| text.len() <= SHOWN).and_then(cause) {
            Some((meant, cause)) => (format!("`{}`, {cause}", shown(cell)), Some(meant)),
            None => (format!("`{}`", shown(cell)), None),
        };
    };
    (reason.to_owned(), None)
}

/// Returns the finite number in a cell; `None` also for an integer that double precision may round.
pub fn plain(cell: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(cell).ok()?.trim();
    let is_exact = |x: &f64| x.abs() < LARGEST_INTEGER || text.contains(['.', 'e', 'E']);
    text.parse().ok().filter(|x: &f64| x.is_finite() && is_exact(x))
}

/// Returns why a text that is not a number may have been meant as one, or as a time.
fn cause(text: &str) -> Option<(Meant, &'static str)> {
    let number = |cause| Some((Meant::Number, cause));
    let comma = |cause| Some((Meant::NumberWithComma, cause));
    let is_number = |text: &str| text.parse::<f64>().is_ok_and(f64::is_finite);
    let is_sign = |c: char| c.is_ascii_digit() || "+-.".contains(c);
    let (first, rest) = text.split_once(',').unwrap_or((text, ""));
    let bare: String = text.chars().filter(|c| !", '\u{a0}\u{202f}".contains(*c)).collect();
    let mut groups = text.split_whitespace().skip(1).peekable();
    let of_three = |group: &str| group.split('.').next().is_some_and(|digits| digits.len() == 3);
    // As many write one million: 1 000 000.
    let is_spaced = groups.peek().is_none() || groups.all(of_three);
    let is_grouped = |rest: &str| rest.len() == 3 && rest.bytes().all(|b| b.is_ascii_digit());
    let front = number_in_front(text).len();
    // 1,234.5 has thousands, 1.234,5 a decimal comma.
    let has_point_last = text.rfind('.') > text.rfind(',');
    if text.contains(char::is_control) {
        number("a control character")
    } else if is_number(text) {
        number("an integer of 2^53 or more")
    } else if TimeForm::of(text.as_bytes()).is_some() {
        Some((Meant::Time, "a date or a time"))
    } else if is_number(&text.replace(['d', 'D'], "e")) {
        number("an exponent with D (write E)")
    } else if text.to_lowercase().starts_with("0x") {
        number("a hexadecimal number (write a decimal one)")
    } else if text.contains('\u{2212}') {
        number("a minus sign that is no hyphen (write -)")
    } else if text.split_whitespace().all(is_number) && !is_spaced {
        number("numbers with blanks between them (the separator is `,`, `;`, `|` or a tab)")
    } else if first.len() <= 3 && is_number(first) && is_grouped(rest) {
        comma("a decimal comma or a separator of thousands (write a point, or leave it out)")
    } else if !has_point_last && is_number(&text.replace('.', "").replacen(',', ".", 1)) {
        comma("a decimal comma (write a point)")
    } else if !first.is_empty() && is_number(&bare) {
        number("a separator of thousands (leave it out)")
    } else if text[front..].trim().starts_with(|c: char| !is_sign(c) && !":/".contains(c))
        && front > 0
    {
        number("a number with a unit (leave the unit out)")
    } else if text.len() > 1 && is_number(text.trim_start_matches(|c| !is_sign(c))) {
        number("a unit with a number (leave the unit out)")
    } else {
        None
    }
}

fn number_in_front(text: &str) -> &str {
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
    let found = ends.rev().find(|end| text[..*end].parse::<f64>().is_ok_and(f64::is_finite));
    &text[..found.unwrap_or(0)]
}

/// The content of a column, by its first rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Holds {
    /// Numbers, or gaps between them.
    Numbers,
    Times(TimeForm),
    /// Numbers that count the rows, or rise with them, with the reason.
    Counts(String),
    PartOfDate,
    /// Neither, for the reason given; and what the first word may have been meant as.
    Words(String, Option<Meant>),
}

impl Holds {
    /// Returns the content of a column with this name and these cells in its first rows.
    pub fn of(name: &str, is_first: bool, cells: &[&[u8]]) -> Self {
        let there: Vec<&[u8]> = cells.iter().copied().filter(|cell| !is_missing(cell)).collect();
        let Some(first) = there.first() else {
            return Holds::Words("no number in the first rows".to_owned(), None);
        };
        let name: String = name.to_lowercase().chars().filter(|c| c.is_alphabetic()).collect();
        let is_named = TIMES.contains(&name.as_str());
        let read = |form: TimeForm| -> Option<Vec<f64>> {
            there.iter().map(|cell| form.read(cell)).collect()
        };
        let is_epoch = |x: f64| [1.0, 1e3, 1e6, 1e9].iter().any(|unit| EPOCH.contains(&(x / unit)));
        let looks_like_time = |form: &TimeForm| {
            let Some(x) = read(*form) else { return false };
            let count =
                |is: fn(&f64, &f64) -> bool| x.windows(2).filter(|t| is(&t[0], &t[1])).count();
            let is_compact = *form == TimeForm::Compact;
            is_named
                || (is_first && is_compact || count(f64::lt) > 9 * count(f64::gt))
                    && (is_compact || x.iter().all(|x| is_epoch(*x)))
        };
        let form = match TimeForm::Number.read(first) {
            None => TimeForm::of_all(&there),
            Some(_) => [TimeForm::Compact, TimeForm::Number].into_iter().find(looks_like_time),
        };
        if let Some(form) = form {
            return Holds::Times(form);
        }
        if 2 * there.iter().filter(|cell| plain(cell).is_some()).count() < there.len() {
            let is_time = TimeForm::of(first).is_some();
            let not_read = there.iter().find(|cell| is_time && TimeForm::of(cell).is_none());
            let word = not_read.or_else(|| there.iter().find(|cell| plain(cell).is_none()));
            let (word, meant) = word.map(|cell| unreadable(cell)).unwrap_or_default();
            let reason = match read(TimeForm::DayFirst) {
                Some(_) => format!("the first rows do not tell day and month apart: {word}"),
                None if is_time => format!("a time that cannot be read (a cell is {word})"),
                None => format!("no numbers (a cell is {word})"),
            };
            return Holds::Words(reason, if is_time { Some(Meant::Time) } else { meant });
        }
        // A gap does not end a count.
        let rows =
            cells.iter().enumerate().filter_map(|(row, cell)| Some((row as f64, plain(cell)?)));
        let (rows, x): (Vec<f64>, Vec<f64>) = rows.unzip();
        if let ([first, second, _, ..], [row, next, ..]) = (&x[..], &rows[..]) {
            let step = (second - first) / (next - row);
            let is_step = |(x, at): (&[f64], &[f64])| {
                let steps = at[1] - at[0];
                (x[1] - x[0] - step * steps).abs() <= COUNTING * (step * steps).abs()
            };
            if step != 0.0 && x.windows(2).zip(rows.windows(2)).all(is_step) {
                return Holds::Counts(format!("it changes by {step} in every row"));
            }
        }
        if PARTS.contains(&name.as_str()) && x.iter().all(|x| x.fract() == 0.0) {
            return Holds::PartOfDate;
        }
        let rises = is_first && x.len() >= FEW && x.windows(2).all(|two| two[0] < two[1]);
        if rises && Clock::new(&x, false).is_regular() {
            return Holds::Counts("it rises in every row, by steps that are regular".to_owned());
        }
        Holds::Numbers
    }
}

/// Returns a number that may denote missing values, such as -999, and its count: it is far from all others and appears more
/// than once.
pub fn sentinel(x: &[f64]) -> Option<(f64, usize)> {
    let mut sorted: Vec<f64> = x.iter().copied().filter(|x| x.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let is_far = |value: f64| {
        let count = sorted.iter().filter(|x| **x == value).count();
        let mut others = sorted.iter().filter(|x| **x != value);
        let (low, high) = (*others.next()?, *others.next_back()?);
        let distance = (low - value).abs().min((high - value).abs());
        (count > 1 && high > low && distance > FAR * (high - low)).then_some((value, count))
    };
    [sorted.first(), sorted.last()].into_iter().flatten().find_map(|x| is_far(*x))
}

/// Parses a mark: 0 or 1, also as other tools write them: 1.0, True.
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

/// Returns true if a cell denotes a missing number: it is empty, has no letter or digit, is a word for it, or a spreadsheet's
/// error.
pub fn is_missing(cell: &[u8]) -> bool {
    let text = String::from_utf8_lossy(cell).trim().to_lowercase();
    let word = text.trim_matches(|c: char| !c.is_alphanumeric() && c != '/');
    let is_error = text.starts_with('#') && text.ends_with(['!', '?']);
    word.is_empty() || is_error || text == "\\n" || MISSING.contains(&word)
}

pub(crate) fn shown(cell: &[u8]) -> String {
    excerpt(String::from_utf8_lossy(cell).trim())
}
