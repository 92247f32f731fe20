//! Models that run TD, as constants.

use super::{Linear, Model};
use crate::error::{Error, Result};
use crate::layer::{Layer, LayerForm};
use crate::linalg::zeros;
use crate::mask::{Mask, Td0, TdLambda};
use crate::setters::setters;
use crate::transformer::Transformer;

/// The settings of a construction with C = alpha I, alpha the step size.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ConstructionSettings {
    /// The step size of TD, above 0, in units of 1 / |phi|^2.
    pub step_size: f32,
    /// The number of layers, each one iteration of TD; at least 1.
    pub depth: u16,
    /// The discount, in \[0, 1).
    pub gamma: f32,
}

impl ConstructionSettings {
    /// Returns the settings of 15 layers with this discount and the step size 0.2.
    pub const fn new(gamma: f32) -> Self {
        ConstructionSettings { step_size: 0.2, depth: 15, gamma }
    }

    setters! { step_size: f32, depth: u16, gamma: f32 }
}

const fn check(settings: ConstructionSettings, trace_decay: f32, rho: f32) -> Result<()> {
    let ConstructionSettings { step_size: alpha, depth, gamma } = settings;
    let settings = [
        ("step_size", alpha, alpha > 0.0, "above 0"),
        ("gamma", gamma, gamma >= 0.0 && gamma < 1.0, "[0, 1)"),
        ("trace_decay", trace_decay, trace_decay >= 0.0 && trace_decay <= 1.0, "[0, 1]"),
        ("depth", depth as f32, depth > 0, "1 to 65535"),
        ("beta", rho, true, "finite"),
    ];
    let mut i = 0;
    while i < settings.len() {
        let (parameter, x, fits, expected) = settings[i];
        if !x.is_finite() {
            return Err(Error::NonFinite { parameter });
        }
        if !fits {
            return Err(Error::OutOfRange { parameter, expected });
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
    /// use ictd_core::model::ConstructionSettings;
    ///
    /// const TD: Model<4> = match Model::<4>::td0(ConstructionSettings::new(0.9).step_size(0.2).depth(15)) {
    ///     Ok(model) => model,
    ///     Err(_) => panic!("alpha, depth or gamma is out of range"),
    /// };
    /// assert_eq!(TD.transformer().depth(), 15);
    /// ```
    ///
    /// # Errors
    /// [`Error::NonFinite`] or [`Error::OutOfRange`], naming `alpha`, `depth` (1 to 65535) or `gamma`.
    pub const fn td0(settings: ConstructionSettings) -> Result<Self> {
        Self::constructed(settings, 0.0, 0.0, Td0)
    }

    /// Returns the model of [preconditioned TD](crate::td::preconditioned): `depth` layers, each one iteration of batch TD(0)
    /// whose step l has the preconditioner C_l = alpha (I - beta Sigma)^l, with the context's second moment Sigma; beta is in
    /// units of 1 / |phi|^2, and 0 gives [`Model::td0`]. Training leads to it, nearly: with d = 4 and gamma = 0.9 to
    /// alpha = 2.4 and beta = 0.44 for three layers.
    ///
    /// ```
    /// use ictd_core::model::ConstructionSettings;
    /// use ictd_core::{Context, Model};
    ///
    /// let settings = ConstructionSettings::new(0.5).step_size(0.5).depth(2);
    /// let model = Model::<1>::preconditioned_td(settings, 0.25)?;
    /// let mut context = Context::<1>::new();
    /// context.observe(&[1.0], 1.0, &[1.0])?;
    /// // w_1 = 0.5 and w_2 = 0.5 + 0.5 (1 - 0.25) (1 - 0.5 w_1), as Sigma = 1.
    /// assert_eq!(model.value_function(&context)?.at(&[1.0]), 0.78125);
    /// # Ok::<(), ictd_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Model::td0`], and [`Error::NonFinite`], naming `beta`, if beta / alpha is not finite.
    pub const fn preconditioned_td(settings: ConstructionSettings, beta: f32) -> Result<Self> {
        // Not -0.0 for a beta of 0.
        Self::constructed(settings, 0.0, 0.0 - beta / settings.step_size, Td0)
    }
}

impl<const D: usize, const K: usize> Model<f32, D, K, 1, Linear<TdLambda>> {
    /// Returns the model of the corollary for TD(lambda) with C = alpha I: TD(0)'s parameters, under the mask that carries
    /// the trace, which decays by `trace_decay`, in \[0, 1\] (the paper's lambda).
    /// Returns the errors of [`Model::td0`], or one that names `trace_decay`.
    pub const fn td_lambda(settings: ConstructionSettings, trace_decay: f32) -> Result<Self> {
        Self::constructed(settings, trace_decay, 0.0, TdLambda { trace_decay })
    }
}

impl<const D: usize, const K: usize, M: Mask<f32>> Model<f32, D, K, 1, Linear<M>> {
    const fn constructed(
        settings: ConstructionSettings,
        trace_decay: f32,
        rho: f32,
        mask: M,
    ) -> Result<Self> {
        const {
            assert!(K == 2 * D + 1, "a stored model has tokens of size K = 2 * D + 1");
        }
        if let Err(error) = check(settings, trace_decay, rho) {
            return Err(error);
        }
        let ConstructionSettings { step_size: alpha, depth, gamma } = settings;
        let (mut p, mut q) = (zeros::<f32, K, K>(), zeros::<f32, K, K>());
        p.data.0[2 * D][2 * D] = 1.0;
        let mut i = 0;
        while i < D {
            q.data.0[i][i] = -alpha;
            q.data.0[D + i][i] = alpha;
            p.data.0[i][D + i] = rho;
            i += 1;
        }
        let form = if rho == 0.0 { LayerForm::Td } else { LayerForm::PreconditionedTd };
        Ok(Model {
            transformer: Transformer::constant(Layer { p, q }, depth as usize, form),
            attention: Linear(mask),
            gamma,
        })
    }
}
