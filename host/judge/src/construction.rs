//! The constructions, by name: the paper's, and preconditioned TD's.

use compute::words;
use ictd_core::Result;
use ictd_core::td::updates;
use ictd_core::transition::Transition;
use nalgebra::{SMatrix, SVector};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Construction {
    /// Batch TD(0) (Theorem 1).
    Td0,
    ResidualGradient,
    /// TD(lambda), under the mask with the trace decay `--trace-decay`.
    TdLambda,
    /// Average-reward TD: two heads, differential values, no discount.
    AverageReward,
    /// Preconditioned TD ([`ictd_core::td::preconditioned`]).
    PreconditionedTd,
}

words!(Construction {
    Td0 = "td0",
    ResidualGradient = "residual-gradient",
    TdLambda = "td-lambda",
    AverageReward = "average-reward",
    PreconditionedTd = "preconditioned-td",
});

impl Construction {
    /// Returns the weights after one step of its algorithm, preconditioned with C; that of preconditioned TD is
    /// alpha (I - beta Sigma)^l.
    pub(crate) fn update<const D: usize>(
        self,
        w: &SVector<f64, D>,
        c: &SMatrix<f64, D, D>,
        transitions: &[Transition<f64, D>],
        gamma: f64,
        lambda: f64,
    ) -> Result<SVector<f64, D>> {
        match self {
            Construction::Td0 | Construction::PreconditionedTd => {
                updates::td0(w, c, transitions, gamma)
            }
            Construction::ResidualGradient => updates::residual_gradient(w, c, transitions, gamma),
            Construction::TdLambda => updates::td_lambda(w, c, transitions, gamma, lambda),
            Construction::AverageReward => updates::average_reward(w, c, transitions),
        }
    }
}
