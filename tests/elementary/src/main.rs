//! Every elementary function of the core over every `f32`: its largest error, whether it is monotone, and its special values. It
//! fails if one is beyond its tolerance, or a tolerance is much more than is needed, or the guide's table is another.
//!
//! `cargo run -p elementary` walks them all; its test, one argument in a thousand.

// `!(x <= y)` is how NaN is an error.
#![allow(clippy::neg_cmp_op_on_partial_ord)]

mod walk;

use ictd_core::scalar::{Lanes8, Real, Scalar, exp_f32};
use std::process::ExitCode;
use std::thread;
use walk::{Found, walk, walk_root};

/// What is promised of a function, in the guide's words: name, domain, the largest error in units in the last place to two
/// digits, how many neighbours have values in the wrong order (none of a function that is not monotone), and the reason.
type Promise = (&'static str, &'static str, f64, Option<u64>, &'static str);

/// A tolerance that is larger than what was found by more than this is stale.
const SLACK: f64 = 0.01;
/// Angles beyond it are reduced by the `f64` next to 2 pi.
const LARGEST_ANGLE: f32 = 1_647_098.9;
const ANGLES: [f32; 2] = [1.0 / 8192.0, LARGEST_ANGLE];
/// Powers of smaller numbers are 1.
const NO_POWER: f32 = f32::EPSILON / 8.0;
/// Outside of it the hyperbolic tangent is its argument, or 1.
const TANH: [f32; 2] = [1.0 / 8192.0, 10.0];
/// The page that has the table.
const GUIDE: &str = include_str!("../../../host/src/guide/same_bits.md");

fn of_lanes(function: impl Fn(Lanes8) -> Lanes8) -> impl Fn(f32) -> f32 {
    move |x| function(Lanes8::splat(x)).lane(0)
}

/// What is promised of a function, and how it is walked: one argument in so many.
type Function = (Promise, fn(usize) -> Found);

fn functions() -> [Function; 8] {
    let angles = "up to 1,647,098 in size; beyond, the angle is reduced by the `f64` next to 2 pi";
    [
        (("sqrt", "all", 0.5, Some(0), "IEEE 754 asks for it"), |every| {
            walk_root(every, <f32 as Scalar>::sqrt)
        }),
        (("sqrt of lanes", "all", 0.5, Some(0), "in operations that vectorise"), |every| {
            walk_root(every, of_lanes(Lanes8::sqrt))
        }),
        (
            (
                "exp2",
                "-125 to 127; below, the value at -125",
                2.29,
                Some(83_634),
                "a polynomial of degree 5: one degree more would cost softmax two operations for each score",
            ),
            |every| {
                let exp2 = <f32 as Scalar>::exp2;
                let negative = walk(every, -1.0, [NO_POWER, 125.0], 125.0, exp2, libm::exp2);
                negative.and(walk(every, 1.0, [NO_POWER, 127.0], 127.0, exp2, libm::exp2))
            },
        ),
        (("tanh", "all", 0.51, Some(0), "in `f64`, rounded once"), |every| {
            let tanh = <f32 as Scalar>::tanh;
            let negative = walk(every, -1.0, TANH, f32::MAX, tanh, libm::tanh);
            negative.and(walk(every, 1.0, TANH, f32::MAX, tanh, libm::tanh))
        }),
        (
            ("exp", "-103.9 to 88.7; below, 0; above, infinity", 0.91, Some(0), "as in msun"),
            |every| {
                let negative = walk(every, -1.0, [NO_POWER, 103.9], 103.9, exp_f32, libm::exp);
                negative.and(walk(every, 1.0, [NO_POWER, 88.722_83], 88.722_83, exp_f32, libm::exp))
            },
        ),
        (("ln", "all above 0", 0.83, Some(0), "as in msun"), |every| {
            walk(every, 1.0, [0.0, f32::MAX], f32::MAX, <f32 as Real>::ln, libm::log)
        }),
        (("sin", angles, 0.5, None, "as in msun, in `f64`"), |every| {
            let sin = <f32 as Real>::sin;
            let negative = walk(every, -1.0, ANGLES, LARGEST_ANGLE, sin, libm::sin);
            negative.and(walk(every, 1.0, ANGLES, LARGEST_ANGLE, sin, libm::sin))
        }),
        (("cos", angles, 0.5, None, "as in msun, in `f64`"), |every| {
            let cos = <f32 as Real>::cos;
            let negative = walk(every, -1.0, ANGLES, LARGEST_ANGLE, cos, libm::cos);
            negative.and(walk(every, 1.0, ANGLES, LARGEST_ANGLE, cos, libm::cos))
        }),
    ]
}

/// What IEEE 754 or the function's definition says of zeros, infinities and what is none.
fn special_values() -> Vec<(&'static str, f32, f32)> {
    let (infinity, nan) = (f32::INFINITY, f32::NAN);
    let (exp2, tanh) = (<f32 as Scalar>::exp2, <f32 as Scalar>::tanh);
    let (ln, sin, cos) = (<f32 as Real>::ln, <f32 as Real>::sin, <f32 as Real>::cos);
    let roots = [(-0.0, -0.0), (0.0, 0.0), (infinity, infinity), (-1.0, nan), (nan, nan)];
    let scalars = roots.map(|(x, y)| ("sqrt", <f32 as Scalar>::sqrt(x), y));
    let lanes = roots.map(|(x, y)| ("sqrt of lanes", of_lanes(Lanes8::sqrt)(x), y));
    let least = f32::from_bits(2 << 23);
    let others = [
        ("exp2", exp2 as fn(f32) -> f32, &[(-infinity, least), (f32::MIN, least), (0.0, 1.0)][..]),
        ("tanh", tanh, &[(infinity, 1.0), (-infinity, -1.0), (-0.0, -0.0)]),
        ("exp", exp_f32, &[(infinity, infinity), (-infinity, 0.0), (0.0, 1.0)]),
        ("ln", ln, &[(0.0, -infinity), (-1.0, nan), (infinity, infinity), (1.0, 0.0)]),
        ("sin", sin, &[(-0.0, -0.0), (infinity, nan)]),
        ("cos", cos, &[(0.0, 1.0), (infinity, nan)]),
    ];
    let others = others.into_iter().flat_map(|(name, f, values)| {
        values.iter().chain(&[(nan, nan)]).map(move |&(x, y)| (name, f(x), y)).collect::<Vec<_>>()
    });
    scalars.into_iter().chain(lanes).chain(others).collect()
}

/// Returns what is not as promised of one argument in `every`.
fn failures(every: usize) -> Vec<String> {
    let mut failures = Vec::new();
    let mut expect = |holds: bool, what: String| {
        if !holds {
            failures.push(what);
        }
    };
    println!("| function | arguments | ulp | monotone | why so many |\n|---|---|---|---|---|");
    let walks = functions().map(|(promise, find)| (promise, thread::spawn(move || find(every))));
    for ((name, domain, ulp, descents, reason), walk) in walks {
        let found = walk.join().expect("no function panics");
        let monotone = match descents {
            None => "no".to_owned(),
            Some(0) => "yes".to_owned(),
            Some(n) => format!("but for {n} neighbours"),
        };
        let row = format!("| `{name}` | {domain} | {ulp:.2} | {monotone} | {reason} |");
        println!("{row}\n  {found:?}");
        let Found { ulp: of_all, at, descents: of_found, .. } = found;
        expect(of_all <= ulp + 0.005, format!("{name}: {of_all} ulp at {at:e}"));
        let is_stale = every == 1 && of_all <= ulp - SLACK;
        expect(!is_stale, format!("{name}: {ulp} ulp where {of_all} were found"));
        let as_many = |n| if every == 1 { of_found == n } else { of_found <= n };
        expect(descents.is_none_or(as_many), format!("{name}: {of_found} descents"));
        expect(GUIDE.contains(&row), format!("same_bits.md has another row of {name}"));
    }
    for (name, got, want) in special_values() {
        let equal = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
        expect(equal, format!("{name}: {got:e} where {want:e} is right"));
    }
    failures
}

fn main() -> ExitCode {
    let failures = failures(1);
    failures.iter().for_each(|failure| eprintln!("{failure}"));
    ExitCode::from(u8::from(!failures.is_empty()))
}

#[test]
fn one_argument_in_a_thousand_has_an_error_within_its_tolerance() {
    assert_eq!(failures(1009), [""; 0]);
}
