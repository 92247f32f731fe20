//! The outer products that a window's statistic G = sum over i >= j of lambda^(i-j) z_i z_j^T is made of.

use super::Windows;
use crate::linalg::keep_apart;
use crate::scalar::Scalar;

/// The two sides of an outer product of tokens, x x'^T.
pub(super) type OuterProduct<'a, S> = [&'a [S]; 2];

/// Returns the sides of token i of the context that begins at transition `start`, whose tokens are read in
/// order: z_i, and z_i or its trace e_i = lambda e_{i-1} + z_i. (It takes no closure, which would lose a
/// kernel's instructions.)
#[inline(always)]
pub(super) fn next_token<'a, S: Scalar>(
    windows: &Windows<S>,
    start: usize,
    i: usize,
    lambda: Option<S>,
    [z, e]: [&'a mut [S]; 2],
) -> OuterProduct<'a, S> {
    windows.write_token(windows.dim(), i, z);
    let Some(lambda) = lambda else { return [z, z] };
    if i == start {
        e.fill(S::ZERO);
    }
    add_to_trace(e, lambda, z);
    [z, e]
}

/// Returns what G gains and loses from window t + 1 to window t, whose contexts are n transitions each: the sides
/// x x'^T and y y'^T.
///
/// Under TD(0)'s mask x = x' is the token gained and y = y' the one lost. Under TD(lambda)'s
/// x = sum_i lambda^(i-t) z_i is what sees x' = z_t from its own place on, and
/// y' = sum_j lambda^(t+n-j) z_j is the trace that y = z_{t+n} sees. Both are summed anew for each window, so
/// that no rounding is carried on.
#[inline(always)]
pub(super) fn gained_and_lost<'a, S: Scalar>(
    windows: &Windows<S>,
    t: usize,
    lambda: Option<S>,
    [x, y, trace_x, trace_y]: [&'a mut [S]; 4],
    z: &mut [S],
) -> [OuterProduct<'a, S>; 2] {
    let n = windows.context_len();
    windows.write_token(windows.dim(), t, x);
    windows.write_token(windows.dim(), t + n, y);
    let Some(lambda) = lambda else { return [[x, x], [y, y]] };
    trace_x.fill(S::ZERO);
    for j in (t..t + n).rev() {
        windows.write_token(windows.dim(), j, z);
        add_to_trace(trace_x, lambda, z);
    }
    trace_y.fill(S::ZERO);
    for j in t + 1..=t + n {
        windows.write_token(windows.dim(), j, z);
        add_to_trace(trace_y, lambda, z);
    }
    [[trace_x, x], [y, trace_y]]
}

#[inline(always)]
fn add_to_trace<S: Scalar>(e: &mut [S], decay: S, z: &[S]) {
    for (e, z) in e.iter_mut().zip(z) {
        keep_apart::<S>();
        *e = decay * *e + *z;
    }
}
