//! Linear attention, streaming form.
//!
//! Forward, with G_0 the context's statistic and z_0 the query token:
//!
//! ```text
//! B_l = I + (1/n) P_l G_l Q_l      G_{l+1} = B_l G_l B_l^T      z_{l+1} = B_l z_l      TF_L = -z_L[K]
//! ```
//!
//! Reverse, from z-bar_L = -e_K and G-bar_L = 0:
//!
//! ```text
//! B-bar_l = z-bar z_l^T + G-bar B_l G_l^T + G-bar^T B_l G_l
//! P-bar_l = (1/n) B-bar_l Q_l^T G_l^T            Q-bar_l = (1/n) G_l^T P_l^T B-bar_l
//! G-bar  <- B_l^T G-bar B_l + (1/n) P_l^T B-bar_l Q_l^T      z-bar <- B_l^T z-bar
//! ```
//!
//! This is the simple form, any mask, any query column, one prompt at a time: the reference that the
//! batch form of [`crate::training`] is tested against.

use super::{Gradient, zero_layers};
use crate::attention::mask::Td0;
use crate::context::Statistic;
use crate::error::Error;
use crate::kernel::{
    add_outer, add_scaled, mul, mul_transpose, mul_vector, scale, transpose_mul,
    transpose_mul_vector, zeros,
};
use crate::prompt::Prompt;
use crate::scalar::Scalar;
use crate::transformer::{Layer, Transformer};
use heapless::Vec;
use nalgebra::{SMatrix, SVector};

/// What the forward pass leaves behind for layer l.
#[derive(Clone, Debug, PartialEq)]
struct Step<S: Scalar, const K: usize> {
    g: SMatrix<S, K, K>,
    b: SMatrix<S, K, K>,
    z: SVector<S, K>,
}

/// A forward pass that can be walked backwards. L is the capacity for layers in the pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Tape<S: Scalar, const K: usize, const L: usize> {
    steps: Vec<Step<S, K>, L>,
    inverse_len: S,
    output: S,
}

/// Adjoints of a linear transformer's inputs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InputAdjoints<S: Scalar, const K: usize> {
    /// G-bar_0 = dTF_L/dG_0, (K, K).
    pub statistic: SMatrix<S, K, K>,
    /// z-bar_0 = dTF_L/dz_q, (K).
    pub query: SVector<S, K>,
}

impl<S: Scalar, const K: usize, const L: usize> Tape<S, K, L> {
    /// The forward pass.
    ///
    /// # Errors
    /// [`Error::CapacityExceeded`] if the transformer is deeper than L.
    pub fn forward<const C: usize>(
        transformer: &Transformer<S, K, C>,
        statistic: &Statistic<S, K>,
        query: &SVector<S, K>,
    ) -> Result<Self, Error> {
        let mut tape =
            Tape { steps: Vec::new(), inverse_len: statistic.inverse_len, output: S::ZERO };
        let mut statistic = *statistic;
        let mut z = *query;
        for layer in transformer.pass() {
            let b = layer.column_map(&statistic);
            tape.steps
                .push(Step { g: statistic.g, b, z })
                .map_err(|_| Error::CapacityExceeded { parameter: "layers", capacity: L })?;
            statistic.g = mul_transpose(&mul(&b, &statistic.g), &b);
            z = mul_vector(&b, &z);
        }
        tape.output = -z[K - 1];
        Ok(tape)
    }

    /// TF_L.
    #[inline(always)]
    pub fn value(&self) -> S {
        self.output
    }

    /// Walks back from TF_L-bar = `seed`, adding `seed` dTF_L/dP_l and `seed` dTF_L/dQ_l to
    /// `gradient` (as many layers as the transformer stores).
    pub fn backward<const C: usize>(
        &self,
        transformer: &Transformer<S, K, C>,
        seed: S,
        gradient: &mut [Layer<S, K>],
    ) -> InputAdjoints<S, K> {
        let mut g_bar = zeros::<S, K, K>();
        let mut z_bar = zeros::<S, K, 1>();
        z_bar[K - 1] = -seed;
        let stored = transformer.layers().len();
        for (l, (step, layer)) in self.steps.iter().zip(transformer.pass()).enumerate().rev() {
            let mut b_bar = zeros();
            add_outer(&mut b_bar, &z_bar, &step.z);
            add_scaled(&mut b_bar, S::ONE, &mul_transpose(&mul(&g_bar, &step.b), &step.g));
            add_scaled(&mut b_bar, S::ONE, &mul(&transpose_mul(&g_bar, &step.b), &step.g));
            // (1/n) B-bar Q^T and (1/n) P^T B-bar
            let b_q = scale(self.inverse_len, &mul_transpose(&b_bar, &layer.q));
            let p_b = scale(self.inverse_len, &transpose_mul(&layer.p, &b_bar));
            if let Some(sum) = gradient.get_mut(l % stored) {
                add_scaled(&mut sum.p, S::ONE, &mul_transpose(&b_q, &step.g));
                add_scaled(&mut sum.q, S::ONE, &transpose_mul(&step.g, &p_b));
            }
            g_bar = mul(&transpose_mul(&step.b, &g_bar), &step.b);
            add_scaled(&mut g_bar, S::ONE, &mul_transpose(&p_b, &layer.q));
            z_bar = transpose_mul_vector(&step.b, &z_bar);
        }
        InputAdjoints { statistic: g_bar, query: z_bar }
    }
}

/// TF_L(Z_0) under TD(0)'s mask and its derivatives with respect to the parameters, the query and the
/// context (whose column j enters by G_0 = sum_j z_j z_j^T, so z-bar_j = (G-bar_0 + G-bar_0^T) z_j).
///
/// C is the capacity for stored layers, L for layers in the pass, N for context columns.
///
/// # Errors
/// [`Error::Empty`] without context, [`Error::CapacityExceeded`] if the transformer is deeper than L.
pub fn value_and_gradient<
    S: Scalar,
    const K: usize,
    const C: usize,
    const L: usize,
    const N: usize,
>(
    transformer: &Transformer<S, K, C>,
    prompt: &Prompt<S, K, N>,
) -> Result<Gradient<S, K, C, N>, Error> {
    let statistic = Statistic::of_prompt(prompt, &Td0)?;
    let tape = Tape::<S, K, L>::forward(transformer, &statistic, prompt.query())?;
    let mut layers = zero_layers(transformer.layers());
    let adjoints = tape.backward(transformer, S::ONE, &mut layers);
    let mut symmetric = adjoints.statistic;
    add_scaled(&mut symmetric, S::ONE, &crate::kernel::transpose(&adjoints.statistic));
    let mut prompt_bar = prompt.clone();
    for z in prompt_bar.columns_mut() {
        *z = mul_vector(&symmetric, z);
    }
    prompt_bar.set_query(adjoints.query);
    Ok(Gradient { value: tape.value(), layers, prompt: prompt_bar })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attention::LinearAttention;
    use crate::rng::Rng;

    const H: f64 = 1e-6;

    fn random<const R: usize, const C: usize>(rng: &mut Rng, s: f64) -> SMatrix<f64, R, C> {
        SMatrix::from_fn(|_, _| rng.uniform_in(-s, s))
    }

    fn random_layer(rng: &mut Rng) -> Layer<f64, 5> {
        Layer { p: random(rng, 0.6), q: random(rng, 0.6) }
    }

    fn random_prompt(rng: &mut Rng) -> Prompt<f64, 5, 6> {
        let columns: [SVector<f64, 5>; 6] = core::array::from_fn(|_| random(rng, 1.0));
        Prompt::from_columns(&columns, random(rng, 1.0)).unwrap()
    }

    fn literal(layers: &[Layer<f64, 5>], depth: usize, prompt: &Prompt<f64, 5, 6>) -> f64 {
        let transformer = if layers.len() == 1 {
            Transformer::<f64, 5, 3>::autoregressive(layers[0], depth)
        } else {
            Transformer::sequential(layers)
        };
        transformer.unwrap().value(prompt, &LinearAttention(Td0)).unwrap()
    }

    fn check(got: f64, plus: f64, minus: f64, what: &str) {
        let want = (plus - minus) / (2.0 * H);
        assert!((got - want).abs() < 1e-7 * (1.0 + want.abs()), "{what}: {got} and {want}");
    }

    /// Every derivative of the literal forward pass by central differences.
    fn agrees_with_finite_differences(layers: &[Layer<f64, 5>], depth: usize, seed: u64) {
        let prompt = random_prompt(&mut Rng::new(seed));
        let transformer = if layers.len() == 1 {
            Transformer::<f64, 5, 3>::autoregressive(layers[0], depth).unwrap()
        } else {
            Transformer::sequential(layers).unwrap()
        };
        let gradient = value_and_gradient::<_, 5, 3, 3, 6>(&transformer, &prompt).unwrap();
        assert!((gradient.value - literal(layers, depth, &prompt)).abs() < 1e-13);
        for l in 0..layers.len() {
            for i in 0..25 {
                for (got, pick) in [
                    (gradient.layers[l].p[i], (|l| &mut l.p) as fn(&mut Layer<_, 5>) -> &mut _),
                    (gradient.layers[l].q[i], |l| &mut l.q),
                ] {
                    let at = |h: f64| {
                        let mut moved: Vec<Layer<f64, 5>, 3> = Vec::from_slice(layers).unwrap();
                        let m: &mut SMatrix<f64, 5, 5> = pick(&mut moved[l]);
                        m[i] += h;
                        literal(&moved, depth, &prompt)
                    };
                    check(got, at(H), at(-H), "parameter");
                }
            }
        }
        for c in 0..7 {
            for i in 0..5 {
                let at = |h: f64| {
                    let mut moved = prompt.clone();
                    moved.columns_mut().nth(c).unwrap()[i] += h;
                    literal(layers, depth, &moved)
                };
                check(gradient.prompt.column(c)[i], at(H), at(-H), "prompt");
            }
        }
        let features = gradient.query_features::<2>();
        assert_eq!(features[1], gradient.prompt.query()[1]);
    }

    #[test]
    fn autoregressive_gradient_agrees_with_finite_differences_at_every_depth() {
        let layer = random_layer(&mut Rng::new(1));
        for depth in 1..=3 {
            agrees_with_finite_differences(&[layer], depth, depth as u64);
        }
    }

    #[test]
    fn sequential_gradient_agrees_with_finite_differences() {
        let mut rng = Rng::new(2);
        let layers = [random_layer(&mut rng), random_layer(&mut rng), random_layer(&mut rng)];
        agrees_with_finite_differences(&layers, 3, 4);
        agrees_with_finite_differences(&layers[..2], 2, 5);
    }

    #[test]
    fn a_transformer_deeper_than_the_tape_is_refused() {
        let mut rng = Rng::new(3);
        let deep = Transformer::<f64, 5, 1>::autoregressive(random_layer(&mut rng), 4).unwrap();
        let got = value_and_gradient::<_, 5, 1, 3, 6>(&deep, &random_prompt(&mut rng));
        assert_eq!(got, Err(Error::CapacityExceeded { parameter: "layers", capacity: 3 }));
    }
}
