//! Baird's counterexample in context: layers with Theorem 1's weights on the tokens of off-policy algorithms.

use crate::verify::encodings::Encoding;
use ictd_core::Result;
use ictd_core::constructions::{scaled_identity, td0};
use ictd_core::context::Context;
use ictd_core::linalg::dot;
use ictd_core::mask::Td0;
use ictd_core::rng::Rng;
use ictd_core::td::encodings::{Emphasis, gtd2, starting_from, tdc};
use ictd_core::transformer::Transformer;
use ictd_core::transition::Transition;
use nalgebra::SVector;

/// The numbers of layers at which errors are measured.
pub const LAYERS: [usize; 10] = [1, 3, 10, 20, 50, 100, 200, 300, 500, 1000];
/// Transitions of a context.
pub const CONTEXT: usize = 1000;
const GAMMA: f64 = 0.99;
const STATES: usize = 7;
const FEATURES: usize = 8;
/// The weights that Sutton and Barto start from (2018, Section 11.2).
const START: [f64; FEATURES] = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 10.0, 1.0];

fn features(state: usize) -> SVector<f64, FEATURES> {
    let last = state == STATES - 1;
    SVector::from_fn(|i, _| match i {
        7 => 1.0 + f64::from(last),
        _ if i == state => 2.0 - f64::from(last),
        _ => 0.0,
    })
}

/// Returns a trajectory of the behaviour policy with importance ratios: its solid action, one in seven, leads to the last
/// state, and the dashed one to any other; the target policy is always solid. Rewards are 0.
fn trajectory(rng: &mut Rng) -> Vec<(Transition<f64, FEATURES>, f64)> {
    let mut state = rng.below(STATES as u32) as usize;
    let transition = |_| {
        let solid = rng.below(7) == 0;
        let next = if solid { STATES - 1 } else { rng.below(6) as usize };
        let [phi, phi_next] = [state, next].map(features);
        state = next;
        (Transition { phi, reward: 0.0, phi_next }, if solid { 7.0 } else { 0.0 })
    };
    (0..CONTEXT).map(transition).collect()
}

/// Returns the root mean square of the values over the states, relative to that of the weights to start from, after each of
/// [`LAYERS`]; the true values are 0. No encoding is TD(0). `alpha` is the step size of w for each transition, `ratio` u's over it.
/// Returns the core's error if values leave the range of `f64`.
pub fn errors(
    algorithm: Option<Encoding>,
    [alpha, ratio]: [f64; 2],
    seed: u64,
) -> Result<Vec<f64>> {
    let (mut emphasis, start) = (Emphasis::default(), SVector::from(START));
    let mut alone = Context::<FEATURES, Td0, _, f64>::new();
    let mut doubled = Context::<16, Td0, _, f64>::new();
    for (transition, rho) in trajectory(&mut Rng::new(seed)) {
        let t = starting_from(&start, &transition, GAMMA);
        let encode = match algorithm {
            Some(Encoding::Gtd2) => gtd2,
            Some(Encoding::Tdc) => tdc,
            of => {
                let weight = if of == Some(Encoding::EmphaticTd) {
                    emphasis.weight(rho, GAMMA)
                } else {
                    rho
                };
                alone.observe_weighted(&t.phi, t.reward, &t.phi_next, weight)?;
                continue;
            }
        };
        for token in encode(&t, GAMMA, ratio)? {
            doubled.observe_weighted(&token.phi, token.reward, &token.phi_next, rho)?;
        }
    }
    let after = |layers: usize| -> Result<f64> {
        let mut w = start;
        if doubled.is_empty() {
            w += Transformer::<_, 1>::autoregressive(
                td0(&scaled_identity::<_, FEATURES>(alpha)),
                layers,
            )?
            .value_function::<FEATURES>(&alone.statistic::<17>(GAMMA, 0)?)?
            .weights;
        } else {
            // Two tokens for each transition.
            let layer = td0(&scaled_identity::<_, 16>(2.0 * alpha));
            let value = Transformer::<_, 1>::autoregressive(layer, layers)?
                .value_function::<16>(&doubled.statistic::<33>(GAMMA, 0)?)?;
            w += value.weights.fixed_rows::<FEATURES>(0);
        }
        let square = |w: &SVector<f64, FEATURES>| -> f64 {
            (0..STATES).map(|s| dot(w, &features(s))).map(|v| v * v).sum()
        };
        Ok((square(&w) / square(&start)).sqrt())
    };
    LAYERS.into_iter().map(after).collect()
}
