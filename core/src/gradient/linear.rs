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
use crate::error::Error;
use crate::layer::Layer;
use crate::linalg::{
    add_outer, add_scaled, mul, mul_transpose, mul_vector, scale, transpose_mul,
    transpose_mul_vector, zeros,
};
use crate::mask::Td0;
use crate::prompt::Prompt;
use crate::scalar::Scalar;
use crate::statistic::Statistic;
use crate::transformer::Transformer;
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
pub(crate) struct Tape<S: Scalar, const K: usize, const L: usize> {
    steps: Vec<Step<S, K>, L>,
    inverse_len: S,
    output: S,
}

/// Adjoints of a linear transformer's inputs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct InputAdjoints<S: Scalar, const K: usize> {
    /// G-bar_0 = dTF_L/dG_0, (K, K).
    statistic: SMatrix<S, K, K>,
    /// z-bar_0 = dTF_L/dz_q, (K).
    query: SVector<S, K>,
}

impl<S: Scalar, const K: usize, const L: usize> Tape<S, K, L> {
    /// The forward pass of a transformer of at most L layers.
    pub(crate) fn forward<const C: usize>(
        transformer: &Transformer<Layer<S, K>, C>,
        statistic: &Statistic<S, K>,
        query: &SVector<S, K>,
    ) -> Self {
        debug_assert!(transformer.depth() <= L, "{} layers on a tape for {L}", transformer.depth());
        let mut tape =
            Tape { steps: Vec::new(), inverse_len: statistic.inverse_len, output: S::ZERO };
        let mut statistic = *statistic;
        let mut z = *query;
        for layer in transformer.pass() {
            let b = layer.column_map(&statistic);
            let _ = tape.steps.push(Step { g: statistic.g, b, z });
            statistic.g = mul_transpose(&mul(&b, &statistic.g), &b);
            z = mul_vector(&b, &z);
        }
        tape.output = -z[K - 1];
        tape
    }

    /// TF_L.
    #[inline(always)]
    pub(crate) fn value(&self) -> S {
        self.output
    }

    /// Walks back from TF_L-bar = `seed`, adding `seed` dTF_L/dP_l and `seed` dTF_L/dQ_l to
    /// `gradient` (as many layers as the transformer stores).
    pub(crate) fn backward<const C: usize>(
        &self,
        transformer: &Transformer<Layer<S, K>, C>,
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
    transformer: &Transformer<Layer<S, K>, C>,
    prompt: &Prompt<S, K, N>,
) -> Result<Gradient<S, K, C, N>, Error> {
    if transformer.depth() > L {
        return Err(Error::CapacityExceeded { parameter: "layers", capacity: L });
    }
    let statistic = Statistic::of_prompt(prompt, &Td0)?;
    let tape = Tape::<S, K, L>::forward(transformer, &statistic, prompt.query());
    let mut layers = zero_layers(transformer.layers());
    let adjoints = tape.backward(transformer, S::ONE, &mut layers);
    let mut symmetric = adjoints.statistic;
    add_scaled(&mut symmetric, S::ONE, &crate::linalg::transpose(&adjoints.statistic));
    let mut prompt_bar = prompt.clone();
    for z in prompt_bar.columns_mut() {
        *z = mul_vector(&symmetric, z);
    }
    prompt_bar.set_query(adjoints.query);
    Ok(Gradient { value: tape.value(), layers, prompt: prompt_bar })
}

/// TF_L and its derivatives with respect to the parameters alone, under any mask: its G_0 stands for the
/// context. C and L as in [`value_and_gradient`].
///
/// # Errors
/// [`Error::CapacityExceeded`] if the transformer is deeper than L; [`Error::NonFinite`] if a derivative is
/// not finite.
pub fn value_and_parameter_gradient<S: Scalar, const K: usize, const C: usize, const L: usize>(
    transformer: &Transformer<Layer<S, K>, C>,
    statistic: &Statistic<S, K>,
    query: &SVector<S, K>,
) -> Result<(S, Transformer<Layer<S, K>, C>), Error> {
    if transformer.depth() > L {
        return Err(Error::CapacityExceeded { parameter: "layers", capacity: L });
    }
    let tape = Tape::<S, K, L>::forward(transformer, statistic, query);
    let mut layers: Vec<_, C> = zero_layers(transformer.layers());
    tape.backward(transformer, S::ONE, &mut layers);
    Ok((tape.value(), Transformer::sequential(&layers)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attention::Attention;
    use crate::gradient::tests::{agree, random_layer, random_prompt};
    use crate::mask::{Mask, MeanCentred, TdLambda};
    use crate::rng::Rng;
    use crate::training::Parameters as _;

    #[test]
    fn parameter_gradient_agrees_with_finite_differences_under_any_mask() {
        fn agree(mask: impl Mask<f64> + Attention<f64, 5, Layer = Layer<f64, 5>>) {
            let mut rng = Rng::new(5);
            let layers = [(); 2].map(|()| random_layer(&mut rng));
            let transformer = Transformer::<_, 3>::sequential(&layers).unwrap();
            let prompt = random_prompt(&mut rng);
            let statistic = Statistic::of_prompt(&prompt, &mask).unwrap();
            let query = prompt.query();
            let (value, gradient) =
                value_and_parameter_gradient::<_, 5, 3, 3>(&transformer, &statistic, query)
                    .unwrap();
            let literal = transformer.value(&prompt, &mask).unwrap();
            assert!((value - literal).abs() < 1e-13);
            for (i, got) in gradient.numbers().enumerate() {
                let at = |h: f64| {
                    let mut moved = transformer.clone();
                    *moved.numbers_mut().nth(i).unwrap() += h;
                    moved.value(&prompt, &mask).unwrap()
                };
                let want = (at(1e-6) - at(-1e-6)) / 2e-6;
                assert!((got - want).abs() < 1e-7 * (1.0 + want.abs()), "{got} and {want}");
            }
        }
        agree(TdLambda::new(0.7).unwrap());
        agree(MeanCentred);
    }

    #[test]
    fn gradient_agrees_with_finite_differences() {
        agree(value_and_gradient::<_, 5, 3, 3, 8>, &Td0);
    }

    #[test]
    fn the_query_features_are_the_first_entries() {
        let mut rng = Rng::new(4);
        let transformer = Transformer::<_, 3>::autoregressive(random_layer(&mut rng), 2).unwrap();
        let prompt = random_prompt(&mut rng);
        let gradient = value_and_gradient::<_, 5, 3, 3, 8>(&transformer, &prompt).unwrap();
        assert_eq!(gradient.query_features::<2>()[1], gradient.prompt.query()[1]);
    }

    #[test]
    fn a_transformer_deeper_than_the_tape_is_refused() {
        let mut rng = Rng::new(3);
        let deep = Transformer::<_, 1>::autoregressive(random_layer(&mut rng), 4).unwrap();
        let got = value_and_gradient::<_, 5, 1, 3, 8>(&deep, &random_prompt(&mut rng));
        assert_eq!(got, Err(Error::CapacityExceeded { parameter: "layers", capacity: 3 }));
    }
}
