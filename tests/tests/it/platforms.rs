//! The digests of this build, alone and in lanes, are the expected ones; and if the arithmetic were
//! not what it should be, the kernels would say so by name.

use ictd_core::digest::{Digest, combine, kernels};
use ictd_core::scalar::{Lanes8, Scalar};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

/// Kernel and digest, as tests/digests.txt has them.
fn expected() -> BTreeMap<&'static str, &'static str> {
    include_str!("../../digests.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(' '))
        .map(|(name, digest)| (name, digest.trim()))
        .collect()
}

/// The kernels whose digests on scalars S are not the expected ones.
fn differing<S: Scalar<Element = f32>>() -> Vec<&'static str> {
    let expected = expected();
    let (mut all, mut names) = (Digest::EMPTY, Vec::new());
    for kernel in kernels::<S>() {
        let digest = kernel.digest().unwrap();
        if expected.get(kernel.name).copied() != Some(digest.to_string().as_str()) {
            names.push(kernel.name);
        }
        all = combine([all, digest]);
    }
    if expected.get("all").copied() != Some(all.to_string().as_str()) {
        names.push("all");
    }
    names
}

const HOW: &str = "if the change of results is meant: tests/platforms.sh --bless";

#[test]
fn the_digests_are_the_expected_ones() {
    assert_eq!(differing::<f32>(), [""; 0], "{HOW}");
    let rows = expected().len();
    assert_eq!(rows, kernels::<f32>().len() + 1, "tests/digests.txt has other rows; {HOW}");
}

#[test]
fn lanes_give_the_expected_digests() {
    assert_eq!(differing::<Lanes8>(), [""; 0], "8 lanes; {HOW}");
}

/// A deliberate fault of the arithmetic. One number type has them all (a type each would take minutes
/// to compile); the threads of other tests do not see this test's choice.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// None: shows that the wrapper itself changes nothing.
    Absent,
    /// x * y + z in one rounding, as a contracting compiler or `mul_add` does it.
    MulAdd,
    /// (a + b) + c as a + (b + c), as fast-math or a horizontal vector sum does it.
    Reassociated,
    /// The standard library's exponential.
    StdExp2,
}

std::thread_local! {
    static FAULT: Cell<Fault> = const { Cell::new(Fault::Absent) };
}

/// A number with what a contracting or reassociating compiler remembers of it.
#[derive(Clone, Copy, Debug)]
struct Faulty {
    value: f32,
    /// The factors, if the number is a product that was not used yet.
    product: Option<(f32, f32)>,
    /// The terms, if the number is a sum.
    terms: Option<(f32, f32)>,
}

impl Faulty {
    const fn of(value: f32) -> Self {
        Faulty { value, product: None, terms: None }
    }
}

impl PartialEq for Faulty {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl Add for Faulty {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let plain = Faulty::of(self.value + other.value);
        match (FAULT.get(), self.product, other.product) {
            (Fault::MulAdd, _, Some((x, y))) => Faulty::of(x.mul_add(y, self.value)),
            (Fault::MulAdd, Some((x, y)), None) => Faulty::of(x.mul_add(y, other.value)),
            (Fault::Reassociated, ..) => {
                let (first, second) = match self.terms {
                    Some((first, second)) => (first, second + other.value),
                    None => (self.value, other.value),
                };
                Faulty { terms: Some((first, second)), ..Faulty::of(first + second) }
            }
            _ => plain,
        }
    }
}

impl Sub for Faulty {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Faulty::of(self.value - other.value)
    }
}

impl Mul for Faulty {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let product = Some((self.value, other.value));
        Faulty { product, ..Faulty::of(self.value * other.value) }
    }
}

impl Div for Faulty {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        Faulty::of(self.value / other.value)
    }
}

impl Neg for Faulty {
    type Output = Self;
    fn neg(self) -> Self {
        Faulty::of(-self.value)
    }
}

impl AddAssign for Faulty {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Faulty {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl MulAssign for Faulty {
    fn mul_assign(&mut self, other: Self) {
        *self = *self * other;
    }
}

impl Scalar for Faulty {
    type Element = f32;
    type PerLane<T: Clone + std::fmt::Debug> = [T; 1];
    const LANES: usize = 1;
    const ZERO: Self = Faulty::of(0.0);
    const ONE: Self = Faulty::of(1.0);

    fn per_lane<T: Clone + std::fmt::Debug>(mut make: impl FnMut(usize) -> T) -> [T; 1] {
        [make(0)]
    }
    fn splat(x: f32) -> Self {
        Faulty::of(x)
    }
    fn lane(&self, _: usize) -> f32 {
        self.value
    }
    fn set_lane(&mut self, _: usize, x: f32) {
        *self = Faulty::of(x);
    }
    fn from_f64(x: f64) -> Self {
        Faulty::of(x as f32)
    }
    fn from_count(n: u64) -> Self {
        Faulty::of(n as f32)
    }
    fn sqrt(self) -> Self {
        Faulty::of(Scalar::sqrt(self.value))
    }
    fn exp2(self) -> Self {
        Faulty::of(match FAULT.get() {
            Fault::StdExp2 => self.value.exp2(),
            _ => Scalar::exp2(self.value),
        })
    }
    fn tanh(self) -> Self {
        Faulty::of(Scalar::tanh(self.value))
    }
    fn abs(self) -> Self {
        Faulty::of(Scalar::abs(self.value))
    }
    fn max(self, other: Self) -> Self {
        if other.value > self.value { other } else { self }
    }
    fn is_finite(self) -> bool {
        Scalar::is_finite(self.value)
    }
}

#[test]
fn a_fault_in_the_arithmetic_is_reported_by_kernel() {
    let with = |fault| {
        FAULT.set(fault);
        let names = differing::<Faulty>();
        println!("{fault:?} changes {}", names.join(", "));
        names
    };
    assert_eq!(with(Fault::Absent), [""; 0], "the wrapper alone changes nothing");
    for fault in [Fault::MulAdd, Fault::Reassociated] {
        let names = with(fault);
        for kernel in ["linear_forward", "softmax_forward", "value_functions", "linear_training"] {
            assert!(names.contains(&kernel), "{fault:?} went unnoticed in {kernel}: {names:?}");
        }
        // These kernels do no arithmetic in this scalar.
        assert!(!names.contains(&"random_streams") && !names.contains(&"stored_model"));
    }
    let names = with(Fault::StdExp2);
    assert!(names.contains(&"softmax_forward") && names.contains(&"elementary"), "{names:?}");
    assert!(!names.contains(&"linear_forward"), "{names:?}");
}
