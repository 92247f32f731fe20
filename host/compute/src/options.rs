//! Parsers of typed values. Each error is one phrase: the expected value.

use std::fmt;
use std::ops::{Bound, RangeBounds, RangeInclusive};

pub fn integer(
    range: RangeInclusive<usize>,
) -> impl Fn(&str) -> Result<usize, String> + Clone + Send + Sync + 'static {
    move |text| match text.parse() {
        Ok(n) if range.contains(&n) => Ok(n),
        _ => Err(format!("expected an integer from {} to {}", range.start(), range.end())),
    }
}

pub fn real(
    range: impl RangeBounds<f64> + Clone + Send + Sync + 'static,
) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync + 'static {
    move |text| match text.parse::<f64>() {
        // -0 becomes 0, so that equal recipes have equal texts.
        Ok(x) if x.is_finite() && range.contains(&x) => Ok(x + 0.0),
        _ => Err(format!("expected {}", in_words(&range))),
    }
}

/// Both ends are included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NumberRange<T>(pub [T; 2]);

impl<T: fmt::Display> fmt::Display for NumberRange<T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}..{}", self.0[0], self.0[1])
    }
}

/// Returns a parser of a range `FROM..TO` in ascending order, whose ends `parse` accepts.
pub fn span<T: PartialOrd>(
    parse: impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static,
) -> impl Fn(&str) -> Result<NumberRange<T>, String> + Clone + Send + Sync + 'static {
    move |text| {
        let (low, high) = text.split_once("..").ok_or("expected FROM..TO")?;
        let (low, high) = (parse(low)?, parse(high)?);
        if low <= high {
            Ok(NumberRange([low, high]))
        } else {
            Err("expected FROM..TO in order".into())
        }
    }
}

pub fn seed(text: &str) -> Result<u64, String> {
    // TOML integers end at 2^63 - 1, and a run's config.toml has to hold its seed.
    match text.parse() {
        Ok(seed) if seed <= i64::MAX as u64 => Ok(seed),
        _ => Err(format!("expected an integer from 0 to {}", i64::MAX)),
    }
}

fn in_words(range: &impl RangeBounds<f64>) -> String {
    match (range.start_bound(), range.end_bound()) {
        (Bound::Included(low), Bound::Included(high)) => format!("a number in [{low}, {high}]"),
        (Bound::Included(low), Bound::Excluded(high)) => format!("a number in [{low}, {high})"),
        (Bound::Excluded(low), Bound::Included(high)) => format!("a number in ({low}, {high}]"),
        (Bound::Excluded(low), Bound::Excluded(high)) => format!("a number in ({low}, {high})"),
        (Bound::Included(low), Bound::Unbounded) => format!("a finite number of at least {low}"),
        (Bound::Excluded(low), Bound::Unbounded) => format!("a finite number above {low}"),
        (Bound::Unbounded, Bound::Included(high)) => format!("a finite number of at most {high}"),
        (Bound::Unbounded, Bound::Excluded(high)) => format!("a finite number below {high}"),
        (Bound::Unbounded, Bound::Unbounded) => "a finite number".to_owned(),
    }
}

/// The largest number of characters that a message quotes.
pub const SHOWN: usize = 40;

/// Returns the beginning of a text, as messages quote it.
pub fn excerpt(text: &str) -> String {
    let mut out: String = text.chars().take(SHOWN).collect();
    if text.chars().nth(SHOWN).is_some() {
        out.push('…');
    }
    out
}
