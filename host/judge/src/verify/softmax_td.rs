//! Softmax layers as weighted softmax TD, against the algorithm.
//!
//! The algorithm evaluates a policy in the space of a kernel (its name is that of arXiv 2605.07333, whose abstract says that
//! softmax layers are equivalent to it and that linear and tabular TD are special cases; the construction here is this
//! project's own). With k_j(x) = exp(<x, phi_j> / temperature) / sum_i exp(<x, phi_i> / temperature), v_0 = 0 and
//!
//! ```text
//! v_{l+1}(x) = v_l(x) + alpha sum_j k_j(x) (R_j + gamma v_l(phi'_j) - v_l(phi_j))
//! ```
//!
//! With features that are units and a temperature that falls to 0 it is tabular batch TD: the mean of the TD errors in a
//! state is added to its value.
//!
//! The layer has two softmax heads, in which each column attends to the context's columns, and tokens
//! z_j = (phi_j; phi'_j; 1; 0; R_j) and z_q = (phi; 0; 0; 1; 0). Both heads match keys' phi, the first with a column's phi and
//! the second with its phi'. They write the reward's row,
//! r <- r - alpha r M softmax(Z^T Q_1 Z) + alpha gamma r M softmax(Z^T Q_2 Z), each softmax over the keys of a column, so
//! that r_j = delta_j and minus the query's r is v(phi), as in Theorem 1. The query has no next state: its column's second
//! head attends to the query itself, which the mask M makes 0, and to which no other column attends.

use super::{LayerValues, VerifySettings};
use ictd_core::linalg::{dot, mul_vector};
use ictd_core::rng::Rng;
use ictd_core::scalar::Scalar;
use nalgebra::{SMatrix, SVector};

const D: usize = 4;
const K: usize = 2 * D + 3;
const IS_CONTEXT: usize = 2 * D;
const IS_QUERY: usize = 2 * D + 1;
const REWARD: usize = 2 * D + 2;
/// A score next to which others are lost in a softmax.
const SUPPRESSED: f64 = 1e4;

type Column = SVector<f64, K>;
type Features = SVector<f64, D>;

/// A problem: the transitions (phi, R, phi'), and the query's features.
pub struct Problem {
    pub transitions: Vec<(Features, f64, Features)>,
    pub query: Features,
    pub alpha: f64,
    pub temperature: f64,
    pub gamma: f64,
}

impl Problem {
    pub fn random(settings: &VerifySettings, seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 99 << 32);
        let dim = 1 + rng.below(D as u32) as usize;
        let n = 1 + rng.below(settings.context as u32) as usize;
        let normal =
            |rng: &mut Rng| Features::from_fn(|i, _| if i < dim { rng.normal() } else { 0.0 });
        let transition = |rng: &mut Rng| (normal(rng), rng.normal(), normal(rng));
        Problem {
            transitions: (0..n).map(|_| transition(&mut rng)).collect(),
            query: normal(&mut rng),
            alpha: rng.uniform_in(0.1, 1.0),
            temperature: rng.log_uniform(0.5, 10.0).into(),
            gamma: settings.gamma,
        }
    }

    /// Returns the query's value after each layer of the transformer and each iteration of the algorithm.
    pub fn values(&self, layers: usize) -> Vec<LayerValues> {
        let literal = self.literal(layers);
        let value = |(literal, [algorithm, size]): (f64, [f64; 2])| LayerValues {
            algorithm,
            literal,
            streaming: None,
            scale: size.max(1.0),
        };
        literal.into_iter().zip(self.algorithm(layers)).map(value).collect()
    }

    fn literal(&self, layers: usize) -> Vec<f64> {
        let mut z: Vec<Column> = Vec::new();
        for (phi, reward, next) in &self.transitions {
            z.push(Column::from_fn(|i, _| match i {
                IS_CONTEXT => 1.0,
                IS_QUERY => 0.0,
                REWARD => *reward,
                _ => {
                    if i < D {
                        phi[i]
                    } else {
                        next[i - D]
                    }
                }
            }));
        }
        z.push(Column::from_fn(|i, _| match i {
            IS_QUERY => 1.0,
            _ => {
                if i < D {
                    self.query[i]
                } else {
                    0.0
                }
            }
        }));
        let [mut q1, mut q2] = [SMatrix::<f64, K, K>::zeros(); 2];
        for i in 0..D {
            (q1[(i, i)], q2[(i, D + i)]) = (1.0 / self.temperature, 1.0 / self.temperature);
        }
        for q in [&mut q1, &mut q2] {
            q[(IS_QUERY, IS_CONTEXT)] = -SUPPRESSED;
        }
        (q1[(IS_QUERY, IS_QUERY)], q2[(IS_QUERY, IS_QUERY)]) = (-SUPPRESSED, SUPPRESSED);
        let mut values = Vec::new();
        for _ in 0..layers {
            let [of_phi, of_next] = [&q1, &q2].map(|q| attended(&z, q));
            for (c, column) in z.iter_mut().enumerate() {
                column[REWARD] += self.alpha * (self.gamma * of_next[c] - of_phi[c]);
            }
            values.push(-z[z.len() - 1][REWARD]);
        }
        values
    }

    /// Returns v(query) = sum_j c_j k_j after each iteration, and the sum of the terms' sizes, which rounding grows with.
    fn algorithm(&self, iterations: usize) -> Vec<[f64; 2]> {
        let kernel = |x: &Features| {
            let scores =
                self.transitions.iter().map(|(phi, ..)| exp(dot(phi, x) / self.temperature));
            let scores: Vec<f64> = scores.collect();
            let total: f64 = scores.iter().sum();
            scores.into_iter().map(move |score| score / total).collect::<Vec<_>>()
        };
        let kernels: Vec<_> =
            self.transitions.iter().map(|(phi, _, next)| (kernel(phi), kernel(next))).collect();
        let of_query = kernel(&self.query);
        let (mut c, mut values) = (vec![0.0; kernels.len()], Vec::new());
        let value = |c: &[f64], k: &[f64]| c.iter().zip(k).map(|(c, k)| c * k).sum::<f64>();
        for _ in 0..iterations {
            let error = |((here, next), (_, reward, _)): (&(Vec<f64>, Vec<f64>), &(_, f64, _))| {
                reward + self.gamma * value(&c, next) - value(&c, here)
            };
            let errors: Vec<_> = kernels.iter().zip(&self.transitions).map(error).collect();
            c.iter_mut().zip(errors).for_each(|(c, error)| *c += self.alpha * error);
            let sizes: Vec<_> = c.iter().map(|c| c.abs()).collect();
            values.push([&c, &sizes].map(|c| value(c, &of_query)));
        }
        values
    }
}

/// Returns e^x with the same bits on every platform.
fn exp(x: f64) -> f64 {
    Scalar::exp2(x * std::f64::consts::LOG2_E)
}

/// Returns the reward's row of Z M softmax(Z^T Q Z), the softmax over the keys of each column; M is 0 for the query.
fn attended(z: &[Column], q: &SMatrix<f64, K, K>) -> Vec<f64> {
    let of_column = |column: &Column| {
        let read = mul_vector(q, column);
        let scores: Vec<f64> = z.iter().map(|key| dot(key, &read)).collect();
        let highest = scores.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
        let weights: Vec<f64> = scores.iter().map(|score| exp(score - highest)).collect();
        let context = weights.iter().zip(&z[..z.len() - 1]);
        context.map(|(weight, key)| weight * key[REWARD]).sum::<f64>() / weights.iter().sum::<f64>()
    };
    z.iter().map(of_column).collect()
}
