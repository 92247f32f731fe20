//! The docstrings of `ictd/_ictd.pyi`, one file each, so that Python shows at run time what its editor shows.

use std::collections::BTreeMap;
use std::path::Path;

const STUB: &str = "ictd/_ictd.pyi";

fn main() {
    println!("cargo::rerun-if-changed={STUB}");
    println!("cargo::rerun-if-changed=build.rs");
    let stub = std::fs::read_to_string(STUB).expect("the stub is beside Cargo.toml");
    let out = std::env::var("OUT_DIR").expect("cargo says where to write");
    for (name, text) in docstrings(&stub) {
        std::fs::write(Path::new(&out).join(name), text).expect("cargo's folder can be written");
    }
}

/// Returns each docstring by its place, `Class`, `Class.method` or `function`; the first of overloads.
fn docstrings(stub: &str) -> BTreeMap<String, String> {
    let (mut found, mut class, mut place) = (BTreeMap::new(), "", String::new());
    let mut lines = stub.lines();
    while let Some(line) = lines.next() {
        let (code, is_inside) = (line.trim_start(), line.starts_with(' '));
        let name = |keyword: &str| code.strip_prefix(keyword)?.split(['(', ':']).next();
        if let Some(name) = name("class ") {
            (class, place) = (name, name.to_owned());
        } else if let Some(name) = name("def ") {
            place = if is_inside { format!("{class}.{name}") } else { name.to_owned() };
        } else if let Some(text) = code.strip_prefix("\"\"\"") {
            let mut text = text.to_owned();
            while !text.trim_end().ends_with("\"\"\"") {
                text.push('\n');
                text.push_str(lines.next().expect("a docstring ends").trim());
            }
            let text = text.trim_end().trim_end_matches("\"\"\"").trim_end().to_owned();
            found.entry(place.clone()).or_insert(text);
        }
    }
    found
}
