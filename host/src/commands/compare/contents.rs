//! Where the contents of two files first differ.

use crate::error::Error;
use crate::files::{self, limits::COMPARED};
use crate::formats::npz::Npz;
use crate::formats::{Array, Data};
use safetensors::{Dtype, SafeTensors};
use std::collections::BTreeSet;
use std::path::Path;

/// Returns the first difference of two files: in the terms of the format if both have it (an element of an array, a
/// cell of a table, a line of a text), else a byte; none if they are equal byte for byte.
/// Errors: [`Error::File`] if one cannot be read.
pub fn first_difference(a: &Path, b: &Path) -> Result<Option<String>, Error> {
    let read = |path: &Path| files::read(path, COMPARED).map_err(|e| Error::file(path, e));
    let (bytes_a, bytes_b) = (read(a)?, read(b)?);
    if bytes_a == bytes_b {
        return Ok(None);
    }
    let kind = a.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let place = match kind.as_str() {
        "npz" | "safetensors" => in_arrays(&kind, &bytes_a, &bytes_b),
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

/// An array by its name: as bits, as numbers.
type Named = (String, Array);

fn arrays(kind: &str, bytes: &[u8]) -> Option<Vec<Named>> {
    if kind == "npz" {
        let mut npz = Npz::from_bytes(Path::new(""), bytes).ok()?;
        let names = npz.names();
        return names
            .into_iter()
            .map(|name| Some((name.clone(), npz.array(&name).ok()?)))
            .collect();
    }
    let tensors = SafeTensors::deserialize(bytes).ok()?;
    let mut named: Vec<Named> = (tensors.tensors().into_iter())
        .map(|(name, tensor)| {
            let numbers = tensor.data().as_chunks().0.iter().map(|x| f32::from_le_bytes(*x));
            let data = Data::F32(numbers.collect());
            let is_single = tensor.dtype() == Dtype::F32;
            is_single.then(|| (name, Array { shape: tensor.shape().to_vec(), data }))
        })
        .collect::<Option<_>>()?;
    named.sort_by(|a, b| a.0.cmp(&b.0));
    Some(named)
}

fn in_arrays(kind: &str, a: &[u8], b: &[u8]) -> Option<String> {
    let (a, b) = (arrays(kind, a)?, arrays(kind, b)?);
    for (name, x) in &a {
        let Some((_, y)) = b.iter().find(|(other, _)| other == name) else {
            return Some(format!("array `{name}`: only in A"));
        };
        if let Some(difference) = in_array(x, y) {
            return Some(format!("array `{name}`{difference}"));
        }
    }
    let names: BTreeSet<_> = a.iter().map(|(name, _)| name).collect();
    let (only_b, _) = b.iter().find(|(name, _)| !names.contains(name))?;
    Some(format!("array `{only_b}`: only in B"))
}

fn in_array(a: &Array, b: &Array) -> Option<String> {
    let position = match (&a.data, &b.data) {
        _ if a.shape != b.shape => None,
        (Data::F32(x), Data::F32(y)) => Some(differs(x, y, |x| x.to_bits().into())),
        (Data::F64(x), Data::F64(y)) => Some(differs(x, y, |x| x.to_bits())),
        (Data::I64(x), Data::I64(y)) => Some(differs(x, y, |x| x as u64)),
        _ => None,
    };
    let Some(position) = position else {
        return Some(format!(": {} against {}", a.describe(), b.describe()));
    };
    let at = position?;
    // As NumPy writes it, `[0, 3, 4]`.
    let (mut place, mut rest) = (Vec::new(), at);
    for &extent in a.shape.iter().rev() {
        place.insert(0, rest % extent.max(1));
        rest /= extent.max(1);
    }
    Some(format!("{place:?}: {} against {}", a.to_f64()[at], b.to_f64()[at]))
}

fn differs<T: Copy>(a: &[T], b: &[T], bits: impl Fn(T) -> u64) -> Option<usize> {
    a.iter().zip(b).position(|(&x, &y)| bits(x) != bits(y))
}
