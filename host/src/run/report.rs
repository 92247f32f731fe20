//! The report of a command: results, claims of the paper with measured numbers, files written.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// The origin of a claim's words and of its measure; claims are counted by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Whose {
    /// The paper's words, in its setting and by its measure.
    Paper,
    /// Words of the paper, or of a follow-up, in a setting or by a measure that it does not mention.
    Variant,
    #[default]
    Own,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    whose: Whose,
    section: &'static str,
    quote: &'static str,
}

impl Source {
    pub const OWN: Self = Self::own("not in the paper");

    /// Returns a claim of this project, with words in place of the paper's.
    pub const fn own(words: &'static str) -> Self {
        Source { whose: Whose::Own, section: "", quote: words }
    }

    pub const fn paper(section: &'static str, quote: &'static str) -> Self {
        Source { whose: Whose::Paper, section, quote }
    }

    pub const fn variant(self) -> Self {
        Source { whose: Whose::Variant, ..self }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Claim {
    pub claim: String,
    #[serde(default)]
    pub whose: Whose,
    pub paper: String,
    pub measured: String,
    pub verdict: Verdict,
    /// [`Verdict::DoesNotHold`] if the claim is known not to hold: this is then the expected result, reported like any other,
    /// but not as a failure. Stored only in that case.
    #[serde(default, skip_serializing_if = "Verdict::holds")]
    pub expected: Verdict,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    #[default]
    Holds,
    /// It holds for some seeds, for some of its parts, or only within the spread.
    HoldsInPart,
    DoesNotHold,
    /// The interval of the measured number contains the threshold.
    Undecided,
    /// The run has no number to test it by.
    NotMeasured,
}

impl Claim {
    pub fn new(
        claim: impl Into<String>,
        Source { whose, section, quote }: Source,
        measured: impl Into<String>,
        verdict: Verdict,
    ) -> Self {
        let paper = match whose {
            Whose::Paper => format!("\"{quote}\" ({section})"),
            Whose::Variant => format!("\"{quote}\" ({section}; by another measure or setting)"),
            Whose::Own => quote.into(),
        };
        let (claim, measured) = (claim.into(), measured.into());
        Claim { claim, whose, paper, measured, verdict, expected: Verdict::Holds }
    }

    pub fn is_refuted(&self) -> bool {
        self.verdict == Verdict::DoesNotHold && self.expected == Verdict::DoesNotHold
    }

    fn words(&self) -> &'static str {
        if self.is_refuted() { "does not hold (as known)" } else { self.verdict.words() }
    }

    /// Returns the claim as lines of at most `width` columns; the first begins with the verdict in `verdict` columns.
    fn block(&self, width: usize, verdict: usize) -> String {
        let mut out = format!("{:<verdict$}  {}\n", self.words(), self.claim);
        for (name, text) in [("paper", &self.paper), ("measured", &self.measured)] {
            let mut indent = format!("    {name:<8}  ");
            for line in wrapped(text, width.saturating_sub(indent.len())) {
                out.push_str(&format!("{indent}{line}\n"));
                indent = " ".repeat(indent.len());
            }
        }
        out
    }
}

impl Verdict {
    pub fn of(holds: bool) -> Self {
        if holds { Verdict::Holds } else { Verdict::DoesNotHold }
    }

    pub fn graded(holds: bool, in_part: bool) -> Self {
        if !holds && in_part { Verdict::HoldsInPart } else { Verdict::of(holds) }
    }

    /// Returns the first of [`Verdict::Holds`], [`Verdict::HoldsInPart`], [`Verdict::DoesNotHold`] that applies.
    pub fn told(holds: bool, in_part: bool, fails: bool) -> Self {
        match Self::graded(holds, in_part) {
            Verdict::DoesNotHold if !fails => Verdict::Undecided,
            verdict => verdict,
        }
    }

    /// Returns this verdict, or [`Verdict::NotMeasured`] if one of the numbers behind it is NaN.
    #[must_use]
    pub fn unless_nan(self, numbers: impl IntoIterator<Item = f64>) -> Self {
        if numbers.into_iter().any(f64::is_nan) { Verdict::NotMeasured } else { self }
    }

    /// Returns this verdict, or [`Verdict::Undecided`] if an error that it depends on is unknown, NaN.
    #[must_use]
    pub fn unless_unknown(self, error: f64) -> Self {
        if error.is_nan() { Verdict::Undecided } else { self }
    }

    fn holds(&self) -> bool {
        *self == Verdict::Holds
    }

    pub fn words(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::HoldsInPart => "holds in part",
            Verdict::DoesNotHold => "DOES NOT HOLD",
            Verdict::Undecided => "cannot be told",
            Verdict::NotMeasured => "not measured",
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Report {
    /// All results, the content of `--json`.
    pub results: Map<String, Value>,
    pub claims: Vec<Claim>,
    pub failures: Vec<String>,
    pub text: String,
    pub closing: String,
    /// True if the text lists only the claims that do not hold and counts the rest.
    pub brief: bool,
    pub files: Vec<PathBuf>,
    pub seconds: Option<f64>,
}

impl Report {
    pub fn of(command: &str, results: &impl Serialize) -> Self {
        let mut report = Report::default();
        report.results.insert("command".into(), json!(command));
        if let Value::Object(object) = json!(results) {
            report.results.extend(object);
        }
        report
    }

    pub fn left_out(&mut self, what: Vec<String>) {
        what.iter().for_each(|what| self.text.push_str(&format!("left out: {what}\n")));
        self.results.insert("left_out".into(), json!(what));
    }

    /// Returns false if something failed, or if a claim unexpectedly does not hold, or was not measured: exit code 1.
    pub fn holds(&self) -> bool {
        let fails = |c: &Claim| match c.verdict {
            Verdict::Holds | Verdict::HoldsInPart | Verdict::Undecided => false,
            Verdict::DoesNotHold => !c.is_refuted(),
            Verdict::NotMeasured => true,
        };
        self.failures.is_empty() && !self.claims.iter().any(fails)
    }

    pub fn to_value(&self) -> Value {
        let mut object = self.results.clone();
        object.extend(self.seconds.map(|s| ("seconds".into(), json!(s))));
        object.insert("holds".into(), json!(self.holds()));
        if !self.failures.is_empty() {
            object.insert("failures".into(), json!(self.failures));
        }
        object.insert("claims".into(), json!(self.claims));
        object.insert("files".into(), json!(self.files));
        Value::Object(object)
    }

    /// Returns a line that names the innermost directory with all files.
    pub fn place(&self) -> String {
        let mut parents = self.files.iter().filter_map(|f| f.parent());
        let Some(first) = parents.next() else { return String::new() };
        let holds_all = |d: &&Path| self.files.iter().all(|f| f.starts_with(d));
        let directory = first.ancestors().find(holds_all).unwrap_or(first);
        format!("\nfigures and numbers: {}\n", directory.display())
    }

    /// Returns the number of claims that hold, one line for each origin of words and measures; empty for a single claim.
    pub fn tallies(&self) -> String {
        if self.claims.len() < 2 {
            return String::new();
        }
        let kinds = [
            (Whose::Paper, "the paper's claims, by its measures"),
            (Whose::Variant, "its or a follow-up's claims, by other measures or in other settings"),
            (Whose::Own, "this project's claims"),
        ];
        let line = |(whose, name): (Whose, &str)| {
            let all = || self.claims.iter().filter(move |c| c.whose == whose);
            let count = |verdict| all().filter(|c| c.verdict == verdict).count();
            let [holds, part, not] =
                [Verdict::Holds, Verdict::HoldsInPart, Verdict::DoesNotHold].map(count);
            let known = all().filter(|c| c.is_refuted()).count();
            let rare = [Verdict::Undecided, Verdict::NotMeasured].map(|v| (count(v), v.words()));
            let rare = rare.into_iter().filter(|(count, _)| *count > 0);
            let rare: String = rare.map(|(count, words)| format!(", {count} {words}")).collect();
            let rest = format!("{not} do not ({known} as known){rare}");
            all().next().map(|_| format!("{name}: {holds} hold, {part} in part, {rest}\n"))
        };
        format!("\n{}", kinds.into_iter().filter_map(line).collect::<String>())
    }

    /// Returns the report as text, on lines of at most `width` columns, with a block of lines for each claim.
    pub fn to_text(&self, width: usize) -> String {
        let mut out = self.text.clone();
        if !self.failures.is_empty() {
            out.push_str(&format!("\n{}\n", self.failures.join("\n")));
        }
        if self.brief {
            let failing = || self.claims.iter().filter(|c| c.verdict == Verdict::DoesNotHold);
            let line = |c: &Claim| format!("{}: {}", c.words(), c.claim);
            let lines: Vec<_> = failing().flat_map(|c| wrapped(&line(c), width)).collect();
            out.push_str(&format!("{}\n{}{}", lines.join("\n"), self.tallies(), self.place()));
        } else if !self.claims.is_empty() {
            let verdict = self.claims.iter().map(|c| c.words().len()).max().unwrap_or(0);
            let blocks: Vec<_> = self.claims.iter().map(|c| c.block(width, verdict)).collect();
            out.push_str(&(blocks.join("\n") + &self.tallies() + &self.place()));
        }
        out.push_str(&self.closing);
        out
    }
}

/// Returns the columns of the terminal on stdout, 100 elsewhere.
pub fn terminal_width() -> usize {
    let size = console::Term::stdout().size_checked();
    // Fewer columns leave no room for words.
    size.map_or(100, |(_, columns)| usize::from(columns)).max(40)
}

/// Returns the words of a text on lines of at most `width` columns; a longer word has a separate line.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Returns a number in the short form of single precision, if it has one: 0.9, not 0.8999999761581421.
pub fn shortest(x: f64) -> String {
    let single = x as f32;
    if f64::from(single) == x { format!("{single:?}") } else { format!("{x:?}") }
}

/// Returns the entries of an object, one line each, without null entries.
pub fn lines(object: &Value) -> String {
    let entries = object.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    let line = |(name, value): (&String, &Value)| {
        let value = match value {
            Value::String(text) => text.clone(),
            number if number.is_f64() => number.as_f64().map_or_else(String::new, shortest),
            other => other.to_string(),
        };
        format!("{name:<20}{value}\n")
    };
    entries.map(line).collect()
}

/// Returns a number with `decimals` decimals, or in scientific notation if these would hide it.
pub fn number(x: f64, decimals: usize) -> String {
    let size = x.abs();
    if size == 0.0 || (1e-4..1e6).contains(&size) {
        let text = format!("{x:.decimals$}");
        // A zero has no sign in the text.
        let is_zero = text.bytes().all(|byte| b"-0.".contains(&byte));
        if is_zero { text.trim_start_matches('-').to_owned() } else { text }
    } else {
        format!("{x:.2e}")
    }
}

/// Returns a bound in scientific notation, rounded up to two digits.
pub fn bound(x: f64) -> String {
    let unit = libm::exp10(libm::floor(libm::log10(x)) - 1.0);
    // Of 0 the unit is 0, too.
    format!("{:.1e}", if x > 0.0 { libm::ceil(x / unit) * unit } else { x })
}

const WIDEST: usize = 1000;

/// Returns rows in columns of equal width, below a head.
pub fn table<R: AsRef<[String]>>(
    head: &[impl ToString],
    rows: impl IntoIterator<Item = R>,
) -> String {
    let head: Vec<_> = head.iter().map(ToString::to_string).collect();
    let rows: Vec<R> = rows.into_iter().collect();
    let all = || rows.iter().map(R::as_ref).chain([&head[..]]);
    // Wider cells are not padded: names may be of any length.
    let width =
        |i: usize| all().filter_map(|row| row.get(i)).map(|cell| cell.chars().count()).max();
    let widths: Vec<_> = (0..head.len()).map(|i| width(i).unwrap_or(0).min(WIDEST)).collect();
    let line = |row: &[String]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    let rule: Vec<_> = widths.iter().map(|&width| "─".repeat(width)).collect();
    let rows: String = rows.iter().map(|row| line(row.as_ref())).collect();
    format!("{}{}\n{rows}", line(&head), rule.join("  "))
}
