//! The comparison rule, and a computation's way through every scalar.

use crate::golden::{Case, INFORMATIONAL, read_family};
use ictd_core::scalar::{Lanes8, Real, Scalar};
use std::collections::BTreeSet;

/// Computes all expected fields of a case from inputs read by [`crate::load`] (and its relatives) with the given
/// first lane.
pub type Computation<S> = fn(&Case, usize) -> Outputs<S>;

/// The report of a computation: fields, each in one or more forms (literal, streaming, ..), and their numbers.
#[derive(Clone, Debug)]
pub struct Outputs<S: Scalar> {
    fields: Vec<(String, &'static str, Vec<S>)>,
}

impl<S: Scalar> Outputs<S> {
    /// Returns an empty report.
    #[expect(clippy::new_without_default, reason = "a report has no other default")]
    pub fn new() -> Self {
        Outputs { fields: Vec::new() }
    }

    /// Reports a field in one form (a word for messages), flattened row by row.
    pub fn field(
        &mut self,
        field: impl Into<String>,
        form: &'static str,
        values: impl IntoIterator<Item = S>,
    ) {
        self.fields.push((field.into(), form, values.into_iter().collect()));
    }
}

/// Returns the name of the precision in the data, of `f64` or of `f32` (whose inputs are rounded).
fn precision<S: Scalar>() -> &'static str {
    if size_of::<S::Element>() == 8 { "f64" } else { "f32" }
}

/// Returns the error of a field, max |got - want| / max |want|, or max |got| if every `want` is 0; NaN if
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
    let precision = precision::<R>();
    let mut failures = Vec::new();
    let mut compared = BTreeSet::new();
    let mut worst = 0.0f64;
    for (field, form, values) in &outputs.fields {
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
        match case.tolerance(field, precision) {
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
    assert!(failures.is_empty(), "{} in {}:\n  {}", case.label(), precision, failures.join("\n  "));
    worst
}

/// Runs a family in `f64` and `f32` against its expected fields and, where `in_lanes` has a computation for the
/// case, in lanes against `f32`, bit for bit. Fails if any case does; reports all that do.
pub fn check_family(
    name: &str,
    in_f64: Computation<f64>,
    in_f32: Computation<f32>,
    in_lanes: fn(&Case) -> Option<Computation<Lanes8>>,
) {
    let (cases, mut failed) = (read_family(name), 0);
    for case in &cases {
        let worst = on_a_large_stack(|| {
            let worst = [check_case(case, &in_f64(case, 0)), check_case(case, &in_f32(case, 0))];
            if let Some(in_lanes) = in_lanes(case) {
                check_lanes(case, in_lanes, in_f32);
            }
            worst
        });
        match worst {
            Some([f64, f32]) => {
                println!("{}: worst error / tolerance: f64 {f64:.3}, f32 {f32:.3}", case.label());
            }
            None => failed += 1,
        }
    }
    assert!(failed == 0, "{failed} of {} cases of {name} fail (see above)", cases.len());
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

/// Checks that each lane is bit for bit `f32` on that lane's inputs.
fn check_lanes(case: &Case, in_lanes: Computation<Lanes8>, in_f32: Computation<f32>) {
    let wide = in_lanes(case, 0);
    for lane in 0..Lanes8::LANES {
        let alone = in_f32(case, lane);
        assert_eq!(wide.fields.len(), alone.fields.len(), "{}", case.label());
        for ((field, form, wide), (.., alone)) in wide.fields.iter().zip(&alone.fields) {
            let of_lane: Vec<u32> = wide.iter().map(|x| x.lane(lane).to_bits()).collect();
            let alone: Vec<u32> = alone.iter().map(|x| x.to_bits()).collect();
            assert_eq!(of_lane, alone, "{}: lane {lane}: {field} ({form})", case.label());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::catch_unwind;

    fn fails<R: Real>(fields: &[(&str, &[f64])]) -> bool {
        let case = serde_json::json!({
            "name": "one", "params": {}, "inputs": {},
            "expected": { "a": [1.0, -4.0], "steps": [3, 5], "max_abs_y_plus_phi_dot_w": 1e-9 },
            "tol": { "a": { "f64": 1e-3, "f32": 1e-2 } },
            "shapes": { "expected.a": [2], "expected.steps": [2] }
        });
        let mut outputs = Outputs::<R>::new();
        for (name, numbers) in fields {
            outputs.field(*name, "literal", numbers.iter().map(|x| R::from_f64(*x)));
        }
        let check = || check_case(&Case::from_json("theory", &case), &outputs);
        catch_unwind(std::panic::AssertUnwindSafe(check)).is_err()
    }

    #[test]
    fn tolerances_are_relative_and_of_the_precision_other_fields_are_exact_and_all_are_compared() {
        assert_eq!((error(&[0.5], &[0.0]), error(&[1.25, -4.5], &[1.0, -4.0])), (0.5, 0.125));
        let (steps, exact) = (("steps", &[3.0, 5.0][..]), [1.0, -4.0]);
        let a = |x| fails::<f64>(&[("a", &[x, -4.0]), steps]);
        assert_eq!([1.003, 1.005, f64::NAN, f64::INFINITY].map(a), [false, true, true, true]);
        let a = |x| fails::<f32>(&[("a", &[x, -4.0]), steps]);
        assert_eq!([1.03, 1.05].map(a), [false, true]);
        for steps in [&[3.0, 5.0 + 1e-15][..], &[3.0]] {
            assert!(fails::<f64>(&[("a", &exact), ("steps", steps)]));
        }
        // What nothing computes, and what nothing expects.
        assert!(fails::<f64>(&[("a", &exact)]));
        assert!(fails::<f64>(&[("a", &exact), steps, ("b", &[0.0])]));
    }
}
