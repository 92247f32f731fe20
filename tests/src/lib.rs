//! The tests that need more than one module: golden numbers, equivalence, properties.
//!
//! This library reads the golden data and holds the one comparison rule. A family's test says how
//! its outputs are computed, generic over the scalar ([`Computation`]), and
//! [`check_family`] runs it in `f64`, in `f32` and in lanes:
//!
//! * each expected field lies within the tolerance that the data gives for that scalar, in every form
//!   the computation reports (literal, streaming, ..);
//! * a field without a tolerance is compared exactly, unless [`INFORMATIONAL`] lists it;
//! * a field that the computation does not report, and a file that no test reads, fail;
//! * each lane is bit for bit the `f32` computation on that lane's inputs.
//!
//! Nothing here knows the names, the number or the sizes of the cases: the folder that the environment
//! variable `ICTD_GOLDEN` names is read instead of `tests/golden` if it is set.

mod check;
mod golden;
mod shapes;

pub use check::{Computation, Outputs, check_case, check_family, on_a_large_stack};
pub use golden::{Array, Case, FAMILIES, INFORMATIONAL, OWN_FAMILY, folder};
pub use shapes::{MAX_CONTEXT, MAX_LAYERS, has_lanes, load, matrices, numbers, prompt, vector};
pub use shapes::{columns, columns_of, row_major, rows, trajectory, transformer};
