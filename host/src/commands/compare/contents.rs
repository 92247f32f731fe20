//! Where the contents of two files first differ.

use crate::error::Error;
use crate::files::{self, limits::COMPARED};
use std::path::Path;

/// Returns the first difference of two files: a cell of a table, a line of a text, or else a byte; none if they are equal
/// byte for byte.
pub fn first_difference(a: &Path, b: &Path) -> Result<Option<String>, Error> {
    let read = |path: &Path| files::read(path, COMPARED).map_err(|e| Error::file(path, e));
    let (bytes_a, bytes_b) = (read(a)?, read(b)?);
    if bytes_a == bytes_b {
        return Ok(None);
    }
    let kind = a.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let place = match kind.as_str() {
        "csv" | "json" | "toml" => in_lines(&kind, &bytes_a, &bytes_b),
        _ => None,
    };
    // Files that differ in form alone, or that are damaged, are compared as bytes.
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
