//! Streaming contexts.

use crate::attention::{MeanCentred, Td0, TdLambda};
use crate::context::{Context, Forgetting, Growing, Sliding, SlidingMask};
use crate::digest::{LaneDigests, Seeds};
use crate::error::Error;
use crate::scalar::Scalar;
use crate::transformer::Transformer;

const D: usize = 2;
const K: usize = 2 * D + 1;

/// Each policy with each mask, over more transitions than a block of the growing sum or than
/// several windows hold.
pub(super) fn contexts<S: Scalar<Element = f32>>(
    seeds: Seeds<S>,
    digests: &mut LaneDigests,
) -> Result<(), Error> {
    policies(seeds, digests, Td0)?;
    policies(seeds, digests, TdLambda::new(S::splat(0.5))?)?;
    policies(seeds, digests, MeanCentred)
}

fn policies<S: Scalar<Element = f32>, M: SlidingMask<S, K>>(
    seeds: Seeds<S>,
    digests: &mut LaneDigests,
    mask: M,
) -> Result<(), Error> {
    let gamma = S::splat(0.9);
    stream(seeds, digests, Growing::new(gamma, mask)?)?;
    stream(seeds, digests, Forgetting::new(gamma, S::splat(0.97), mask)?)?;
    stream(seeds, digests, Sliding::<S, D, K, 20, M>::new(gamma, mask)?)
}

fn stream<S: Scalar<Element = f32>>(
    seeds: Seeds<S>,
    digests: &mut LaneDigests,
    mut context: impl Context<S, D, K>,
) -> Result<(), Error> {
    let mut draws = seeds.draws();
    for t in 0..600 {
        context.observe_transition(&draws.transition())?;
        if t % 75 == 0 {
            let statistic = context.statistic()?;
            digests.numbers(&statistic.g);
            digests.number(statistic.inverse_len);
        }
    }
    Ok(())
}

/// What a device does: observe, compute the value function, ask it for values.
pub(super) fn device<S: Scalar<Element = f32>>(
    seeds: Seeds<S>,
    digests: &mut LaneDigests,
) -> Result<(), Error> {
    const D: usize = 4;
    let mut draws = seeds.draws();
    let shared = Transformer::<S, 9, 1>::autoregressive(draws.layer(), 3)?;
    let mut context = crate::context::Streaming::<S, D, 9>::new(S::splat(0.9))?;
    for t in 0..300 {
        let transition = draws.transition::<D>();
        context.observe(&transition.phi, transition.reward, &transition.phi_next)?;
        if t % 30 == 0 {
            let value = shared.value_function(&context)?;
            digests.numbers(&value.weights);
            digests.number(value.at(&transition.phi));
        }
    }
    Ok(())
}
