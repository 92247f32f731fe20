//! The golden files: one JSON per family, cases with named arrays.

use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// The families of the paper; `tests/golden_<family>.rs` tests each, and [`OWN_FAMILY`].
pub const FAMILIES: &str =
    "cartpole gradients invariant_set linear_forward metrics mrp rnn theory training_trace";

/// The family that `golden/classical.py` makes. Another folder may lack it: its cases are then this package's.
pub const OWN_FAMILY: &str = "classical";

/// The fields that are not compared; the first three are those that the data marks "(info)", measured about the reference.
pub const INFORMATIONAL: [(&str, &str); 5] = [
    ("theory", "max_abs_y_plus_phi_dot_w"),
    ("metrics", "reference_compare_Q_avg_abs_others"),
    ("invariant_set", "iterates_max_departure_from_structure"),
    // Derivatives by the context: nothing asks for them.
    ("gradients", "dy_dZ0"),
    ("rnn", "dv_dZ"),
];

/// Returns the folder of golden data: `ICTD_GOLDEN` if set, else `golden` in this package.
pub fn folder() -> PathBuf {
    match std::env::var_os("ICTD_GOLDEN") {
        // Cargo runs tests in their package's folder, but a user types paths from the workspace's.
        Some(folder) => Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder),
        None => own_folder(),
    }
}

fn own_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden")
}

/// Inputs and what must come out of them.
#[derive(Clone, Debug)]
pub struct Case {
    /// The family's name.
    pub family: String,
    /// The case's name, for messages only.
    pub name: String,
    json: Value,
}

/// A nested list of numbers, flattened row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The lengths, outermost first; none for a single number.
    pub shape: Vec<usize>,
    /// The numbers, the last index fastest.
    pub data: Vec<f64>,
}

/// Reads the cases of a family. Panics, saying what is wrong with which file, unless it holds some.
pub(crate) fn read_family(name: &str) -> Vec<Case> {
    let file = format!("{name}.json");
    let mut path = folder().join(&file);
    if name == OWN_FAMILY && !path.is_file() {
        path = own_folder().join(file);
    }
    let wrong = |what: &str| -> ! { panic!("golden family {name}: {}: {what}", path.display()) };
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| wrong(&e.to_string()));
    let json: Value = serde_json::from_str(&text).unwrap_or_else(|e| wrong(&e.to_string()));
    if json["family"] != name {
        wrong("another family");
    }
    match json["cases"].as_array() {
        Some(cases) if !cases.is_empty() => {
            cases.iter().map(|case| Case::from_json(name, case)).collect()
        }
        _ => wrong("no case"),
    }
}

impl Case {
    /// Reads one case of a family. Panics, saying what is wrong, unless it has the documented parts.
    pub fn from_json(family: &str, json: &Value) -> Case {
        let name = json["name"].as_str().expect("a case has a name").to_string();
        let case = Case { family: family.into(), name, json: json.clone() };
        assert!(!case.part("expected").is_empty(), "{case:?} expects nothing");
        for field in case.part("tol").keys() {
            assert!(case.expects(field), "{}: tol without {field}", case.label());
        }
        // The shapes stand in the file a second time: what was parsed must have them.
        for (key, shape) in case.part("shapes") {
            let array = match key.split_once('.') {
                Some(("inputs", field)) => case.input(field),
                Some(("expected", field)) => case.expected(field),
                _ => panic!("{}: shape of an unknown field {key}", case.label()),
            };
            let entries: usize = Array::read(shape).indices().iter().product();
            assert_eq!(array.data.len(), entries, "{}: shape of {key}", case.label());
        }
        case
    }

    /// Returns family/name, for messages.
    pub fn label(&self) -> String {
        format!("{}/{}", self.family, self.name)
    }

    fn part(&self, kind: &str) -> &Map<String, Value> {
        let part = self.json[kind].as_object();
        part.unwrap_or_else(|| panic!("{}: {kind} is no object", self.label()))
    }

    fn field(&self, kind: &str, name: &str) -> &Value {
        self.part(kind).get(name).unwrap_or_else(|| panic!("{}: no {name} in {kind}", self.label()))
    }

    fn parameter<'a, T>(&'a self, name: &str, read: fn(&'a Value) -> Option<T>) -> T {
        let value = self.field("params", name);
        read(value).unwrap_or_else(|| panic!("{}: {name} is {value}", self.label()))
    }

    /// Returns a parameter that is a count, such as d, n, L.
    pub fn count(&self, name: &str) -> usize {
        self.parameter(name, Value::as_u64) as usize
    }

    /// Returns a parameter that is a number.
    pub fn number(&self, name: &str) -> f64 {
        self.parameter(name, Value::as_f64)
    }

    /// Returns a parameter that is a word.
    pub fn word(&self, name: &str) -> &str {
        self.parameter(name, Value::as_str)
    }

    /// Returns a parameter that is a list of numbers.
    pub fn list(&self, name: &str) -> Vec<f64> {
        Array::read(self.field("params", name)).data
    }

    /// True if there is such an input.
    pub fn has_input(&self, name: &str) -> bool {
        self.part("inputs").contains_key(name)
    }

    /// Returns an input array.
    pub fn input(&self, name: &str) -> Array {
        Array::read(self.field("inputs", name))
    }

    /// True if the case expects such a field.
    pub fn expects(&self, name: &str) -> bool {
        self.part("expected").contains_key(name)
    }

    /// Returns an expected array.
    pub fn expected(&self, name: &str) -> Array {
        Array::read(self.field("expected", name))
    }

    /// Returns the names of all expected fields.
    pub fn expected_fields(&self) -> impl Iterator<Item = &str> {
        self.part("expected").keys().map(String::as_str)
    }

    /// Returns the tolerance of a field for `f64` or `f32`; none if the field is exact or informational.
    pub fn tolerance(&self, name: &str, precision: &str) -> Option<f64> {
        let entry = self.part("tol").get(name)?;
        let tolerance = entry[precision].as_f64();
        Some(tolerance.unwrap_or_else(|| panic!("{}: tolerance of {name}", self.label())))
    }
}

impl Array {
    fn read(json: &Value) -> Array {
        match json {
            Value::Number(x) => Array { shape: vec![], data: vec![x.as_f64().expect("an f64")] },
            Value::Bool(b) => Array { shape: vec![], data: vec![if *b { 1.0 } else { 0.0 }] },
            Value::Array(items) => {
                let items: Vec<Array> = items.iter().map(Array::read).collect();
                let inner = items.first().map(|a| a.shape.clone()).unwrap_or_default();
                assert!(items.iter().all(|a| a.shape == inner), "a ragged list");
                let shape = std::iter::once(items.len()).chain(inner).collect();
                Array { shape, data: items.into_iter().flat_map(|a| a.data).collect() }
            }
            other => panic!("a golden array holds {other}"),
        }
    }

    /// Returns the numbers as indices or counts; panics if one is none.
    pub fn indices(&self) -> Vec<usize> {
        let index = |&x: &f64| {
            assert!(x >= 0.0 && x == x.trunc(), "{x} is no index");
            x as usize
        };
        self.data.iter().map(index).collect()
    }
}
