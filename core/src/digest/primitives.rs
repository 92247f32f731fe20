//! Random streams, elementary functions, stored bytes and tasks.

use super::{Digest, DigestRun, append};
use crate::attention::{Attention, Linear, SoftmaxAttention, Td0};
use crate::error::Result;
use crate::layer::Layer;
use crate::model::{Model, crc32};
use crate::rng::{Rng, RngStream};
use crate::scalar::{Real, Scalar};
use crate::tasks::{CartPoleDistribution, FiniteTaskKind, Mrp, Task, TaskDistribution};
use crate::transformer::Transformer;
use crate::transition::Transition;
use nalgebra::SMatrix;

pub(super) fn random_streams<S: Scalar<Element = f32>>(run: &mut DigestRun<S>) -> Result<()> {
    run.each(|seed_rng, digest| {
        let seed = seed_rng.next_u64();
        for stream in [RngStream::Tasks, RngStream::Parameters, RngStream::Evaluation] {
            let mut rng = Rng::stream(seed, stream);
            for i in 0..16 {
                digest.word(rng.next_u64());
                digest.number(rng.uniform::<f32>());
                digest.number(rng.uniform_in::<f64>(-3.0, 7.0));
                digest.word(rng.below(i * i * 7 + 1).into());
                digest.number(rng.normal::<f32>());
                digest.number(rng.normal::<f64>());
                digest.word(rng.categorical([0.25f32, 0.0, 0.5, 0.25]) as u64);
            }
        }
        Ok(())
    })
}

/// Computes the elementary functions over their ranges, and arithmetic on subnormal numbers.
pub(super) fn elementary<S: Scalar<Element = f32>>(run: &mut DigestRun<S>) -> Result<()> {
    let mut draws = run.draws();
    for exponent in 0..12 {
        // Magnitudes 2^-7 to 2^4 reach all branches of tanh; exp2 has none but its lower end, at -125.
        let size = S::splat((1u32 << exponent) as f32 / 128.0);
        for _ in 0..8 {
            let x = draws.number() * size;
            let powers = [x.exp2(), (-(x * S::splat(8.0)).abs()).exp2()];
            run.numbers(&powers);
            run.numbers(&[x.tanh(), x.abs().sqrt(), S::ONE / x, x.max(-x)]);
            // 1e-38 x is subnormal, and so are its sums: flushing them to 0 changes the digest.
            let tiny = x * S::splat(1e-20) * S::splat(1e-20);
            run.numbers(&[tiny, tiny + S::splat(1e-40), tiny * S::splat(0.3)]);
        }
    }
    run.each(|rng, digest| {
        for scale in [0.01, 1.0, 40.0] {
            for _ in 0..8 {
                reals::<f32>(rng, digest, scale as f32);
                reals::<f64>(rng, digest, scale);
            }
        }
        Ok(())
    })
}

fn reals<R: Real>(rng: &mut Rng, digest: &mut Digest, scale: R) {
    let x = rng.uniform_in(-scale, scale);
    for y in [x.exp2(), x.tanh(), x.abs().sqrt(), x.abs().ln(), x.sin(), x.cos()] {
        digest.number(y);
    }
    digest.number(R::from_f64(x.to_f64() * 1e-310));
}

pub(super) fn stored_model<S: Scalar<Element = f32>>(run: &mut DigestRun<S>) -> Result<()> {
    fn layer<R: Real, const K: usize>(rng: &mut Rng) -> Layer<R, K> {
        let mut matrix = || SMatrix::from_fn(|_, _| rng.normal());
        Layer { p: matrix(), q: matrix() }
    }
    fn stored<R: Real, const D: usize, const K: usize, const C: usize, A>(
        transformer: Transformer<Layer<R, K>, C>,
        attention: A,
        digest: &mut Digest,
    ) -> Result<()>
    where
        A: Attention<R, K, Layer = Layer<R, K>>,
    {
        let model = Model::<R, D, K, C, A>::new(transformer, attention, R::from_f64(0.9))?;
        let mut buffer = [0; 1536];
        let bytes = model.write(&mut buffer)?;
        digest.bytes(bytes);
        digest.word(crc32(bytes).into());
        let read = Model::<R, D, K, C, A>::from_bytes(bytes)?;
        for layer in read.transformer().layers() {
            append(digest, &layer.p);
            append(digest, &layer.q);
        }
        Ok(())
    }
    run.each(|rng, digest| {
        let shared = Transformer::<_, 1>::autoregressive(layer(rng), 15)?;
        stored::<f32, 4, 9, 1, _>(shared, Linear(Td0), digest)?;
        let own = Transformer::<_, 3>::sequential(&[layer(rng), layer(rng), layer(rng)])?;
        stored::<f64, 2, 5, 3, _>(own, SoftmaxAttention, digest)
    })
}

pub(super) fn tasks<S: Scalar<Element = f32>>(run: &mut DigestRun<S>) -> Result<()> {
    run.each(|rng, digest| {
        in_scalar::<f32>(rng, digest)?;
        in_scalar::<f64>(rng, digest)
    })
}

fn in_scalar<R: Real>(rng: &mut Rng, digest: &mut Digest) -> Result<()> {
    let gamma = R::from_f64(0.9);
    let mrps: [Mrp<R, 4, 10>; 4] = [
        FiniteTaskKind::BoyanChain.draw(10, 4, gamma, rng)?,
        FiniteTaskKind::BoyanChainRepresentable.draw(7, 4, gamma, rng)?,
        FiniteTaskKind::Loop { threshold: 0.7 }.draw(8, 4, gamma, rng)?,
        FiniteTaskKind::RandomMdp { actions: 3 }.draw(5, 4, gamma, rng)?,
    ];
    for mrp in &mrps {
        append(digest, &mrp.true_value(gamma)?);
        append(digest, &mrp.stationary_distribution()?);
        path(mrp, rng, digest);
    }
    let tilings =
        CartPoleDistribution::<324> { tilings: 4, tiles: 2, authors_variant: false, dim: 4 };
    path(&tilings.draw(gamma, rng)?, rng, digest);
    let grid = CartPoleDistribution::<16> { tilings: 1, tiles: 2, authors_variant: true, dim: 4 };
    path(&grid.draw(gamma, rng)?, rng, digest);
    Ok(())
}

fn path<R: Real>(task: &impl Task<R, 4>, rng: &mut Rng, digest: &mut Digest) {
    let mut state = task.initial_state(rng);
    for _ in 0..24 {
        let Transition { phi, reward, phi_next } = task.transition(&mut state, rng);
        append(digest, &phi);
        digest.number(reward);
        append(digest, &phi_next);
    }
}
