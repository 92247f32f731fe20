mod system;
mod updates;

use ictd::experiments::fixed_point::system::System;
use ictd::experiments::fixed_point::{FamilyFound, SeedRow};
use ictd::run::report::Verdict;
use nalgebra::{SMatrix, SVector};

#[test]
fn layers_in_the_set_at_its_fixed_point_and_elsewhere_are_told_apart() {
    let verdicts = |trained: f64, ratio: f64, outside: f64| {
        // Blocks that differ a little, whose solution is (-1, -ratio) in the mean.
        let systems = [-1e-3, 0.0, 1e-3]
            .map(|e| System { a: SMatrix::identity(), b: SVector::from([-1.0 + e, -ratio + e]) });
        let (eta_c, eta_c_prime) = (-trained, -ratio * trained);
        let row = SeedRow { run: String::new(), seed: 1, eta_c, eta_c_prime, outside };
        let rows = vec![row; 30];
        FamilyFound::new("", &systems, &rows).claims("", &rows).map(|c| c.verdict)
    };
    use Verdict::{DoesNotHold, Holds, HoldsInPart};
    assert_eq!(verdicts(1.0, 0.0, 0.01), [Holds, Holds, Holds]);
    assert_eq!(verdicts(1.2, 0.0, 0.01), [Holds, HoldsInPart, Holds]);
    assert_eq!(verdicts(0.5, 0.1, 0.4), [DoesNotHold, DoesNotHold, DoesNotHold]);
}
