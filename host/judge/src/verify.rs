//! Compares transformers whose layers perform TD's iterations with those iterations: App. "Numerical Verification of Proofs",
//! and what goes beyond it.

pub mod encodings;
pub mod softmax_td;

use crate::construction::Construction;
use compute::capacity::{FEW, PROMPT};
use compute::words;
use ictd_core::attention::{Attention, AverageReward, Linear, Mask, MeanCentred, Td0, TdLambda};
use ictd_core::context::{Context, Growing};
use ictd_core::layer::Layer;
use ictd_core::prompt::Prompt;
use ictd_core::rng::Rng;
use ictd_core::statistic::Statistic;
use ictd_core::transformer::Transformer;
use ictd_core::transition::{Transition, query_token, token};
use ictd_core::{Error, Result};
use ictd_core::{constructions, linalg};
use nalgebra::{SMatrix, SVector};
use serde::{Deserialize, Serialize};

pub const LAYERS: usize = 128;

/// The numbers of a token.
pub const K: usize = 2 * FEW + 1;
const A: usize = K + 1;

/// Weights, with zeros beyond the prompt's d.
pub type Vector = SVector<f64, FEW>;
/// A preconditioner C_l.
pub type Matrix = SMatrix<f64, FEW, FEW>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Successors {
    Independent,
    /// The next column's features: a trajectory, as in Theorem 1's Z_0.
    Trajectory,
}

words!(Successors { Independent = "independent", Trajectory = "trajectory" });

/// The sizes of a comparison, and its constants.
#[derive(Clone, Copy, Debug)]
pub struct VerifySettings {
    /// The transformer's layers and the algorithm's iterations, at most [`LAYERS`].
    pub layers: usize,
    /// d, at most [`FEW`].
    pub dim: usize,
    /// n, at most [`PROMPT`].
    pub context: usize,
    /// The discount; average reward has none.
    pub gamma: f64,
    pub trace_decay: f64,
    /// The Frobenius norm of each preconditioner.
    pub c_norm: f64,
    pub successors: Successors,
}

/// The query's value after a layer, computed in three ways.
#[derive(Clone, Copy, Debug)]
pub struct LayerValues {
    /// <phi_n, w_l>, from the algorithm.
    pub algorithm: f64,
    /// -y_l of the literal transformer.
    pub literal: f64,
    /// -y_l of its streaming form; softmax has none.
    pub streaming: Option<f64>,
    /// The scale of relative errors: max(|phi_n| |w_l|, 1).
    pub scale: f64,
}

/// Returns, for each pair of a construction and an algorithm, the values after each layer for one random prompt, with random
/// preconditioners for each pair; preconditioned TD has a prompt of its own, with d up to [`FEW`] and n up to the settings'. (They agree only if the construction implements that algorithm.)
/// Returns [`Error::CapacityExceeded`] for too many features, layers or transitions;
/// [`Error::NonFinite`] if the iterates leave the range of `f64`.
pub fn values(
    settings: &VerifySettings,
    pairs: &[(Construction, Construction)],
    seed: u64,
) -> Result<Vec<Vec<LayerValues>>> {
    if settings.dim > FEW {
        return Err(Error::CapacityExceeded { parameter: "dim", capacity: FEW });
    }
    let mut rng = Rng::new(seed);
    let problem = RandomPrompt::random(settings, &mut rng);
    let of_pair = |&(construction, algorithm): &(Construction, Construction)| {
        let own;
        let (problem, c, steps) = if construction == Construction::PreconditionedTd {
            own = RandomPrompt::of_any_size(settings, &mut rng);
            let steps = own.step_sizes(&mut rng);
            (&own, own.powers(steps), steps)
        } else {
            let c = (0..settings.layers).map(|_| preconditioner(settings, &mut rng)).collect();
            (&problem, c, [0.0; 2])
        };
        let outputs = problem.outputs(construction, &c, steps)?;
        let VerifySettings { gamma, trace_decay, .. } = *settings;
        problem.compared(&c, outputs, |w, c, transitions| {
            algorithm.update(w, c, transitions, gamma, trace_decay)
        })
    };
    pairs.iter().map(of_pair).collect()
}

/// Returns the values after each layer for one random prompt: of linear attention under a mask, with the layers that `layer`
/// makes of random preconditioners C_l, and of the algorithm whose step from w with C_l is `update`.
/// Returns the errors of [`values`].
pub fn values_under<M: Mask<f64>>(
    settings: &VerifySettings,
    mask: M,
    layer: fn(&Matrix) -> Layer<f64, K>,
    update: impl Fn(&Vector, &Matrix, &[Transition<f64, FEW>]) -> Result<Vector>,
    seed: u64,
) -> Result<Vec<LayerValues>> {
    if settings.dim > FEW {
        return Err(Error::CapacityExceeded { parameter: "dim", capacity: FEW });
    }
    let mut rng = Rng::new(seed);
    let problem = RandomPrompt::random(settings, &mut rng);
    let c: Vec<_> = (0..settings.layers).map(|_| preconditioner(settings, &mut rng)).collect();
    let layers: Vec<_> = c.iter().map(layer).collect();
    problem.compared(&c, problem.of_one_head(mask, &layers)?, update)
}

fn normal(dim: usize, rng: &mut Rng) -> Vector {
    Vector::from_fn(|i, _| if i < dim { rng.normal() } else { 0.0 })
}

fn preconditioner(settings: &VerifySettings, rng: &mut Rng) -> Matrix {
    let inside = |i, j| i < settings.dim && j < settings.dim;
    let c = Matrix::from_fn(|i, j| if inside(i, j) { rng.normal() } else { 0.0 });
    let squares: f64 = c.iter().fold(0.0, |sum, x| sum + x * x);
    // All draws are 0 with probability 0; the matrix then stays 0.
    let scale = if squares > 0.0 { settings.c_norm / squares.sqrt() } else { 0.0 };
    c.map(|x| scale * x)
}

struct RandomPrompt {
    settings: VerifySettings,
    transitions: Vec<Transition<f64, FEW>>,
    query: Vector,
}

impl RandomPrompt {
    fn random(settings: &VerifySettings, rng: &mut Rng) -> Self {
        let mut phi = normal(settings.dim, rng);
        let mut transitions = Vec::new();
        for _ in 0..settings.context {
            let reward = rng.normal();
            let next_column = normal(settings.dim, rng);
            let phi_next = match settings.successors {
                Successors::Independent => normal(settings.dim, rng),
                Successors::Trajectory => next_column,
            };
            transitions.push(Transition { phi, reward, phi_next });
            phi = next_column;
        }
        RandomPrompt { settings: *settings, transitions, query: phi }
    }

    /// Returns a prompt with up to [`FEW`] features and as many transitions as the settings say.
    fn of_any_size(settings: &VerifySettings, rng: &mut Rng) -> Self {
        let dim = 1 + rng.below(FEW as u32) as usize;
        let context = 1 + rng.below(settings.context as u32) as usize;
        Self::random(&VerifySettings { dim, context, ..*settings }, rng)
    }

    /// Returns alpha and beta of preconditioned TD, of sizes that keep its iterates bounded.
    fn step_sizes(&self, rng: &mut Rng) -> [f64; 2] {
        let squares =
            self.transitions.iter().map(|t| t.phi.norm_squared() + t.phi_next.norm_squared());
        let size = (squares.sum::<f64>() / self.transitions.len() as f64).max(1.0);
        [self.settings.c_norm * rng.uniform_in(2.0, 4.0) / size, rng.uniform_in(0.0, 2.0) / size]
    }

    /// Returns C_l = alpha (I - beta Sigma)^l for each layer.
    fn powers(&self, [alpha, beta]: [f64; 2]) -> Vec<Matrix> {
        let squares = self.transitions.iter().map(|t| t.phi * t.phi.transpose());
        let sigma = squares.sum::<Matrix>() / self.transitions.len() as f64;
        let power = |c: &Matrix| Some(c - sigma * c * beta);
        std::iter::successors(Some(Matrix::identity() * alpha), power)
            .take(self.settings.layers)
            .collect()
    }

    /// Returns the literal and the streaming values of the transformer with a construction's parameters: of one with each C_l,
    /// or of preconditioned TD's with alpha and beta.
    fn outputs(
        &self,
        construction: Construction,
        c: &[Matrix],
        [alpha, beta]: [f64; 2],
    ) -> Result<[Vec<f64>; 2]> {
        let of_one_head = |trace_decay, layer: &dyn Fn(&Matrix) -> Layer<f64, K>| {
            let layers: Vec<_> = c.iter().map(layer).collect();
            self.of_one_head(TdLambda::new(trace_decay)?, &layers)
        };
        match construction {
            Construction::Td0 => of_one_head(0.0, &constructions::td0),
            Construction::ResidualGradient => of_one_head(0.0, &constructions::residual_gradient),
            Construction::TdLambda => {
                of_one_head(self.settings.trace_decay, &constructions::td_lambda)
            }
            Construction::PreconditionedTd => {
                of_one_head(0.0, &|_| constructions::preconditioned_td::<_, FEW, K>(alpha, beta))
            }
            Construction::AverageReward => {
                let layers: Vec<_> = c.iter().map(constructions::average_reward).collect();
                self.outputs_of::<A, _>(AverageReward, &layers, 1.0, |transformer, mut z| {
                    let heads = [self.statistic(MeanCentred, 1.0)?, self.statistic(Td0, 1.0)?];
                    let mut values = Vec::new();
                    transformer.column_maps(&heads, |b| {
                        z = b * z;
                        values.push(-z[A - 1]);
                    });
                    Ok(values)
                })
            }
        }
    }

    /// Returns the literal and the streaming values of linear attention under a mask.
    fn of_one_head<M: Mask<f64>>(
        &self,
        mask: M,
        layers: &[Layer<f64, K>],
    ) -> Result<[Vec<f64>; 2]> {
        let gamma = self.settings.gamma;
        self.outputs_of(Linear(mask), layers, gamma, |transformer, query| {
            let (statistic, mut values) = (self.statistic(mask, gamma)?, Vec::new());
            transformer.values_by_layer(&statistic, &query, |v| values.push(v));
            Ok(values)
        })
    }

    /// Returns literal and streaming values beside those of an algorithm, given by its step from w with C_l.
    fn compared(
        &self,
        c: &[Matrix],
        [literal, streaming]: [Vec<f64>; 2],
        update: impl Fn(&Vector, &Matrix, &[Transition<f64, FEW>]) -> Result<Vector>,
    ) -> Result<Vec<LayerValues>> {
        let mut w = linalg::zeros();
        let at = |(l, c): (usize, &Matrix)| {
            w = update(&w, c, &self.transitions)?;
            Ok(LayerValues {
                algorithm: linalg::dot(&self.query, &w),
                literal: literal[l],
                streaming: Some(streaming[l]),
                scale: (self.query.norm() * w.norm()).max(1.0),
            })
        };
        c.iter().enumerate().map(at).collect()
    }

    /// Returns the values of the transformer with these layers by the literal forward pass, and those of `stream`.
    fn outputs_of<const K: usize, M: Attention<f64, K>>(
        &self,
        attention: M,
        layers: &[M::Layer],
        gamma: f64,
        stream: impl FnOnce(&Transformer<M::Layer, LAYERS>, SVector<f64, K>) -> Result<Vec<f64>>,
    ) -> Result<[Vec<f64>; 2]> {
        let transformer = Transformer::sequential(layers)?;
        let columns: Vec<_> = self.transitions.iter().map(|t| token(t, gamma)).collect();
        let (query, mut literal) = (query_token(&self.query), Vec::new());
        let mut prompt = Prompt::<f64, K, PROMPT>::from_columns(&columns, query)?;
        transformer.forward(&mut prompt, &attention, |z| literal.push(z.output()))?;
        Ok([literal, stream(&transformer, query)?])
    }

    fn statistic<const K: usize>(
        &self,
        mask: impl Mask<f64>,
        gamma: f64,
    ) -> Result<Statistic<f64, K>> {
        let mut context = Context::<FEW, _, _, f64>::with_memory(mask, Growing);
        self.transitions.iter().try_for_each(|t| context.observe_transition(t))?;
        context.statistic(gamma, 0)
    }
}
