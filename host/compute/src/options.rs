//! Parsers of typed values: each says in one phrase what it accepts.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::ops::{Bound, RangeBounds, RangeInclusive};
use std::str::FromStr;

/// Returns an integer in a range.
pub fn integer(
    range: RangeInclusive<usize>,
) -> impl Fn(&str) -> Result<usize, String> + Clone + Send + Sync + 'static {
    move |text| match text.parse() {
        Ok(n) if range.contains(&n) => Ok(n),
        _ => Err(format!("accepted is an integer from {} to {}", range.start(), range.end())),
    }
}

/// Returns a finite number in a range.
pub fn real(
    range: impl RangeBounds<f64> + Clone + Send + Sync + 'static,
) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync + 'static {
    move |text| match text.parse::<f64>() {
        // Zero has one sign, so that a recipe has one text.
        Ok(x) if x.is_finite() && range.contains(&x) => Ok(x + 0.0),
        _ => Err(format!("accepted is {}", in_words(&range))),
    }
}

/// Returns one of a few integers.
pub fn one_of(
    accepted: &'static [usize],
) -> impl Fn(&str) -> Result<usize, String> + Clone + Send + Sync + 'static {
    move |text| match text.parse() {
        Ok(n) if accepted.contains(&n) => Ok(n),
        _ => {
            let list: Vec<_> = accepted.iter().map(usize::to_string).collect();
            Err(format!("accepted is one of {}", list.join(", ")))
        }
    }
}

/// A span from one number to another, `A..B`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span<T>(pub [T; 2]);

impl<T: fmt::Display> fmt::Display for Span<T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}..{}", self.0[0], self.0[1])
    }
}

/// Returns a span of what a parser takes, its ends in order.
pub fn span<T: PartialOrd>(
    parse: impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static,
) -> impl Fn(&str) -> Result<Span<T>, String> + Clone + Send + Sync + 'static {
    move |text| {
        let (low, high) = text.split_once("..").ok_or("accepted is FROM..TO")?;
        let (low, high) = (parse(low)?, parse(high)?);
        if low <= high {
            Ok(Span([low, high]))
        } else {
            Err("accepted is FROM..TO in order".into())
        }
    }
}

impl<T: fmt::Display> Serialize for Span<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'a, T: FromStr> Deserialize<'a> for Span<T> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let ends = text.split_once("..");
        let ends = ends.and_then(|(low, high)| Some([low.parse().ok()?, high.parse().ok()?]));
        ends.map(Span).ok_or_else(|| de::Error::custom("accepted is FROM..TO"))
    }
}

/// Returns a seed.
pub fn seed(text: &str) -> Result<u64, String> {
    // TOML integers end at 2^63 - 1, and a run's config.toml has to hold its seed.
    match text.parse() {
        Ok(seed) if seed <= i64::MAX as u64 => Ok(seed),
        _ => Err(format!("accepted is an integer from 0 to {}", i64::MAX)),
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
