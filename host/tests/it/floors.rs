//! The modules of a crate stand on floors: each imports those below it alone, and no files or folders of one
//! folder import each other in a circle. Tests and comments may name whatever they like.

use crate::common::*;
use std::collections::{BTreeMap, BTreeSet};

/// Every crate, from the ground up: its folder, and its modules from the ground up (binaries and the root apart).
const CRATES: &[(&str, &str)] = &[
    // The last line is what trains, draws and judges: inference knows nothing of it.
    (
        "core",
        "error chip setters scalar linalg entrywise transition auxiliary mask statistic value_function layer preconditioned \
            transformer bytes context signal td model universal predictor by_dim \
            prompt attention constructions rng tasks metrics training invariant_set digest paper",
    ),
    ("core/c", "context predictor trainer"),
    ("tests/elementary", "walk"),
    ("tests/platforms", "bare host"),
    ("host/figures", "style font scale drawing svg pdf heatmap curves"),
    ("host/live", "chain signals browser"),
    ("host/tables", "text problem clock reader"),
    ("host/digests", ""),
    ("embedded-demo", "counter chip stack log demo costs interrupts product"),
    ("tests", "golden check shapes"),
    (
        "host/compute",
        "capacity options words array_checks transitions log checkpoint level networks logged \
            own_tasks mixture settings recipe tasks group shapes trainer",
    ),
    (
        "host/judge",
        "parameters construction estimator explained formulas predict control judge universal invariant \
            measure stored verify value_error bridge bench",
    ),
    (
        "host",
        "options program files error encoder returns formats run exit train model_file experiments sweep page commands cli guide",
    ),
    ("host/fuzz", "bounds c_storage seeds targets"),
    (
        "host/python",
        "error arithmetic array command_line predictor model features task context train batches judging",
    ),
    ("tests/extension", "task mask figure"),
];

/// The small crates whose root has what their modules share.
const ROOT_IS_SHARED: [&str; 6] =
    ["core/c", "host/live", "host/fuzz", "host/python", "tests", "tests/platforms"];

#[test]
fn every_arrow_between_modules_runs_down() {
    let arrows = CRATES.iter().map(|(krate, floors)| check(krate, floors));
    assert!(arrows.sum::<usize>() > 300);
}

#[test]
fn every_arrow_between_crates_runs_down() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let manifest = |krate: &str| root.join(krate).text("Cargo.toml");
    let members = root.text("Cargo.toml");
    let members = members.lines().find_map(|line| line.strip_prefix("members = [")).unwrap();
    let members = members.split('"').filter(|name| name.starts_with(char::is_alphabetic));
    let mut listed: BTreeSet<_> = CRATES.iter().map(|(krate, _)| *krate).collect();
    for member in members {
        assert!(listed.remove(member), "{member} is not in the table of crates");
    }
    // It is a workspace of its own.
    assert_eq!(listed, BTreeSet::from(["host/fuzz"]));
    let canonical = |path: PathBuf| path.canonicalize().unwrap();
    let folders: Vec<_> = CRATES.iter().map(|(krate, _)| canonical(root.join(krate))).collect();
    let mut arrows = 0;
    for (floor, (krate, _)) in CRATES.iter().enumerate() {
        for line in
            manifest(krate).lines().filter(|line| line.contains(" path = ") && line.contains('{'))
        {
            let path = line.split_once("path = \"").unwrap().1.split('"').next().unwrap();
            let to = canonical(root.join(krate).join(path));
            let to = folders.iter().position(|folder| *folder == to);
            // Its own tests may name a crate with other features.
            assert!(
                to.is_some_and(|to| to <= floor),
                "{krate} needs {path}, which stands above it"
            );
            arrows += 1;
        }
    }
    assert!(arrows > 15, "{arrows}");
}

/// Asserts that imports follow the order of a crate's floors, the lowest first, and run in no circle; returns their number.
fn check(krate: &str, floors: &str) -> usize {
    let src = format!("../{krate}/src");
    let house = House::read(&src);
    let floors: Vec<_> = floors.split_whitespace().collect();
    let floor = |module: &str| floors.iter().position(|name| *name == top(module));
    let is_program = |module: &str| module == "main" || top(module) == "bin";
    let modules = || house.code.keys().filter(|m| !m.is_empty() && !is_program(m));
    let tops: BTreeSet<_> = modules().map(|m| top(m)).collect();
    assert_eq!(tops, floors.iter().copied().collect(), "{src} has other modules than the table");
    let mut arrows = BTreeSet::new();
    let mut count = 0;
    for from in modules() {
        for to in house.imports(from) {
            if to.is_empty() && ROOT_IS_SHARED.contains(&krate) {
                continue;
            }
            assert!(
                !to.is_empty(),
                "{krate}: {from} imports the crate's root: a module has what it needs"
            );
            assert!(
                floor(to) <= floor(from),
                "{krate}: {from} imports {to}, which stands above it"
            );
            count += 1;
            arrows.extend(apart(from, to));
        }
    }
    // An arrow to what imports nothing is in no circle.
    let mut before = usize::MAX;
    while arrows.len() < before {
        before = arrows.len();
        let importing: BTreeSet<_> = arrows.iter().map(|(from, _)| *from).collect();
        arrows.retain(|(_, to)| importing.contains(to));
    }
    assert!(arrows.is_empty(), "{src}: in or to a circle: {arrows:?}");
    count
}

#[test]
fn no_test_stands_where_none_is_run() {
    // The manifests say `test = false` of these libraries.
    for library in ["src", "compute/src", "judge/src", "tables/src"] {
        for (file, text) in sources(library) {
            let has_test = text.contains("#[test]") || text.contains("cfg(test)");
            assert!(!has_test, "{library}/{file}: in tests/ it would be run");
        }
    }
}

#[test]
fn one_module_touches_files() {
    let house = House::read("src");
    let touches = "std::fs fs:: File:: OpenOptions tempfile .exists() .is_file() .is_dir() .is_symlink() \
        .symlink_metadata() .canonicalize() .read_dir() .read_link() std::os";
    let of_module = |name: &str| {
        let code = &house.code[name];
        touches.split(' ').filter(|touch| code.contains(touch)).count()
    };
    let elsewhere = house.code.keys().filter(|name| top(name) != "files" && of_module(name) > 0);
    assert_eq!(elsewhere.collect::<Vec<_>>(), [""; 0]);
    assert!(of_module("files") > 5);
}

/// Every source file below a folder of this package: its path there, and its text.
fn sources(src: &str) -> impl Iterator<Item = (String, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join(src);
    let code = files(&src).into_iter().filter(|name| name.ends_with(".rs"));
    code.map(move |name| (name.clone(), src.text(name)))
}

/// The code of a crate by module (`train::log`; the root has no name), without tests and comments.
struct House {
    code: BTreeMap<String, String>,
}

impl House {
    fn read(src: &str) -> Self {
        let of_file = |(file, text): (String, String)| {
            let module = file.trim_end_matches(".rs").replace('/', "::");
            let module = match module.rsplit_once("::").unwrap_or(("", &module)) {
                (folder, "mod" | "lib") => folder.to_owned(),
                _ => module,
            };
            // Tests stand at the end.
            let lines = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
            let code = lines.filter(|line| !line.trim_start().starts_with("//"));
            (module, code.collect::<Vec<_>>().join("\n"))
        };
        House { code: sources(src).map(of_file).collect() }
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
