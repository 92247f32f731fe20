//! `ictd compare`: two runs or two files, bit for bit.

use crate::error::{Error, InFile as _, ToFile as _};
use crate::experiments::Catalogue;
use crate::files::{
    self, Kind,
    limits::{COMPARED, ENTRIES, of_record},
};
use crate::page;
use crate::run::{
    Claim, Report, RunFiles, Source, Verdict, config, info, lock, records, report, transaction,
};
use figures::{Curve, Curves, Figure, Panel};
use serde_json::json;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// Files about how a run went, which are not results; the page shows the content of `run.json`.
const NOT_COMPARED: [&str; 3] = [lock::FILE_NAME, info::FILE_NAME, page::NAME];

const DEEPEST: usize = 16;

const SHOWN: usize = 20;

/// Compare two runs or two files: whether they are bit-equal, and where they first differ
///
/// A and B are two run directories or two files. In run directories all files are compared except
/// `run.json`, which says how the run went, `report.html`, which shows it, and the lock; the first
/// difference in the first differing file is shown: a cell of a table (.csv), a line of results
/// (.json), or else a byte. Exit code 0 if all is equal, 1 if not.
#[derive(Clone, Debug, clap::Args)]
pub struct Compare {
    /// A run directory or a file
    pub a: PathBuf,
    /// Another one
    pub b: PathBuf,
    /// Write figures to DIR with the curves of both runs, those of B dashed
    #[arg(long, value_name = "DIR")]
    pub figures: Option<PathBuf>,
}

/// A differing file and, for the first one only, where it first differs.
type Difference = (String, Option<String>);

pub fn run(options: &Compare, catalogue: &Catalogue) -> Result<Report, Error> {
    let Compare { a, b, figures } = options;
    let is_directory = |path: &Path| match files::is_folder(path) {
        true => Ok(true),
        // Reports why it cannot be opened, if it is not a file either.
        false => files::open(path, COMPARED).map(|_| false).in_file(path),
    };
    let (files_compared, differences) = match (is_directory(a)?, is_directory(b)?) {
        (true, true) => directories(a, b)?,
        (false, false) => {
            let file = a.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let place = first_difference(a, b)?;
            (1, place.map(|place| (file, Some(place))).into_iter().collect())
        }
        _ => return Err(Error::file(b, "expected two directories or two files")),
    };
    let equal = differences.is_empty();
    let listed = |(file, place): &Difference| json!({ "file": file, "first_difference": place });
    let listed: Vec<_> = differences.iter().map(listed).collect();
    let found = json!({ "equal": equal, "files_compared": files_compared, "differences": listed });
    let mut report = Report::of("compare", &found);
    report.text = text(&differences);
    let files_equal = files_compared - differences.len();
    let measured = format!("{files_equal} of {files_compared} files equal");
    let verdict = Verdict::of(equal);
    report.claims.push(Claim::new("A and B are bit-equal", Source::own(""), measured, verdict));
    if let Some(directory) = figures {
        report.files = overlaid(a, b, directory, catalogue)?;
    }
    Ok(report)
}

fn overlaid(
    a: &Path,
    b: &Path,
    directory: &Path,
    catalogue: &Catalogue,
) -> Result<Vec<PathBuf>, Error> {
    let command = config::command_of(a)?;
    let entry = catalogue.entries().find(|entry| entry.id == command);
    let Some(entry) = entry.filter(|_| config::command_of(b).is_ok_and(|of_b| of_b == command))
    else {
        let reason = format!("expected a run of `{command}` with figures, as A is");
        return Err(Error::file(b, reason));
    };
    let drawn = |run: &Path| entry.drawn(&RunFiles::open(run)?);
    let (figures, others) = (drawn(a)?, drawn(b)?);
    let labelled = |run: &str, curve: &Curve, dashed| Curve {
        label: format!("{run}: {}", curve.label).trim_end_matches(": ").to_owned(),
        dashed,
        ..curve.clone()
    };
    let curves = |panel: &Panel| match panel {
        Panel::Curves(curves) => Some(curves.clone()),
        Panel::Heatmap(_) => None,
    };
    let both = |(name, figure): (String, Figure)| {
        let (_, other) = others.iter().find(|(other, _)| *other == name)?;
        let others: Vec<_> = other.panels.iter().filter_map(curves).collect();
        let both = |of_a: Curves| {
            let of_b = others.iter().find(|of_b| of_b.title == of_a.title)?;
            let a = of_a.curves.iter().map(|curve| labelled("A", curve, false));
            let b = of_b.curves.iter().map(|curve| labelled("B", curve, true));
            Some(Panel::Curves(Curves { curves: a.chain(b).collect(), ..of_a }))
        };
        let panels: Vec<_> = figure.panels.iter().filter_map(curves).filter_map(both).collect();
        let subtitle = "A, and B dashed".into();
        (!panels.is_empty()).then_some((name, Figure { subtitle, panels, ..figure }))
    };
    let figures: Vec<_> = figures.into_iter().filter_map(both).collect();
    if figures.is_empty() {
        return Err(Error::file(a, "no figure with curves that B has, too"));
    }
    files::make_folders(directory).to_file(directory)?;
    let write = |(name, figure): &(String, Figure)| {
        let path = directory.join(format!("{name}.svg"));
        records::write_atomic(&path, figure.to_svg().as_bytes())?;
        Ok(path)
    };
    figures.iter().map(write).collect()
}

/// Returns the number of files on either side, and those that differ, in the order of their names.
fn directories(a: &Path, b: &Path) -> Result<(usize, Vec<Difference>), Error> {
    let (in_a, in_b) = (files_below(a)?, files_below(b)?);
    let all: BTreeSet<_> = in_a.union(&in_b).collect();
    if all.is_empty() {
        return Err(Error::file(a, "no files: expected the directory of a run"));
    }
    let mut differences: Vec<Difference> = Vec::new();
    for name in &all {
        let file = name.display().to_string();
        let first_difference = match (in_a.contains(*name), in_b.contains(*name)) {
            (true, true) if is_equal(a, b, name)? => continue,
            (true, true) if differences.is_empty() => {
                first_difference(&a.join(name), &b.join(name))?
            }
            (true, true) => None,
            (true, false) => Some("only in A".to_owned()),
            _ => Some("only in B".to_owned()),
        };
        differences.push((file, first_difference));
    }
    Ok((all.len(), differences))
}

fn is_equal(a: &Path, b: &Path, name: &Path) -> Result<bool, Error> {
    let [path_a, path_b] = [a, b].map(|run| run.join(name));
    let open = |path: &Path| {
        let file = files::open_unlinked(path, of_record(&name.to_string_lossy()));
        file.map(|file| BufReader::with_capacity(1 << 16, file)).in_file(path)
    };
    let (mut file_a, mut file_b) = (open(&path_a)?, open(&path_b)?);
    loop {
        let piece_a = file_a.fill_buf().in_file(&path_a)?;
        let piece_b = file_b.fill_buf().in_file(&path_b)?;
        let count = piece_a.len().min(piece_b.len());
        if count == 0 || piece_a[..count] != piece_b[..count] {
            return Ok(piece_a.is_empty() && piece_b.is_empty());
        }
        file_a.consume(count);
        file_b.consume(count);
    }
}

fn files_below(directory: &Path) -> Result<BTreeSet<PathBuf>, Error> {
    let mut found = BTreeSet::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(below) = waiting.pop() {
        let path = directory.join(&below);
        transaction::settle_unclaimed(&path)?;
        for (name, kind) in files::list(&path).in_file(&path)? {
            let text = name.to_string_lossy();
            if kind == Kind::Folder {
                waiting.push(below.join(&name));
            } else if !NOT_COMPARED.contains(&text.as_ref()) {
                found.insert(below.join(&name));
            }
        }
        if below.components().count() > DEEPEST || found.len() > ENTRIES {
            let reason = format!("expected {ENTRIES} files in {DEEPEST} folders within each other");
            return Err(Error::file(&path, reason));
        }
    }
    Ok(found)
}

fn text(differences: &[Difference]) -> String {
    if differences.is_empty() {
        return String::new();
    }
    let row =
        |(file, place): &Difference| [file.clone(), place.clone().unwrap_or("other bytes".into())];
    let rows = differences.iter().take(SHOWN).map(row);
    let more = match differences.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("and {more} more files\n"),
    };
    report::table(&["file", "first difference"], rows) + &more + "\n"
}

pub fn first_difference(a: &Path, b: &Path) -> Result<Option<String>, Error> {
    let read = |path: &Path| files::read(path, COMPARED).in_file(path);
    let (bytes_a, bytes_b) = (read(a)?, read(b)?);
    if bytes_a == bytes_b {
        return Ok(None);
    }
    let kind = a.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let place = match kind.as_str() {
        "csv" | "json" | "toml" => in_lines(&kind, &bytes_a, &bytes_b),
        _ => None,
    };
    // Files that differ only in form, or that are damaged, are compared as bytes.
    Ok(Some(place.unwrap_or_else(|| in_bytes(&bytes_a, &bytes_b))))
}

fn in_bytes(a: &[u8], b: &[u8]) -> String {
    let at = a.iter().zip(b).position(|(x, y)| x != y).unwrap_or(a.len().min(b.len()));
    match (a.get(at), b.get(at)) {
        (Some(x), Some(y)) => format!("byte {at}: {x:#04x} against {y:#04x}"),
        _ => format!("{} against {} bytes, equal as far as both go", a.len(), b.len()),
    }
}

fn in_lines(kind: &str, a: &[u8], b: &[u8]) -> Option<String> {
    let (a, b) = (str::from_utf8(a).ok()?, str::from_utf8(b).ok()?);
    let (mut lines_a, mut lines_b) = (a.lines(), b.lines());
    for line in 1_u64.. {
        let (x, y) = match (lines_a.next(), lines_b.next()) {
            (None, None) => break,
            (Some(x), Some(y)) if x == y => continue,
            (Some(x), Some(y)) => (x, y),
            (Some(_), None) => return Some(format!("line {line}: only in A")),
            (None, Some(_)) => return Some(format!("line {line}: only in B")),
        };
        let [head, cells_a, cells_b] = [a.lines().next()?, x, y].map(|line| line.split(','));
        let is_table = kind == "csv" && line > 1 && !a.contains('"');
        let is_table = is_table && cells_a.clone().count() == cells_b.clone().count();
        let differs = head.zip(cells_a.zip(cells_b)).find(|(_, (x, y))| x != y);
        return Some(match differs.filter(|_| is_table) {
            Some((column, (x, y))) => {
                format!("row {}, column `{column}`: {x} against {y}", line - 1)
            }
            None => format!("line {line}: `{}` against `{}`", x.trim(), y.trim()),
        });
    }
    None
}
