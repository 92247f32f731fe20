//! From window t + 1 to window t: one token is gained, one is lost, and the first layer's G and A
//! change by rank two.
//!
//! ```text
//! G_t = G_{t+1} + x x'^T - y y'^T        A_t = P G_t Q = A_{t+1} + (P x) (Q^T x')^T - (P y) (Q^T y')^T
//! ```
//!
//! ([`gained_and_lost`]; the update rounds, and a batch is short.) What G and A pass back, P-bar = sum_t A-bar_t Q^T G_t^T and Q-bar = sum_t G_t^T P^T A-bar_t, follows by
//! Abel summation with C_s = sum_{t >= s} A-bar_t, in just that order of time:
//!
//! ```text
//! P-bar = C_0 Q^T G_0^T - sum_s C_{s+1} Q^T (G_s - G_{s+1})^T     (Q-bar likewise)
//! ```

use super::formed::Step;
use crate::linalg::any_size::{
    Onto, add_outers, mul, mul_transpose, mul_vectors, scaled, transpose_mul, transpose_mul_vectors,
};
use crate::scalar::Scalar;
use crate::training::linear::read::{VECTORS, read};
use crate::training::linear::shape::LinearShape;
use crate::training::linear::work::{Pair, split};
use crate::training::sides::{gained_and_lost, next_token};
use crate::training::{Window, Windows};

/// The first layer on windows that slide, if it is formed and they share its G; only G otherwise.
pub(super) struct Slide<'a, S: Scalar> {
    shape: &'a LinearShape<S::Element>,
    k: usize,
    formed: bool,
    /// C.
    c: &'a mut [S],
    /// True while C is 0.
    empty: bool,
    vectors: &'a mut [S],
}

impl<'a, S: Scalar> Slide<'a, S> {
    /// Vectors that it takes.
    pub(super) const VECTORS: usize = 14;

    /// At window W: its G, and A if the layer is formed.
    #[inline(always)]
    pub(super) fn start(
        shape: &'a LinearShape<S::Element>,
        windows: &Windows<S>,
        formed: bool,
        layer: &Pair<&[S]>,
        step: &mut Step<S>,
        c: &'a mut [S],
        vectors: &'a mut [S],
        scratch: &mut [S],
    ) -> Self {
        let k = shape.token_len();
        step.g.fill(S::ZERO);
        vectors.fill(S::ZERO);
        c.fill(S::ZERO);
        let [z, e] = split(vectors, k);
        let start = windows.count();
        let end = if shape.prior_count().is_none() { start + windows.context_len() } else { start };
        for i in start..end {
            let [z, right] = next_token(windows, start, i, shape.trace(), [&mut *z, &mut *e]);
            add_outers(k, step.g, [(z, right)]);
        }
        if formed {
            step.form(k, layer, scratch);
        }
        Slide { shape, k, formed, c, empty: true, vectors }
    }

    /// G and z of a window that shares nothing with its neighbour.
    #[inline(always)]
    pub(super) fn read(&mut self, window: &Window<S>, step: &mut Step<S>, f: &mut [S]) {
        let vectors = &mut self.vectors[..VECTORS * self.k];
        read(self.shape, window, step.g, step.z, [f, vectors]);
    }

    /// From window t + 1 to window t, with the terms of the sum over s = t.
    #[inline(always)]
    pub(super) fn slide(
        &mut self,
        windows: &Windows<S>,
        t: usize,
        layer: &Pair<&[S]>,
        step: &mut Step<S>,
        sum: Pair<&mut [S]>,
    ) {
        let Slide { shape, k, c, empty, vectors, .. } = self;
        let k = *k;
        let [x, y, trace_x, trace_y, rest @ ..] = split::<14, S>(vectors, k);
        let [minus_x, minus_y, p_x, minus_p_y, q_x, q_y, c_q_x, c_q_y, c_p_x, c_p_y] = rest;
        let room = [x, y, trace_x, trace_y];
        let [[x, right_x], [y, right_y]] =
            gained_and_lost(windows, t, shape.trace(), room, minus_x);
        scaled(minus_y, -S::ONE, y);
        add_outers(k, step.g, [(x, right_x), (&*minus_y, right_y)]);
        if !self.formed {
            return;
        }
        let both = [&mut *p_x, &mut *minus_p_y];
        mul_vectors(k, both, [Onto::Zeros; 2], layer.p, [x, minus_y]);
        transpose_mul_vectors(
            k,
            [&mut *q_x, &mut *q_y],
            [Onto::Zeros; 2],
            layer.q,
            [right_x, right_y],
        );
        add_outers(k, step.a, [(&*p_x, &*q_x), (&*minus_p_y, &*q_y)]);
        if *empty {
            return;
        }
        scaled(minus_x, -S::ONE, q_x);
        let both = [&mut *c_q_x, &mut *c_q_y];
        mul_vectors(k, both, [Onto::Zeros; 2], c, [minus_x, q_y]);
        transpose_mul_vectors(k, [&mut *c_p_x, &mut *c_p_y], [Onto::Zeros; 2], c, [p_x, minus_p_y]);
        add_outers(k, sum.p, [(&*c_q_x, x), (&*c_q_y, y)]);
        scaled(minus_x, -S::ONE, right_x);
        scaled(minus_y, -S::ONE, right_y);
        add_outers(k, sum.q, [(&*minus_x, &*c_p_x), (&*minus_y, &*c_p_y)]);
    }

    /// C += A-bar of a window, from H and z-bar of the second layer.
    #[inline(always)]
    pub(super) fn backward(&mut self, step: &Step<S>, h: &[S], z_bar: &[S]) {
        step.a_bar(self.k, self.c, Onto::Itself, h, z_bar);
        self.empty = false;
    }

    /// The sum's first term, at window 0.
    #[inline(always)]
    pub(super) fn finish(
        &self,
        step: &Step<S>,
        layer: &Pair<&[S]>,
        sum: Pair<&mut [S]>,
        [g_q, p_c, ..]: &mut [&mut [S]; 3],
    ) {
        if !self.formed {
            return;
        }
        let k = self.k;
        mul(k, g_q, Onto::Zeros, step.g, layer.q);
        transpose_mul(k, p_c, Onto::Zeros, layer.p, self.c);
        mul_transpose(k, sum.p, Onto::Itself, self.c, g_q);
        transpose_mul(k, sum.q, Onto::Itself, step.g, p_c);
    }
}
