//! The comparison rule, and a computation's way through every scalar.

use crate::golden::{Case, Family, INFORMATIONAL};
use ictd_core::scalar::{Lanes4, Lanes8, Lanes16, Real, Scalar};
use std::collections::BTreeSet;

/// How a family's outputs come from its inputs, in any scalar.
pub trait Computation: Sync {
    /// All expected fields of a case, from inputs read by [`crate::load`] (and its relatives) with
    /// the given `first_lane`.
    fn run<S: Scalar>(&self, case: &Case, first_lane: usize) -> Outputs<S>;

    /// True if `run` is compiled for lanes of every width; else for eight lanes only, since each
    /// width is compiled anew.
    const EVERY_WIDTH: bool = false;

    /// True if `run` is compiled for the case's shape in lanes too.
    fn has_lanes(&self, _case: &Case) -> bool {
        true
    }
}

/// As [`Computation`], for what lanes cannot do.
pub trait RealComputation: Sync {
    /// All expected fields of a case.
    fn run<R: Real>(&self, case: &Case) -> Outputs<R>;
}

/// What a computation reports: fields, each in one or more forms (literal, streaming, ..).
#[derive(Clone, Debug)]
pub struct Outputs<S: Scalar> {
    fields: Vec<Output<S>>,
}

#[derive(Clone, Debug)]
struct Output<S: Scalar> {
    field: String,
    form: &'static str,
    values: Vec<S>,
    /// For a field without a tolerance in the data: compared exactly if `None`.
    stated_tolerance: Option<f64>,
}

impl<S: Scalar> Default for Outputs<S> {
    fn default() -> Self {
        Outputs { fields: Vec::new() }
    }
}

impl<S: Scalar> Outputs<S> {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reports a field in one form (a word for messages), flattened row by row.
    pub fn field(
        &mut self,
        field: impl Into<String>,
        form: &'static str,
        values: impl IntoIterator<Item = S>,
    ) {
        let values = values.into_iter().collect();
        self.fields.push(Output { field: field.into(), form, values, stated_tolerance: None });
    }

    /// Reports a field that the data gives no tolerance for and that is no integer or table
    /// look-up, with a tolerance of the caller's.
    pub fn field_within(
        &mut self,
        field: impl Into<String>,
        form: &'static str,
        values: impl IntoIterator<Item = S>,
        tolerance: f64,
    ) {
        self.field(field, form, values);
        if let Some(output) = self.fields.last_mut() {
            output.stated_tolerance = Some(tolerance);
        }
    }
}

/// The two precisions that the data has tolerances for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Double.
    F64,
    /// Single, from inputs rounded to single.
    F32,
}

impl Precision {
    fn of<S: Scalar>() -> Self {
        if size_of::<S::Element>() == 8 { Precision::F64 } else { Precision::F32 }
    }

    fn key(self) -> &'static str {
        match self {
            Precision::F64 => "f64",
            Precision::F32 => "f32",
        }
    }
}

/// The error of a field: max |got - want| / max |want|, or max |got| if every `want` is 0. NaN if
/// anything is NaN.
fn error(got: &[f64], want: &[f64]) -> f64 {
    let (mut difference, mut largest) = (0.0f64, 0.0f64);
    for (g, w) in got.iter().zip(want) {
        if g.is_nan() {
            return f64::NAN;
        }
        difference = difference.max((g - w).abs());
        largest = largest.max(w.abs());
    }
    if largest > 0.0 { difference / largest } else { difference }
}

/// Compares a computation's outputs with what the case expects. Returns the worst ratio of error to
/// tolerance; panics with every failure of the case.
pub fn check_case<R: Real>(case: &Case, outputs: &Outputs<R>) -> f64 {
    let precision = Precision::of::<R>();
    let mut failures = Vec::new();
    let mut compared = BTreeSet::new();
    let mut worst = 0.0f64;
    for Output { field, form, values, stated_tolerance } in &outputs.fields {
        if !case.expects(field) {
            failures.push(format!("{field} ({form}) is computed, but the data does not expect it"));
            continue;
        }
        compared.insert(field.as_str());
        let want = case.expected(field).data;
        let got: Vec<f64> = values.iter().map(|x| x.to_f64()).collect();
        if got.len() != want.len() {
            failures.push(format!("{field} ({form}): {} numbers, not {}", got.len(), want.len()));
            continue;
        }
        match case.tolerance(field, precision.key()).or(*stated_tolerance) {
            Some(tolerance) => {
                let err = error(&got, &want);
                worst = worst.max(err / tolerance);
                if err.is_nan() || err > tolerance {
                    failures.push(format!("{field} ({form}): error {err:e} > {tolerance:e}"));
                }
            }
            None => {
                for (i, (g, w)) in values.iter().zip(&want).enumerate() {
                    if *g != R::from_f64(*w) {
                        failures.push(format!("{field} ({form})[{i}] is {g:?}, not exactly {w}"));
                        break;
                    }
                }
            }
        }
    }
    for field in case.expected_fields() {
        if !compared.contains(field) && !INFORMATIONAL.contains(&(case.family.as_str(), field)) {
            failures.push(format!("{field} is expected, but nothing computes it"));
        }
    }
    assert!(
        failures.is_empty(),
        "{} in {}:\n  {}",
        case.label(),
        precision.key(),
        failures.join("\n  ")
    );
    worst
}

/// Runs a family in `f64` and `f32` against its expected fields, and in each lane type against
/// `f32`, bit for bit. Fails if any case does; reports all that do.
pub fn check_family(name: &str, computation: &impl Computation) {
    on_each_case(name, |case| {
        let worst64 = check_case(case, &computation.run::<f64>(case, 0));
        let worst32 = check_case(case, &computation.run::<f32>(case, 0));
        if computation.has_lanes(case) {
            check_lanes::<Lanes8>(case, computation);
            check_other_widths(case, computation);
        }
        (worst64, worst32)
    });
}

fn check_other_widths<C: Computation>(case: &Case, computation: &C) {
    if const { C::EVERY_WIDTH } {
        check_lanes::<Lanes4>(case, computation);
        check_lanes::<Lanes16>(case, computation);
    }
}

/// Runs a family in `f64` and `f32` against its expected fields.
pub fn check_real_family(name: &str, computation: &impl RealComputation) {
    on_each_case(name, |case| {
        let worst64 = check_case(case, &computation.run::<f64>(case));
        (worst64, check_case(case, &computation.run::<f32>(case)))
    });
}

fn on_each_case(name: &str, check: impl Fn(&Case) -> (f64, f64) + Sync) {
    let family = Family::read(name);
    let mut failed = 0;
    for case in &family.cases {
        match on_a_large_stack(|| check(case)) {
            Some((worst64, worst32)) => println!(
                "{}: worst error / tolerance: f64 {worst64:.3}, f32 {worst32:.3}",
                case.label()
            ),
            None => failed += 1,
        }
    }
    assert!(failed == 0, "{failed} of {} cases of {name} fail (see above)", family.cases.len());
}

/// Runs `f` in a thread whose stack holds prompts of the largest shape in the widest lanes; None if
/// it panicked (its message is then on stderr).
pub fn on_a_large_stack<T: Send>(f: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(256 << 20);
        let thread = builder.spawn_scoped(scope, f).expect("a thread starts");
        thread.join().ok()
    })
}

/// Each lane of S is bit for bit `f32` on that lane's inputs.
fn check_lanes<S: Scalar<Element = f32>>(case: &Case, computation: &impl Computation) {
    let wide = computation.run::<S>(case, 0);
    for lane in 0..S::LANES {
        let alone = computation.run::<f32>(case, lane);
        assert_eq!(wide.fields.len(), alone.fields.len(), "{}", case.label());
        for (w, a) in wide.fields.iter().zip(&alone.fields) {
            assert_eq!(w.values.len(), a.values.len(), "{}: {}", case.label(), w.field);
            for (i, (x, y)) in w.values.iter().zip(&a.values).enumerate() {
                assert_eq!(
                    x.lane(lane).to_bits(),
                    y.to_bits(),
                    "{}: lane {lane} of {}: {} ({})[{i}] is {:e}, f32 alone {y:e}",
                    case.label(),
                    S::LANES,
                    w.field,
                    w.form,
                    x.lane(lane),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::catch_unwind;

    fn case() -> Case {
        Case::from_json(
            "theory",
            &serde_json::json!({
                "name": "one", "params": {}, "inputs": {},
                "expected": { "a": [1.0, -4.0], "steps": [3, 5], "max_abs_y_plus_phi_dot_w": 1e-9 },
                "tol": { "a": { "f64": 1e-3, "f32": 1e-2 } },
                "shapes": { "expected.a": [2], "expected.steps": [2] }
            }),
        )
    }

    fn outputs<R: Real>(a: [f64; 2], steps: &[f64]) -> Outputs<R> {
        let mut out = Outputs::new();
        out.field("a", "literal", a.map(R::from_f64));
        out.field("steps", "literal", steps.iter().map(|x| R::from_f64(*x)));
        out
    }

    fn fails<R: Real>(outputs: &Outputs<R>) -> bool {
        catch_unwind(std::panic::AssertUnwindSafe(|| check_case(&case(), outputs))).is_err()
    }

    #[test]
    fn errors_are_relative_to_the_largest_expected_number() {
        assert_eq!(error(&[1.25, -4.5], &[1.0, -4.0]), 0.125);
        assert_eq!(error(&[0.5], &[0.0]), 0.5);
        assert!(error(&[f64::NAN, 1.0], &[1.0, 1.0]).is_nan());
        assert_eq!(error(&[f64::INFINITY], &[1.0]), f64::INFINITY);
    }

    #[test]
    fn each_precision_has_its_tolerance() {
        assert!(!fails(&outputs::<f64>([1.003, -4.0], &[3.0, 5.0])));
        assert!(fails(&outputs::<f64>([1.005, -4.0], &[3.0, 5.0])));
        assert!(!fails(&outputs::<f32>([1.03, -4.0], &[3.0, 5.0])));
        assert!(fails(&outputs::<f32>([1.05, -4.0], &[3.0, 5.0])));
        assert!(fails(&outputs::<f64>([f64::NAN, -4.0], &[3.0, 5.0])));
    }

    #[test]
    fn a_field_without_tolerance_is_exact() {
        assert!(fails(&outputs::<f64>([1.0, -4.0], &[3.0, 5.0 + 1e-15])));
        assert!(fails(&outputs::<f64>([1.0, -4.0], &[3.0])));
    }

    #[test]
    fn a_field_that_nothing_computes_or_expects_fails() {
        let mut missing = Outputs::<f64>::new();
        missing.field("a", "literal", [1.0, -4.0]);
        assert!(fails(&missing));
        let mut unknown = outputs::<f64>([1.0, -4.0], &[3.0, 5.0]);
        unknown.field("b", "literal", [0.0]);
        assert!(fails(&unknown));
    }
}
