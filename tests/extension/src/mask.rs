//! A mask, and its row of `verify`: TD(0) whose correction also reaches the state before, e_j = phi_j + lambda phi_{j-1}.

use ictd::experiments::VerifyRow;
use ictd_core::Result;
use ictd_core::constructions::td0;
use ictd_core::mask::{Entrywise, Mask};
use ictd_core::scalar::Scalar;
use ictd_core::td::updates::td_error;
use judge::verify::{Vector, VerifySettings, values_under};

/// M\[r, c\] is 1 for r = c, lambda for r = c + 1, and 0 otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
struct TwoSteps<S>(S);

impl<S: Scalar> Mask<S> for TwoSteps<S> {
    /// The token before.
    type State<V: Entrywise<S>> = V;
    type Auxiliary<const D: usize, const C: usize> = ();
    const CODE: u8 = 5;

    fn from_trace_decays([lambda, _]: [S; 2]) -> Result<Self> {
        Ok(TwoSteps(lambda))
    }

    fn trace_decays(&self) -> [S; 2] {
        [self.0, S::ZERO]
    }

    fn entry(&self, row: usize, column: usize, n: usize) -> S {
        match row {
            _ if row >= n => S::ZERO,
            _ if row == column => S::ONE,
            _ if row == column + 1 => self.0,
            _ => S::ZERO,
        }
    }

    fn rank_one_update<V: Entrywise<S>>(&self, before: &mut V, z: &V, _: S) -> (V, V) {
        let mut e = *z;
        e.add_scaled(self.0, before);
        *before = *z;
        (*z, e)
    }
}

/// Theorem 1's layers under this mask, beside the algorithm: w + (1/n) C sum_j delta_j (phi_j + lambda phi_{j-1}).
pub(crate) const ROW: VerifyRow = VerifyRow {
    name: "two_steps",
    label: "TD with a trace of two steps",
    values: |settings: &VerifySettings, seed| {
        let (gamma, lambda) = (settings.gamma, settings.trace_decay);
        values_under(
            settings,
            TwoSteps(lambda),
            td0,
            |w, c, transitions| {
                let (mut sum, mut before) = (Vector::zeros(), Vector::zeros());
                for t in transitions {
                    sum += (t.phi + before * lambda) * td_error(w, t, gamma);
                    before = t.phi;
                }
                Ok(w + c * sum / transitions.len() as f64)
            },
            seed,
        )
    },
};
