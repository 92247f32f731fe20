//! Models that run TD, as constants.

use super::{Mode, Model, StoredAttention};
use crate::error::Error;
use crate::layer::{Form, Layer};
use crate::linalg::zeros;
use crate::mask::{Td0, TdLambda};
use crate::transformer::Transformer;

/// Refuses settings that no construction has.
const fn check(alpha: f32, depth: u16, gamma: f32, lambda: f32) -> Result<(), Error> {
    let settings = [
        ("alpha", alpha, alpha > 0.0, "above 0"),
        ("gamma", gamma, gamma >= 0.0 && gamma < 1.0, "[0, 1)"),
        ("lambda", lambda, lambda >= 0.0 && lambda <= 1.0, "[0, 1]"),
        ("depth", depth as f32, depth > 0, "1 to 65535"),
    ];
    let mut i = 0;
    while i < settings.len() {
        let (parameter, x, fits, accepted) = settings[i];
        if !x.is_finite() {
            return Err(Error::NonFinite { parameter });
        }
        if !fits {
            return Err(Error::OutOfRange { parameter, accepted });
        }
        i += 1;
    }
    Ok(())
}

impl<const D: usize, const K: usize> Model<f32, D, K, 1> {
    /// Returns the model of Theorem 1 with C = alpha I: `depth` layers, each one iteration of batch TD(0).
    ///
    /// Usable in a constant, where a bad argument fails the build:
    ///
    /// ```
    /// use ictd_core::Model;
    ///
    /// const TD: Model<4> = match Model::<4>::td0(0.2, 15, 0.9) {
    ///     Ok(model) => model,
    ///     Err(_) => panic!("alpha, depth or gamma is out of range"),
    /// };
    /// assert_eq!(TD.transformer().depth(), 15);
    /// ```
    ///
    /// # Errors
    /// [`Error::NonFinite`] or [`Error::OutOfRange`], naming `alpha`, `depth` (1 to 65535) or `gamma`.
    pub const fn td0(alpha: f32, depth: u16, gamma: f32) -> Result<Self, Error> {
        Self::constructed(alpha, depth, gamma, 0.0, Td0)
    }
}

impl<const D: usize, const K: usize> Model<f32, D, K, 1, TdLambda> {
    /// Returns the model of the corollary for TD(lambda) with C = alpha I: TD(0)'s parameters, under the mask that carries
    /// the trace. Errors are those of [`Model::td0`], and one for `lambda` outside [0, 1].
    pub const fn td_lambda(alpha: f32, depth: u16, gamma: f32, lambda: f32) -> Result<Self, Error> {
        Self::constructed(alpha, depth, gamma, lambda, TdLambda::unchecked(lambda))
    }
}

impl<const D: usize, const K: usize, M> Model<f32, D, K, 1, M>
where
    M: StoredAttention<f32, K, Layer = Layer<f32, K>>,
{
    const fn constructed(
        alpha: f32,
        depth: u16,
        gamma: f32,
        lambda: f32,
        mask: M,
    ) -> Result<Self, Error> {
        const {
            assert!(K == 2 * D + 1, "a stored model has tokens of size K = 2 * D + 1");
        }
        if let Err(error) = check(alpha, depth, gamma, lambda) {
            return Err(error);
        }
        let (mut p, mut q) = (zeros::<f32, K, K>(), zeros::<f32, K, K>());
        p.data.0[2 * D][2 * D] = 1.0;
        let mut i = 0;
        while i < D {
            q.data.0[i][i] = -alpha;
            q.data.0[D + i][i] = alpha;
            i += 1;
        }
        Ok(Model {
            transformer: Transformer::constant(Layer { p, q }, depth as usize, Form::Td),
            attention: mask,
            mode: Mode::Autoregressive,
            gamma,
        })
    }
}
