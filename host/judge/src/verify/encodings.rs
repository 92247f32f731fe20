//! Algorithms that layers run on other tokens ([`ictd_core::td::encodings`]), and softmax layers, against the algorithms.

use super::{LayerValues, PROMPT, VerifySettings};
use ictd_core::Result;
use ictd_core::attention::{Linear, Td0};
use ictd_core::context::{Context, Growing};
use ictd_core::prompt::Prompt;
use ictd_core::rng::Rng;
use ictd_core::td::encodings::{Emphasis, actor_critic, gtd2, tdc};
use ictd_core::td::updates::td_error;
use ictd_core::transformer::Transformer;
use ictd_core::transition::{Transition, query_token, token};
use ictd_core::{constructions, linalg};
use nalgebra::SVector;

const D: usize = 4;
/// Features of an encoded token.
const E: usize = 2 * D;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    EmphaticTd,
    Gtd2,
    Tdc,
    ActorCritic,
}

/// One random problem, of a behaviour policy's transitions with their importance ratios.
struct Problem {
    transitions: Vec<(Transition<f64, D>, f64)>,
    /// grad log pi(A|S) of each transition.
    gradients: Vec<SVector<f64, D>>,
    queries: [SVector<f64, D>; 2],
    /// The step size of u over that of w.
    ratio: f64,
    gamma: f64,
}

type Tokens<const N: usize> = Vec<(Transition<f64, N>, f64)>;

/// Returns the values after each layer for one random problem with up to half the settings' transitions.
/// Returns the core's error if the settings do not fit or iterates leave the range of `f64`.
pub fn values(
    settings: &VerifySettings,
    encoding: Encoding,
    seed: u64,
) -> Result<Vec<LayerValues>> {
    let mut rng = Rng::new(seed ^ (encoding as u64 + 1) << 32);
    let problem = Problem::random(settings, &mut rng);
    match encoding {
        Encoding::EmphaticTd => {
            let mut emphasis = Emphasis::default();
            let weigh = |&(t, rho): &(_, f64)| (t, emphasis.weight(rho, problem.gamma));
            let tokens = problem.transitions.iter().map(weigh).collect();
            problem.compare::<D, 9>(settings, encoding, tokens, problem.queries[0])
        }
        Encoding::ActorCritic => {
            let token =
                |((t, _), psi): (&(_, _), _)| Ok((actor_critic(t, psi, problem.gamma)?, 1.0));
            let tokens = problem.transitions.iter().zip(&problem.gradients).map(token);
            let [phi, psi] = problem.queries;
            let query = SVector::from_fn(|i, _| if i < D { phi[i] } else { psi[i - D] });
            problem.compare::<E, 17>(settings, encoding, tokens.collect::<Result<_>>()?, query)
        }
        Encoding::Gtd2 | Encoding::Tdc => {
            let encode = if encoding == Encoding::Gtd2 { gtd2 } else { tdc };
            let mut tokens: Tokens<E> = Vec::new();
            for (t, rho) in &problem.transitions {
                let pair = encode(t, problem.gamma, problem.ratio)?;
                tokens.extend(pair.map(|token| (token, *rho)));
            }
            let [phi, _] = problem.queries;
            let query = SVector::from_fn(|i, _| if i < D { phi[i] } else { 0.0 });
            problem.compare::<E, 17>(settings, encoding, tokens, query)
        }
    }
}

impl Problem {
    fn random(settings: &VerifySettings, rng: &mut Rng) -> Self {
        let dim = 1 + rng.below(D as u32) as usize;
        let normal =
            |rng: &mut Rng| SVector::from_fn(|i, _| if i < dim { rng.normal() } else { 0.0 });
        let n = 1 + rng.below(settings.context.div_ceil(2) as u32) as usize;
        let transition = |rng: &mut Rng| Transition {
            phi: normal(rng),
            reward: rng.normal(),
            phi_next: normal(rng),
        };
        Problem {
            transitions: (0..n).map(|_| (transition(rng), rng.uniform_in(0.0, 2.0))).collect(),
            gradients: (0..n).map(|_| normal(rng)).collect(),
            queries: [normal(rng), normal(rng)],
            ratio: rng.uniform_in(0.5, 4.0),
            // The encodings divide by it.
            gamma: settings.gamma.max(0.1),
        }
    }

    /// Compares Theorem 1's layers on weighted tokens with the algorithm.
    fn compare<const N: usize, const K: usize>(
        &self,
        settings: &VerifySettings,
        encoding: Encoding,
        tokens: Tokens<N>,
        query: SVector<f64, N>,
    ) -> Result<Vec<LayerValues>> {
        let weighted =
            |(t, rho): &(Transition<f64, N>, f64)| token::<_, N, K>(t, self.gamma) * rho.sqrt();
        let columns: Vec<_> = tokens.iter().map(weighted).collect();
        let size = columns.iter().map(|z| z.norm_squared()).sum::<f64>() / columns.len() as f64;
        let alpha = 2.0 * settings.c_norm / size.max(1.0);
        let layer = constructions::td0::<_, N, K>(&constructions::scaled_identity(alpha));
        let transformer = Transformer::<_, 1>::autoregressive(layer, settings.layers)?;
        let query_column = query_token(&query);
        let mut literal = Vec::new();
        let mut prompt = Prompt::<f64, K, PROMPT>::from_columns(&columns, query_column)?;
        transformer.forward(&mut prompt, &Linear(Td0), |z| literal.push(z.output()))?;
        let mut context = Context::<N, Td0, Growing, f64>::new();
        for (t, rho) in &tokens {
            context.observe_weighted(&t.phi, t.reward, &t.phi_next, *rho)?;
        }
        let (statistic, mut streaming) = (context.statistic(self.gamma, 0)?, Vec::new());
        transformer.values_by_layer(&statistic, &query_column, |v| streaming.push(v));

        let (mut w, mut u) = (linalg::zeros::<f64, D, 1>(), linalg::zeros::<f64, D, 1>());
        let step = alpha / tokens.len() as f64;
        let layers = literal.into_iter().zip(streaming).map(|(literal, streaming)| {
            [w, u] = self.update(encoding, w, u, step);
            let [phi, psi] = self.queries;
            let of_u = if encoding == Encoding::ActorCritic { psi.dot(&u) } else { 0.0 };
            LayerValues {
                algorithm: phi.dot(&w) + of_u,
                literal,
                streaming: Some(streaming),
                scale: (phi.norm() * w.norm() + psi.norm() * u.norm()).max(1.0),
            }
        });
        Ok(layers.collect())
    }

    /// Returns w and u after an iteration over all transitions, as the algorithm's authors write it.
    fn update(
        &self,
        encoding: Encoding,
        w: SVector<f64, D>,
        u: SVector<f64, D>,
        step: f64,
    ) -> [SVector<f64, D>; 2] {
        let (gamma, mut next, mut follow_on, mut carried) = (self.gamma, [w, u], 1.0, 0.0);
        for ((t, rho), psi) in self.transitions.iter().zip(&self.gradients) {
            let delta = td_error(&w, t, gamma);
            let correction = t.phi.dot(&u);
            let auxiliary = t.phi * (self.ratio * rho * (delta - correction));
            let [to_w, to_u] = match encoding {
                Encoding::EmphaticTd => {
                    follow_on = 1.0 + gamma * carried * follow_on;
                    carried = *rho;
                    [t.phi * (follow_on * rho * delta), SVector::zeros()]
                }
                Encoding::Gtd2 => [(t.phi - t.phi_next * gamma) * (rho * correction), auxiliary],
                Encoding::Tdc => {
                    [(t.phi * delta - t.phi_next * (gamma * correction)) * *rho, auxiliary]
                }
                Encoding::ActorCritic => [t.phi * delta, psi * delta],
            };
            next[0] += to_w * step;
            next[1] += to_u * step;
        }
        next
    }
}
