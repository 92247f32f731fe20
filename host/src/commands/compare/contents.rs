//! Where the contents of two files first differ.

use crate::error::Error;
use crate::files;
use crate::formats::npz::Npz;
use crate::formats::{Array, Data};
use safetensors::SafeTensors;
use serde_json::Value;
use std::path::Path;

/// The first difference, in the terms of the format if both files have it; none if the files are
/// equal byte for byte.
/// Errors: [`Error::File`] if one cannot be read.
pub fn first_difference(a: &Path, b: &Path) -> Result<Option<String>, Error> {
    let read = |path: &Path| read_file(path).map_err(|e| Error::file(path, e));
    let (bytes_a, bytes_b) = (read(a)?, read(b)?);
    if bytes_a == bytes_b {
        return Ok(None);
    }
    let extension = a.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let place = match extension.as_str() {
        "npz" => in_arrays(&bytes_a, &bytes_b),
        "safetensors" => in_tensors(&bytes_a, &bytes_b),
        "csv" => in_tables(&bytes_a, &bytes_b),
        "json" => in_json(&bytes_a, &bytes_b),
        "toml" => in_lines(&bytes_a, &bytes_b),
        _ => None,
    };
    // Files that differ in form alone, or that are damaged, are compared as bytes.
    Ok(Some(place.unwrap_or_else(|| in_bytes(&bytes_a, &bytes_b))))
}

/// A file that was named, or one of a run.
fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    files::read(path, files::RECORD)
}

fn in_bytes(a: &[u8], b: &[u8]) -> String {
    let at = a.iter().zip(b).position(|(x, y)| x != y).unwrap_or(a.len().min(b.len()));
    match (a.get(at), b.get(at)) {
        (Some(x), Some(y)) => format!("byte {at}: {x:#04x} against {y:#04x}"),
        _ => format!("{} against {} bytes, equal as far as both go", a.len(), b.len()),
    }
}

fn in_arrays(a: &[u8], b: &[u8]) -> Option<String> {
    let path = Path::new("");
    let (mut a, mut b) = (Npz::from_bytes(path, a).ok()?, Npz::from_bytes(path, b).ok()?);
    let (names_a, names_b) = (a.names(), b.names());
    for name in &names_a.0 {
        if !names_b.0.contains(name) {
            return Some(format!("array `{name}`: only in A"));
        }
        let (x, y) = (a.array(name).ok()?, b.array(name).ok()?);
        if let Some(difference) = in_array(&x, &y) {
            return Some(format!("array `{name}`{difference}"));
        }
    }
    let only_b = names_b.0.iter().find(|name| !names_a.0.contains(name))?;
    Some(format!("array `{only_b}`: only in B"))
}

fn in_array(a: &Array, b: &Array) -> Option<String> {
    if a.shape != b.shape {
        return Some(format!(": {} against {}", a.describe(), b.describe()));
    }
    let at = match (&a.data, &b.data) {
        (Data::F32(x), Data::F32(y)) => position(x, y, |x| x.to_bits().into()),
        (Data::F64(x), Data::F64(y)) => position(x, y, |x| x.to_bits()),
        (Data::I64(x), Data::I64(y)) => position(x, y, |x| x as u64),
        _ => return Some(format!(": {} against {}", a.describe(), b.describe())),
    }?;
    let (x, y) = (a.to_f64()[at], b.to_f64()[at]);
    Some(format!("{}: {x} against {y}", index(&a.shape, at)))
}

fn in_tensors(a: &[u8], b: &[u8]) -> Option<String> {
    let (a, b) = (SafeTensors::deserialize(a).ok()?, SafeTensors::deserialize(b).ok()?);
    let (mut names_a, mut names_b) = (a.names(), b.names());
    names_a.sort_unstable();
    names_b.sort_unstable();
    for name in &names_a {
        let Ok(y) = b.tensor(name) else { return Some(format!("tensor `{name}`: only in A")) };
        let x = a.tensor(name).ok()?;
        if x.dtype() != y.dtype() || x.shape() != y.shape() {
            return Some(format!(
                "tensor `{name}`: {:?} of shape {:?} against {:?} of shape {:?}",
                x.dtype(),
                x.shape(),
                y.dtype(),
                y.shape()
            ));
        }
        let bytes = x.data().len() / x.shape().iter().product::<usize>().max(1);
        if let Some(at) = x.data().iter().zip(y.data()).position(|(x, y)| x != y) {
            let element = at / bytes.max(1);
            let place = index(x.shape(), element);
            let number = |data: &[u8]| match data.get(element * bytes..(element + 1) * bytes) {
                Some(&[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]).to_string(),
                Some(bytes) => format!("{bytes:02x?}"),
                None => String::new(),
            };
            return Some(format!(
                "tensor `{name}`{place}: {} against {}",
                number(x.data()),
                number(y.data())
            ));
        }
    }
    let only_b = names_b.into_iter().find(|name| !names_a.contains(name))?;
    Some(format!("tensor `{only_b}`: only in B"))
}

fn in_tables(a: &[u8], b: &[u8]) -> Option<String> {
    let open = |bytes| csv::ReaderBuilder::new().flexible(true).from_reader(bytes);
    let (mut a, mut b) = (open(a), open(b));
    let head = a.byte_headers().ok()?.clone();
    if head != *b.byte_headers().ok()? {
        return Some("other columns".to_owned());
    }
    let (mut rows_a, mut rows_b) = (a.byte_records(), b.byte_records());
    for row in 1_u64.. {
        let (x, y) = match (rows_a.next(), rows_b.next()) {
            (None, None) => return None,
            (Some(x), Some(y)) => (x.ok()?, y.ok()?),
            (Some(_), None) => return Some(format!("row {row}: only in A")),
            (None, Some(_)) => return Some(format!("row {row}: only in B")),
        };
        let columns = x.len().max(y.len());
        if let Some(at) = (0..columns).find(|&i| x.get(i) != y.get(i)) {
            let text = |cell: Option<&[u8]>| {
                String::from_utf8_lossy(cell.unwrap_or_default()).into_owned()
            };
            let (column, x, y) = (text(head.get(at)), text(x.get(at)), text(y.get(at)));
            return Some(format!("row {row}, column `{column}`: {x} against {y}"));
        }
    }
    None
}

fn in_json(a: &[u8], b: &[u8]) -> Option<String> {
    /// The place, innermost name first, and what differs there.
    fn walk(a: &Value, b: &Value) -> Option<(Vec<String>, String)> {
        let below = |name: &str, x: &Value, y: Option<&Value>| {
            let (mut place, what) = match y {
                Some(y) => walk(x, y)?,
                None => (Vec::new(), "only in A".to_owned()),
            };
            place.push(name.to_owned());
            Some((place, what))
        };
        match (a, b) {
            (Value::Object(x), Value::Object(y)) => {
                let only_b = || y.keys().find(|key| !x.contains_key(*key));
                let of_b = || Some((vec![only_b()?.clone()], "only in B".to_owned()));
                x.iter().find_map(|(key, x)| below(key, x, y.get(key))).or_else(of_b)
            }
            (Value::Array(x), Value::Array(y)) if x.len() == y.len() => {
                (x.iter().zip(y)).enumerate().find_map(|(i, (x, y))| {
                    if x == y { None } else { below(&i.to_string(), x, Some(y)) }
                })
            }
            _ if a == b => None,
            _ => Some((Vec::new(), format!("{a} against {b}"))),
        }
    }
    let (a, b) = (serde_json::from_slice(a).ok()?, serde_json::from_slice(b).ok()?);
    let (mut place, what) = walk(&a, &b)?;
    place.reverse();
    Some(format!("`{}`: {what}", place.join(".")))
}

fn in_lines(a: &[u8], b: &[u8]) -> Option<String> {
    let (a, b) = (str::from_utf8(a).ok()?.lines(), str::from_utf8(b).ok()?.lines());
    let (line, (a, b)) = a.zip(b).enumerate().find(|(_, (a, b))| a != b)?;
    Some(format!("line {}: {a} against {b}", line + 1))
}

fn position<T: Copy>(a: &[T], b: &[T], bits: impl Fn(T) -> u64) -> Option<usize> {
    a.iter().zip(b).position(|(&x, &y)| bits(x) != bits(y))
}

/// The place of an element as NumPy writes it, `[0, 3, 4]`.
fn index(shape: &[usize], mut element: usize) -> String {
    let mut place = vec![String::new(); shape.len()];
    for (axis, &extent) in shape.iter().enumerate().rev() {
        place[axis] = (element % extent.max(1)).to_string();
        element /= extent.max(1);
    }
    format!("[{}]", place.join(", "))
}
