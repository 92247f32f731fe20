//! A window as the layers read it: its statistic G and its query's column, as they are or in units of the
//! context's own ([`crate::normalised`]; these are data: no gradient passes through them).

use super::shape::{LinearShape, NORMALISED};
use super::work::split;
use crate::block_matrix::BlockMatrix;
use crate::linalg::any_size::add_outers;
use crate::normalised::{Normalised, Unnormalised};
use crate::scalar::{Scalar, kernel};
use crate::training::Window;
use crate::training::sides::next_token;

/// Vectors that a read takes.
pub(super) const VECTORS: usize = 3;

/// Writes G and z, and gives the factor 1/n that G lacks, or 1. `room` is a matrix and [`VECTORS`].
#[inline(always)]
pub(super) fn read<S: Scalar>(
    shape: &LinearShape<S::Element>,
    window: &Window<S>,
    g: &mut [S],
    z: &mut [S],
    room: [&mut [S]; 2],
) -> S {
    let (k, lambda) = (shape.token_len(), shape.trace());
    let prior_count = shape.prior_count().map(S::splat);
    let [f, vectors] = room;
    let [token, trace, phi_next] = split(vectors, k);
    let n = window.context_len();
    g.fill(S::ZERO);
    if prior_count.is_some() {
        f.fill(S::ZERO);
    }
    let (mut squared_rewards, dim) = (S::ZERO, window.from.dim());
    for i in 0..n {
        let sides = next_token(&window.from, 0, i, lambda, [&mut *token, &mut *trace]);
        add_outers(k, g, [(sides[0], sides[1])]);
        if prior_count.is_some() {
            squared_rewards += sides[0][k - 1] * sides[0][k - 1];
            window.from.write_phi(i + 1, window.from.carries_on(i), phi_next);
            let phi = sides[0];
            add_outers(dim, f, [(phi, phi), (&*phi_next, &*phi_next)]);
        }
    }
    z.fill(S::ZERO);
    window.write_query(z);
    let n = S::from_count(n as u64);
    let Some(prior_count) = prior_count else { return S::ONE / n };
    let sums = Sums { squared_rewards, n, prior_count };
    // Each capacity is a kernel of its own.
    match dim {
        ..=4 => normalise::<S, 4>(dim, k, sums, f, g, z),
        5..=8 => normalise::<S, 8>(dim, k, sums, f, g, z),
        9..=16 => normalise::<S, 16>(dim, k, sums, f, g, z),
        _ => normalise::<S, NORMALISED>(dim, k, sums, f, g, z),
    }
    // Without a trace G is symmetric, on which the products count, and which roundings of T G T^T leave.
    if lambda.is_none() {
        for j in 0..k {
            for i in j + 1..k {
                g[j * k + i] = g[i * k + j];
            }
        }
    }
    S::ONE
}

/// The sums that a window's normalised read needs beside G and F.
#[derive(Clone, Copy)]
struct Sums<S> {
    squared_rewards: S,
    n: S,
    prior_count: S,
}

kernel! {
    /// G and z in the units of the context, of d <= C features: others were never seen.
    fn normalise as Normalise<'a, S: Scalar, const C: usize>(
        d: usize,
        k: usize,
        sums: Sums<S>,
        f: &'a [S],
        g: &'a mut [S],
        z: &'a mut [S],
    ) {
        let rows = d;
        let d = d.min(C);
        let mut of = Unnormalised::<S, C>::ZERO;
        of.squared_rewards = sums.squared_rewards;
        for j in 0..d {
            for i in 0..=j {
                of.second_moments[j][i] = f[j * rows + i];
            }
        }
        exchange(d, k, &mut of.g, g, |of, g| *of = *g);
        let mut normalised = Normalised::new(&of, sums.n, sums.prior_count);
        exchange(d, k, &mut normalised.g, g, |of, g| *g = *of);
        let mut phi = [S::ZERO; C];
        phi[..d].copy_from_slice(&z[..d]);
        z[..d].copy_from_slice(&normalised.query(&phi)[..d]);
    }
}

/// Shows the entries of d features side by side, in blocks of C and in columns of `rows`.
#[inline(always)]
fn exchange<S: Scalar, const C: usize>(
    d: usize,
    rows: usize,
    blocks: &mut BlockMatrix<S, C>,
    columns: &mut [S],
    mut each: impl FnMut(&mut S, &mut S),
) {
    for j in 0..2 * d + 1 {
        let column = match j {
            _ if j < d => &mut blocks.phi[j],
            _ if j < 2 * d => &mut blocks.phi_next[j - d],
            _ => &mut blocks.reward,
        };
        let (phi, rest) = columns[j * rows..][..2 * d + 1].split_at_mut(d);
        let (phi_next, reward) = rest.split_at_mut(d);
        for i in 0..d {
            each(&mut column.phi[i], &mut phi[i]);
            each(&mut column.phi_next[i], &mut phi_next[i]);
        }
        each(&mut column.rewards[0], &mut reward[0]);
    }
}
