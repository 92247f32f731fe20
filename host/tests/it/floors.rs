//! The modules of a crate stand on floors: each imports those below it alone, and no files or folders of one
//! folder import each other in a circle. Tests and comments may name whatever they like.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The modules of the host, from the ground up.
const HOST: &str = "options program files error formats model_file run exit train experiments sweep page commands \
    cli guide";

/// The modules of the core from which firmware computes values, from the ground up.
const INFERENCE: &str = "error scalar linalg entrywise transition auxiliary mask statistic value_function layer \
    transformer bytes context signal td model universal predictor by_dim";

/// Those above it: what trains, draws and judges. That no arrow runs up is also that inference knows nothing
/// of them.
const RESEARCH: &str =
    "prompt attention constructions rng tasks metrics training invariant_set digest paper";

#[test]
fn every_arrow_between_modules_runs_down() {
    let names = |of: &'static str| of.split(' ').collect::<Vec<_>>();
    let house = |src| House::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(src));
    assert_eq!(house("src").faults(&names(HOST)), [""; 0]);
    let core = [names(INFERENCE), names(RESEARCH)].concat();
    assert_eq!(house("../core/src").faults(&core), [""; 0]);
}

#[test]
fn an_arrow_up_and_a_circle_are_found() {
    let faults = |files: &[(&str, &str)]| {
        let mut house = House::default();
        files.iter().for_each(|(file, text)| house.add(Path::new(file), text));
        house.faults(&["low", "high"])
    };
    let low_alone =
        ("low.rs", "#[cfg(test)]\nmod tests {\n    use crate::high::H;\n}\n// crate::high\n");
    let high = ("high.rs", "use crate::low::{self, Low};\n");
    assert_eq!(faults(&[low_alone, high]), [""; 0]);
    let low = ("low/mod.rs", "pub use a::A;\nmacro_rules! h { () => { $crate::high::h() } }\n");
    let files =
        [low, ("low/a.rs", "use std::{fs,\n io::{self, Read}};\nuse super::{B, c::C};\n"), high];
    let up = "low imports high, which stands above it";
    assert_eq!(faults(&files), [up, "in a circle: high, low"]);
    let ring = [
        ("low/mod.rs", "mod a;\nmod b;\n"),
        ("low/a/mod.rs", "mod c;\n"),
        ("low/a/c.rs", "fn f() -> u8 { super::super::b::g::<u8>() }\n"),
        ("low/b.rs", "use crate::low::a::{f as h};\n"),
        ("high.rs", ""),
    ];
    assert_eq!(faults(&ring), ["in a circle: low::a, low::b"]);
    let root = [("low.rs", "use crate::Low;\n"), ("lib.rs", "pub use low::Low;\n"), ("top.rs", "")];
    let expected = [
        "the table names high, which is no module",
        "the table does not name top",
        "low imports the crate's root: a module has what it needs",
    ];
    assert_eq!(faults(&root), expected);
}

#[test]
fn no_test_stands_where_none_is_run() {
    // The manifests say `test = false` of these libraries.
    for library in ["src", "compute/src"] {
        let src = Path::new(env!("CARGO_MANIFEST_DIR")).join(library);
        let files = sources(&src);
        assert!(files.len() > 5, "{library}");
        for (path, text) in files {
            let has_test = text.contains("#[test]") || text.contains("cfg(test)");
            assert!(!has_test, "{library}/{}: in tests/ it would be run", path.display());
        }
    }
}

#[test]
fn one_module_touches_files() {
    let house = House::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let touches = "std::fs fs:: File:: OpenOptions tempfile .exists() .is_file() .is_dir() .is_symlink() \
        .symlink_metadata() .canonicalize() .read_dir() .read_link() std::os";
    let of_module = |name: &str| {
        let code = &house.code[name];
        touches.split(' ').filter(|touch| code.contains(touch)).count()
    };
    let elsewhere: Vec<_> = house
        .code
        .keys()
        .filter(|name| top(name) != "files")
        .filter(|name| of_module(name) > 0)
        .collect();
    assert_eq!(elsewhere, [""; 0]);
    assert!(of_module("files") > 5);
}

/// Every source file below a folder: its path there, and its text.
fn sources(src: &Path) -> Vec<(PathBuf, String)> {
    let (mut files, mut waiting) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(below) = waiting.pop() {
        for entry in fs::read_dir(src.join(&below)).unwrap() {
            let path = below.join(entry.unwrap().file_name());
            if src.join(&path).is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = fs::read_to_string(src.join(&path)).unwrap();
                files.push((path, text));
            }
        }
    }
    files
}

/// The code of a crate by module (`train::log`; the root has no name), without tests and comments.
#[derive(Default)]
struct House {
    code: BTreeMap<String, String>,
}

impl House {
    fn read(src: &Path) -> Self {
        let mut house = House::default();
        sources(src).iter().for_each(|(path, text)| house.add(path, text));
        house
    }

    fn add(&mut self, file: &Path, text: &str) {
        let file = file.with_extension("");
        let module: Vec<_> = file.iter().map(|n| n.to_str().unwrap()).collect();
        let module = match &module[..] {
            [folders @ .., "mod" | "lib"] => folders.join("::"),
            names => names.join("::"),
        };
        // Tests stand at the end.
        let lines = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
        let code = lines.filter(|line| !line.trim_start().starts_with("//"));
        self.code.insert(module, code.map(|line| format!("{line}\n")).collect());
    }

    /// Returns the imports that are against the order `floors`, the lowest first.
    fn faults(&self, floors: &[&str]) -> Vec<String> {
        let floor = |module: &str| floors.iter().position(|name| *name == top(module));
        let modules = || self.code.keys().filter(|m| !m.is_empty() && *m != "main");
        let tops: BTreeSet<_> = modules().map(|m| top(m)).collect();
        let missing = floors.iter().filter(|name| !tops.contains(**name));
        let mut faults: Vec<_> =
            missing.map(|name| format!("the table names {name}, which is no module")).collect();
        let unnamed = tops.iter().filter(|name| floor(name).is_none());
        faults.extend(unnamed.map(|name| format!("the table does not name {name}")));
        let mut arrows = BTreeSet::new();
        for from in modules() {
            for to in self.imports(from) {
                if to.is_empty() {
                    let why = "a module has what it needs";
                    faults.push(format!("{from} imports the crate's root: {why}"));
                } else if floor(to) > floor(from) {
                    faults.push(format!("{from} imports {to}, which stands above it"));
                }
                arrows.extend(apart(from, to));
            }
        }
        let mut reached: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (module, _) in &arrows {
            let mut waiting = vec![*module];
            while let Some(at) = waiting.pop() {
                let next = arrows.iter().filter(|(from, _)| *from == at);
                let of_module = reached.entry(module).or_default();
                waiting.extend(next.map(|(_, to)| *to).filter(|to| of_module.insert(to)));
            }
        }
        let circles = reached.iter().filter(|(module, others)| others.contains(*module));
        let circles = circles.map(|(module, others)| {
            let back =
                others.iter().filter(|o| reached.get(*o).is_some_and(|r| r.contains(module)));
            format!("in a circle: {}", back.copied().collect::<Vec<_>>().join(", "))
        });
        faults.extend(circles.collect::<BTreeSet<_>>());
        faults
    }

    /// Returns the modules that the paths in a module's code lead to.
    fn imports(&self, module: &str) -> BTreeSet<&str> {
        let paths = paths(&self.code[module]);
        let found = paths.iter().filter_map(|path| self.walk(module, path));
        found.filter(|found| *found != module).collect()
    }

    /// Returns the last module on a path; `None` if it leaves the crate.
    fn walk(&self, module: &str, path: &str) -> Option<&str> {
        let mut place = module.to_owned();
        for (i, name) in path.split("::").enumerate() {
            place = match name {
                "crate" => String::new(),
                "self" => place,
                "super" => place.rsplit_once("::").map_or("", |(parent, _)| parent).to_owned(),
                name if self.code.contains_key(&joined(&place, name)) => joined(&place, name),
                _ if i == 0 => return None,
                _ => break,
            };
        }
        self.code.get_key_value(&place).map(|(found, _)| found.as_str())
    }
}

/// An arrow as it is seen from the folder that both ends are in: of each, the file or folder there. None if one
/// is that folder's own module, which builds on its files and is what they share.
fn apart<'a>(from: &'a str, to: &'a str) -> Option<(&'a str, &'a str)> {
    let names = from.split("::").zip(to.split("::"));
    let shared: usize = names.take_while(|(a, b)| a == b).map(|(a, _)| a.len() + 2).sum();
    let there = |module: &'a str| {
        let rest = module.get(shared..)?;
        Some(&module[..shared + rest.find("::").unwrap_or(rest.len())])
    };
    Some((there(from)?, there(to)?))
}

fn top(module: &str) -> &str {
    module.split("::").next().unwrap_or_default()
}

fn joined(module: &str, name: &str) -> String {
    if module.is_empty() { name.to_owned() } else { format!("{module}::{name}") }
}

/// Every path of two names or more; those of a group in braces each for itself.
fn paths(code: &str) -> Vec<String> {
    let mut code = code.to_owned();
    // The last group has none inside.
    while let Some(start) = code.rfind("::{") {
        let end = code[start..].find('}').map_or(code.len(), |end| start + end);
        let before = code[..start].trim_end_matches(is_in_path).len();
        let path = &code[before..start];
        let names = code[start + 3..end].split(',').map(str::trim).filter(|name| !name.is_empty());
        let of_group = names.map(|name| {
            let name = name.split_once(" as ").map_or(name, |(name, _)| name);
            format!("{path}::{name}")
        });
        let all = of_group.collect::<Vec<_>>().join(",");
        code.replace_range(before..code.len().min(end + 1), &all);
    }
    let paths = code.split(|c| !is_in_path(c)).map(|path| path.trim_matches(':'));
    paths.filter(|path| path.contains("::")).map(str::to_owned).collect()
}

fn is_in_path(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == ':'
}
